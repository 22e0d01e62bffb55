# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What roles say at the end of a run: true in check mode, too, and with counts of all partitions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from role_plays import ROOT, collection_of, role_play, role_text

pytestmark = pytest.mark.slow
REPORTED: dict[str, Any] = {
    "headline": {"text": "2 partitions have no leader", "next": ""},
    "next_steps": [],
    "steps_left_out": 0,
    "html_path": "/w/report.html",
    "textfile": "/prom/x.prom",
}


@pytest.mark.parametrize("options", [[], ["--check"]], ids=["run", "check"])
def test_a_report_says_of_all_its_files_that_check_mode_writes_none(tmp_path: Path, options: list[str]) -> None:
    lines = role_text(tmp_path, ["report"], "kafka_recovery_report_lines", {"kafka_recovery_reported": REPORTED}, options)
    without = ", not written in check mode" if options else ""
    assert lines == ["2 partitions have no leader", f"Report{without}: /w/report.html", f"Metrics{without}: /prom/x.prom"]


def test_a_report_says_how_many_steps_are_left_out(tmp_path: Path) -> None:
    step = {"cluster": "east", "word": "weak", "partitions": 1, "step": "look", "command": None}
    reported = {**REPORTED, "next_steps": [step], "steps_left_out": 3}
    lines = role_text(tmp_path, ["report"], "kafka_recovery_report_lines", {"kafka_recovery_reported": reported})
    assert lines[1:3] == ["Next, for 1 partition in cluster east: look", "and 3 more steps, see the report"]


@pytest.mark.parametrize("topic", ["orders", "__transaction_state"])
def test_to_look_again_names_the_partitions_that_have_no_leader(tmp_path: Path, topic: str) -> None:
    variables = {
        "kafka_recovery_election": {"next_steps": [], "results_path": "/w/results/1/east.json"},
        "kafka_recovery_still_offline": {"count": 1, "partitions": [{"topic": topic, "partition": 7, "leader": -1}]},
        "kafka_recovery_run_options": ["-e", "kafka_recovery_strategy=aggressive"],
    }
    lines = role_text(tmp_path, ["common", "verify"], "kafka_recovery_next", variables)
    assert lines[0].startswith("Next: ")
    if topic == "orders":
        assert "--limit east -e '{kafka_recovery_partitions: [{topic: orders, partition: 7}]}' streamops.kafka_recovery.plan" in lines[1]
        assert "kafka_recovery_strategy" not in lines[1], "under aggressive, a plan does not wait for a clean leader that is coming back"
    else:
        assert lines[1:] == [], "to name it is to consent to its loss"


def deleted(*topics: str) -> list[dict[str, Any]]:
    """Partitions of topics that the cluster does not have any more."""
    return [{"topic": topic, "partition": 3} for topic in topics]


@pytest.mark.parametrize("offline", [[], [{"topic": "orders", "partition": 7, "leader": -1}]], ids=["none", "one"])
def test_a_run_whose_topic_was_deleted_shows_its_results_and_fails(tmp_path: Path, offline: list[dict[str, Any]]) -> None:
    gone = {
        "outcome": "stale",
        "reason_code": "topic_recreated",
        "count": 1,
        "partitions": deleted("gone"),
        "reason": "the topic was deleted",
    }
    variables = {
        "kafka_recovery_election": {
            "summary": {"elected": 2, "stale": 1, "clean_leader": 0},
            "without_leader": [gone],
            "given_up": {"text": ["given up: 7 records"]},
            "next_steps": [],
            "results_path": "/w/results/1/east.json",
        },
        "kafka_recovery_allow_data_loss": True,
        "kafka_recovery_look_at_impact": False,
    }
    answer = {"count": len(offline), "partitions": offline, "unknown_count": 1, "unknown": deleted("gone")}
    collections = collection_of(
        tmp_path / "collections", "kafka_recovery_result_info", {"still_offline": answer, "impact": None}, assess_impact=False
    )
    task = {"ansible.builtin.include_tasks": str(ROOT / "roles/verify/tasks/result.yml")}
    done = role_play(tmp_path, ["common", "verify"], variables, [task], collections=collections)
    assert done.returncode == 2, done.stdout + done.stderr
    for text in ("2 elected, 1 stale", "given up: 7 records", "stale (topic_recreated), 1 partition: gone-3. the topic was deleted"):
        assert text in done.stdout, done.stdout
    assert f"{1 + len(offline)} partitions have no live leader, {'orders-7' if offline else 'gone-3'} first" in done.stdout
    assert "Not in the cluster, or hidden because DESCRIBE is not granted: gone-3" in done.stdout
    assert ("streamops.kafka_recovery.plan" in done.stdout) == bool(offline)


