# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The test plan of KIP-1275, step by step, through the playbook with everything at its default."""

from __future__ import annotations

from integration.support import Operator

from rig import NewTopic


def test_a_partition_without_its_isr_is_recovered_by_a_replica_outside_of_it(west: Operator) -> None:
    cluster = west.cluster
    # "Spins up a test cluster, unclean.leader.election=false, and create a partition. Produce to it."
    cluster.create_topics([NewTopic("system", [[1, 2, 3]], {"unclean.leader.election.enable": "false"})])
    cluster.produce("system", 0, [f"in sync {number}" for number in range(50)])
    cluster.kill(3)
    cluster.wait_fenced([3])
    cluster.produce("system", 0, [f"without broker 3 {number}" for number in range(10)])
    isr = set(cluster.describe("system")[0].isr)
    assert isr == {1, 2}

    # "Terminate all brokers in the ISR with unclean shutdowns (kill -9) and ensure that the entire ISR is offline."
    cluster.kill(*isr)
    cluster.start_node(3)
    cluster.wait_fenced(isr)
    cluster.wait_unfenced([3])

    # "Assert that the test partition is offline. Record the replica set."
    cluster.wait_for_partitions(["system"], lambda state: state.leader < 0, "offline")
    offline = cluster.describe("system")[0]
    assert set(offline.offline_replicas) == isr

    # "Perform a designated leadership election using automated recovery": embedded Spark, all offline partitions.
    west.spark_remote = None
    played = west.play("recover", "kip1275", allow_data_loss=True)
    assert played.returncode == 0, played
    assert played.recap["west"]["changed"] == 1

    # "Assert that the test partition is online and is using a broker from the non-ISR replica set."
    recovered = cluster.describe("system")[0]
    assert recovered.leader == 3
    assert recovered.leader in set(offline.replicas) - isr
    assert recovered.replicas == offline.replicas
    assert [value for _, value in cluster.read("system", 0)] == [f"in sync {number}" for number in range(50)]
    assert west.read("results", "kip1275")["summary"]["elected"] == 1
