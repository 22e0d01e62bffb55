# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""KIP-460's elections beside Kafka's own tool: on identical partitions both elect the same leaders and report the same errors."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from integration.damaged import ELECTIONS, NOBODY, UNSAVED
from integration.requestlog import RequestLog
from integration.secured import ALTER, DESCRIBE, READ, SCRAM, USER, Fortress
from integration.support import Answer, Operator, by_partition, run_module

from rig import KafkaCluster, NewTopic, TopicPartition, stock

MODULE = "kafka_leader_election"
NOT_NEEDED, UNKNOWN, FORBIDDEN = "ELECTION_NOT_NEEDED", "UNKNOWN_TOPIC_OR_PARTITION", "CLUSTER_AUTHORIZATION_FAILED"
NOT_PREFERRED, NOT_ELIGIBLE = "PREFERRED_LEADER_NOT_AVAILABLE", "ELIGIBLE_LEADERS_NOT_AVAILABLE"
Errors = dict[TopicPartition, str | None]


def named(keys: Iterable[TopicPartition]) -> list[dict[str, Any]]:
    """The option `partitions`, and what KIP-460's file holds."""
    return [{"topic": topic, "partition": partition} for topic, partition in keys]


def elect(operator: Operator, election_type: str, check: bool = False, **params: Any) -> Answer:
    """Run the module, which may fail."""
    return run_module(MODULE, {**operator.connection, "election_type": election_type, "preview": 10_000, **params}, check)


def errors(answer: Answer) -> Errors:
    """Kafka's error name (None: elected, or would be) by partition."""
    return {key: row["error"] for key, row in by_partition(answer.result["results"]).items()}


def copies(keys: Iterable[TopicPartition], topic: str) -> list[TopicPartition]:
    """The same partitions, but of the copy of this topic."""
    return [(f"{name}-twin" if name == topic else name, partition) for name, partition in keys]


def twin(found: Errors) -> Errors:
    """The same of the copies."""
    return {(topic.removesuffix("-twin"), partition): error for (topic, partition), error in found.items()}


def leaders(operator: Operator, topic: str) -> list[int]:
    return [state.leader for state in operator.states(topic).values()]


def by_stock(cluster: KafkaCluster, file: Path, election_type: str, keys: Iterable[TopicPartition]) -> stock.Run:
    """Kafka's tool, with a file in KIP-460's form."""
    file.write_text(json.dumps({"partitions": named(keys)}))
    return stock.elect(cluster, "--election-type", election_type, "--path-to-json-file", str(file))


def create_led_by_others(cluster: KafkaCluster, assignments: Sequence[Sequence[int]], *topics: str) -> None:
    """Topics whose partition 0 is led by the second of its replicas, all others by the first that is alive."""
    cluster.create_topics([NewTopic(topic, [assignments[0][::-1], *assignments[1:]]) for topic in topics])
    cluster.reorder_replicas({(topic, 0): assignments[0] for topic in topics})
    cluster.wait_for_partitions(topics, lambda state: list(state.replicas) == list(assignments[state.partition]), "in the new order")


