# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the roles plan, snapshot, respond, preferred and report show, and the impact on consumers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import Playbooks
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.automatic_recovery import (
    AutomaticRecoveryOptions,
    option_objections,
    refusal_lines,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.collected_evidence import evidence_lines
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.consumer_impact import impact_lines
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.plans import (
    apply_lines,
    election_table,
    plan_lines,
    return_lines,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.preferred_leaders import preferred_lines
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.present_run import PresentRun
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.written_report import report_lines
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.lost_records import sums

RUN = PresentRun("east", "1", plan_path="/w/plans/1/east.json", commands=Playbooks(["hosts.yml"]))
FORKED = {
    "reason_code": "forked",
    "count": 4,
    "ranges": "orders-0..3",
    "partitions": [{"topic": "orders", "partition": number} for number in range(3)],
}
SURE = {"partitions": 2, "lower_bound": 0, "lower_bound_known": 2, "upper_bound": 240, "upper_bound_known": 2}
ELECTION = {"leader": 2, "evidence": "prefix", "count": 2, "ranges": "audit-0,1", "loss": SURE}
PLAN: dict[str, Any] = {
    "cluster": "east",
    "path": "/w/plans/1/east.json",
    "elect": 2,
    "held": 4,
    "online": 0,
    "truncated_replicas": 0,
    "truncated_offsets": 0,
    "elections": [ELECTION],
    "in_sync_on_return": [],
    "held_reasons": [FORKED],
}
TABLE = ["elect  leader  evidence  records lost  partitions", "2      2       prefix    0 to 240      audit-0,1"]


def test_a_plan_says_why_partitions_are_held() -> None:
    assert plan_lines({"plans": [{"cluster": "west"}, PLAN]}, RUN, "balanced", "") == [
        "2 to elect, 4 held, 0 online already, with strategy balanced",
        *TABLE,
        "held (forked), 4: orders-0..3",
        "  logs fork, and nothing proves a branch: read the lost brokers' disks, start them. Else force it",
        "A command for each of them, with files that name partitions:",
        "ansible-playbook -i hosts.yml --limit east streamops.kafka_recovery.status",
        "Plan: /w/plans/1/east.json",
    ]


@pytest.mark.parametrize("playbook", ["recover", "respond"])
def test_a_run_that_goes_on_says_only_at_its_end_why_partitions_are_held(playbook: str) -> None:
    lines = plan_lines({"plans": [PLAN]}, replace(RUN, playbook=playbook), "balanced", "")
    assert lines == ["2 to elect, 4 held, 0 online already, with strategy balanced", "Plan: /w/plans/1/east.json"]


def test_a_plan_names_held_partitions_in_a_command_if_it_can_name_all() -> None:
    held = {**FORKED, "count": 3, "ranges": "orders-0..2"}
    *_, line, _path = plan_lines({"plans": [{**PLAN, "held_reasons": [held]}]}, RUN, "balanced", "")
    assert line.startswith("ansible-playbook ") and "{topic: orders, partition: 2}" in line and "--check --diff" in line


def test_a_plan_shows_the_elections_that_may_lose_most_and_counts_the_others() -> None:
    many = [{**ELECTION, "leader": number} for number in range(10)]
    lines = election_table(many)
    assert len(lines) == 10 and lines[-1] == "4 more partitions to elect: see the plan"
    unknown = {**SURE, "upper_bound_known": 1}
    assert "240 or more" not in lines[1] and "0 or more" in election_table([{**ELECTION, "loss": unknown}])[1]


def test_a_plan_says_which_brokers_to_start_before_anything_is_elected() -> None:
    brokers = [
        {"broker_id": number, "count": 9 - number, "ranges": f"audit-0..{8 - number}", "save_first": number == 4} for number in range(3, 8)
    ]
    lines = plan_lines({"plans": [{**PLAN, "in_sync_on_return": brokers}]}, RUN, "balanced", "")
    assert lines[3:7] == [
        "Try first to start broker 3: if its log is whole, it leads audit-0..5 and loses nothing committed",
        "Save what only the disk of broker 4 has (rescue), then try to start it: if its log is whole, it leads audit-0..4 and loses nothing committed",
        "Try first to start broker 5: if its log is whole, it leads audit-0..3 and loses nothing committed",
        "Try first to start 2 more brokers, too: see in_sync_on_return",
    ]


@pytest.mark.parametrize(
    ("unsafe", "last"),
    [
        ((6,), ["Try first to start 1 more broker, too", "Save what only its disk has (rescue) before you start 1 more broker"]),
        ((6, 7), ["Save what only their disks have (rescue) before you start 2 more brokers"]),
    ],
)
def test_a_broker_that_is_not_named_is_not_said_to_be_like_the_others(unsafe: Collection[int], last: list[str]) -> None:
    brokers = [{"broker_id": number, "count": 1, "ranges": "audit-0", "save_first": number in unsafe} for number in range(3, 8)]
    assert [line.partition(":")[0] for line in return_lines(brokers)[3:]] == last


def test_a_plan_says_how_much_its_elections_would_truncate() -> None:
    planned = {"plans": [{**PLAN, "held_reasons": [], "truncated_replicas": 1, "truncated_offsets": 9600}]}
    assert plan_lines(planned, RUN, "balanced", "")[3:-1] == [
        "The elections would truncate at most 9,600 records of 1 replica, which are saved before (kafka_recovery_save_records)"
    ]


def test_a_plan_names_the_files_that_were_written_for_review() -> None:
    planned = {
        "plans": [{**PLAN, "elections": [], "held_reasons": []}],
        "manual_outputs": ["/r/east.json"],
        "manual_candidates": ["/r/east.held.json"],
    }
    assert plan_lines(planned, RUN, "none", "/r")[1:] == [
        "Plan: /w/plans/1/east.json",
        "To review and edit: /r/east.json",
        "Candidates of what is held: /r/east.held.json",
    ]
    assert len(plan_lines(planned, RUN, "none", "/elsewhere")) == 2
    assert plan_lines({"plans": []}, RUN, "none", "") == [], "a cluster without a plan"


@pytest.mark.parametrize("elect", [0, 2])
@pytest.mark.parametrize("folder", ["", "/w/for review"])
@pytest.mark.parametrize("require_commit", [False, True])
def test_the_shown_command_applies_the_files_that_may_be_changed(elect: int, folder: str, require_commit: bool) -> None:
    outputs = {"manual_outputs": [f"{folder}/east.json"] if elect else []} if folder else {}
    lines = apply_lines({"plans": [{**PLAN, "elect": elect}], **outputs}, replace(RUN, limit="east"), require_commit, folder)
    if not elect:
        assert lines == ["Nothing is to be elected, so there is nothing to apply"]
        return
    assert "--limit east" in lines[1]
    if require_commit:
        assert lines[1].endswith(" streamops.kafka_recovery.propose")
        return
    assert lines[1].endswith(" streamops.kafka_recovery.apply")
    assert ("/w/for review" in lines[1], "/w/plans/1" in lines[1]) == (bool(folder), not folder)
    assert ("/w/for review" in lines[0]) == bool(folder)


COUNTS = dict.fromkeys(["replicas_answered", "replicas_silent", "same", "prefix", "forked", "unknown"], 0)


@pytest.mark.parametrize(
    ("rows", "heading"), [(4, ["Replicas of the first 2 partitions:"]), (1, ["Replicas of the first 1 partition:"]), (0, [])]
)
def test_a_table_of_replicas_is_headed_by_the_number_of_its_partitions(rows: int, heading: list[str]) -> None:
    evidence = {
        "backend": "compat",
        "counts": COUNTS | {"offline": 1},
        "path": "/w/landing/1/east.jsonl",
        "table": "| topic |\n",
        "preview": [{"topic": "orders", "partition": number // 2} for number in range(rows)],
    }
    lines = evidence_lines(evidence)
    assert lines[1] == "1 partition offline, 0 replicas answered, 0 did not"
    assert lines[3:] == ["All of it: /w/landing/1/east.jsonl", *heading, *(["| topic |"] if heading else [])]


ALLOWED = AutomaticRecoveryOptions(1, "/w", "balanced", "last_written_epoch", {}, require_commit=False)


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({}, None),
        ({"workdir": "~/w"}, None),
        ({"workdir": "s3://bucket/folder"}, None),
        ({"clusters": 2}, "--limit CLUSTER"),
        ({"workdir": "w"}, "kafka_recovery_workdir is w"),
        ({"strategy": "aggressive"}, "this run has aggressive and last_written_epoch"),
        ({"ranking": "kip1275"}, "this run has balanced and kip1275"),
        ({"topic_strategies": {"orders": "none"}}, "remove kafka_recovery_topic_strategies"),
        ({"require_commit": True}, "kafka_recovery_require_commit is set for east"),
    ],
)
def test_each_variable_that_does_not_allow_an_automatic_recovery_is_named(changed: dict[str, Any], name: str | None) -> None:
    objections = option_objections(replace(ALLOWED, **changed), "east")
    assert len(objections) == (0 if name is None else 1)
    assert all(str(name) in objection for objection in objections)


@pytest.mark.parametrize(("held", "text"), [(0, "0 are held"), (1, "1 is held (1 forked)"), (3, "3 are held (1 forked, 2 weak)")])
def test_a_refused_automatic_recovery_says_why(held: int, text: str) -> None:
    automatic = {"elect": 1, "held": held, "reasons": ["strategy: other"], "next_steps": []}
    assert refusal_lines(automatic, {"forked": 1, "weak": 2} if held == 3 else {"forked": held}, RUN) == [
        f"Nothing is elected automatically in east: 1 partition could be elected, {text}. The plan: /w/plans/1/east.json",
        "strategy: other",
    ]


PREFERRED = {"topic": "orders", "partition": 3, "outcome": "failed", "leader": None, "error": "NOT_AVAILABLE", "message": "start it"}


@pytest.mark.parametrize(
    ("summary", "rows", "check_mode", "lines"),
    [
        ({"failed": 0}, [], False, ["every partition is led by its preferred leader"]),
        ({"failed": 0}, [], True, ["Dry run, nothing was written: every partition is led by its preferred leader"]),
        (
            {"failed": 1, "held": 0},
            [PREFERRED],
            True,
            ["Dry run, nothing was written. It would be: 1 failed", "orders-3: failed, no leader, NOT_AVAILABLE: start it"],
        ),
        (
            {"elected": 2},
            [{**PREFERRED, "outcome": "elected", "leader": 1, "error": None, "message": None}],
            False,
            ["2 elected", "orders-3: elected, leader 1", "and more"],
        ),
    ],
    ids=["nothing to do", "nothing to do in a dry run", "dry run", "more"],
)
def test_outcomes_of_preferred_elections(summary: dict[str, int], rows: list[Any], check_mode: bool, lines: list[str]) -> None:
    assert preferred_lines({"summary": summary, "results": rows}, check_mode) == lines


REPORTED: dict[str, Any] = {
    "headline": {"text": "2 partitions have no leader", "next": "plan"},
    "record_counts": {"partitions": 1, "replayed": 20, "saved": 25, "on_disk": 5, "gone": 0, "total": 50, "not_known": 0, "unread": 0},
    "next_steps": [],
    "steps_left_out": 0,
    "html_path": "/w/report.html",
    "textfile": "/prom/x.prom",
}


@pytest.mark.parametrize(("check_mode", "unwritten"), [(False, ""), (True, ", not written in check mode")])
def test_a_report_says_of_all_its_files_that_check_mode_writes_none(check_mode: bool, unwritten: str) -> None:
    assert report_lines(REPORTED, check_mode) == [
        "2 partitions have no leader",
        "50 lost records of 1 partition: 20 replayed, 25 saved, 5 only on a disk, 0 gone",
        "plan",
        f"Report{unwritten}: /w/report.html",
        f"Metrics{unwritten}: /prom/x.prom",
    ]


@pytest.mark.parametrize(("left_out", "more"), [(1, "and 1 more step, see the report"), (3, "and 3 more steps, see the report")])
def test_a_report_says_how_many_steps_are_left_out(left_out: int, more: str) -> None:
    step = {"cluster": "east", "code": "weak", "partitions": 1, "step": "look", "command": None}
    lines = report_lines({**REPORTED, "next_steps": [step], "steps_left_out": left_out, "record_counts": sums([])}, False)
    assert lines[1:3] == ["Next, for 1 partition in cluster east: look", more]


IMPACT: dict[str, Any] = {
    "summary": {"partitions": 2, "not_readable": 0, "groups": 1, "offsets_to_reset": 3, "transactions_records_lost": 1},
    "record_counts": {"partitions": 1, "replayed": 20, "saved": 25, "on_disk": 5, "gone": 0, "total": 50, "not_known": 0, "unread": 1},
    "groups": [{"command": "reset billing"}],
    "transactions": [{"command": None}],
    "path": "/w/impact.json",
}


@pytest.mark.parametrize(
    ("impact", "lines"),
    [
        (
            IMPACT,
            [
                "Consumers and producers of 2 partitions: 1 group to reset, 3 offsets to reset, 1 transaction with lost records",
                "50 lost records of 1 partition: 20 replayed, 25 saved, 5 only on a disk, 0 gone; for 1 partition the disk of a lost broker was not read, "
                "and may have more",
                "Next:",
                "reset billing",
                "All of it: /w/impact.json",
            ],
        ),
        (
            {"summary": {"partitions": 1, "groups": 0}, "record_counts": sums([]), "groups": [], "transactions": [], "path": ""},
            ["Consumers and producers of 1 partition: none affected"],
        ),
        ({"msg": "broker 3 does not answer"}, ["The impact on consumers and producers is unknown: broker 3 does not answer"]),
        ({}, []),
        (None, []),
    ],
    ids=["known", "none", "unknown", "empty", "not wanted"],
)
def test_the_impact_has_the_commands_that_repair_it(impact: dict[str, Any] | None, lines: list[str]) -> None:
    assert impact_lines(impact) == lines
