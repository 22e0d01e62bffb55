# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A preview of a cluster's configs: brokers only validate changes, and later reads show them as if they were made.

In check mode the same code runs on a preview as on the cluster, and gets the same refusals.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.config_memory import ConfigBudget
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.log_dir_client import LogDirSource
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import Node
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import (
    ALL_BROKERS,
    APPEND,
    BROKER,
    DELETE,
    OF_BROKER,
    OF_TOPIC,
    SET,
    SUBTRACT,
    TOPIC,
    ConfigOperation,
    Refusal,
    Resource,
    Setting,
    Settings,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    StatedReplicas,
    TopicPartition,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reassignment import OngoingReassignment
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.validate import Move


class Configurable(LogDirSource, Protocol):
    """The parts of a cluster that a preview uses."""

    configs_in_doubt: dict[Resource, set[int]]
    lists_fenced: bool

    def listed(self) -> set[int]: ...
    def silent(self, wanted: Collection[int] | None = None, listed: Collection[int] = ()) -> set[int]: ...
    def unfenced(self) -> set[int]: ...
    def registered(self) -> list[Node]: ...
    def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]: ...
    def second_replicas(self, states: Collection[PartitionState]) -> dict[TopicPartition, StatedReplicas]: ...
    def broker_configs(self, ids: Collection[int], names: Collection[str]) -> dict[int, Settings]: ...
    def topic_configs_of(self, topics: Collection[str], names: Collection[str]) -> dict[str, Settings]: ...
    def alter_configs(self, changes: Iterable[ConfigOperation], validate_only: bool = False) -> dict[Resource, Refusal | None]: ...
    def reassignments(self) -> dict[TopicPartition, OngoingReassignment]: ...
    def unreachable_rows(self) -> list[dict[str, Any]]: ...


class ConfigPreview:
    """The cluster's configs, read once, with the changes since. For one kind of resource, always read the same config names.

    `ended`: partitions whose moves are predicted to have ended.
    """

    def __init__(self, cluster: Configurable) -> None:
        self._cluster = cluster
        self._brokers: dict[int, Settings] = {}
        self._topics: dict[str, Settings] = {}
        self._budget = ConfigBudget()  # a run of many moves reads topic after topic
        self._accepted: set[Resource] = set()
        self._unfenced: set[int] | None = None
        self.ended: Collection[TopicPartition] = ()
        self._begun: dict[TopicPartition, OngoingReassignment] = {}
        self.configs_in_doubt: dict[Resource, set[int]] = {}  # nothing is changed
        self.lists_fenced = cluster.lists_fenced
        self.listed = cluster.listed
        self.silent = cluster.silent
        self.registered = cluster.registered
        self.partitions = cluster.partitions
        self.second_replicas = cluster.second_replicas
        self.log_dirs = cluster.log_dirs
        self.unreachable_rows = cluster.unreachable_rows

    def unfenced(self) -> set[int]:
        """Return the ids of the brokers that were unfenced at the first call."""
        if self._unfenced is None:
            self._unfenced = self._cluster.unfenced()
        return set(self._unfenced)

    def reassignments(self) -> dict[TopicPartition, OngoingReassignment]:
        """Return the moves that are in progress, with those that are predicted to have begun, and without those to have ended."""
        return {key: move for key, move in (self._cluster.reassignments() | self._begun).items() if key not in self.ended}

    def begin(self, moves: Mapping[TopicPartition, Move]) -> None:
        """Predict that these moves are submitted."""
        copied = {key: move for key, move in moves.items() if move.adding}
        self._begun |= {
            key: OngoingReassignment((*move.target, *move.removing), move.adding, move.removing) for key, move in copied.items()
        }

    def broker_configs(self, ids: Collection[int], names: Collection[str]) -> dict[int, Settings]:
        """Return dynamic configs by broker id, with the changes that were accepted. A broker that does not answer is absent."""
        if unknown := set(ids) - self._brokers.keys():
            self._brokers |= self._cluster.broker_configs(unknown, names)
        return {broker: dict(self._brokers[broker]) for broker in ids if broker in self._brokers}

    def topic_configs_of(self, topics: Collection[str], names: Collection[str]) -> dict[str, Settings]:
        """Return configs by topic, with the changes that were accepted. A topic that does not exist is absent.

        Raises ClusterError if the configs of all topics that were read so far exceed `limits.CONFIGS_BYTES`.
        """
        if unknown := set(topics) - self._topics.keys():
            found = self._cluster.topic_configs_of(unknown, names)
            for topic, settings in found.items():
                self._budget.add(topic, settings, names)
            self._topics |= found
        return {topic: dict(self._topics[topic]) for topic in topics if topic in self._topics}

    def alter_configs(self, changes: Iterable[ConfigOperation], validate_only: bool = True) -> dict[Resource, Refusal | None]:
        """Validate the changes on the cluster, and show those that it would accept in later reads. Nothing on the cluster changes.

        Returns the refusal of each resource, None if there is none; a broker that does not answer is absent. `validate_only` has no effect.
        """
        wanted = list(changes)
        # Removing an accepted change needs no other permission, so it is not validated: a run of many moves needs half the requests.
        undone = {change.resource for change in wanted if change.operation in (DELETE, SUBTRACT)} & self._accepted
        to_validate = [change for change in wanted if change.resource not in undone or change.operation in (SET, APPEND)]
        answers = dict.fromkeys(undone) | (self._cluster.alter_configs(to_validate, validate_only=True) if to_validate else {})
        self._accepted |= {resource for resource, refusal in answers.items() if refusal is None}
        for change in wanted:
            if answers.get(change.resource, Refusal("", None)) is None:
                self._remember(change)
        return answers

    def _remember(self, change: ConfigOperation) -> None:
        kind, name = change.resource
        if name == ALL_BROKERS:
            return  # not read here
        settings = self._topics.get(name) if kind == TOPIC else self._brokers.get(int(name))
        if settings is None:
            return  # never read
        if change.operation == DELETE:
            settings.pop(change.config, None)
            return
        value = change.value or ""
        if change.operation != SET:
            given = value.split(",")
            present = [entry for entry in settings[change.config].value.split(",") if entry] if change.config in settings else []
            kept = [entry for entry in present if entry not in given]
            value = ",".join([*present, *(entry for entry in given if entry not in present)] if change.operation == APPEND else kept)
        settings[change.config] = Setting(value, OF_BROKER if kind == BROKER else OF_TOPIC)
