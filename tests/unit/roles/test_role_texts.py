# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What roles say at the end of a run: true in check mode, too, and with counts of all partitions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from role_plays import ROOT, collection_of, role_play, role_text

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.lost_records import sums

pytestmark = pytest.mark.slow


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
    count = "2 partitions have" if offline else "1 partition has"
    assert f"{count} no live leader, {'orders-7' if offline else 'gone-3'} first" in done.stdout
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
    assert not outcome or options or "1 partition has no leader in the results" in done.stdout, done.stdout


IMPACT: dict[str, Any] = {
    "summary": {"partitions": 2, "groups": 1},
    "groups": [{"command": "reset billing"}],
    "transactions": [],
    "record_counts": {"partitions": 1, "replayed": 0, "saved": 25, "on_disk": 5, "gone": 0, "total": 30, "not_known": 0, "unread": 0},
    "path": "/w/impact.json",
}


@pytest.mark.parametrize(
    ("impact", "wanted", "lines"),
    [
        (IMPACT, True, ["producers of 2 partitions: 1 group to reset", "reset billing", "All of it: /w/impact.json"]),
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


def test_a_play_that_is_not_of_the_collection_has_no_name(tmp_path: Path) -> None:
    assert role_text(tmp_path, ["common"], "kafka_recovery_playbook", {}) == ""


READINESS: dict[str, Any] = {
    "quorum": {"verdict": "stable", "reasons": [], "risks": [], "unknown": []},
    "permissions": {"missing": [], "unknown": []},
    "partitions": {"count": 4, "brokers": [{"broker_id": 1, "broker_state": "fenced"}]},
}
PLAN = {"cluster": "east", "path": "/w/plans/1/east.json", "elect": 2, "held": 0, "online": 0, "truncated_replicas": 0, "held_reasons": []}
MOVES: dict[str, Any] = {
    "path": "/w/m/east.json",
    "planned": 3,
    "adding_replicas": 3,
    "bytes": 0,
    "rack_violations": 0,
    "held_by_reason": {},
}
ELECTION: dict[str, Any] = {
    "summary": {"elected": 2, "held": 1},
    "without_leader": [
        {"outcome": "held", "reason_code": "weak", "count": 1, "partitions": [{"topic": "orders", "partition": 7}], "reason": "why"}
    ],
    "given_up": {"text": []},
    "next_steps": [],
    "results_path": "/w/results/1/east.json",
}
COUNTS = dict.fromkeys(["offline", "replicas_answered", "replicas_silent", "same", "prefix", "forked", "unknown"], 0)
EVIDENCE: dict[str, Any] = {"backend": "compat", "counts": COUNTS, "path": "/w/landing/1/east.jsonl", "table": "", "preview": []}
PROPOSED: dict[str, Any] = {
    "changed": True, "branch": "b", "commit": "3f1c", "protected_branch": "main", "merged": False, "signed": True, "remote_messages": [],
}  # fmt: skip
# What modules return, and variables of the inventory. All of the other variables are the roles' own.
GIVEN: dict[str, Any] = {
    "kafka_recovery_workdir": "/w",
    "kafka_recovery_run_id": "1",
    "kafka_recovery_allow_data_loss": True,
    "kafka_recovery_max_partitions": "3",
    "kafka_recovery_max_offline_brokers": 0,
    "kafka_recovery_playbook": "recover",
    "kafka_recovery_partitions": [{"topic": "orders", "partition": 7}],
    "kafka_recovery_git_repository": "git@example.com:plans.git",
    "kafka_recovery_readiness": READINESS,
    "kafka_recovery_evidence": EVIDENCE,
    "kafka_recovery_planned": {"plans": [PLAN], "summary": {"held_by_reason": {}}},
    "kafka_recovery_proposed": PROPOSED,
    "kafka_recovery_approvals": {"plans": [], "branch": "main", "commit": "3f1c"},
    "kafka_recovery_committed": {"run_id": "1", "branch": "main", "commit": "3f1c", "left_out": []},
    "kafka_recovery_election": ELECTION,
    "kafka_recovery_impact": {},
    "kafka_recovery_moves": MOVES,
    "kafka_recovery_reassigned": {"summary": {"reassigned": 3}, "previous_assignment": None},
    "kafka_recovery_automatic": {"elect": 1, "held": 0, "reasons": ["strategy: other"], "next_steps": []},
    "kafka_recovery_preferred": {"summary": {"elected": 0}, "results": []},
    "kafka_recovery_reported": {
        "headline": {"text": "calm", "next": ""},
        "next_steps": [],
        "steps_left_out": 0,
        "html_path": "/w/r.html",
        "record_counts": sums([]),
    },
}
# The first line of each variable, in a run and in check mode.
FIRST_LINES = {
    "kafka_recovery_obstacles": ["4 partitions of east have no live leader, and kafka_recovery_max_partitions is 3"] * 2,
    "kafka_recovery_readiness_lines": ["4 of the requested partitions have no live leader"] * 2,
    "kafka_recovery_evidence_lines": ["Backend compat"] * 2,
    "kafka_recovery_plan_lines": ["2 to elect, 0 held, 0 online already, with strategy balanced"] * 2,
    "kafka_recovery_apply_lines": ["Read the plans, then apply them with"] * 2,
    "kafka_recovery_proposal_lines": ["Proposed on the branch b, commit 3f1c", "Would be proposed on the branch b, commit 3f1c"],
    "kafka_recovery_approval_lines": ["No merged plan waits to be applied, on main at 3f1c"] * 2,
    "kafka_recovery_commit_lines": ["Results of recovery 1 are on main, commit 3f1c"] * 2,
    "kafka_recovery_result_lines": ["2 elected, 1 held", "Dry run, nothing was elected. It would be: 2 elected, 1 held"],
    "kafka_recovery_problem_lines": ["1 partition has no leader in the results", "Partitions that would be left without a leader:"],
    "kafka_recovery_move_messages.planned": ["3 partitions get back 3 replicas, 0.00 Bytes to be copied"] * 2,
    "kafka_recovery_move_messages.moved": ["3 reassigned", "Dry run, nothing was moved. It would be: 3 reassigned"],
    "kafka_recovery_respond_lines": ["Nothing is elected automatically in east: 1 partition could be elected"] * 2,
    "kafka_recovery_preferred_lines": [
        "every partition is led by its preferred leader",
        "Dry run, nothing was written. It would be: every partition is led",
    ],
    "kafka_recovery_report_lines": ["calm"] * 2,
}
ROLES = ["common", "preflight", "snapshot", "plan", "propose", "verify", "restore_redundancy", "respond", "preferred", "report"]


@pytest.mark.parametrize("check_mode", [False, True])
def test_the_lines_of_roles_are_made_of_results_and_variables(tmp_path: Path, check_mode: bool) -> None:
    options = ["--check"] if check_mode else []
    values = role_text(tmp_path, ROLES, f"[{', '.join(FIRST_LINES)}]", GIVEN, options)
    found = dict(zip(FIRST_LINES, values, strict=True))
    wanted = {name: lines[check_mode] for name, lines in FIRST_LINES.items()}
    assert {name: (lines or [""])[0][: len(wanted[name])] for name, lines in found.items()} == wanted
    assert found["kafka_recovery_obstacles"][0].endswith(
        "--limit east -e kafka_recovery_workdir=/w -e '{kafka_recovery_partitions: [{topic: orders, partition: 7}]}' "
        "-e kafka_recovery_allow_data_loss=true -e kafka_recovery_max_partitions=4 -e kafka_recovery_max_offline_brokers=1 "
        "streamops.kafka_recovery.recover"
    ), "a limit on the command line is a text"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({}, None),
        ({"quorum": {"verdict": "churning", "reasons": ["why"], "pre_vote_supported": True}, "partitions": None}, "(churning)"),
        ({"partitions": {"count": 10_001, "brokers": []}}, "-e kafka_recovery_max_partitions=10001"),
        ({"quorum": None, "partitions": None}, "Not read from east: quorum, partitions"),
    ],
    ids=["ready", "quorum", "limit", "not read"],
)
def test_an_obstacle_stops_the_run(tmp_path: Path, changed: dict[str, Any], message: str | None) -> None:
    collections = collection_of(tmp_path / "collections", "kafka_readiness_info", {**READINESS, **changed})
    task = {"ansible.builtin.include_tasks": str(ROOT / "roles/preflight/tasks/cluster.yml")}
    variables = {"kafka_recovery_workdir": "/w", "kafka_recovery_run_id": "1", "kafka_recovery_allow_data_loss": True}
    done = role_play(tmp_path, ["common", "preflight"], variables, [task], collections=collections)
    assert done.returncode == (2 if message else 0), done.stdout + done.stderr
    assert (message or "4 partitions have no live leader") in done.stdout, done.stdout


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({}, None),
        ({"quorum": {"verdict": "churning", "reasons": ["why"], "pre_vote_supported": True}, "partitions": None}, "(churning)"),
        ({"partitions": {"count": 10_001, "brokers": []}}, "-e kafka_recovery_max_partitions=10001"),
        ({"lost_broker_objections": ["broker 3 is not fenced"]}, "broker 3 is not fenced"),
        ({"evidence": None}, "Not read from east: evidence"),
    ],
    ids=["ready", "quorum", "limit", "lost brokers", "not collected"],
)
def test_an_obstacle_stops_the_run_before_a_plan(tmp_path: Path, changed: dict[str, Any], message: str | None) -> None:
    found = {**READINESS, "lost_broker_objections": [], "evidence": None if changed else EVIDENCE, **changed}
    collections = collection_of(tmp_path / "collections", "kafka_recovery_evidence_info", found)
    tasks = [
        {"ansible.builtin.include_tasks": str(ROOT / f"roles/{name}.yml")}
        for name in ("preflight/tasks/evidence", "snapshot/tasks/checked")
    ]
    variables = {"kafka_recovery_workdir": "/w", "kafka_recovery_run_id": "1", "kafka_recovery_allow_data_loss": True}
    done = role_play(tmp_path, ["common", "preflight", "snapshot"], variables, tasks, collections=collections)
    assert done.returncode == (2 if message else 0), done.stdout + done.stderr
    for text in [message] if message else ["4 partitions have no live leader", "Backend compat"]:
        assert text in done.stdout, done.stdout


