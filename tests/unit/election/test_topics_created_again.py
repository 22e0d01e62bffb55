# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal has orders of one partition from before and after its topic was created again: both ids are ours, and two brokers decide all the same."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import replica_orders
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import ChangedOrder, Journal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    StatedReplicas,
    TopicPartition,
)

KEY = ("t", 0)
BEFORE, CHANGED = (1, 2, 3), (2, 1, 3)


class Stating:
    """Broker 1 states `state`, broker 2 `second`."""

    def __init__(self, state: PartitionState, second: StatedReplicas) -> None:
        self.state, self.second = state, second
        self.in_doubt: dict[TopicPartition, set[int]] = {}
        self.elections_in_doubt: set[TopicPartition] = set()

    def partitions(self, _keys: object = None) -> dict[TopicPartition, PartitionState]:
        return {KEY: self.state}

    def second_replicas(self, states: Collection[PartitionState]) -> dict[TopicPartition, StatedReplicas]:
        return {state.key: self.second for state in states}

    def listed(self) -> set[int]:
        return {1, 2, 3}

    def silent(self, _wanted: object = None, _listed: object = ()) -> set[int]:
        return set()

    def reassigning(self) -> set[TopicPartition]:
        return set()

    def reorder(self, _orders: object) -> Any:
        raise AssertionError("nothing may be changed")


@pytest.mark.parametrize("ids", [("new",), ("old", "new")], ids=" ".join)
@pytest.mark.parametrize(
    ("stated", "second"),
    [
        pytest.param("new", StatedReplicas(2, (4, 5, 6), "new"), id="a second broker states other replicas"),
        pytest.param("third", StatedReplicas(2, CHANGED, "new"), id="a second broker states that it has the changed order"),
    ],
)
def test_one_broker_neither_restores_an_order_nor_forgets_it(
    tmp_path: Path, ids: tuple[str, ...], stated: str, second: StatedReplicas
) -> None:
    tmp_path.chmod(0o700)
    cluster: Any = Stating(PartitionState(*KEY, stated, 1, 1, CHANGED, CHANGED, (), (), (), described_by=1), second)
    with Journal(tmp_path / "journal.jsonl", "abc") as journal:
        for topic_id in ids:
            journal.expect(journal.intend([ChangedOrder(*KEY, topic_id, BEFORE, CHANGED)], []), (), ())
        assert replica_orders.repair(cluster, journal) == []
        assert journal.left_behind().keys() == {KEY}
