# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is judged of logins that lack permissions: what preflight names, evidence that is collected, partitions that are elected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simulation.cluster import SimulatedCluster
from simulation.kraft import Key
from simulation.login_judge import LoginJudge
from simulation.logins import (
    ALTER,
    CLUSTER_ACTION,
    DESCRIBE_CLUSTER,
    DESCRIBE_CONFIGS,
    DESCRIBE_GROUP,
    DESCRIBE_TOPIC,
    READ_TOPIC,
    UNREPORTED,
)
from simulation.world import World

HIDDEN: Key = ("payments", 0)
OTHER: Key = ("orders", 0)
NOTHING_MISSING: dict[str, Any] = {"missing": [], "unknown": []}


class Judges:
    """Stands for the judges of a history."""

    def __init__(self) -> None:
        self.violations: list[str] = []

    def add_violation(self, text: str) -> None:
        self.violations.append(text)


def judge_of(tmp_path: Path, *lacked: str) -> tuple[LoginJudge, Judges]:
    """Return a judge of a login without these permissions, on a cluster of two partitions without a leader."""
    cluster = SimulatedCluster(World(1), 2, {"orders": [[1]], "payments": [[1]]}, {"orders": 1, "payments": 1}, elr=False)
    cluster.crash(1)
    cluster.world.wait(12)
    assert {*cluster.without_leader()} == {HIDDEN, OTHER}
    cluster.lacking = lacked
    judges: Any = Judges()
    return LoginJudge(judges, cluster, tmp_path), judges


@pytest.mark.parametrize(
    ("lacked", "partitions", "acl"),
    [
        (ALTER, None, "ALTER on cluster"),
        (DESCRIBE_CLUSTER, None, "ALTER on cluster"),
        (CLUSTER_ACTION, None, "CLUSTER_ACTION on cluster"),
        (DESCRIBE_GROUP, None, "DESCRIBE on group"),
        (READ_TOPIC, None, "READ on topic"),
        (READ_TOPIC, [HIDDEN], "READ on topic"),
        (DESCRIBE_TOPIC, [HIDDEN], "READ on topic"),
    ],
)
def test_preflight_must_name_what_a_login_lacks(tmp_path: Path, lacked: str, partitions: list[Key] | None, acl: str) -> None:
    judge, judges = judge_of(tmp_path, lacked)
    judge.judge_missing(NOTHING_MISSING, True, partitions)
    assert [f"does not name {acl}, " in one for one in judges.violations] == [True]


@pytest.mark.parametrize(
    ("lacked", "partitions"),
    [((DESCRIBE_TOPIC,), None), ((READ_TOPIC,), [OTHER]), ((DESCRIBE_TOPIC,), [OTHER]), ((DESCRIBE_CONFIGS,), None)],
)
def test_preflight_need_not_name_what_it_cannot_find_or_a_recovery_does_not_need(
    tmp_path: Path, lacked: tuple[str, ...], partitions: list[Key] | None
) -> None:
    judge, judges = judge_of(tmp_path, *lacked)
    judge.judge_missing(NOTHING_MISSING, True, partitions)
    assert judges.violations == []


def test_operations_that_brokers_do_not_report_are_not_known(tmp_path: Path) -> None:
    judge, judges = judge_of(tmp_path, UNREPORTED, ALTER)
    judge.judge_missing({"missing": [], "unknown": [{"operation": "ALTER"}]}, True, None)
    assert judges.violations == []
    judge.judge_missing(NOTHING_MISSING, True, None)
    assert ["no operations" in one for one in judges.violations] == [True]


def elected(key: Key) -> dict[str, Any]:
    return {"results": [{"topic": key[0], "partition": key[1], "outcome": "elected"}]}


@pytest.mark.parametrize(("lacked", "is_right"), [(READ_TOPIC, False), (DESCRIBE_TOPIC, False), (ALTER, False), (DESCRIBE_GROUP, True)])
def test_what_may_not_be_read_or_elected_is_not(tmp_path: Path, lacked: str, is_right: bool) -> None:
    judge, judges = judge_of(tmp_path, lacked)
    judge.judge_run("first", elected(HIDDEN))
    assert (judges.violations == []) == is_right


def test_other_topics_are_elected(tmp_path: Path) -> None:
    judge, judges = judge_of(tmp_path, READ_TOPIC)
    judge.judge_run("first", elected(OTHER))
    assert judges.violations == []


def test_without_describe_on_the_cluster_no_evidence_is_collected(tmp_path: Path) -> None:
    judge, judges = judge_of(tmp_path, DESCRIBE_CLUSTER)
    judge.judge_run("first", None)
    assert judges.violations == []
    (tmp_path / "landing/first").mkdir(parents=True)
    (tmp_path / "landing/first/simulated.jsonl").touch()
    judge.judge_run("first", None)
    judge.judge_run("second", {"results": []})
    assert ["evidence is collected" in one for one in judges.violations] == [True, False]
