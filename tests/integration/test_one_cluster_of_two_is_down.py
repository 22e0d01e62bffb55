# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One playbook run over two clusters, one of them wholly down: the other is recovered, and the exit code shows it."""

from __future__ import annotations

from integration.support import Operator, outcomes

from rig import Damage, KafkaCluster, Roles
from rig.fleet import host_vars


def test_the_other_cluster_is_recovered_and_the_exit_code_is_not_0(west: Operator) -> None:
    damage = Damage(west.cluster, Roles(returning=None))
    damage.add("lagging", 4, "survived")
    damage.inflict()
    south = KafkaCluster("south", brokers=1)  # never started
    try:
        inventory = west.inventory(south={**host_vars(south), "kafka_request_timeout": "3"})
        played = west.play("recover", "1", inventory_file=inventory, allow_data_loss=True)
    finally:
        south.stop()
    assert played.returncode != 0, played
    assert {host: counters["failed"] + counters["unreachable"] for host, counters in played.recap.items()} == {
        "localhost": 0,
        "south": 1,
        "west": 0,
    }
    assert south.brokers[1].address in played.said
    assert outcomes(west.read("results", "1")["partitions"]) == {"survived": {"elected"}}
    assert {state.leader for state in west.cluster.describe("survived")} == {2}
    assert damage.kept(["survived"])["survived"].lost == 4 * 10
    assert not (west.workdir / "results" / "1" / "south.json").exists()
