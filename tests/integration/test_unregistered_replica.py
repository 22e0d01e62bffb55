# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A replica on a broker that was unregistered: Kafka takes no order with it, and the reason names a way that works."""

from __future__ import annotations

from pathlib import Path

import pytest
from integration.support import Operator

from rig import Damage, KafkaCluster, Roles
from rig.stock import unregister


@pytest.mark.long
def test_the_remedy_for_a_replica_that_is_not_registered_leads_to_the_designated_leader(spark_remote: str, tmp_path: Path) -> None:
    with KafkaCluster("north", brokers=3, session_timeout=5.0, heap="200m") as cluster:
        damage = Damage(cluster, Roles(returning=None))
        damage.add("lagging", 4)
        damage.inflict()
        unregister(cluster, 1)
        north = Operator(cluster, tmp_path, spark_remote)

        results = north.recover("1", ["lagging"])
        refused = [key for key, row in results.items() if row["outcome"] == "failed"]
        assert {(row["reason_code"], row["error"]) for key, row in results.items() if key in refused} == {
            ("replica_not_registered", "INVALID_REPLICA_ASSIGNMENT")
        }
        assert len(refused) == 3, "the fourth one stands best-first"
        assert all("[2, 3] first" in results[key]["reason"] for key in refused)

        targets = [{"topic": topic, "partition": partition, "replicas": [2, 3]} for topic, partition in refused]
        north.ask("kafka_partition_reassignment", **north.files("2"), partitions=targets, wait=False)
        again = north.recover("2", ["lagging"])
        assert {(row["outcome"], row["leader"]) for key, row in again.items() if key in refused} == {("elected", 2)}
        cluster.wait_for_partitions(
            ["lagging"], lambda state: (state.topic, state.partition) not in refused or state.replicas == (2, 3), "not reassigned"
        )
        assert damage.kept(["lagging"])["lagging"].lost == 4 * 10
