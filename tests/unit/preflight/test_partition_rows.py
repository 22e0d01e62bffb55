# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The partitions that are returned: few of them where there are many, with a count of all. Without a cluster: so many partitions take long to make."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest
from fake_controller import Controller

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.topic_configs import TopicConfigs
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import readiness


class Large(Controller):
    """10,005 partitions without a leader."""

    cluster_id = "abc"

    def __init__(self) -> None:
        super().__init__()
        self.states = {("t", number): PartitionState("t", number, "id", -1, 1, (1, 2), (), (), (), ()) for number in range(10_005)}

    def topic_configs(self, topics: object) -> TopicConfigs:
        return TopicConfigs()

    def feature_level(self, feature: str) -> int:
        return 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "returned", "warned"), [(0, 10_000, True), (3, 3, False), (10_000, 10_000, False), (10_001, 10_000, True)]
)
def test_more_partitions_than_are_returned_are_counted_and_a_warning_says_so(limit: int, returned: int, warned: bool) -> None:
    found = readiness.partitions(Large(), None, limit=limit)  # type: ignore[arg-type]
    assert (found.rows["count"], len(found.rows["partitions"])) == (10_005, returned)
    assert ("10000 of 10005 partitions are returned" in (found.warning or "")) == warned


def test_requested_partitions_that_the_cluster_does_not_have_are_refused_or_returned() -> None:
    wanted = [("gone", 0), ("gone", 1), ("t", 7), ("t", 20_000)]
    with pytest.raises(RecoveryError, match="no topic gone"):
        readiness.partitions(Large(), wanted)  # type: ignore[arg-type]
    rows = readiness.partitions(Large(), wanted, limit=2, unknown=readiness.SKIP).rows  # type: ignore[arg-type]
    assert [(row["topic"], row["partition"]) for row in rows["partitions"]] == [("t", 7)]
    assert (rows["count"], rows["unknown_count"]) == (1, 3)
    assert rows["unknown"] == [{"topic": "gone", "partition": 0}, {"topic": "gone", "partition": 1}]
    found = readiness.partitions(Large(), wanted, unknown=readiness.SOME)  # type: ignore[arg-type]
    assert found.rows["count"] == 1 and "gone-0, gone-1, t-20000: the cluster has no such partition" in (found.warning or "")
    with pytest.raises(RecoveryError, match="no topic gone"):
        readiness.partitions(Large(), wanted[:2], unknown=readiness.SOME)  # type: ignore[arg-type]
    nothing = readiness.partitions(Large(), [("gone", 0)], unknown=readiness.SKIP).rows  # type: ignore[arg-type]
    assert (nothing["count"], nothing["unknown_count"], nothing["partitions"]) == (0, 1, [])


@pytest.mark.parametrize(("lists_fenced", "brokers"), [(True, [1, 2]), (False, [1, 2, 3])])
def test_brokers_that_are_not_listed_count_also_if_partitions_are_named_on_others(lists_fenced: bool, brokers: list[int]) -> None:
    """Before Kafka 4.0 only sets of replicas name fenced brokers. The election counts them, so the check before it does."""

    class Listing(Controller):
        def broker_states(self, mentioned: Collection[int] = ()) -> list[dict[str, Any]]:
            return [row for row in super().broker_states() if row["broker_id"] in mentioned]

    cluster = Listing()
    cluster.lists_fenced = lists_fenced
    cluster.states = {
        ("t", 0): PartitionState("t", 0, "id", -1, 1, (1, 2), (), (), (), ()),
        ("t", 1): PartitionState("t", 1, "id", 2, 1, (2, 3), (2,), (), (), ()),
    }
    found = readiness.partitions(cluster, [("t", 0)])  # type: ignore[arg-type]
    assert [row["broker_id"] for row in found.rows["brokers"]] == brokers
