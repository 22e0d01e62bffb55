# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages about configs: what goes over the wire says what the protocol guide says, and answers come back as plain data."""

from __future__ import annotations

from typing import Any

import pytest
from kafka.protocol.admin import (
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import configs as config_protocol
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
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.topic_configs import TopicConfig

ONE, ORDERS = Resource(BROKER, "1"), Resource(TOPIC, "orders")
KINDS = {TOPIC: 2, BROKER: 4}


def config(name: str, value: str | None, source: int) -> Any:
    kind = DescribeConfigsResponse.DescribeConfigsResult.DescribeConfigsResourceResult
    return kind(name=name, value=value, read_only=False, config_source=source, is_sensitive=False, synonyms=[], config_type=0)


def described(resource: Resource, configs: list[Any], error: int = 0) -> Any:
    kind = DescribeConfigsResponse.DescribeConfigsResult
    return kind(error_code=error, error_message=None, resource_type=KINDS[resource.kind], resource_name=resource.name, configs=configs)


@pytest.mark.parametrize("version", [1, 4])
def test_the_named_configs_of_each_resource_are_asked_for(version: int) -> None:
    request = config_protocol.describe([ONE, ORDERS], ["a", "b"])
    again = DescribeConfigsRequest.decode(bytes(request.encode(version=version)), version=version)
    assert [(row.resource_type, row.resource_name, list(row.configuration_keys)) for row in again.resources] == [
        (4, "1", ["a", "b"]),
        (2, "orders", ["a", "b"]),
    ]


@pytest.mark.parametrize("version", [1, 4])
def test_only_dynamic_configs_are_read_with_their_source(version: int) -> None:
    answer = DescribeConfigsResponse(
        throttle_time_ms=0,
        results=[
            described(ONE, [config("own", "1", 2), config("all", "2", 3), config("file", "3", 4), config("default", "4", 5)]),
            described(ORDERS, [config("list", "", 1), config("secret", None, 1), config("other", "5", 1)]),
            described(Resource(TOPIC, "other"), [config("own", "6", 1)]),
            described(Resource(TOPIC, "nowhere"), [], error=3),
        ],
    )
    again = DescribeConfigsResponse.decode(bytes(answer.encode(version=version)), version=version)
    wanted = [ONE, ORDERS, Resource(TOPIC, "nowhere")]
    assert config_protocol.read_described(again, wanted, ["own", "all", "file", "default", "list", "secret"]) == {
        ONE: {"own": Setting("1", OF_BROKER), "all": Setting("2", OF_ALL_BROKERS)},
        ORDERS: {"list": Setting("", OF_TOPIC)},
        Resource(TOPIC, "nowhere"): Refusal("UNKNOWN_TOPIC_OR_PARTITION", None),
    }


@pytest.mark.parametrize("version", [0, 1])
def test_changes_of_one_resource_go_together(version: int) -> None:
    changes = [
        ConfigOperation(ONE, "rate", SET, "9"),
        ConfigOperation(ORDERS, "l", APPEND, "0:1"),
        ConfigOperation(ONE, "old", DELETE),
        ConfigOperation(ORDERS, "f", SUBTRACT, "1:1"),
    ]
    request = config_protocol.alter(changes)
    again = IncrementalAlterConfigsRequest.decode(bytes(request.encode(version=version)), version=version)
    assert not again.validate_only
    assert [
        (row.resource_type, row.resource_name, [(each.name, each.config_operation, each.value) for each in row.configs])
        for row in again.resources
    ] == [(4, "1", [("rate", 0, "9"), ("old", 1, None)]), (2, "orders", [("l", 2, "0:1"), ("f", 3, "1:1")])]


@pytest.mark.parametrize("version", [0, 1])
def test_what_was_not_changed_comes_back_with_the_reason(version: int) -> None:
    kind = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
    answer = IncrementalAlterConfigsResponse(
        throttle_time_ms=0,
        responses=[
            kind(error_code=0, error_message=None, resource_type=4, resource_name="1"),
            kind(error_code=40, error_message="no such list", resource_type=2, resource_name="orders"),
        ],
    )
    again = IncrementalAlterConfigsResponse.decode(bytes(answer.encode(version=version)), version=version)
    assert config_protocol.read_altered(again, [ORDERS, ONE]) == {ONE: None, ORDERS: Refusal("INVALID_CONFIG", "no such list")}
    assert config_protocol.read_altered(again, [ORDERS]).keys() == {ORDERS}, "a broker cannot answer for another one"
    again.responses[1].error_message = "x" * 100_000
    assert config_protocol.read_altered(again, [ORDERS])[ORDERS] == Refusal("INVALID_CONFIG", "x" * 299 + "…")
    assert str(Refusal("INVALID_CONFIG", "no such list")) == "INVALID_CONFIG: no such list" and str(ORDERS) == "topic orders"


def test_topics_are_asked_for_four_configs_and_no_more() -> None:
    again = DescribeConfigsRequest.decode(bytes(config_protocol.describe_topics(["a", "b"]).encode(version=4)), version=4)
    names = ["min.insync.replicas", "unclean.leader.election.enable", "cleanup.policy", "remote.storage.enable"]
    assert [(row.resource_type, row.resource_name, row.configuration_keys) for row in again.resources] == [(2, "a", names), (2, "b", names)]
    assert (again.include_synonyms, again.include_documentation) == (False, False)


def test_topic_configs_come_back_by_topic_and_refusals_by_name() -> None:
    kind = DescribeConfigsResponse.DescribeConfigsResult
    value = kind.DescribeConfigsResourceResult(name="min.insync.replicas", value="2")
    answer = DescribeConfigsResponse(
        results=[kind(error_code=0, resource_name="a", configs=[value]), kind(error_code=29, resource_name="b", configs=[])]
    )
    found = config_protocol.read_topics(answer)
    assert found.found == {"a": TopicConfig(2, None)}
    assert found.refused == {"b": "TOPIC_AUTHORIZATION_FAILED"}