def test_preferred_elections_end_as_those_of_kafkas_tool(east: Operator, tmp_path: Path) -> None:
    cluster, ours, theirs = east.cluster, "preferred", "preferred-twin"
    create_led_by_others(cluster, [[3, 2, 1], [2, 3, 1], [1, 2, 3]], ours, theirs)
    wanted = [(ours, 0), (ours, 1), (ours, 2), (ours, 7), ("nowhere", 0)]
    expected = {wanted[0]: None, wanted[1]: NOT_NEEDED, wanted[2]: NOT_PREFERRED, wanted[3]: UNKNOWN, wanted[4]: UNKNOWN}
    before, log = east.states(ours), RequestLog(cluster)

    predicted = elect(east, "preferred", check=True, partitions=named(wanted))
    assert errors(predicted) == expected, predicted
    assert predicted.result["changed"] is True
    assert log.written() == {} and east.states(ours) == before

    answer = elect(east, "preferred", partitions=named(wanted))
    assert answer.returncode == 1 and answer.result["changed"] is True, answer
    assert answer.result["summary"] == {"failed": 3, "held": 0, "elected": 1, "already_online": 1}
    assert answer.result["errors"] == {NOT_NEEDED: 1, NOT_PREFERRED: 1, UNKNOWN: 2}
    assert answer.msg.startswith("3 of 5 partitions could not be elected; ")
    assert f"{ours}-2: {NOT_PREFERRED}: its preferred leader, broker 1, is not alive" in answer.msg
    assert {key: row["error_message"] for key, row in by_partition(answer.result["results"]).items() if row["error"] == NOT_PREFERRED} == {
        wanted[2]: "The preferred leader was not available."
    }
    assert "Kafka says: The preferred leader was not available." in answer.msg
    assert {key: (row["leader"], row["preferred_leader"]) for key, row in by_partition(answer.result["results"]).items()} == {
        wanted[0]: (3, 3), wanted[1]: (2, 2), wanted[2]: (2, 1), wanted[3]: (None, None), wanted[4]: (None, None),
    }  # fmt: skip

    run = by_stock(cluster, tmp_path / "wanted.json", "preferred", copies(wanted, ours))
    assert run.returncode == 1, run
    assert twin(run.errors) == errors(answer) == expected
    assert leaders(east, ours) == leaders(east, theirs) == [3, 2, 2]

    again = elect(east, "preferred", partitions_file=str(tmp_path / "wanted.json"))
    assert twin(errors(again)) == {**expected, wanted[0]: NOT_NEEDED}, "the file is KIP-460's, and the tool has elected"
    log = RequestLog(cluster)
    again = elect(east, "preferred", partitions=named(wanted[:2]))
    assert again.returncode == 0 and again.result["changed"] is False, again
    assert errors(again) == {wanted[0]: NOT_NEEDED, wanted[1]: NOT_NEEDED}
    assert log.written() == {}


def test_unclean_elections_end_as_those_of_kafkas_tool_and_touch_nothing_that_has_a_leader(east: Operator, tmp_path: Path) -> None:
    cluster, online = east.cluster, "elections.online"
    create_led_by_others(cluster, [[3, 2]], online)
    offline = [(ELECTIONS, number) for number in range(4)]
    others: Errors = {(online, 0): NOT_NEEDED, (NOBODY, 0): NOT_ELIGIBLE, (ELECTIONS, 9): UNKNOWN}
    wanted = [*offline, *others]
    before, log = east.states(ELECTIONS, online, NOBODY), RequestLog(cluster)

    held = elect(east, "unclean", partitions=named(offline))
    assert held.returncode == 0 and held.result["changed"] is False, held
    assert held.result["summary"] == {"failed": 0, "held": 4, "elected": 0, "already_online": 0}
    assert {row["reason_code"] for row in held.result["results"]} == {"data_loss_not_allowed"}
    given_up: dict[str, Any] = {"partitions": named(wanted), "allow_data_loss": True, "hold_unsaved": False}
    too_many = elect(east, "unclean", max_partitions=3, **given_up)
    assert "max_partitions: 4" in too_many.msg
    predicted = elect(east, "unclean", check=True, **given_up)
    assert log.written() == {} and east.states(ELECTIONS, online, NOBODY) == before

    answer = elect(east, "unclean", **given_up)
    assert answer.returncode == 1 and answer.result["changed"] is True, answer
    run = by_stock(cluster, tmp_path / "wanted.json", "unclean", copies(wanted, ELECTIONS))
    assert run.returncode == 1, run
    assert twin(run.errors) == errors(answer) == errors(predicted) == {**dict.fromkeys(offline), **others}
    assert [{**row, "error_message": None} for row in answer.result["results"]] == predicted.result["results"]
    assert {row["error_message"] for row in answer.result["results"] if row["error"] == NOT_ELIGIBLE} == {
        "Eligible topic partition leaders are not available."
    }
    after = east.states(ELECTIONS, online, NOBODY)
    assert (
        leaders(east, ELECTIONS) == leaders(east, f"{ELECTIONS}-twin") == [state.replicas[1] for state in east.states(ELECTIONS).values()]
    )
    assert {key: after[key] for key in others if key in after} == {key: before[key] for key in others if key in before}

    log = RequestLog(cluster)
    again = elect(east, "unclean", partitions=named(offline), allow_data_loss=True)
    assert again.returncode == 0 and again.result["changed"] is False, again
    assert set(errors(again).values()) == {NOT_NEEDED}
    assert log.written() == {}


