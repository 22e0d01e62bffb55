# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build and read DescribeConfigs and IncrementalAlterConfigs (KIP-339). Pure: no I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import Any

with suppress(ImportError):  # optional_imports.py says why
    from kafka.protocol.admin import DescribeConfigsRequest, IncrementalAlterConfigsRequest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.error_codes import error_name, refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import AnswerError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import (
    APPEND,
    BROKER,
    DELETE,
    OF_ALL_BROKERS,
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
    by_resource,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.topic_configs import NAMES, TopicConfigs, parse

KINDS = {TOPIC: 2, BROKER: 4}
OPERATIONS = {SET: 0, DELETE: 1, APPEND: 2, SUBTRACT: 3}
SOURCES = {1: OF_TOPIC, 2: OF_BROKER, 3: OF_ALL_BROKERS}  # the others come from files, or are defaults
_NAMES = {number: kind for kind, number in KINDS.items()}


def describe(resources: Iterable[Resource], names: Collection[str]) -> DescribeConfigsRequest:
    """Build a request for the configs `names` of these resources. A broker describes no other broker's configs."""
    kind = DescribeConfigsRequest.DescribeConfigsResource
    return DescribeConfigsRequest(
        resources=[
            kind(resource_type=KINDS[resource.kind], resource_name=resource.name, configuration_keys=list(names)) for resource in resources
        ],
        include_synonyms=False,
        include_documentation=False,
    )


def read_described(answer: Any, resources: Iterable[Resource], names: Collection[str]) -> dict[Resource, Settings | Refusal]:
    """Return the dynamic configs among `names` of each of these resources, by config name, or Kafka's refusal.

    Resources and configs that were not requested are dropped. AnswerError for an unknown type of resource.
    """
    requested = {resource: resource for resource in resources}
    own_names = {name: name for name in names}
    described: dict[Resource, Settings | Refusal] = {}
    for row in answer.results:
        resource = requested.get(_resource(answer, row))
        if resource is not None:
            described[resource] = refusal(row.error_code, row.error_message) or {
                own_names[config.name]: Setting(config.value, SOURCES[config.config_source])
                for config in row.configs
                if config.name in own_names and config.config_source in SOURCES and config.value is not None
            }
    return described


def describe_topics(topics: Iterable[str]) -> DescribeConfigsRequest:
    """Build a request for the effective configs `topic_configs.NAMES` of these topics. The default is the cluster's or the answering broker's."""
    return describe([Resource(TOPIC, topic) for topic in topics], NAMES)


def read_topics(answer: Any) -> TopicConfigs:
    """Return the configs by topic, and the errors of topics without any."""
    return TopicConfigs(
        {row.resource_name: parse({config.name: config.value for config in row.configs}) for row in answer.results if not row.error_code},
        {row.resource_name: error for row in answer.results if (error := error_name(row.error_code))},
    )


def alter(changes: Iterable[ConfigOperation], validate_only: bool = False) -> IncrementalAlterConfigsRequest:
    """Build a request for these changes, each resource named once. A broker does not forward changes of another broker's configs.

    `validate_only`: Kafka checks permissions, values and policies, and changes nothing.
    """
    kind = IncrementalAlterConfigsRequest.AlterConfigsResource
    return IncrementalAlterConfigsRequest(
        resources=[
            kind(
                resource_type=KINDS[resource.kind],
                resource_name=resource.name,
                configs=[
                    kind.AlterableConfig(name=change.config, config_operation=OPERATIONS[change.operation], value=change.value)
                    for change in own
                ],
            )
            for resource, own in by_resource(changes).items()
        ],
        validate_only=validate_only,
    )


def read_altered(answer: Any, requested: Collection[Resource]) -> dict[Resource, Refusal | None]:
    """Return Kafka's refusal of each of the `requested` resources, None if it was changed. AnswerError for an unknown type of resource."""
    found = {_resource(answer, row): refusal(row.error_code, row.error_message) for row in answer.responses}
    return {resource: found[resource] for resource in requested if resource in found}


def _resource(answer: Any, row: Any) -> Resource:
    if row.resource_type not in _NAMES:
        raise AnswerError(f"{answer.name} names a resource of type {row.resource_type}, which was not requested")
    return Resource(_NAMES[row.resource_type], row.resource_name)
