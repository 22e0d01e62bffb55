# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What roles say at the end of a run: true in check mode, too, and with counts of all partitions. Each play has a cluster for each case."""

from __future__ import annotations

from typing import Any

import pytest
from role_plays import Case, Played, role_play, role_values, variables_of

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.lost_records import sums

pytestmark = pytest.mark.slow
CHECK = ["--check"]


def results_of(elected: dict[str, int], without_leader: list[dict[str, Any]], assess_impact: bool = False, **answer: Any) -> Case:
    """A cluster whose election ended like this, before the role verify looks at it."""
    election = {
        "summary": {"elected": 2, "clean_leader": 0, **elected},
        "without_leader": without_leader,
        "repaired": [],
        "given_up": {"text": ["given up: 7 records"]},
        "next_steps": [],
        "results_path": "/w/results/1/east.json",
    }
    variables = {
        "kafka_recovery_election": election,
        "kafka_recovery_allow_data_loss": True,
        "kafka_recovery_look_at_impact": assess_impact,
    }
    offline = {"count": 0, "partitions": [], "unknown_count": 0, "unknown": []}
    return Case(variables, {"still_offline": offline, "impact": None, **answer}, {"assess_impact": assess_impact})


GONE = {
    "outcome": "stale",
    "reason_code": "topic_recreated",
    "count": 1,
    "ranges": "gone-3",
    "partitions": [{"topic": "gone", "partition": 3}],
    "reason": "the topic was deleted",
}
OFFLINE = {"gone": [], "gone_and_offline": [{"topic": "orders", "partition": 7, "leader": -1}]}
OUTCOMES = {"held": "forked", "stale": "log_changed", "failed": "election_failed"}
IMPACT: dict[str, Any] = {
    "summary": {"partitions": 2, "groups": 1},
    "groups": [{"command": "reset billing"}],
    "transactions": [],
    "record_counts": {"partitions": 1, "replayed": 0, "saved": 25, "on_disk": 5, "gone": 0, "total": 30, "not_known": 0, "unread": 0},
    "path": "/w/impact.json",
}


# The answer of the module, whether the impact is looked at, and the lines about it.
IMPACTS: dict[str, tuple[dict[str, Any] | None, bool, list[str]]] = {
    "impact_known": (IMPACT, True, ["producers of 2 partitions: 1 group to reset", "reset billing", "All of it: /w/impact.json"]),
    "impact_unknown": (
        {"msg": "broker 3 does not answer"},
        True,
        ["The impact on consumers and producers is unknown: broker 3 does not answer"],
    ),
    "impact_not_wanted": (None, False, []),
}


@pytest.fixture(scope="module")
def verified(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, dict[str, Played]]:
    """Check mode → what the role verify says of each cluster."""
    rows = [{"topic": "orders", "partition": 7}]
    cases = {"all_elected": results_of({}, [])}
    for outcome, code in OUTCOMES.items():
        group = {"outcome": outcome, "reason_code": code, "count": 1, "ranges": "orders-7", "partitions": rows, "reason": "why"}
        cases[outcome] = results_of({outcome: 1}, [group])
    for name, offline in OFFLINE.items():
        answer = {"count": len(offline), "partitions": offline, "unknown_count": 1, "unknown": GONE["partitions"]}
        cases[name] = results_of({"stale": 1}, [GONE], still_offline=answer)
    for name, (impact, wanted, _lines) in IMPACTS.items():
        cases[name] = results_of({}, [], wanted, impact=impact)
    in_check_mode = {name: cases[name] for name in ("all_elected", *OUTCOMES)}
    play = ["common", "verify"], "kafka_recovery_result_info", ["verify/tasks/result.yml"]
    return {
        False: role_play(tmp_path_factory.mktemp("verify"), *play, cases),
        True: role_play(tmp_path_factory.mktemp("verify"), *play, in_check_mode, CHECK),
    }


@pytest.mark.parametrize("name", OFFLINE)
def test_a_run_whose_topic_was_deleted_shows_its_results_and_fails(verified: dict[bool, dict[str, Played]], name: str) -> None:
    done = verified[False][name]
    assert done.failed, done.text
    for text in ("2 elected, 1 stale", "given up: 7 records", "stale (topic_recreated), 1: gone-3"):
        assert text in done.text, done.text
    count = "2 partitions have" if OFFLINE[name] else "1 partition has"
    assert f"{count} no live leader in the cluster, {'orders-7' if OFFLINE[name] else 'gone-3'} first" in done.text, done.text
    assert "Not in the cluster, or hidden because DESCRIBE is not granted: gone-3" in done.text
    assert ("streamops.kafka_recovery.plan" in done.text) == bool(OFFLINE[name])


@pytest.mark.parametrize("name", ["all_elected", *OUTCOMES])
@pytest.mark.parametrize("check_mode", [False, True], ids=["run", "dry run"])
def test_a_run_fails_by_its_results_although_the_cluster_finds_a_leader(
    verified: dict[bool, dict[str, Played]], name: str, check_mode: bool
) -> None:
    done, code = verified[check_mode][name], OUTCOMES.get(name)
    assert done.failed == (code is not None and not check_mode), done.text
    assert code is None or f"{name} ({code}), 1: orders-7" in done.text, done.text
    assert code is None or check_mode or "1 partition has a leader in the cluster by now" in done.text, done.text