@pytest.mark.parametrize(("outcome", "code"), [("held", "forked"), ("stale", "log_changed"), ("failed", "election_failed"), (None, None)])
@pytest.mark.parametrize("options", [[], ["--check"]], ids=["run", "dry run"])
def test_a_run_fails_by_its_results_although_the_cluster_finds_a_leader(
    tmp_path: Path, outcome: str | None, code: str | None, options: list[str]
) -> None:
    rows = [{"topic": "orders", "partition": 7}]
    group = {"outcome": outcome, "reason_code": code, "count": 1, "partitions": rows, "reason": "why"}
    variables = {
        "kafka_recovery_election": {
            "summary": {"elected": 2, "clean_leader": 0, **({outcome: 1} if outcome else {})},
            "without_leader": [group] if outcome else [],
            "given_up": {"text": []},
            "next_steps": [],
            "results_path": "/w/results/1/east.json",
        },
        "kafka_recovery_allow_data_loss": True,
        "kafka_recovery_look_at_impact": False,
    }
    answer = {"count": 0, "partitions": [], "unknown_count": 0, "unknown": []}
    collections = collection_of(tmp_path / "collections", "kafka_recovery_result_info", {"still_offline": answer, "impact": None})
    task = {"ansible.builtin.include_tasks": str(ROOT / "roles/verify/tasks/result.yml")}
    done = role_play(tmp_path, ["common", "verify"], variables, [task], options, collections=collections)
    assert done.returncode == (2 if outcome and not options else 0), done.stdout + done.stderr
    assert outcome is None or f"{outcome} ({code}), 1 partition: orders-7. why" in done.stdout, done.stdout
    assert not outcome or options or "1 partitions have no leader in the results" in done.stdout, done.stdout


IMPACT: dict[str, Any] = {
    "summary": {"partitions": 2, "groups": 1},
    "groups": [{"command": "reset billing"}],
    "transactions": [],
    "path": "/w/impact.json",
}


@pytest.mark.parametrize(
    ("impact", "wanted", "lines"),
    [
        (IMPACT, True, ["producers of 2 partitions: 1 groups", "reset billing", "All of it: /w/impact.json"]),
        ({"msg": "broker 3 does not answer"}, True, ["The impact on consumers and producers is unknown: broker 3 does not answer"]),
        (None, False, []),
    ],
    ids=["known", "unknown", "not wanted"],
)
def test_the_impact_is_shown_with_the_results_and_fails_no_recovery(
    tmp_path: Path, impact: dict[str, Any] | None, wanted: bool, lines: list[str]
) -> None:
    variables = {
        "kafka_recovery_election": {
            "summary": {"elected": 2, "clean_leader": 0},
            "without_leader": [],
            "given_up": {"text": []},
            "next_steps": [],
            "results_path": "/w/results/1/east.json",
        },
        "kafka_recovery_allow_data_loss": True,
        "kafka_recovery_look_at_impact": wanted,
    }
    answer = {"still_offline": {"count": 0, "partitions": [], "unknown_count": 0, "unknown": []}, "impact": impact}
    collections = collection_of(tmp_path / "collections", "kafka_recovery_result_info", answer, assess_impact=wanted)
    task = {"ansible.builtin.include_tasks": str(ROOT / "roles/verify/tasks/result.yml")}
    done = role_play(tmp_path, ["common", "verify"], variables, [task], collections=collections)
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(line in done.stdout for line in ("2 elected", *lines)), done.stdout
    assert ("onsumers and producers" in done.stdout) == wanted


