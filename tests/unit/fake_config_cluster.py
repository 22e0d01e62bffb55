# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A made-up cluster with configs, for states that real clusters cannot be put into: the process that changes them dies between any two steps."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import Node
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import (
    APPEND,
    BROKER,
    DELETE,
    OF_BROKER,
    OF_TOPIC,
    SET,
    ConfigOperation,
    Refusal,
    Resource,
    Setting,
    Settings,
    by_resource,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    StatedReplicas,
    TopicPartition,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reassignment import OngoingReassignment

CONFIGS = dict[str, dict[str, str]]


class Killed(BaseException):
    """The process has ended: nothing that it still tries to do happens."""


class Dirs(NamedTuple):
    """Sizes of replicas."""

    sizes: Mapping[TopicPartition, int]


class Move(NamedTuple):
    """A partition on its way."""

    current: tuple[int, ...]
    target: tuple[int, ...]


class Configurable:
    """Four brokers, one topic `t` with partitions 0 and 1 on brokers 1 to 3, and a topic `quiet`. Changes configs as Kafka's controller does.

    The caller ends at request `end_at`, right before it or (`after`) right after it was carried out. `live`: brokers that answer.
    """

    def __init__(self, end_at: int | None = None, after: bool = False) -> None:
        self.live = {1, 2, 3, 4}
        self.brokers: dict[int, dict[str, str]] = {broker: {} for broker in (1, 2, 3, 4)}
        self.topics: CONFIGS = {"t": {}, "quiet": {}}
        self.states = {
            (topic, number): PartitionState(topic, number, f"id-{topic}", 1, 1, (1, 2, 3), (1, 2, 3), (), (), ())
            for topic, number in (("t", 0), ("t", 1), ("quiet", 0))
        }
        self.stated: dict[TopicPartition, PartitionState] | None = self.states
        self.end_at, self.after, self.requests = end_at, after, 0
        self.refusing: dict[Resource, Refusal] = {}
        self.mute = False
        self.configs_in_doubt: dict[Resource, set[int]] = {}
        self.lists_fenced = True
        self.hanging: set[int] = set()
        self.unlisted: set[int] = set()  # brokers that hang, and are not listed any more
        self.changes: list[ConfigOperation] = []
        self.sizes: dict[TopicPartition, int] = {}
        self.growth = 0
        self.ongoing: dict[TopicPartition, OngoingReassignment] = {}

    def _request(self) -> bool:
        self.requests += 1
        if self.end_at is not None and self.requests >= self.end_at:
            if self.after and self.requests == self.end_at:
                return True
            raise Killed
        return False

    def configs(self) -> dict[str, Any]:
        """Every config that is set."""
        return {
            "brokers": {broker: dict(configs) for broker, configs in self.brokers.items()},
            "topics": {topic: dict(configs) for topic, configs in self.topics.items()},
        }

    def reassignments(self) -> dict[TopicPartition, OngoingReassignment]:
        return dict(self.ongoing)

    def listed(self) -> set[int]:
        return set(self.live)

    def silent(self, wanted: Collection[int] | None = None, listed: Collection[int] = ()) -> set[int]:
        return self.hanging & {*(self.brokers if wanted is None else wanted)} | ({*(listed if wanted is None else wanted)} & self.unlisted)

    def registered(self) -> list[Node]:
        return [Node(broker, "h", 9092, None, broker not in self.live) for broker in sorted(self.brokers)]

    def unfenced(self) -> set[int]:
        return set(self.live)

    def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]:
        # Others of the same topics may be among the answer.
        return {key: state for key, state in self.states.items() if keys is None or key[0] in {topic for topic, _ in keys}}

    def second_replicas(self, states: Collection[PartitionState]) -> dict[TopicPartition, StatedReplicas]:
        """As `stated` has it: what a second broker states. None: no second one answers."""
        if self.stated is None:
            return {}
        there = {state.key: self.stated.get(state.key) for state in states}
        return {
            key: StatedReplicas(2, state.replicas, state.topic_id) if state else StatedReplicas(2, None) for key, state in there.items()
        }

    def broker_configs(self, ids: Collection[int], names: Collection[str]) -> dict[int, Settings]:
        return {broker: _settings(self.brokers[broker], names, OF_BROKER) for broker in ids if broker in self.live}

    def topic_configs_of(self, topics: Collection[str], names: Collection[str]) -> dict[str, Settings]:
        return {topic: _settings(self.topics[topic], names, OF_TOPIC) for topic in topics if topic in self.topics}

    def alter_configs(self, changes: Iterable[ConfigOperation], validate_only: bool = False) -> dict[Resource, Refusal | None]:
        answers: dict[Resource, Refusal | None] = {}
        for resource, own in by_resource(changes).items():
            if self.mute and resource.kind != BROKER:
                raise ClusterError("no broker answered")
            ends = False if validate_only else self._request()
            if resource.kind == BROKER and int(resource.name) not in self.live:
                continue
            answers[resource] = self.refusing.get(resource)
            if resource.kind != BROKER and resource.name not in self.topics:
                answers[resource] = Refusal("UNKNOWN_TOPIC_OR_PARTITION", None)
            if answers[resource] is None and not validate_only:
                self.changes += own
                for change in own:
                    _alter(self.brokers[int(resource.name)] if resource.kind == BROKER else self.topics[resource.name], change)
            if ends:
                raise Killed
        return answers

    def log_dirs(self, brokers: Collection[int], keys: Collection[TopicPartition] | None = None) -> dict[int, Dirs]:
        self.sizes = {key: self.sizes.get(key, 0) + self.growth for key in self.states}
        return {broker: Dirs(self.sizes) for broker in brokers}

    def unreachable_rows(self) -> list[dict[str, Any]]:
        return []


def _settings(configs: Mapping[str, str], names: Collection[str], source: str) -> Settings:
    return {name: Setting(value, source) for name, value in configs.items() if name in names}


def _alter(configs: dict[str, str], change: ConfigOperation) -> None:
    """As ConfigurationControlManager does: what is taken out of a list that is not there leaves an empty one."""
    if change.operation == DELETE:
        configs.pop(change.config, None)
        return
    assert change.value is not None
    if change.operation == SET:
        configs[change.config] = change.value
        return
    entries = [entry for entry in configs.get(change.config, "").split(",") if entry]
    for entry in change.value.split(","):
        if change.operation == APPEND and entry not in entries:
            entries.append(entry)
        elif change.operation != APPEND and entry in entries:
            entries.remove(entry)
    assert "*" not in entries or entries == ["*"], "Kafka takes no list of entries beside the one for all"
    configs[change.config] = ",".join(entries)
