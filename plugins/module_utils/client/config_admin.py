# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ConfigAdmin: a cluster whose dynamic configs can be read and changed.

A broker serves only its own configs, so each broker gets its own requests. The configs of a dead broker can be changed only on the
controllers' listener (KIP-919), and cannot be read. Librdkafka would fetch all configs of each resource, and log in at any address that
a broker names (docs/contributing.md), so it is not used here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import partial

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import unanswered_requests
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.config_memory import ConfigBudget
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.controllers import Controllers
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import (
    CLIENT_IMPORT_ERROR,
    REQUEST_LIMIT,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import AnswerError, ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import kafka_errors
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import (
    ALL_BROKERS,
    BROKER,
    DELETE,
    TOPIC,
    ConfigOperation,
    Refusal,
    Resource,
    Settings,
    by_resource,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import chunks

if CLIENT_IMPORT_ERROR is None:
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import configs

# The controller writes the changes of a request as one batch of at most 8 MB, with each changed list as a whole: two of up to 32 kB per topic.
TOPICS_PER_CHANGE = 100


class ConfigAdmin(Cluster):
    """A cluster whose dynamic configs (KIP-226) can be read and changed.

    `configs_in_doubt`: the brokers, by topic or broker, that got a change of its configs and never answered it: one that hangs may still execute it, long
    afterwards.
    """

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.configs_in_doubt: dict[Resource, set[int]] = {}

    def broker_configs(self, ids: Collection[int], names: Collection[str]) -> dict[int, Settings]:
        """Return the dynamic configs among `names` of each of these brokers. Brokers that do not answer are absent; `unreachable` says why.

        ClusterError for a broker that refuses, AnswerError for one whose answer has no configs of its own.
        """
        requests = {broker: [configs.describe([_broker(broker)], names)] for broker in sorted(ids)}
        by_broker = {}
        for broker, answers in self._ask_each(requests).items():
            for settings in (configs.read_described(answer, [_broker(broker)], names).get(_broker(broker)) for answer in answers):
                if settings is None:
                    raise AnswerError(f"broker {broker} answers a request for its configs without them")
                if isinstance(settings, Refusal):
                    raise ClusterError(
                        f"the configs of broker {broker} cannot be described: {settings}; grant DESCRIBE_CONFIGS on the cluster"
                    )
                by_broker[broker] = settings
        return by_broker

    def default_broker_configs(self, names: Collection[str]) -> Settings:
        """Return the dynamic configs among `names` that are set for all brokers at once. ClusterError if this client may not read them."""
        every = Resource(BROKER, ALL_BROKERS)
        settings = configs.read_described(self._ask(partial(configs.describe, [every], names)), [every], names).get(every, {})
        if isinstance(settings, Refusal):
            raise ClusterError(f"the configs of all brokers cannot be described: {settings}; grant DESCRIBE_CONFIGS on the cluster")
        return settings

    def topic_configs_of(self, topics: Collection[str], names: Collection[str]) -> dict[str, Settings]:
        """Return the dynamic configs among `names` of each of these topics. Topics that the cluster does not have are absent.

        ClusterError for a topic whose configs this client may not read, and if all of them together exceed limits.CONFIGS_BYTES.
        """
        by_topic: dict[str, Settings] = {}
        budget = ConfigBudget()
        for chunk in chunks(sorted(topics), REQUEST_LIMIT):
            resources = [Resource(TOPIC, topic) for topic in chunk]
            answer = self._ask(partial(configs.describe, resources, names))
            for resource, settings in configs.read_described(answer, resources, names).items():
                if not isinstance(settings, Refusal):
                    by_topic[resource.name] = settings
                    budget.add(resource.name, settings, names)
                elif settings.error != kafka_errors.UNKNOWN_TOPIC_OR_PARTITION:
                    raise ClusterError(
                        f"the configs of topic {resource.name} cannot be described: {settings}; grant DESCRIBE_CONFIGS on the topic"
                    )
        return by_topic

    def alter_configs(self, changes: Iterable[ConfigOperation], validate_only: bool = False) -> dict[Resource, Refusal | None]:
        """Change configs (KIP-339). Return Kafka's refusal (None: changed) by resource. `validate_only`: Kafka only checks the changes.

        Brokers whose change neither they nor a controller answered are absent; a broker that hangs may still execute its change.
        ClusterError if no broker answers for the topics, or for what is set for all brokers at once. What is deleted there was read right before: others may
        have set it again when a broker has not answered, so no second broker gets a deletion.
        """
        grouped = by_resource(changes)
        results: dict[Resource, Refusal | None] = {}
        brokers = {int(resource.name): own for resource, own in grouped.items() if resource.kind == BROKER and resource.name != ALL_BROKERS}
        live = {broker: [configs.alter(own, validate_only)] for broker, own in brokers.items() if broker in self._unfenced()}
        for broker, found in self._ask_each(live, partial(configs.read_altered, requested=[_broker(broker) for broker in brokers])).items():
            results |= {resource: refusal for answers in found for resource, refusal in answers.items() if resource == _broker(broker)}
        for broker, (request,) in live.items() if not validate_only else ():
            is_answered = _broker(broker) in results and not unanswered_requests.timed_out(results[_broker(broker)])
            if not is_answered and unanswered_requests.unanswered([(broker, request)], None):
                self._doubt([_broker(broker)], {broker})
        silent = [change for broker, own in brokers.items() if _broker(broker) not in results for change in own]
        if silent and self._connection.controller_bootstrap_servers:
            results |= self._alter_on_controller(silent, validate_only)
        of_any_broker = [resource for resource in grouped if resource.kind == TOPIC or resource.name == ALL_BROKERS]
        for chunk in chunks(of_any_broker, TOPICS_PER_CHANGE):
            request = partial(configs.alter, [change for resource in chunk for change in grouped[resource]], validate_only)
            doubted = [] if validate_only else chunk
            deletes = any(change.operation == DELETE for resource in chunk for change in grouped[resource])
            node, answer = self._send_write_to(request, partial(self._doubt, doubted), once=deletes and not validate_only)
            try:
                altered = configs.read_altered(answer, chunk)
            except AnswerError:
                self._doubt(doubted, {node})
                raise
            self._doubt([resource for resource in doubted if unanswered_requests.timed_out(altered.get(resource))], {node})
            results |= altered
        return results

    def _doubt(self, resources: Collection[Resource], brokers: set[int]) -> None:
        for resource in resources:
            self.configs_in_doubt[resource] = {*self.configs_in_doubt.get(resource, ()), *brokers}

    def _alter_on_controller(self, changes: Sequence[ConfigOperation], validate_only: bool) -> dict[Resource, Refusal | None]:
        """Send changes of unreachable brokers to the active controller (KIP-919). Return no results if no controller answers."""
        try:
            with Controllers(self._connection) as controllers:
                node, _epoch = controllers.active()
                answer = controllers.ask(node, partial(configs.alter, changes, validate_only))
                return configs.read_altered(answer, {change.resource for change in changes})
        except ClusterError as error:
            self.unreachable |= {int(change.resource.name): str(error) for change in changes}
            return {}


def _broker(broker: int) -> Resource:
    return Resource(BROKER, str(broker))
