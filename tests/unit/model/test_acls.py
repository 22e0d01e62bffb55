# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ACLs: as few as possible are named, none that is not needed, and each with a command that a shell reads back as it was meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.shown_command import Commands
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.acls import (
    COLLECT,
    ELECT,
    IMPLY_DESCRIBE,
    ISR_HISTORY,
    NATIVE,
    NEEDS,
    REASSIGN,
    THROTTLE,
    MissingAcl,
    Permissions,
    missing,
    remedy,
    unknown,
)

READS = frozenset({"READ", "DESCRIBE"})
SEES = frozenset({"DESCRIBE"})
CONFIGS = frozenset({"DESCRIBE_CONFIGS", "ALTER_CONFIGS"})
NOTHING: frozenset[str] = frozenset()
EVERYTHING = frozenset({"READ", "DESCRIBE", "ALTER", "CLUSTER_ACTION"})


def named(held: Permissions, *stages: str) -> list[tuple[str, str, str]]:
    return [(row.need.operation, row.need.resource_type, row.name) for row in missing(held, stages)]


def held(**changes: Any) -> Permissions:
    whole: dict[str, Any] = {
        "cluster": EVERYTHING,
        "topics": {"a": READS, "b": READS},
        "reading": {"a"},
        "any_topic": True,
        "any_group": True,
    }
    return Permissions(**{**whole, **changes})


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"cluster": NOTHING}, [("CLUSTER_ACTION", "CLUSTER", "kafka-cluster"), ("ALTER", "CLUSTER", "kafka-cluster")]),
        ({"cluster": frozenset({"DESCRIBE", "CLUSTER_ACTION"})}, [("ALTER", "CLUSTER", "kafka-cluster")]),
        ({"topics": {"a": SEES, "b": SEES}}, [("READ", "TOPIC", "a")]),
        ({"topics": {"a": NOTHING, "b": READS}, "any_topic": None}, [("READ", "TOPIC", "a")]),
        ({"topics": {"c": NOTHING}, "reading": set(), "any_topic": None}, [("READ", "TOPIC", "c")]),
        ({"topics": {"a": READS}, "any_topic": False}, [("DESCRIBE", "TOPIC", "*")]),
        ({"topics": {}, "reading": set(), "any_topic": False}, [("READ", "TOPIC", "*")]),
        ({"topics": {}, "reading": set()}, []),
        ({"any_group": False}, [("DESCRIBE", "GROUP", "*")]),
        ({"cluster": None, "topics": {"a": None}}, []),
    ],
)
def test_what_is_missing(changes: dict[str, Any], expected: list[tuple[str, str, str]]) -> None:
    assert named(held(**changes), COLLECT, ISR_HISTORY, ELECT) == expected


def test_looking_takes_less_than_electing() -> None:
    assert named(held(cluster=NOTHING), COLLECT) == [("DESCRIBE", "CLUSTER", "kafka-cluster")]
    assert named(held(cluster=SEES), COLLECT) == []


@pytest.mark.parametrize(
    ("cluster", "topic", "expected"),
    [
        (EVERYTHING, READS, [("ALTER_CONFIGS", "CLUSTER", "kafka-cluster"), ("ALTER_CONFIGS", "TOPIC", "a")]),
        (SEES, NOTHING, [("ALTER", "CLUSTER", "kafka-cluster"), ("ALTER_CONFIGS", "CLUSTER", "kafka-cluster"), ("DESCRIBE", "TOPIC", "a"),
                         ("ALTER_CONFIGS", "TOPIC", "a")]),
        (EVERYTHING | CONFIGS, READS | CONFIGS, []),
    ],
)  # fmt: skip
def test_moving_with_a_throttle_takes_configs_of_what_is_moved(
    cluster: frozenset[str], topic: frozenset[str], expected: list[tuple[str, str, str]]
) -> None:
    rows = named(held(cluster=cluster, topics={"a": topic, "b": READS}, moving={"a"}), REASSIGN, THROTTLE)
    assert sorted(rows) == sorted(expected), "as few as possible: ALTER_CONFIGS includes DESCRIBE_CONFIGS"
    assert not {"ALTER_CONFIGS", "READ"} & {operation for operation, _kind, _name in named(held(cluster=cluster), REASSIGN)}


def test_permissions_that_brokers_do_not_report_are_unknown_and_not_missing() -> None:
    rows = unknown(held(cluster=None, topics={"a": None, "b": READS}), [COLLECT])
    assert [(row.operation, row.resource_type) for row in rows] == [("DESCRIBE", "CLUSTER"), ("DESCRIBE", "TOPIC"), ("READ", "TOPIC")]
    assert unknown(held(), [COLLECT, ELECT]) == []


