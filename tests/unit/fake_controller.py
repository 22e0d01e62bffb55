# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A made-up controller, for what real ones cannot be made to do: to be stopped between two requests, or asked by thousands of made-up files."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.log_dirs import FailedLogDirs
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.replica_log_fetch import (
    EpochEndAnswer,
    FetchedBatch,
    LogEnd,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    StatedReplicas,
    TopicPartition,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import LastBatch
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.topic_configs import TopicConfigs

ALIVE = {2: 121, 3: 100}


class Killed(BaseException):
    """The process has ended: nothing that it still tries to do happens."""


class Controller:
    """Three partitions of replicas 1 (dead), 2 and 3; elects the first live replica of the order. Ends the caller at request `end_at`.

    `allowed`: operations on the cluster. `misstated`: states as the broker shows them that answers all reads but those of the second broker.
    """

    backend, cluster_id, lists_fenced = "compat", "abc", True

    def __init__(self, end_at: int | None = None, error: type[BaseException] = Killed) -> None:
        self.states = {
            ("t", 0): PartitionState("t", 0, "id", -1, 1, (1, 3, 2), (), (1,), (), (1,)),
            ("t", 1): PartitionState("t", 1, "id", -1, 1, (1, 2, 3), (), (1,), (), (1,)),
            ("t", 2): PartitionState("t", 2, "id", 3, 1, (3, 1, 2), (3,), (), (), (1,)),
        }
        self.end_at, self.error, self.requests, self.written = end_at, error, 0, 0
        self.unreachable: dict[int, str] = {}
        self.cut_off: set[int] = set()
        self.undescribed: dict[int, str] = {}
        self.levels: dict[str, int | None] = {}  # of features
        self.in_doubt: dict[TopicPartition, set[int]] = {}
        self.hanging: set[int] = set()  # brokers that accept connections and answer nothing
        self.elections_in_doubt: set[TopicPartition] = set()
        self.moves: set[TopicPartition] = set()  # partitions under reassignment
        self.misstated: dict[TopicPartition, PartitionState] = {}
        self.allowed: frozenset[str] | None = frozenset({"ALTER", "DESCRIBE"})
        self.unlisted: set[int] = set()  # brokers that hang, and are not listed any more
        self.alone = False  # whether no second broker answers

    def _request(self) -> None:
        self.requests += 1
        if self.end_at is not None and (self.requests >= self.end_at if self.error is Killed else self.requests == self.end_at):
            raise self.error(f"request {self.requests}")

    def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]:
        self._request()
        return {
            key: replace(state, described_by=2) for key, state in {**self.states, **self.misstated}.items() if keys is None or key in keys
        }

    def second_replicas(self, states: Collection[PartitionState]) -> dict[TopicPartition, StatedReplicas]:
        self._request()
        if self.alone:
            return {}
        there = {state.key: self.states.get(state.key) for state in states}
        return {
            key: StatedReplicas(3, state.replicas, state.topic_id, state.leader) if state else StatedReplicas(3, None)
            for key, state in there.items()
        }

    def broker_states(self, mentioned: Collection[int] = ()) -> list[dict[str, Any]]:
        self._request()
        return [
            {"broker_id": broker, "broker_state": "unfenced" if broker in ALIVE else "fenced", "silent_seconds": None, "rack": None}
            for broker in (1, 2, 3)
        ]

    def feature_level(self, feature: str) -> int | None:
        self._request()
        return self.levels.get(feature)

    def operations(self) -> frozenset[str] | None:
        self._request()
        return self.allowed

    def listed(self) -> set[int]:
        return {*ALIVE, *self.hanging}

    def silent(self, wanted: Collection[int] | None = None, listed: Collection[int] = ()) -> set[int]:
        self._request()
        return (self.hanging if wanted is None else self.hanging & {*wanted}) | ({*(listed if wanted is None else wanted)} & self.unlisted)

    def unfenced(self) -> set[int]:
        return set(ALIVE)

    def log_ends(self, work: Mapping[int, Collection[TopicPartition]]) -> dict[int, dict[TopicPartition, LogEnd]]:
        self._request()
        return {broker: {key: LogEnd(None, ALIVE[broker], 1) for key in keys} for broker, keys in work.items()}

    def batches(
        self, work: Mapping[int, Mapping[TopicPartition, int]], retry_empty: bool = True
    ) -> dict[int, dict[TopicPartition, FetchedBatch]]:
        self._request()
        return {
            broker: {key: FetchedBatch(None, 0, 0, LastBatch(offset, offset, 0, 7, 0)) for key, offset in offsets.items()}
            for broker, offsets in work.items()
        }

    def epoch_ends(self, work: Mapping[int, Mapping[TopicPartition, int]]) -> dict[int, dict[TopicPartition, EpochEndAnswer]]:
        self._request()
        return {broker: {key: EpochEndAnswer(None, epoch, 0) for key, epoch in epochs.items()} for broker, epochs in work.items()}

    def committed_offsets(
        self, keys: Collection[TopicPartition], seconds: float, missed: list[str]
    ) -> list[tuple[str, TopicPartition, int, int]]:
        return []

    def topic_configs(self, topics: Collection[str]) -> TopicConfigs:
        return TopicConfigs()

    def failed_log_dirs(self, work: Mapping[int, Collection[TopicPartition]]) -> dict[int, FailedLogDirs]:
        return {}

    def reassigning(self) -> set[TopicPartition]:
        self._request()
        return set(self.moves)

    def reorder(self, orders: Mapping[TopicPartition, Sequence[int]]) -> dict[TopicPartition, Refusal | None]:
        self._request()
        self.written += 1
        errors: dict[TopicPartition, Refusal | None] = {}
        for key, order in orders.items():
            if key not in self.states:
                errors[key] = Refusal("UNKNOWN_TOPIC_OR_PARTITION", None)
                continue
            assert sorted(order) == sorted(self.states[key].replicas)
            self.states[key] = replace(self.states[key], replicas=tuple(order))
            errors[key] = None
        return errors

    def elect_unclean(self, keys: Collection[TopicPartition], written_by: float = 0.0) -> dict[TopicPartition, Refusal | None]:
        self._request()
        self.written += 1
        errors: dict[TopicPartition, Refusal | None] = {}
        for key in keys:
            state = self.states[key]
            assert state.leader < 0, "never called for a partition that has a leader"
            self._lead(key, next(broker for broker in state.replicas if broker in ALIVE))
            errors[key] = None
        return errors

    def elect_designated(self, leaders: Mapping[TopicPartition, int], written_by: float = 0.0) -> dict[TopicPartition, Refusal | None]:
        self._request()
        self.written += 1
        errors: dict[TopicPartition, Refusal | None] = {}
        for key, leader in leaders.items():
            assert self.states[key].leader < 0, "never called for a partition that has a leader"
            if leader in ALIVE:
                self._lead(key, leader)
            errors[key] = None if leader in ALIVE else Refusal("ELIGIBLE_LEADERS_NOT_AVAILABLE", None)
        return errors

    def _lead(self, key: TopicPartition, leader: int) -> None:
        self.states[key] = replace(self.states[key], leader=leader, isr=(leader,), leader_epoch=self.states[key].leader_epoch + 1)
