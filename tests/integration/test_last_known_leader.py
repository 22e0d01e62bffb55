# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last known leader is back, and the ELR still names a broker that is gone: Kafka elects no replica, for ever, so the partition is not held for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from integration.breaking import delete_topics
from integration.support import Operator

from rig import KafkaCluster, NewTopic

pytestmark = pytest.mark.long

TOPIC = "last-known"


def test_a_last_known_leader_behind_a_lost_member_of_the_elr_is_elected(small: KafkaCluster, spark_remote: str, tmp_path: Path) -> None:
    cluster, west = small, Operator(small, tmp_path, spark_remote)
    cluster.heal()
    delete_topics(cluster, {state.topic for state in cluster.describe()})
    cluster.create_topics([NewTopic(TOPIC, [[1, 2, 3]], {"min.insync.replicas": "2"})])
    cluster.produce(TOPIC, 0, [f"all {number}" for number in range(5)], acks="all")
    for broker, left in ((3, {1, 2}), (1, {2})):
        cluster.kill(broker)
        cluster.wait_fenced([broker])
        cluster.wait_for_partitions([TOPIC], lambda state, left=left: {*state.isr} == left, "without it", 60)  # type: ignore[misc]
        cluster.produce(TOPIC, 0, [f"without {broker}"], acks="all" if len(left) > 1 else "1")
    cluster.kill(2)
    cluster.start_node(3)
    cluster.wait_unfenced([3])
    cluster.wait_fenced([2])
    cluster.start_node(2)
    cluster.wait_unfenced([2])
    (state,) = cluster.describe(TOPIC)
    assert (state.leader, state.isr, state.eligible_leader_replicas, state.last_known_elr) == (-1, (), (1,), (2,)), state

    plan = west.snapshot_and_plan("1", [TOPIC])
    assert [(row["topic"], row["designatedLeader"], row["evidence"]) for row in plan["partitions"]] == [(TOPIC, 2, "prefix")], plan["held"]
    applied = west.apply("1", allow_data_loss=True)
    assert applied["summary"]["elected"] == 1, applied
    assert cluster.describe(TOPIC)[0].leader == 2
