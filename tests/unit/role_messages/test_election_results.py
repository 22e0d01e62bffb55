# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What verify shows: counts of all partitions, in check mode what would be, and the next steps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import Playbooks
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages import election_results
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.present_run import PresentRun
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.lost_records import sums

RUN = PresentRun(
    "east",
    plan_path="/w/plans/1/east.json",
    commands=Playbooks(["hosts.yml"], run_options=["-e", "kafka_recovery_strategy=aggressive"]),
)
DRY_RUN = replace(RUN, check_mode=True)
ELECTION: dict[str, Any] = {
    "summary": {"elected": 2, "stale": 1, "clean_leader": 0},
    "without_leader": [],
    "repaired": [],
    "given_up": {"text": ["given up: 7 records"]},
    "next_steps": [],
    "other_offline_partitions": None,
    "results_path": "/w/results/1/east.json",
}
PARTITION = {"topic": "orders", "partition": 7, "leader": -1}


def deleted(*topics: str) -> list[dict[str, Any]]:
    """Partitions of topics that the cluster does not have any more."""
    return [{"topic": topic, "partition": 3} for topic in topics]


def still_offline(count: int = 0, unknown: int = 0) -> dict[str, Any]:
    """A result of kafka_recovery_result_info, which returns only some of the partitions."""
    return {
        "count": count,
        "partitions": [PARTITION] * min(count, 1),
        "unknown_count": unknown,
        "unknown": deleted(*"abcdefgh"[:unknown]),
    }


def held(count: int, code: str = "forked") -> dict[str, Any]:
    return {"outcome": "held", "reason_code": code, "count": count, "ranges": "orders-7", "partitions": [PARTITION], "reason": "why"}


@pytest.mark.parametrize(
    ("repaired", "line"),
    [
        (["a-0"], "Restored the replica order of 1 partition that a killed run had changed: a-0"),
        (
            [f"a-{number}" for number in range(7)],
            "Restored the replica order of 7 partitions that a killed run had changed: a-0, a-1, a-2, a-3, a-4, and 2 others",
        ),
    ],
)
def test_restored_orders_of_a_killed_run_are_named(repaired: list[str], line: str) -> None:
    assert election_results.result_lines({**ELECTION, "repaired": repaired}, RUN, True)[1] == line


@pytest.mark.parametrize(
    ("run", "allowed", "prefix"),
    [
        (RUN, True, ""),
        (RUN, False, "Plan only, nothing was elected: "),
        (DRY_RUN, True, "Dry run, nothing was elected. It would be: "),
        (DRY_RUN, False, "Dry run, nothing was elected. It would be: "),
    ],
)
def test_the_headline_says_whether_the_outcomes_are_real(run: PresentRun, allowed: bool, prefix: str) -> None:
    assert election_results.result_lines(ELECTION, run, allowed) == [f"{prefix}2 elected, 1 stale", "given up: 7 records"]


def test_without_partitions_the_headline_says_so() -> None:
    election = {**ELECTION, "summary": {"elected": 0}, "given_up": {"text": []}, "results_path": ""}
    assert election_results.result_lines(election, RUN, True) == ["no partition was without a leader"]
    assert election_results.result_lines(election, RUN, False) == ["Plan only, nothing was elected: no partition was without a leader"]
    assert election_results.result_lines(election, DRY_RUN, True) == ["Dry run, nothing was elected: no partition was without a leader"]


@pytest.mark.parametrize(
    ("others", "line"),
    [
        (1, "1 other partition of east has no live leader. This run did not select it"),
        (9, "9 other partitions of east have no live leader. This run did not select them"),
    ],
)
def test_partitions_that_the_run_did_not_select_are_counted(others: int, line: str) -> None:
    assert election_results.result_lines({**ELECTION, "other_offline_partitions": others}, RUN, True)[-1] == line


@pytest.mark.parametrize(
    ("run", "bytes_at_most", "line"),
    [
        (
            DRY_RUN,
            12000,
            "Before the elections, records of 2 replicas would be saved in /w/saved/1/east: 960 offsets, at most 12,000 bytes",
        ),
        (
            DRY_RUN,
            None,
            "Before the elections, records of 2 replicas would be saved in /w/saved/1/east: 960 offsets, an unknown number of bytes",
        ),
        (
            RUN,
            None,
            "Records of 1 of 2 replicas that truncate their logs are saved in /w/saved/1/east. "
            "To count what can be written again (docs/record-replay.md):",
        ),
    ],
)
def test_what_is_saved_or_would_be_is_shown(run: PresentRun, bytes_at_most: int | None, line: str) -> None:
    saved = {
        "path": "/w/saved/1/east",
        "replicas": 2,
        "saved": 1,
        "not_saved": 1,
        "offsets": 960,
        "bytes": 3,
        "bytes_at_most": bytes_at_most,
    }
    lines = election_results.result_lines({**ELECTION, "saved_records": saved}, run, True)
    assert line in lines and lines[-1].endswith(".replay") != run.check_mode
    with_disks = election_results.result_lines({**ELECTION, "saved_records": saved, "save_disks_of": [1]}, run, True)
    assert not any(text.endswith(".replay") for text in with_disks), "these are read first"
    assert any("docs/record-replay.md" in text for text in with_disks) != run.check_mode, "a rescue that saves nothing more does not say it"
    assert "saved" not in "".join(election_results.result_lines({**ELECTION, "saved_records": {**saved, "path": None}}, run, True))