def test_an_unclean_election_that_would_truncate_another_replica_is_held(east: Operator) -> None:
    truncating, harmless = [(UNSAVED, number) for number in range(3)], (UNSAVED, 3)
    before, log = east.states(UNSAVED), RequestLog(east.cluster)
    predicted = elect(east, "unclean", check=True, partitions=named([*truncating, harmless]), allow_data_loss=True)
    answer = elect(east, "unclean", partitions=named(truncating), allow_data_loss=True)
    assert log.written() == {} and east.states(UNSAVED) == before
    outcomes = {key: (row["outcome"], row["reason_code"]) for key, row in by_partition(predicted.result["results"]).items()}
    assert outcomes == {**dict.fromkeys(truncating, ("held", "tail_not_saved")), harmless: ("elected", None)}
    assert answer.returncode == 1 and answer.result["summary"]["held"] == 3, answer
    for text in ("would destroy records that are not saved: broker", "kafka_designated_election", "hold_unsaved"):
        assert text in answer.msg
    assert elect(east, "unclean", partitions=named([harmless]), allow_data_loss=True).result["summary"]["elected"] == 1


def test_preferred_leaders_are_elected_through_the_controllers_if_no_broker_can_be_reached(east: Operator) -> None:
    cluster, topic = east.cluster, "preferred.direct"
    create_led_by_others(cluster, [[3, 2], [2, 3]], topic)
    wanted = [(topic, 0), (topic, 1), (topic, 7)]
    controllers: dict[str, Any] = {
        "bootstrap_servers": ["127.0.0.1:1"],
        "controller_bootstrap_servers": cluster.controller_bootstrap_servers.split(","),
    }
    log = RequestLog(cluster)
    held = elect(east, "preferred", check=True, partitions=named(wanted), **controllers)
    assert held.returncode == 0 and held.result["summary"]["held"] == 3, held
    unclean: dict[str, Any] = {"partitions": named(wanted), "allow_data_loss": True}
    others: list[tuple[str, dict[str, Any], str]] = [("unclean", unclean, "bootstrap_servers"), ("preferred", {}, "partitions_file")]
    for election_type, params, option in others:
        refused = elect(east, election_type, **params, **controllers)
        assert refused.returncode == 1 and option in refused.msg, refused
    assert log.written() == {}

    answer = elect(east, "preferred", partitions=named(wanted), **controllers)
    assert errors(answer) == {wanted[0]: None, wanted[1]: NOT_NEEDED, wanted[2]: UNKNOWN}, answer
    assert answer.result["changed"] is True and {row["leader"] for row in answer.result["results"]} == {None}
    assert by_partition(answer.result["results"])[wanted[2]]["error_message"] == f"No such partition as {topic}-7"
    cluster.wait_for_partitions([topic], lambda state: state.leader == state.replicas[0], "led by the first replica")


def test_all_that_an_unclean_election_is_for_are_those_without_a_leader(east: Operator) -> None:
    log = RequestLog(east.cluster)
    offline = {(state.topic, state.partition) for state in east.cluster.describe() if state.leader < 0}
    answer = elect(east, "unclean", check=True, allow_data_loss=True)
    assert errors(answer).keys() == offline
    assert {row["outcome"] for row in answer.result["results"]} == {"elected", "failed", "held"}
    assert log.written() == {}


