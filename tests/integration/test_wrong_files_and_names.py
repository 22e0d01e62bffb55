# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files and names that cannot be used: one line that names the thing, and nothing is written to the cluster."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from integration.requestlog import RequestLog
from integration.support import Operator, failure

TOPIC = "quiet"


@pytest.fixture
def quiet(prepared: Callable[[str], Operator]) -> Iterator[Operator]:
    """The cluster under the name quiet; afterwards not one request may have written to it."""
    operator = prepared(TOPIC)
    before, log = operator.states(TOPIC), RequestLog(operator.cluster)
    yield operator
    assert log.written() == {}
    assert operator.states(TOPIC) == before


def refused(operator: Operator, **params: Any) -> str:
    """The error of an election that is allowed to lose data."""
    allowed = {"allow_data_loss": True, "allowed_strategies": ["aggressive"]}
    return failure("kafka_designated_election", {**operator.connection, **operator.files("wrong"), **allowed, **params})


def designated(leader: int, topic: str = TOPIC, partition: int = 0) -> dict[str, Any]:
    return {"topic": topic, "partition": partition, "designated_leader": leader}


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ([designated(2, "nowhere")], "nowhere-0: the cluster has no such partition"),
        ([designated(2, partition=9)], f"{TOPIC}-9: the cluster has no such partition"),
        ([designated(2), designated(3)], f"{TOPIC}-0 is named twice"),
        ([designated(4)], f"{TOPIC}-0: broker 4 is not among its replicas [1, 3, 2]"),
        ([designated(1)], f"{TOPIC}-0: broker 1 is fenced"),
        ([designated(4, "clean_returning.none")], "clean_returning.none-0: broker 4 is coming_back"),
    ],
)
def test_designations_that_cannot_be_elected_fail_and_nothing_is_written(quiet: Operator, named: list[dict[str, Any]], words: str) -> None:
    assert words in refused(quiet, partitions=named)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"partitions": [\n  {"topic": "quiet" "partition": 0}\n]}', "line 2, column 21"),
        ('{"partitions": [{"topic": "quiet", "partition": 0, "designatedLeader": 2}', "line 1, column 74"),
        ('{"partitions": [{"topic": "quiet", "partition": 0}]}', "partitions[0]: designatedLeader is missing"),
        (
            '{"partitions": [{"topic": "quiet", "partition": "0", "designatedLeader": 2}]}',
            "partitions[0].partition: expected a whole number",
        ),
        ("[]", "expected an object with partitions"),
        (json.dumps({"partitions": [{"topic": TOPIC, "partition": 0, "designatedLeader": leader} for leader in (2, 3)]}), "is named twice"),
    ],
)
def test_a_plan_that_cannot_be_read_is_refused_with_the_place(quiet: Operator, content: str, words: str) -> None:
    plan = quiet.workdir / "unreadable.json"
    plan.write_text(content)
    msg = refused(quiet, plan=str(plan))
    assert str(plan) in msg
    assert words in msg


def test_a_plan_edited_by_hand_is_refused(quiet: Operator) -> None:
    content = quiet.path("plans", "1").read_text()
    edited = quiet.workdir / "edited.json"
    edited.write_text(content.replace('"designatedLeader": 2', '"designatedLeader": 3', 1))
    assert edited.read_text() != content
    msg = refused(quiet, plan=str(edited))
    assert str(edited) in msg
    assert "edited by hand" in msg


def test_a_plan_that_is_not_there_is_named(quiet: Operator) -> None:
    assert "nowhere.json" in refused(quiet, plan=str(quiet.workdir / "nowhere.json"))


@pytest.mark.parametrize("module", ["kafka_partition_info", "kafka_replica_log_info"])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"partitions": [\n {"topic": "quiet" "partition": 0}]}', "line 2, column 20"),
        ('{"partitions": []}', "expected"),
        ('{"partitions": [{"topic": "quiet", "partitions": [0, 0]}]}', "quiet-0 is named twice"),
        ('{"partitions": [{"topic": "quiet", "partition": -1}]}', "entry 1"),
        ('{"partitions": [{"topic": "quiet", "partitions": [17]}]}', "no partition quiet-17"),
    ],
)
def test_a_partitions_file_that_cannot_be_used_is_refused_with_the_place(quiet: Operator, module: str, content: str, words: str) -> None:
    file = quiet.workdir / "partitions.json"
    file.write_text(content)
    files = quiet.files("wrong") if module == "kafka_replica_log_info" else {}
    assert words in failure(module, {**quiet.connection, **files, "partitions_file": str(file)})
    assert not quiet.path("landing", "wrong").exists()


@pytest.mark.parametrize(
    ("module", "options", "words"),
    [
        ("kafka_partition_info", {"partitions": [{"topic": TOPIC, "partition": 0}], "partitions_file": "x"}, "partitions|partitions_file"),
        (
            "kafka_replica_log_info",
            {"partitions": [{"topic": TOPIC, "partition": 0}], "partitions_file": "x"},
            "partitions|partitions_file",
        ),
        ("kafka_designated_election", {"partitions": [designated(2)], "plan": "x"}, "plan|partitions"),
        ("kafka_designated_election", {}, "plan, partitions"),
    ],
)
def test_options_that_exclude_or_require_each_other_are_named(quiet: Operator, module: str, options: dict[str, Any], words: str) -> None:
    files = {} if module == "kafka_partition_info" else quiet.files("wrong")
    assert words in failure(module, {**quiet.connection, **files, **options})


@pytest.mark.parametrize("folder", ["", "journal", "results"])
def test_a_workdir_that_cannot_be_written_is_found_before_anything_is_elected(quiet: Operator, folder: str) -> None:
    workdir = quiet.workdir / f"blocked-{folder}"
    if folder:
        workdir.mkdir()
    blocked = workdir / folder if folder else workdir
    blocked.write_text("a file in the place of a directory")
    msg = refused(quiet, plan=str(quiet.path("plans", "1")), workdir=str(workdir))
    assert str(blocked) in msg


@pytest.mark.parametrize(("option", "value"), [("cluster", "../east"), ("run_id", "a/b"), ("run_id", "..")])
def test_names_that_lead_out_of_the_workdir_are_refused(quiet: Operator, option: str, value: str) -> None:
    assert value in refused(quiet, plan=str(quiet.path("plans", "1")), **{option: value})