def test_of_many_deleted_topics_a_few_are_named(tmp_path: Path) -> None:
    variables = {
        "kafka_recovery_election": {"next_steps": [], "results_path": "/w/results/1/east.json", "without_leader": []},
        "kafka_recovery_still_offline": {"count": 0, "partitions": [], "unknown_count": 40, "unknown": deleted(*"abcdefgh")},
    }
    text = role_text(tmp_path, ["common", "verify"], "kafka_recovery_problems", variables)
    assert text.startswith("40 partitions have no live leader, a-3 first. All of them: /w/results/1/east.json\n")
    assert "not granted: a-3, b-3, c-3, d-3, e-3 and 35 more\n" in text


MOVES: dict[str, Any] = {
    "path": "/w/reassignments/2/east.json",
    "planned": 3,
    "adding_replicas": 3,
    "bytes": 0,
    "rack_violations": 0,
    "held_by_reason": {"reassignment_in_progress": 2},
}


def test_planned_moves_are_made_by_a_whole_command(tmp_path: Path) -> None:
    variables = {"kafka_recovery_moves": MOVES, "kafka_recovery_reassigned": {"summary": {"moved": 3}, "previous_assignment": ""}}
    text = role_text(tmp_path, ["common", "restore_redundancy"], "kafka_recovery_reassigned_text", variables)
    (command,) = [line for line in text.splitlines() if "ansible-playbook" in line]
    assert command.endswith(
        "--limit east -e kafka_recovery_reassignment_dir=/w/reassignments/2 -e kafka_recovery_allow_data_loss=true streamops.kafka_recovery.reassign"
    )


@pytest.mark.parametrize("ended", [False, True, None])
def test_what_an_interrupted_run_has_begun_is_gone_on_with_by_its_id(tmp_path: Path, ended: bool | None) -> None:
    workdir = tmp_path / "work"
    for path, content in {
        "progress/east.json": {"run_id": "interrupted", "ended": ended, "line": ""},
        "reassignments/interrupted/east.json": {},
    }.items():
        (workdir / path).parent.mkdir(parents=True)
        if ended is not None:
            (workdir / path).write_text(json.dumps(content))
    variables = {"kafka_recovery_moves": MOVES, "kafka_recovery_workdir": str(workdir), "kafka_recovery_run_id": "2"}
    for name in ("kafka_recovery_moves_text", "kafka_recovery_held_text"):
        text = role_text(tmp_path, ["common", "restore_redundancy"], name, variables)
        assert "RUN_ID" not in text
        commands = [line for line in text.splitlines() if "ansible-playbook" in line]
        assert len(commands) == (ended is False), text
        assert not commands or f"-e kafka_recovery_reassignment_dir={workdir}/reassignments/interrupted " in commands[0]


OFFLINE: dict[str, Any] = {
    "kafka_recovery_readiness": {
        "quorum": {"verdict": "calm"},
        "permissions": {"missing": []},
        "partitions": {"count": 4, "brokers": [{"broker_id": 1, "broker_state": "fenced"}, {"broker_id": 2, "broker_state": "unfenced"}]},
    },
    "kafka_recovery_max_partitions": 3,
    "kafka_recovery_max_offline_brokers": 0,
    "kafka_recovery_run_id": "1",
    "kafka_recovery_partitions": [{"topic": "orders", "partition": 7}],
}


