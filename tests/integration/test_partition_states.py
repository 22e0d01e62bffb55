# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What kafka_partition_info says of partitions and brokers in every state."""

from __future__ import annotations

from typing import Any

import pytest
from integration import damaged
from integration.support import Operator, run_module

# Topics that no other test touches: one per scenario of the strategy that never elects.
TOPICS = damaged.of("none")
# What kafka-python raises for a request that a broker does not offer.
WITHOUT_PAGES = """
from kafka import errors
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import partition_states
def too_old(*args):
    raise errors.IncompatibleBrokerVersion("DescribeTopicPartitions")
partition_states.describe_topic_partitions = too_old
"""
OFFLINE = {topic for topic in TOPICS if not topic.startswith("already_online")}


def ask(east: Operator, **params: Any) -> dict[str, Any]:
    named = [{"topic": topic, "partition": partition} for topic, partition in east.keys(TOPICS)]
    return east.ask("kafka_partition_info", partitions=named, **params)


@pytest.mark.parametrize(
    ("state", "topics"),
    [
        ("offline", OFFLINE),
        ("all", set(TOPICS)),
        ("elr_recoverable", OFFLINE),
        ("under_min_isr", OFFLINE),
        # An already_online partition has both of its replicas again.
        ("under_replicated", OFFLINE),
    ],
)
def test_each_state_selects_its_partitions(east: Operator, state: str, topics: set[str]) -> None:
    found = ask(east, state=state)
    assert {row["topic"] for row in found["partitions"]} == topics
    assert found["count"] == len(found["partitions"]) == 4 * len(topics)
    assert found["cluster_id"] == east.cluster.cluster_id
    assert not found["changed"]
    assert found["unreachable_brokers"] == []


def test_partitions_are_shown_as_the_cluster_describes_them(east: Operator) -> None:
    rows = {(row["topic"], row["partition"]): row for row in ask(east, state="all")["partitions"]}
    for key, state in east.states(*TOPICS).items():
        for field in ("leader", "leader_epoch", "replicas", "isr", "eligible_leader_replicas", "last_known_elr", "offline_replicas"):
            expected = getattr(state, field)
            assert rows[key][field] == (list(expected) if isinstance(expected, tuple) else expected)


def test_brokers_without_describe_topic_partitions_are_asked_for_metadata(east: Operator) -> None:
    """Every Kafka that can be had here knows the newer request, so the test lets the client believe that the broker does not."""
    params = {**east.connection, "state": "all", "partitions": [{"topic": topic, "partition": 0} for topic in TOPICS]}
    answers = [run_module("kafka_partition_info", params, before=before).result for before in (None, WITHOUT_PAGES)]
    newer, older = ({row["topic"]: row for row in answer["partitions"]} for answer in answers)
    for topic in TOPICS:
        # Metadata has the ISR alone, so neither the explanation nor the brokers that may be elected name the ELR.
        isr = [broker for broker in newer[topic]["elected_on_return"] if broker in newer[topic]["isr"]]
        known = {"elected_on_return": isr, "explanation": older[topic]["explanation"]}
        assert older[topic] == {**newer[topic], "eligible_leader_replicas": [], "last_known_elr": [], **known}


def test_brokers_are_unfenced_or_silent_or_coming_back(east: Operator) -> None:
    brokers = {row["broker_id"]: row for row in east.ask("kafka_partition_info")["brokers"]}
    assert {broker: row["broker_state"] for broker, row in brokers.items()} == {1: "fenced", 2: "unfenced", 3: "unfenced", 4: "coming_back"}
    # The active controller forgets who has been silent for five minutes.
    silent = brokers[1]["silent_seconds"]
    assert silent is None or silent > damaged.SETTINGS["session_timeout"]
    assert all(brokers[broker]["silent_seconds"] < damaged.SETTINGS["session_timeout"] for broker in (2, 3, 4))


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ([{"topic": "nowhere", "partition": 0}], "nowhere"),
        ([{"topic": "lagging.none", "partition": 4}], "lagging.none-4"),
        ([{"topic": "lagging.none", "partition": 0}, {"topic": "lagging.none", "partition": 0}], "lagging.none-0 is named twice"),
    ],
)
def test_unknown_partitions_and_those_named_twice_are_errors_that_name_them(
    east: Operator, named: list[dict[str, Any]], words: str
) -> None:
    answer = run_module("kafka_partition_info", {**east.connection, "partitions": named})
    assert answer.returncode == 1
    assert words in answer.msg
    assert "\n" not in answer.msg
