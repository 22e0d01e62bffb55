# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Configured: a cluster whose dynamic configs can be read and changed.

A broker answers for its own configs alone, so each is asked and told by itself. What a dead broker is left with can only be changed on the
controllers' listener (KIP-919), and is read nowhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import partial

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import REQUEST_LIMIT, Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.config_memory import ConfigBudget
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.controllers import Controllers
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import CLIENT_IMPORT_ERROR
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import AnswerError, ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import (
    BROKER,
    TOPIC,
    Change,
    Refusal,
    Resource,
    Settings,
    by_resource,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import chunks

if CLIENT_IMPORT_ERROR is None:
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import configs

UNKNOWN_TOPIC = "UNKNOWN_TOPIC_OR_PARTITION"
# The controller writes the changes of a request as one batch of at most 8 MB, in it each changed list as a whole: two of up to 32 kB per topic.
TOPICS_PER_CHANGE = 100


class ConfigAdmin(Cluster):
    """A cluster with its dynamic configs."""

    def broker_configs(self, ids: Collection[int], names: Collection[str]) -> dict[int, Settings]:
        """The dynamic ones of the configs `names` on each of these brokers. Absent are those that do not answer; `unreachable` says why.

        ClusterError for a broker that refuses to tell.
        """
        asked = {broker: [configs.describe([_broker(broker)], names)] for broker in sorted(ids)}
        found = {}
        for broker, answers in self._ask_each(asked).items():
            for told in (configs.read_described(answer, [_broker(broker)], names).get(_broker(broker)) for answer in answers):
                if told is None:
                    raise AnswerError(f"broker {broker} was asked about its configs and does not name them")
                if isinstance(told, Refusal):
                    raise ClusterError(f"the configs of broker {broker} cannot be described: {told}; grant DESCRIBE_CONFIGS on the cluster")
                found[broker] = told
        return found

    def topic_configs_of(self, topics: Collection[str], names: Collection[str]) -> dict[str, Settings]:
        """The dynamic ones of the configs `names` of each of these topics. Absent are topics that the cluster does not have.

        ClusterError for a topic whose configs this client may not see, and if all of them exceed bounds.CONFIGS_BYTES.
        """
        found: dict[str, Settings] = {}
        budget = ConfigBudget()
        for chunk in chunks(sorted(topics), REQUEST_LIMIT):
            resources = [Resource(TOPIC, topic) for topic in chunk]
            answer = self._ask(partial(configs.describe, resources, names))
            for resource, told in configs.read_described(answer, resources, names).items():
                if not isinstance(told, Refusal):
                    found[resource.name] = told
                    budget.add(resource.name, told, names)
                elif told.error != UNKNOWN_TOPIC:
                    raise ClusterError(
                        f"the configs of topic {resource.name} cannot be described: {told}; grant DESCRIBE_CONFIGS on the topic"
                    )
        return found

    def alter_configs(self, changes: Iterable[Change], validate_only: bool = False) -> dict[Resource, Refusal | None]:
        """Change configs. Returns by resource why it was not changed, None where it was. `validate_only`: nothing is changed, only judged.

        Absent are brokers that do not answer, and whose configs the controllers cannot be told of either; a broker that hangs may still
        carry its change out. ClusterError where no broker answers for the topics.
        """
        grouped = by_resource(changes)
        told: dict[Resource, Refusal | None] = {}
        brokers = {int(resource.name): own for resource, own in grouped.items() if resource.kind == BROKER}
        live = {broker: [configs.alter(own, validate_only)] for broker, own in brokers.items() if broker in self._unfenced()}
        for answers in self._ask_each(live).values():
            for answer in answers:
                told |= configs.read_altered(answer)
        silent = [change for broker, own in brokers.items() if _broker(broker) not in told for change in own]
        if silent and self._connection.controller_bootstrap_servers:
            told |= self._through_controller(silent, validate_only)
        topics = [resource for resource in grouped if resource.kind == TOPIC]
        for chunk in chunks(topics, TOPICS_PER_CHANGE):
            answer = self._send_write(partial(configs.alter, [change for resource in chunk for change in grouped[resource]], validate_only))
            told |= configs.read_altered(answer)
        return told

    def _through_controller(self, changes: Sequence[Change], validate_only: bool) -> dict[Resource, Refusal | None]:
        """Changes of brokers that are not there, told to the active controller. Nothing where none answers: the brokers stay unanswered for."""
        try:
            with Controllers(self._connection) as controllers:
                node, _epoch = controllers.active()
                return configs.read_altered(controllers.ask(node, partial(configs.alter, changes, validate_only)))
        except ClusterError as error:
            self.unreachable |= {int(change.resource.name): str(error) for change in changes}
            return {}


def _broker(broker: int) -> Resource:
    return Resource(BROKER, str(broker))