@pytest.mark.parametrize("playbook", ["recover", "apply", ""])
def test_limits_are_lifted_by_one_whole_command_of_the_playbook_that_runs(tmp_path: Path, playbook: str) -> None:
    text = role_text(tmp_path, ["common", "preflight"], "kafka_recovery_too_many", {**OFFLINE, "kafka_recovery_playbook": playbook})
    raised = "-e kafka_recovery_max_partitions=4 -e kafka_recovery_max_offline_brokers=1"
    if not playbook:
        assert text.splitlines()[-1] == f"The same run with --limit east {raised}"
        return
    plans = f"-e kafka_recovery_plan_dir={Path.home()}/kafka-recovery/plans/1 " if playbook == "apply" else ""
    assert text.splitlines()[-1].endswith(
        "--limit east -e '{kafka_recovery_partitions: [{topic: orders, partition: 7}]}' "
        f"-e kafka_recovery_allow_data_loss=true {plans}{raised} streamops.kafka_recovery.{playbook}"
    )


def test_a_play_of_somebody_else_is_no_playbook_of_the_collection(tmp_path: Path) -> None:
    assert role_text(tmp_path, ["common", "preflight"], "kafka_recovery_playbook", {}) == ""


FORKED = {"reason_code": "forked", "count": 4, "partitions": [{"topic": "orders", "partition": number} for number in range(3)]}
PLAN = {"cluster": "east", "path": "/w/plans/1/east.json", "elect": 2, "held": 4, "online": 0, "held_reasons": [FORKED]}


def test_a_plan_says_why_partitions_are_held(tmp_path: Path) -> None:
    lines = role_text(tmp_path, ["common", "plan"], "kafka_recovery_plan_lines", {"kafka_recovery_planned": {"plans": [PLAN]}})
    assert lines == [
        "2 to elect, 4 held back, 0 online already, with strategy balanced",
        "held (forked), 4 partitions: orders-0, orders-1, orders-2 and 1 more",
        "Plan: /w/plans/1/east.json",
    ]


def test_a_plan_that_holds_nothing_gives_no_reasons(tmp_path: Path) -> None:
    plan = {**PLAN, "held": 0, "held_reasons": []}
    lines = role_text(tmp_path, ["common", "plan"], "kafka_recovery_plan_lines", {"kafka_recovery_planned": {"plans": [plan]}})
    assert lines == ["2 to elect, 0 held back, 0 online already, with strategy balanced", "Plan: /w/plans/1/east.json"]


@pytest.mark.parametrize("elect", [0, 2])
@pytest.mark.parametrize("folder", ["", "/w/for review"])
def test_the_shown_command_applies_the_files_that_may_be_changed(tmp_path: Path, elect: int, folder: str) -> None:
    outputs = {"manual_outputs": [f"{folder}/east.json"] if elect else []} if folder else {}
    variables = {
        "kafka_recovery_planned": {"plans": [{**PLAN, "elect": elect}], **outputs},
        "kafka_recovery_manual_output_dir": folder,
        "kafka_recovery_workdir": "/w",
        "kafka_recovery_run_id": "1",
    }
    lines = role_text(tmp_path, ["common", "plan"], "kafka_recovery_apply_lines", variables)
    if not elect:
        assert len(lines) == 1 and "ansible-playbook" not in lines[0]
        return
    assert lines[1].endswith(" streamops.kafka_recovery.apply")
    assert ("/w/for review" in lines[1], "/w/plans/1" in lines[1]) == (bool(folder), not folder)
    assert ("/w/for review" in lines[0]) == bool(folder)


@pytest.mark.parametrize(("rows", "heading"), [(4, ["Replicas of the first 2 partitions:"]), (0, [])])
def test_a_table_of_replicas_is_headed_by_the_number_of_its_partitions(tmp_path: Path, rows: int, heading: list[str]) -> None:
    evidence = {
        "backend": "compat",
        "counts": dict.fromkeys(["replicas_answered", "replicas_silent", "same", "prefix", "forked", "unknown"], 0) | {"offline": 7},
        "path": "/w/landing/1/east.jsonl",
        "table": "| topic |\n",
        "preview": [{"topic": "orders", "partition": number // 2} for number in range(rows)],
    }
    lines = role_text(tmp_path, ["common", "snapshot"], "kafka_recovery_evidence_lines", {"kafka_recovery_evidence": evidence})
    assert lines[4:5] == heading and lines[3] == "All of it: /w/landing/1/east.jsonl"
