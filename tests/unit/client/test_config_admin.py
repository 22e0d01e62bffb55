# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Configs of a cluster: whom each question and each change goes to, and what becomes of those without an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, ClassVar

import pytest
from kafka.protocol.admin import DescribeConfigsResponse, IncrementalAlterConfigsResponse

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import config_admin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.config_admin import TOPICS_PER_CHANGE, ConfigAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import limits
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import AnswerError, ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import (
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
)

UNKNOWN, FORBIDDEN = 3, 29


def answered(request: Any, errors: Mapping[str, int]) -> Any:
    """What Kafka answers: each config has its own name as its value."""
    if request.name.startswith("IncrementalAlterConfigs"):
        kind: Any = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
        rows = [
            kind(
                error_code=errors.get(row.resource_name, 0),
                error_message=None,
                resource_type=row.resource_type,
                resource_name=row.resource_name,
            )
            for row in request.resources
        ]
        return IncrementalAlterConfigsResponse(throttle_time_ms=0, responses=rows)
    kind = DescribeConfigsResponse.DescribeConfigsResult
    rows = [
        kind(
            error_code=errors.get(row.resource_name, 0),
            error_message=None,
            resource_type=row.resource_type,
            resource_name=row.resource_name,
            configs=[
                kind.DescribeConfigsResourceResult(name=name, value=name, config_source=row.resource_type // 2, synonyms=[])
                for name in row.configuration_keys
            ],
        )
        for row in request.resources
    ]
    return DescribeConfigsResponse(throttle_time_ms=0, results=rows)


class FakeAdmin(ConfigAdmin):
    """Brokers 1 and 2 answer, 3 is unfenced and silent, 4 is fenced. `asked`: the resources of each request, with whom it went to."""

    def __init__(self, *controllers: str, **errors: int) -> None:
        self._connection = Connection(bootstrap_servers=("localhost:1",), controller_bootstrap_servers=controllers)
        self.errors = {name.removeprefix("_"): error for name, error in errors.items()}
        self.asked: list[tuple[Any, list[str]]] = []
        self.unreachable: dict[Any, str] = {}
        self.configs_in_doubt: dict[Resource, set[int]] = {}
        self.more_rows: list[tuple[int, str]] = []
        self.sent_once: list[bool] = []

    def _unfenced(self) -> set[int]:
        return {1, 2, 3}

    def _answer(self, to: Any, request: Any) -> Any:
        self.asked.append((to, [row.resource_name for row in request.resources]))
        answer = answered(request, self.errors)
        if self.more_rows:
            kind: Any = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
            rows = [kind(error_code=0, error_message=None, resource_type=one, resource_name=name) for one, name in self.more_rows]
            answer.responses = [*answer.responses, *rows]
        return answer

    def _ask_each(
        self, work: Mapping[Any, Iterable[Any]], read: Any = None, kept: Any = None, row_bytes: Any = None
    ) -> dict[Any, list[Any]]:
        found: dict[Any, list[Any]] = {}
        for node, requests in work.items():
            found[node] = []
            for request in requests:
                request.API_VERSION = 1  # it is written
                answers = [self._answer(node, request)] if node < 3 else []
                with suppress(AnswerError):
                    found[node] += [read(answer) if read else answer for answer in answers]
        return found

    def _ask(self, make: Callable[[], Any], hedge_after: float = 0.0, at_most: int | None = None) -> Any:
        return self._answer("any", make())

    def _send_write_to(
        self, make: Callable[[], Any], not_answered: Any = None, once: bool = False, written_by: float | None = None
    ) -> tuple[int, Any]:
        self.sent_once.append(once)
        return 2, self._answer("any", make())


def rate(broker: int) -> ConfigOperation:
    return ConfigOperation(Resource(BROKER, str(broker)), "rate", SET, "1")


def test_a_broker_does_not_answer_for_another_one() -> None:
    cluster = FakeAdmin()
    cluster.more_rows = [(4, "3"), (2, "others")]
    changes = [rate(2), rate(3), ConfigOperation(Resource(TOPIC, "t"), "list", APPEND, "0:1")]
    assert cluster.alter_configs(changes) == {Resource(BROKER, "2"): None, Resource(TOPIC, "t"): None}


@pytest.mark.parametrize(("error", "in_doubt"), [(7, {Resource(TOPIC, "t"): {2}}), (FORBIDDEN, {})], ids=["timed out", "refused"])
def test_a_change_of_a_topic_that_times_out_may_still_be_carried_out(error: int, in_doubt: dict[Resource, set[int]]) -> None:
    cluster = FakeAdmin(t=error)
    change = ConfigOperation(Resource(TOPIC, "t"), "list", APPEND, "0:1")
    cluster.alter_configs([change], validate_only=True)
    assert cluster.configs_in_doubt == {}
    cluster.alter_configs([change])
    assert cluster.configs_in_doubt == in_doubt


@pytest.mark.parametrize("controllers", [(), ("localhost:2",)], ids=["brokers alone", "the controller changes it, too"])
def test_a_change_that_its_broker_does_not_answer_may_still_be_carried_out(
    controllers: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = FakeAdmin(*controllers, _2=7)
    monkeypatch.setattr(cluster, "_alter_on_controller", lambda changes, _only: {change.resource: None for change in changes})
    cluster.alter_configs([rate(1), rate(2), rate(3), rate(4)], validate_only=True)
    assert cluster.configs_in_doubt == {}
    cluster.alter_configs([rate(1), rate(2), rate(3), rate(4)])
    assert cluster.configs_in_doubt == {Resource(BROKER, "2"): {2}, Resource(BROKER, "3"): {3}}, "4 is fenced, and has not got it"


@pytest.mark.parametrize("changes", [[1, 3], ["t"]], ids=["of brokers", "of a topic"])
def test_an_answer_that_cannot_be_read_leaves_the_change_in_doubt(changes: list[Any]) -> None:
    cluster = FakeAdmin()
    cluster.more_rows = [(9, "x")]
    wanted = [rate(one) if isinstance(one, int) else ConfigOperation(Resource(TOPIC, one), "list", APPEND, "0:1") for one in changes]
    with suppress(AnswerError):
        cluster.alter_configs(wanted)
    own = {Resource(TOPIC, "t"): {2}} if changes == ["t"] else {Resource(BROKER, "1"): {1}, Resource(BROKER, "3"): {3}}
    assert cluster.configs_in_doubt == own


@pytest.mark.parametrize(("operation", "is_once"), [(APPEND, False), (SUBTRACT, False), (DELETE, True)])
def test_a_deletion_of_a_list_is_sent_to_one_broker_only(operation: str, is_once: bool) -> None:
    """Others may add entries while a first broker does not answer: a second one would delete them. Entries that are added or removed harm no others."""
    cluster = FakeAdmin()
    change = ConfigOperation(Resource(TOPIC, "t"), "list", operation, None if operation == DELETE else "0:1")
    cluster.alter_configs([change])
    cluster.alter_configs([change], validate_only=True)
    assert cluster.sent_once == [is_once, False]


def test_a_broker_that_never_got_a_change_is_not_in_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = FakeAdmin()
    monkeypatch.setattr(cluster, "_ask_each", lambda work, *_: {node: [] for node in work})
    assert cluster.alter_configs([rate(3)]) == {}
    assert cluster.configs_in_doubt == {}


def test_each_broker_is_asked_for_its_own_configs() -> None:
    cluster = FakeAdmin()
    setting = {"a": Setting("a", OF_BROKER)}
    assert cluster.broker_configs({1, 2, 3}, ["a"]) == {1: setting, 2: setting}
    assert cluster.asked == [(1, ["1"]), (2, ["2"])]


def test_topics_that_are_not_there_are_absent_and_those_that_may_not_be_seen_are_an_error() -> None:
    assert FakeAdmin(gone=UNKNOWN).topic_configs_of(["here", "gone"], ["a"]) == {"here": {"a": Setting("a", OF_TOPIC)}}
    with pytest.raises(
        ClusterError, match="the configs of topic here cannot be described: TOPIC_AUTHORIZATION_FAILED; grant DESCRIBE_CONFIGS"
    ):
        FakeAdmin(here=FORBIDDEN).topic_configs_of(["here"], ["a"])
    with pytest.raises(ClusterError, match=r"the configs of broker 1 cannot be described: .*; grant DESCRIBE_CONFIGS on the cluster"):
        FakeAdmin(_1=31).broker_configs({1}, ["a"])


def test_configs_of_topics_take_a_bounded_part_of_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CONFIGS_BYTES", 1 << 20)
    topics = [f"t{number}" for number in range(2000)]
    assert len(FakeAdmin().topic_configs_of(topics, ["a"])) == len(topics)
    with pytest.raises(ClusterError, match=r"^xxx.* of 7[0-9]+ topics take more than 1 MiB; .*topic t[0-9]+ .*kafka-configs.sh"):
        FakeAdmin().topic_configs_of(topics, ["x" * 1000])


def test_configs_of_a_broker_go_to_that_broker_and_those_of_topics_to_any() -> None:
    cluster = FakeAdmin(gone=UNKNOWN)
    topics = [ConfigOperation(Resource(TOPIC, name), "list", APPEND, "0:1") for name in ("t", "gone")]
    reported = cluster.alter_configs([rate(1), *topics, rate(2), ConfigOperation(Resource(BROKER, "1"), "other", DELETE)])
    assert reported == {
        rate(1).resource: None,
        rate(2).resource: None,
        topics[0].resource: None,
        topics[1].resource: Refusal("UNKNOWN_TOPIC_OR_PARTITION", None),
    }
    assert cluster.asked == [(1, ["1"]), (2, ["2"]), ("any", ["t", "gone"])]


def test_brokers_that_are_silent_or_fenced_are_absent() -> None:
    cluster = FakeAdmin()
    assert cluster.alter_configs([rate(1), rate(3), rate(4)]) == {rate(1).resource: None}
    assert cluster.asked == [(1, ["1"])], "no other broker passes it on"


def test_changes_of_many_topics_are_split_into_requests_that_the_controller_can_write_at_once() -> None:
    cluster = FakeAdmin()
    changes = [ConfigOperation(Resource(TOPIC, f"t{number}"), "list", APPEND, "0:1") for number in range(2 * TOPICS_PER_CHANGE + 1)]
    assert len(cluster.alter_configs(changes)) == len(changes)
    assert [len(names) for _, names in cluster.asked] == [TOPICS_PER_CHANGE, TOPICS_PER_CHANGE, 1]


class Active:
    """The controllers, of which one is active."""

    received: ClassVar[list[str]] = []

    def __init__(self, connection: Connection) -> None:
        assert connection.controller_bootstrap_servers

    def __enter__(self) -> Active:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def active(self) -> tuple[str, None]:
        return "101", None

    def ask(self, node: str, make: Callable[[], Any]) -> Any:
        request = make()
        self.received.extend(row.resource_name for row in request.resources)
        return answered(request, {})


def test_the_active_controller_gets_the_configs_of_brokers_that_do_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config_admin, "Controllers", Active)
    monkeypatch.setattr(Active, "received", [])
    reported = FakeAdmin("localhost:2").alter_configs([rate(1), rate(3), rate(4)])
    assert reported == dict.fromkeys(rate(broker).resource for broker in (1, 3, 4))
    assert Active.received == ["3", "4"]


def test_without_an_active_controller_they_stay_unanswered_for(monkeypatch: pytest.MonkeyPatch) -> None:
    class Passive(Active):
        def active(self) -> tuple[str, None]:
            raise ClusterError("none of them is the active controller")

    monkeypatch.setattr(config_admin, "Controllers", Passive)
    cluster = FakeAdmin("localhost:2")
    assert cluster.alter_configs([rate(1), rate(4)]) == {rate(1).resource: None}
    assert cluster.unreachable == {4: "none of them is the active controller"}


def test_changes_that_are_only_to_be_judged_are_never_made(monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[Any] = []

    def judged(request: Any, errors: Mapping[str, int]) -> Any:
        requests.append(request)
        return answered(request, errors)

    monkeypatch.setattr(config_admin, "Controllers", Active)
    cluster = FakeAdmin("localhost:2")
    monkeypatch.setattr(cluster, "_answer", lambda to, request: judged(request, {}))
    monkeypatch.setattr(Active, "ask", lambda self, node, make: judged(make(), {}))
    changes = [rate(1), rate(4), ConfigOperation(Resource(TOPIC, "t"), "list", APPEND, "0:1")]
    assert cluster.alter_configs(changes, validate_only=True) == dict.fromkeys(change.resource for change in changes)
    assert len(requests) == 3 and all(request.validate_only for request in requests)