def test_the_command_that_reads_the_disks_of_lost_brokers_is_shown() -> None:
    run = replace(RUN, run_id="1")
    lines = election_results.result_lines({**ELECTION, "save_disks_of": [1, 4]}, run, True)
    assert "brokers 1, 4" in lines[-2]
    assert lines[-1] == (
        "ansible-playbook -i hosts.yml --limit east,kafka_brokers -e kafka_recovery_run_id=1 streamops.kafka_recovery.rescue"
    )
    assert not any("rescue" in line for line in election_results.result_lines({**ELECTION, "save_disks_of": [1]}, DRY_RUN, True))


def screen(election: dict[str, Any], offline: dict[str, Any] | None = None, run: PresentRun = RUN) -> tuple[list[str], dict[str, Any]]:
    """The lines behind those of the results, and the data."""
    shown = election_results.screen({**ELECTION, **election}, run, True, still_offline() if offline is None else offline, None)
    return shown["lines"][2:], shown["summary"]


def test_the_last_line_names_the_file_with_all_results() -> None:
    assert screen({})[0] == ["All results: /w/results/1/east.json"]
    assert screen({"results_path": None})[0] == []


@pytest.mark.parametrize(
    ("groups", "offline", "run", "failure"),
    [
        ([], 0, RUN, ""),
        ([], 2, RUN, "2 partitions of east have no leader. What to do is shown above"),
        ([held(1)], 1, RUN, "1 partition of east has no leader. What to do is shown above"),
        ([held(3)], 0, RUN, "3 partitions of east have no leader in the results, and one in the cluster. Run again"),
        ([held(1)], 0, DRY_RUN, ""),
    ],
)
def test_a_run_fails_if_the_results_or_the_cluster_have_a_partition_without_a_leader(
    groups: list[dict[str, Any]], offline: int, run: PresentRun, failure: str
) -> None:
    assert screen({"without_leader": groups}, still_offline(offline), run)[1]["failure"] == failure


def test_each_reason_has_its_partitions_why_and_the_command_the_cheapest_step_first() -> None:
    steps = [
        {"code": "wait_for_clean_leader", "partitions": 4, "step": "wait", "command": "ansible-playbook plan"},
        {"code": "forked", "partitions": 2, "step": "force", "command": "ansible-playbook --check --diff streamops.kafka_recovery.recover"},
    ]
    groups = [held(2), held(4, "wait_for_clean_leader")]
    lines, data = screen({"without_leader": groups, "next_steps": steps}, still_offline(6))
    assert lines == [
        "held (wait_for_clean_leader), 4: orders-7",
        "  the controller may elect a broker that is coming back: wait for that broker, then plan again",
        "ansible-playbook plan",
        "held (forked), 2: orders-7",
        "  logs fork, and nothing proves a branch: read the lost brokers' disks, start them. Else force it (this is its dry run)",
        "ansible-playbook --check --diff streamops.kafka_recovery.recover",
        "All results: /w/results/1/east.json",
    ]
    assert data["line"] == "east: 2 elected, 1 stale (wait_for_clean_leader 4, forked 2)"
    assert [(row["reason_code"], row["count"], row["command"]) for row in data["groups"]] == [
        ("wait_for_clean_leader", 4, "ansible-playbook plan"),
        ("forked", 2, "ansible-playbook --check --diff streamops.kafka_recovery.recover"),
    ]


def test_reasons_with_the_same_step_share_its_command() -> None:
    groups = [{**held(1, code), "outcome": "stale"} for code in ("log_changed", "topic_recreated")]
    steps = [{"code": "stale", "partitions": 2, "step": "again", "command": "ansible-playbook recover"}]
    lines, _data = screen({"without_leader": groups, "next_steps": steps}, still_offline(2))
    assert [line for line in lines if not line.startswith("  ")] == [
        "stale (log_changed), 1: orders-7",
        "stale (topic_recreated), 1: orders-7",
        "ansible-playbook recover",
        "All results: /w/results/1/east.json",
    ]


def test_a_command_is_shown_with_the_last_group_that_is_shown_if_others_share_it() -> None:
    groups = [{**held(1, f"reason_{number}"), "outcome": "stale"} for number in range(7)]
    steps = [{"code": "stale", "partitions": 7, "step": "again", "command": "ansible-playbook recover"}]
    assert screen({"without_leader": groups, "next_steps": steps}, still_offline(7))[0].count("ansible-playbook recover") == 1


