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
    return {"outcome": "held", "reason_code": code, "count": count, "partitions": [PARTITION], "reason": "why"}


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
    assert election_results.result_lines(ELECTION, run, allowed) == [
        f"{prefix}2 elected, 1 stale. All results: /w/results/1/east.json",
        "given up: 7 records",
    ]


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
            "To look at them: docs/saved-records.md. To write them to their partitions again: docs/record-replay.md",
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
    assert line in election_results.result_lines({**ELECTION, "saved_records": saved}, run, True)
    assert "saved" not in "".join(election_results.result_lines({**ELECTION, "saved_records": {**saved, "path": None}}, run, True))


def test_the_command_that_reads_the_disks_of_lost_brokers_is_shown() -> None:
    run = replace(RUN, run_id="1")
    lines = election_results.result_lines({**ELECTION, "save_disks_of": [1, 4]}, run, True)
    assert "brokers 1, 4" in lines[-2]
    assert lines[-1] == (
        "ansible-playbook -i hosts.yml --limit east,kafka_brokers -e kafka_recovery_run_id=1 streamops.kafka_recovery.rescue"
    )
    assert not any("rescue" in line for line in election_results.result_lines({**ELECTION, "save_disks_of": [1]}, DRY_RUN, True))


def test_there_is_no_problem_if_every_partition_has_a_leader() -> None:
    assert election_results.problem_lines(ELECTION, still_offline(), RUN) == []
    assert election_results.problem_lines(ELECTION, {}, DRY_RUN) == []


@pytest.mark.parametrize(("count", "have"), [(1, "1 partition has"), (2, "2 partitions have")])
def test_partitions_that_have_a_leader_only_in_the_cluster_are_named(count: int, have: str) -> None:
    first, group, *_next = election_results.problem_lines({**ELECTION, "without_leader": [held(count)]}, still_offline(), RUN)
    assert first.startswith(
        f"{have} no leader in the results of this run, but {have.rsplit(maxsplit=1)[-1]} one in the cluster now. Run again"
    )
    assert group == ("held (forked), 1 partition: orders-7. why" if count == 1 else "held (forked), 2 partitions: orders-7 and 1 more. why")


def test_a_dry_run_names_what_would_have_no_leader() -> None:
    lines = election_results.problem_lines({**ELECTION, "without_leader": [held(1)]}, {}, DRY_RUN)
    assert lines[:2] == ["Partitions that would be left without a leader:", "held (forked), 1 partition: orders-7. why"]


def test_of_many_deleted_topics_and_reasons_a_few_are_named() -> None:
    groups = [held(1, f"reason_{number}") for number in range(7)]
    lines = election_results.problem_lines({**ELECTION, "without_leader": groups}, still_offline(0, 40), RUN)
    assert lines[:2] == [
        "40 partitions have no live leader, a-3 first. All of them: /w/results/1/east.json",
        "Not in the cluster, or hidden because DESCRIBE is not granted: a-3, b-3, c-3, d-3, e-3 and 35 more",
    ]
    assert [line for line in lines if line.startswith("held")] == [
        f"held (reason_{number}), 1 partition: orders-7. why" for number in range(5)
    ]
    assert "and 2 more reasons: /w/results/1/east.json" in lines


@pytest.mark.parametrize("topic", ["orders", "__transaction_state"])
def test_without_next_steps_a_command_plans_the_partitions_without_a_leader_again(topic: str) -> None:
    offline = {**still_offline(1), "partitions": [{**PARTITION, "topic": topic}]}
    lines = election_results.next_lines(ELECTION, offline, RUN)
    assert lines[0] == "Next: plan again, the cluster has changed"
    if topic == "orders":
        assert "--limit east -e '{kafka_recovery_partitions: [{topic: orders, partition: 7}]}' streamops.kafka_recovery.plan" in lines[1]
        assert "kafka_recovery_strategy" not in lines[1], "under aggressive, a plan does not wait for a clean leader that is coming back"
    else:
        assert lines[1:] == [], "to name it is to consent to its loss"


def test_next_steps_of_the_election_have_their_commands() -> None:
    steps = [{"partitions": 1, "step": "look", "command": "ansible-playbook x"}, {"partitions": 2, "step": "wait", "command": None}]
    assert election_results.next_lines({**ELECTION, "next_steps": steps}, still_offline(1), RUN) == [
        "Next, for 1 partition: look",
        "ansible-playbook x",
        "Next, for 2 partitions: wait",
    ]