@pytest.mark.parametrize("name", IMPACTS)
def test_the_impact_is_shown_with_the_results_and_fails_no_recovery(verified: dict[bool, dict[str, Played]], name: str) -> None:
    _impact, wanted, lines = IMPACTS[name]
    done = verified[False][name]
    assert not done.failed, done.text
    assert all(line in done.text for line in ("2 elected", *lines)), done.text
    assert ("onsumers and producers" in done.text) == wanted


READINESS: dict[str, Any] = {
    "quorum": {"verdict": "stable", "reasons": [], "risks": [], "unknown": []},
    "permissions": {"missing": [], "unknown": []},
    "partitions": {"count": 4, "brokers": [{"broker_id": 1, "broker_state": "fenced"}]},
}
PLAN = {
    "cluster": "east",
    "path": "/w/plans/1/east.json",
    "elect": 2,
    "held": 0,
    "online": 0,
    "truncated_replicas": 0,
    "elections": [],
    "in_sync_on_return": [],
    "held_reasons": [],
}
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
        {
            "outcome": "held",
            "reason_code": "weak",
            "count": 1,
            "ranges": "orders-7",
            "partitions": [{"topic": "orders", "partition": 7}],
            "reason": "",
        }
    ],
    "repaired": [],
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
    "kafka_recovery_approvals": {"plans": [], "revivals": [], "replays": [], "moves": [], "branch": "main", "commit": "3f1c"},
    "kafka_recovery_committed": {"run_id": "1", "branch": "main", "commit": "3f1c", "left_out": []},
    "kafka_recovery_election": ELECTION,
    "kafka_recovery_impact": {},
    "kafka_recovery_moves": MOVES,
    "kafka_recovery_reassigned": {"summary": {"reassigned": 3}, "previous_assignment": None},
    "kafka_recovery_automatic": {"elect": 1, "held": 0, "reasons": ["strategy: other"], "next_steps": []},
    "kafka_recovery_preferred": {"summary": {"elected": 0}, "results": []},
    "kafka_recovery_moves_seen": {"progress": {"partitions": 0, "brokers": []}, "throttles": [], "unreachable_brokers": []},
    "kafka_recovery_moves_ended": {"summary": {"cancelled": 2}, "left_over_throttle": {}},
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
    "kafka_recovery_result_messages.lines": ["2 elected, 1 held", "Dry run, nothing was elected. It would be: 2 elected, 1 held"],
    "kafka_recovery_move_messages.planned": ["3 partitions get back 3 replicas, 0.00 Bytes to be copied"] * 2,
    "kafka_recovery_move_messages.moved": ["3 reassigned", "Dry run, nothing was moved. It would be: 3 reassigned"],
    "kafka_recovery_respond_lines": ["Nothing is elected automatically in east: 1 partition could be elected"] * 2,
    "kafka_recovery_preferred_lines": [
        "every partition is led by its preferred leader",
        "Dry run, nothing was written: every partition is led",
    ],
    "kafka_recovery_report_lines": ["calm"] * 2,
    "kafka_recovery_move_progress_lines": ["no partition is moving"] * 2,
    "kafka_recovery_cancellation_lines": ["Dry run, nothing was cancelled. It would be: 2 cancelled"] * 2,
}
ROLES = ["common", "preflight", "snapshot", "plan", "propose", "verify", "restore_redundancy", "respond", "preferred", "report", "moves"]


ON = {"kafka_recovery_allow_data_loss": "y", "kafka_recovery_restore_redundancy": "t"}


@pytest.fixture(scope="module")
def values(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, dict[str, Any]]:
    """Check mode → the values of roles' variables on each cluster."""
    objecting = {"kafka_recovery_workdir": "w", "kafka_recovery_require_commit": "y"}
    cases = {
        "east": (f"[{', '.join(FIRST_LINES)}]", {**variables_of(*ROLES), **GIVEN}),
        "no_playbook": ("kafka_recovery_playbook", variables_of("common")),
        "stages": ("kafka_recovery_stages", {**variables_of("common", "preflight"), **ON}),
        "moves_allowed": ("kafka_recovery_moves_allowed", {**variables_of("common", "restore_redundancy"), **ON}),
        "objections": ("kafka_recovery_respond_objections", {**variables_of("common", "plan", "respond"), **objecting}),
    }
    in_check_mode = {"east": cases["east"]}
    return {
        False: role_values(tmp_path_factory.mktemp("values"), cases),
        True: role_values(tmp_path_factory.mktemp("values"), in_check_mode, CHECK),
    }


