# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kafka 3.9, the oldest that is tried: no eligible leader replicas, and fenced brokers that no request lists."""

from __future__ import annotations

from pathlib import Path

import pytest
from integration.support import Operator, by_partition
from integration.test_isr_history_of_clusters import resolved

from rig import Damage, KafkaCluster, Roles


@pytest.mark.long
def test_lagging_partitions_are_recovered_on_3_9(spark_remote: str, tmp_path: Path) -> None:
    with KafkaCluster("north", version="3.9.1", brokers=3, session_timeout=5.0, heap="200m", request_log=True) as cluster:
        damage = Damage(cluster, Roles(returning=None))
        damage.add("lagging", 4)
        damage.add("forked", 4)
        damage.add(resolved, 2, config={"min.insync.replicas": "2"})
        damage.inflict()
        north = Operator(cluster, tmp_path, spark_remote)
        before = north.states("lagging", "forked")

        found = north.ask("kafka_partition_info")
        assert found["count"] == 10
        assert {tuple(row["isr"]) for row in found["partitions"]} == {(1,)}, "3.9 keeps the last member in the ISR"
        assert {tuple(row["eligible_leader_replicas"]) for row in found["partitions"]} == {()}
        states = {row["broker_id"]: row["broker_state"] for row in found["brokers"]}
        assert states == {1: "fenced", 2: "unfenced", 3: "unfenced"}

        results = north.recover("1", ["lagging", "forked"])
        north.in_order_again(before)
        for (topic, _), row in results.items():
            assert (row["outcome"], row["leader"]) == (("elected", 2) if topic == "lagging" else ("held", None))
        assert damage.kept(["lagging"])["lagging"].lost == 4 * 10

        assert {row["outcome"] for row in north.recover("2", ["lagging"]).values()} == {"already_online"}

        controllers = cluster.controller_bootstrap_servers.split(",")
        history = north.snapshot("3", ["forked", "resolved"], controller_bootstrap_servers=controllers)["history"]
        assert (history["doubt"], history["from_snapshot"]) == (None, False)
        north.plan("3", strategy="balanced")
        held = by_partition(north.read("plans", "3")["held"])
        assert held.keys() == {("forked", partition) for partition in range(4)}
        assert all("min.insync.replicas was not set for the topic or the cluster" in row["explanation"] for row in held.values())
        resolved_by_history = north.apply("3", controller_bootstrap_servers=controllers)["results"]
        assert {
            (row["topic"], row["outcome"], row["leader"], row["evidence"]) for row in resolved_by_history if row["topic"] == "resolved"
        } == {("resolved", "elected", 2, "forked_resolved")}
        assert damage.kept(["resolved"])["resolved"].lost == 0