@pytest.mark.parametrize(("verdict", "code"), [("stable", 0), ("no_leader", 2)])
def test_a_play_that_watches_the_quorum_needs_a_stable_one(tmp_path: Path, verdict: str, code: int) -> None:
    quorum = {"verdict": verdict, "reasons": ["voter 2 is behind"], "risks": [], "unknown": []}
    collections = collection_of(tmp_path / "collections", "kafka_quorum_info", quorum)
    task = {"ansible.builtin.include_tasks": str(ROOT / "roles/preflight/tasks/watch.yml")}
    done = role_play(tmp_path, ["common", "preflight"], {"kafka_recovery_workdir": "/w"}, [task], collections=collections)
    assert done.returncode == code, done.stdout + done.stderr
    assert ("(no_leader)" if code else "The metadata quorum is stable, but voter 2 is behind") in done.stdout, done.stdout


def test_an_automatic_recovery_names_each_variable_that_does_not_allow_it(tmp_path: Path) -> None:
    variables = {"kafka_recovery_workdir": "w", "kafka_recovery_require_commit": "y"}
    objections = role_text(tmp_path, ["common", "plan", "respond"], "kafka_recovery_respond_objections", variables)
    assert [objection.split()[0] for objection in objections] == ["kafka_recovery_workdir", "kafka_recovery_require_commit"]