@pytest.mark.parametrize("check_mode", [False, True])
def test_the_lines_of_roles_are_made_of_results_and_variables(values: dict[bool, dict[str, Any]], check_mode: bool) -> None:
    found = dict(zip(FIRST_LINES, values[check_mode]["east"], strict=True))
    wanted = {name: lines[check_mode] for name, lines in FIRST_LINES.items()}
    assert {name: (lines or [""])[0][: len(wanted[name])] for name, lines in found.items()} == wanted
    assert found["kafka_recovery_obstacles"][0].endswith(
        "--limit east -e kafka_recovery_workdir=/w -e '{kafka_recovery_partitions: [{topic: orders, partition: 7}]}' "
        "-e kafka_recovery_allow_data_loss=true -e kafka_recovery_max_partitions=4 -e kafka_recovery_max_offline_brokers=1 "
        "streamops.kafka_recovery.recover"
    ), "a limit on the command line is a text"


def test_a_play_that_is_not_of_the_collection_has_no_name(values: dict[bool, dict[str, Any]]) -> None:
    assert values[False]["no_playbook"] == ""


def test_what_a_module_reads_as_true_is_true_for_the_role(values: dict[bool, dict[str, Any]]) -> None:
    """A play that does not check its options may write `y`."""
    assert (values[False]["stages"], values[False]["moves_allowed"]) == (["collect", "reassign"], True)


def test_an_automatic_recovery_names_each_variable_that_does_not_allow_it(values: dict[bool, dict[str, Any]]) -> None:
    """The first objection is that the play has several clusters."""
    _clusters, *objections = values[False]["objections"]
    assert [objection.split()[0] for objection in objections] == ["kafka_recovery_workdir", "kafka_recovery_require_commit"]


# What differs from the answer without an obstacle, and the message.
OBSTACLES: dict[str, tuple[dict[str, Any], str]] = {
    "ready": ({}, "4 partitions have no live leader"),
    "quorum": ({"quorum": {"verdict": "churning", "reasons": ["why"], "pre_vote_supported": True}, "partitions": None}, "(churning)"),
    "limit": ({"partitions": {"count": 10_001, "brokers": []}}, "-e kafka_recovery_max_partitions=10001"),
}
BEFORE_EVIDENCE = {**OBSTACLES, "not_read": ({"quorum": None, "partitions": None}, "Not read from not_read: quorum, partitions")}
AFTER_EVIDENCE = {
    **OBSTACLES,
    "lost_brokers": ({"lost_broker_objections": ["broker 3 is not fenced"]}, "broker 3 is not fenced"),
    "not_collected": ({"evidence": None}, "Not read from not_collected: evidence"),
}
ELECTING = {"kafka_recovery_workdir": "/w", "kafka_recovery_run_id": "1", "kafka_recovery_allow_data_loss": True}


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Played]:
    cases = {name: Case(ELECTING, {**READINESS, **changed}) for name, (changed, _message) in BEFORE_EVIDENCE.items()}
    folder = tmp_path_factory.mktemp("ready")
    return role_play(folder, ["common", "preflight"], "kafka_readiness_info", ["preflight/tasks/cluster.yml"], cases)


@pytest.mark.parametrize("name", BEFORE_EVIDENCE)
def test_an_obstacle_stops_the_run(ready: dict[str, Played], name: str) -> None:
    assert ready[name].failed == (name != "ready"), ready[name].text
    assert BEFORE_EVIDENCE[name][1] in ready[name].text


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Played]:
    cases = {}
    for name, (changed, _message) in AFTER_EVIDENCE.items():
        found = {**READINESS, "lost_broker_objections": [], "evidence": None if changed else EVIDENCE, **changed}
        cases[name] = Case(ELECTING, found)
    files = ["preflight/tasks/evidence.yml", "snapshot/tasks/checked.yml"]
    return role_play(
        tmp_path_factory.mktemp("collected"), ["common", "preflight", "snapshot"], "kafka_recovery_evidence_info", files, cases
    )


@pytest.mark.parametrize("name", AFTER_EVIDENCE)
def test_an_obstacle_stops_the_run_before_a_plan(collected: dict[str, Played], name: str) -> None:
    assert collected[name].failed == (name != "ready"), collected[name].text
    assert AFTER_EVIDENCE[name][1] in collected[name].text
    assert ("0 replicas answered" in collected[name].text) == (name == "ready")


def test_a_play_that_watches_the_quorum_needs_a_stable_one(tmp_path_factory: pytest.TempPathFactory) -> None:
    verdicts = ("stable", "no_leader")
    answers = {verdict: {"verdict": verdict, "reasons": ["voter 2 is behind"], "risks": [], "unknown": []} for verdict in verdicts}
    cases = {verdict: Case({"kafka_recovery_workdir": "/w"}, answer) for verdict, answer in answers.items()}
    folder = tmp_path_factory.mktemp("watch")
    done = role_play(folder, ["common", "preflight"], "kafka_quorum_info", ["preflight/tasks/watch.yml"], cases)
    assert {name: cluster.failed for name, cluster in done.items()} == {"stable": False, "no_leader": True}
    assert "(no_leader)" in done["no_leader"].text, done
    assert "The metadata quorum is stable, but voter 2 is behind" in done["stable"].text, done