OPERATIONS = st.frozensets(st.sampled_from(sorted(EVERYTHING))).map(lambda found: found | SEES if found & set(IMPLY_DESCRIBE) else found)
TOPICS = st.dictionaries(st.sampled_from(["a", "b", "c"]), OPERATIONS)


@given(
    cluster=OPERATIONS,
    topics=TOPICS,
    reading=st.sets(st.sampled_from(["a", "b", "c"])),
    any_topic=st.sampled_from([True, False, None]),
    any_group=st.booleans(),
)
def test_nothing_is_named_twice_that_another_one_implies(
    cluster: frozenset[str], topics: dict[str, frozenset[str]], reading: set[str], any_topic: bool | None, any_group: bool
) -> None:
    rows = named(Permissions(cluster, topics, reading & set(topics), any_topic, any_group), COLLECT, ISR_HISTORY, ELECT)
    assert len(rows) == len(set(rows))
    for operation, resource_type, name in rows:
        if operation == "DESCRIBE":
            assert not any((other, resource_type, name) in rows for other in IMPLY_DESCRIBE)


def test_an_operation_that_two_stages_need_is_named_once_and_as_required() -> None:
    rows = missing(held(cluster=frozenset({"DESCRIBE"})), [COLLECT, ISR_HISTORY, NATIVE])
    assert [(row.need.stage, row.need.operation) for row in rows] == [(NATIVE, "CLUSTER_ACTION")]


NATIVE_CLUSTER = frozenset({"DESCRIBE", "CLUSTER_ACTION"})


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        (READS, []),
        (SEES, [("READ", "a", False)]),
        (NOTHING, [("DESCRIBE", "a", True), ("READ", "a", False)]),
    ],
)
def test_kip_1275_demands_no_permission_to_read_records(topic: frozenset[str], expected: list[tuple[str, str, bool]]) -> None:
    rows = missing(held(cluster=NATIVE_CLUSTER, topics={"a": topic}), [COLLECT, NATIVE])
    assert [(row.need.operation, row.name, row.need.required) for row in rows] == expected
    assert [row.required for row in unknown(held(topics={"a": None}), [COLLECT, NATIVE]) if row.operation == "READ"] == [False]
    compat = missing(held(cluster=NATIVE_CLUSTER, topics={"a": topic}), [COLLECT])
    assert [(row.need.operation, row.need.required) for row in compat] == ([] if topic == READS else [("READ", True)])


def test_a_remedy_names_what_is_plain_and_leaves_the_rest_to_the_operator() -> None:
    read = next(need for need in NEEDS if need.operation == "READ")
    start = "kafka-acls.sh --bootstrap-server b:9092 --command-config ADMIN.properties --add --allow-principal"
    assert (
        remedy(MissingAcl(read, "orders"), "CN=a,O=b", "b:9092", secured=True) == f"{start} User:CN=a,O=b --operation Read --topic orders"
    )
    assert remedy(MissingAcl(read, "*"), "a", "b:9092", secured=True) == f"{start} User:a --operation Read --topic '*'"
    assert remedy(MissingAcl(read, "$(id)"), "it's", "b:9092", secured=True) == f"{start} User:PRINCIPAL --operation Read --topic NAME"


NO_TOPICS = ["*", "a:0,b", "a,b", ".", "..", "", "a" * 250, "it's", "ü"]


@pytest.mark.parametrize("topic", NO_TOPICS)
def test_a_name_that_no_topic_can_have_is_granted_nothing(topic: str, tmp_path: Path) -> None:
    stages = COLLECT, REASSIGN, THROTTLE
    assert named(held(topics={topic: NOTHING, "a": NOTHING}, moving={topic, "a"}), *stages) == named(
        held(topics={"a": NOTHING}, moving={"a"}), *stages
    )
    if topic != "*":  # which stands for all of them there
        line = remedy(
            MissingAcl(next(need for need in NEEDS if need.operation == "READ"), topic), "it's", "b:9092", False, Commands(tmp_path)
        )
        assert line.endswith(" --add --allow-principal User:PRINCIPAL --operation Read --topic NAME")


def test_who_the_principal_is_is_left_to_the_operator_where_only_brokers_know() -> None:
    row = MissingAcl(next(need for need in NEEDS if need.operation == "CLUSTER_ACTION"), "kafka-cluster")
    expected = "kafka-acls.sh --bootstrap-server b:9092 --add --allow-principal User:PRINCIPAL --operation ClusterAction --cluster"
    assert remedy(row, None, "b:9092", secured=False) == expected