def test_all_partitions_and_the_playbook(west: Operator) -> None:
    cluster, topic = west.cluster, "moved"
    preferred = {(topic, 0): [3, 2, 1], (topic, 1): [1, 2, 3], (topic, 2): [2, 1, 3]}
    create_led_by_others(cluster, list(preferred.values()), topic)
    assert leaders(west, topic) == [1, 1, 2]

    run = stock.elect(cluster, "--election-type", "preferred", "--all-topic-partitions")
    assert run.returncode == 0 and run.errors == {(topic, 0): None}, run
    assert leaders(west, topic) == [3, 1, 2]

    move_leaders(cluster, {(topic, 1): [3, 2, 1]})
    answer = elect(west, "preferred")
    assert answer.returncode == 0 and answer.result["changed"] is True, answer
    assert errors(answer) == {(topic, 1): None}, "as with Kafka's tool: what is led as it should be is not mentioned"
    assert leaders(west, topic) == [3, 3, 2]
    nothing = elect(west, "preferred")
    assert nothing.result["changed"] is False and nothing.result["results"] == []

    move_leaders(cluster, {(topic, 0): [1, 2, 3], (topic, 1): [1, 2, 3]})
    before, log = west.states(topic), RequestLog(cluster)
    predicted = elect(west, "preferred", check=True)
    assert predicted.returncode == 0 and predicted.result["summary"]["elected"] == 2, predicted
    assert log.written() == {} and west.states(topic) == before

    done = west.play("preferred", "1")
    assert done.returncode == 0 and done.recap["west"]["changed"] == 1, done
    assert "2 elected" in done.stdout and f"{topic}-1: elected, leader 1" in done.stdout, done
    assert leaders(west, topic) == [1, 1, 2]

    move_leaders(cluster, {(topic, 0): [3, 2, 1]})
    partly = west.play("preferred", "1", partitions=named([(topic, 0), (topic, 2), (topic, 8)]))
    assert partly.returncode == 2, partly
    assert "1 failed, 1 elected, 1 already_online" in partly.stdout and f"{topic}-0: elected, leader 3" in partly.stdout, partly
    assert f"{topic}-8: {UNKNOWN}: the cluster has no such partition" in partly.said, partly
    assert leaders(west, topic) == [3, 1, 2]


def move_leaders(cluster: KafkaCluster, orders: dict[TopicPartition, Sequence[int]]) -> None:
    """Make other replicas the preferred leaders; the leaders stay."""
    cluster.reorder_replicas(orders)
    cluster.wait_for_partitions(
        {topic for topic, _ in orders},
        lambda state: list(state.replicas) == list(orders.get((state.topic, state.partition), state.replicas)),
        "in the new order",
    )


@pytest.mark.long
def test_without_leave_to_alter_the_cluster_both_are_refused_and_without_leave_to_see_a_topic_ours(
    fortress: Fortress, tmp_path: Path
) -> None:
    fortress.grant([READ, DESCRIBE])
    operator = Operator(fortress.cluster, tmp_path, login=fortress.login("SCRAM-SHA-512"))
    before, key = operator.states("invoices"), ("invoices", 0)
    given_up: dict[str, Any] = {"partitions": named([key]), "allow_data_loss": True, "hold_unsaved": False}
    answer = elect(operator, "unclean", **given_up)
    assert errors(answer) == {key: FORBIDDEN} and "grant ALTER on the cluster" in answer.msg, answer
    assert errors(elect(operator, "unclean", check=True, **given_up)) == {key: FORBIDDEN}

    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    login = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": f'{module} required username="{USER}" password="{SCRAM}";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(fortress.certificates.ca),
    }
    arguments, servers = ["--topic", key[0], "--partition", str(key[1])], fortress.servers("SASL")
    run = stock.elect(fortress.cluster, "--election-type", "unclean", *arguments, servers=servers, login=login)
    assert run.returncode == 1, run
    assert "Not authorized to perform leader election" in run.stdout and run.errors == {}, run

    fortress.grant([ALTER])
    run = stock.elect(fortress.cluster, "--election-type", "preferred", *arguments, servers=servers, login=login)
    assert run.errors == {key: NOT_PREFERRED}, run
    answer = elect(operator, "preferred", partitions=named([key]))
    assert errors(answer) == {key: UNKNOWN} and "grant DESCRIBE on the topic" in answer.msg, answer
    assert operator.states("invoices") == before