def test_of_two_steps_for_one_reason_the_one_with_a_command_is_shown() -> None:
    """Partitions of __transaction_state have a step of their own, whose command must not name them."""
    steps = [{"code": "no_survivor", "partitions": 1, "step": "start", "command": command} for command in ("ansible-playbook plan", None)]
    assert "ansible-playbook plan" in screen({"without_leader": [held(2, "no_survivor")], "next_steps": steps}, still_offline(2))[0]


def test_a_proposal_is_no_dry_run() -> None:
    steps = [{"code": "forked", "partitions": 2, "step": "force", "command": "ansible-playbook streamops.kafka_recovery.propose"}]
    assert "dry run" not in "".join(screen({"without_leader": [held(2)], "next_steps": steps}, still_offline(2))[0])


@pytest.mark.parametrize("reasons", [5, 8])
def test_a_cluster_with_many_reasons_needs_at_most_25_lines(reasons: int) -> None:
    codes = ["forked", "no_survivor", "wait_for_clean_leader", "incomplete", "weak", "corrupt", "tail_not_saved", "retention_gap"][:reasons]
    steps = [{"code": code, "partitions": 1250, "step": "do", "command": f"ansible-playbook {code}"} for code in codes]
    election = {
        **ELECTION,
        "without_leader": [held(1250, code) for code in codes],
        "next_steps": steps,
        "repaired": ["a-0"],
        "given_up": {"text": ["one", "two"]},
        "saved_records": {"path": "/w/saved", "replicas": 2, "saved": 2, "not_saved": 0, "offsets": 9, "bytes": 3, "bytes_at_most": None},
        "save_disks_of": [1],
        "other_offline_partitions": 3,
    }
    lines = election_results.screen(election, RUN, True, still_offline(1250 * reasons), None)["lines"]
    assert len(lines) <= 25
    assert ("3,750 more partitions without a leader, for 3 more reasons: see the results" in lines) == (reasons == 8)


@pytest.mark.parametrize(("count", "have"), [(1, "1 partition has"), (2, "2 partitions have")])
def test_partitions_that_have_a_leader_only_in_the_cluster_are_counted(count: int, have: str) -> None:
    assert screen({"without_leader": [held(count)]})[0][0] == f"{have} a leader in the cluster by now. Run again to update the results"


def test_a_dry_run_names_what_would_have_no_leader_and_how_to_elect_the_others() -> None:
    planned = {"code": "planned", "partitions": 2, "step": "read", "command": "ansible-playbook apply"}
    lines, data = screen({"without_leader": [held(1)], "next_steps": [planned]}, {}, DRY_RUN)
    assert lines[:4] == [
        "to elect, 2",
        "  the plan designates their leaders: read it, then elect them",
        "ansible-playbook apply",
        "held (forked), 1: orders-7",
    ]
    assert data["check_mode"] and data["groups"][0]["outcome"] == "planned"


def test_of_many_deleted_topics_a_few_are_named() -> None:
    lines, _data = screen({}, still_offline(0, 40))
    assert lines[:2] == [
        "40 partitions have no live leader in the cluster, a-3 first",
        "Not in the cluster, or hidden because DESCRIBE is not granted: a-3, b-3, c-3, d-3, e-3 and 35 more",
    ]


@pytest.mark.parametrize("topic", ["orders", "__transaction_state"])
def test_without_next_steps_a_command_plans_the_partitions_without_a_leader_again(topic: str) -> None:
    offline = {**still_offline(1), "partitions": [{**PARTITION, "topic": topic}]}
    lines, _data = screen({}, offline)
    assert lines[1] == "Plan again, the cluster has changed:"
    if topic == "orders":
        assert "--limit east -e '{kafka_recovery_partitions: [{topic: orders, partition: 7}]}' streamops.kafka_recovery.plan" in lines[2]
        assert "kafka_recovery_strategy" not in lines[2], "under aggressive, a plan does not wait for a clean leader that is coming back"
    else:
        assert lines[2:] == ["All results: /w/results/1/east.json"], "to name it is to consent to its loss"


@pytest.mark.parametrize(("groups", "record_count", "not_known", "lines"), [(0, 0, 0, 1), (1, 0, 0, 4), (0, 3, 0, 3), (0, 0, 1, 3)])
def test_an_impact_on_nothing_needs_one_line(groups: int, record_count: int, not_known: int, lines: int) -> None:
    impact = {
        "summary": {"partitions": 2, "groups": groups},
        "groups": [{"command": "reset billing"}] * groups,
        "transactions": [],
        "record_counts": {**sums([]), "partitions": 1, "total": record_count, "gone": record_count, "not_known": not_known},
        "path": "/w/impact/1/east.json",
    }
    shown = election_results.screen(ELECTION, RUN, True, still_offline(), impact)["lines"]
    assert len(shown) == 3 + lines + (groups and 1), shown
    assert shown[2].startswith("Consumers and producers of 2 partitions: ")
