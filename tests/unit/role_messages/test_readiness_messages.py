# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What preflight shows: one message for the first obstacle, with the remedy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import Playbooks
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.recovery_limits import exceeded_limits
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages import readiness
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.present_run import PresentRun
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.readiness import ReadinessPolicy

RUN = PresentRun("east", plan_path="/w/plans/1/east.json", commands=Playbooks(["hosts.yml"]))
ELECTS = ReadinessPolicy(allow_data_loss=True, max_partitions=3, max_offline_brokers=0)
STABLE: dict[str, Any] = {"verdict": "stable", "reasons": [], "risks": [], "unknown": []}
REASONS = ["broker 1 was the leader", "broker 2 was the leader"]
NOTHING_MISSING: dict[str, Any] = {"missing": [], "unknown": []}


def offline(count: int, fenced: int = 1) -> dict[str, Any]:
    """So many partitions without a leader, and so many fenced brokers beside one that is unfenced."""
    brokers = [{"broker_id": number, "broker_state": "fenced"} for number in range(1, fenced + 1)]
    return {"count": count, "brokers": [*brokers, {"broker_id": 90, "broker_state": "unfenced"}]}


def ready(count: int, fenced: int = 1) -> dict[str, Any]:
    """A cluster that has all permissions and a stable quorum."""
    return {"permissions": NOTHING_MISSING, "quorum": STABLE, "partitions": offline(count, fenced)}


def missing(name: str = "orders", required: bool = True) -> dict[str, Any]:
    return {
        "operation": "READ", "resource_type": "TOPIC", "name": name, "purpose": "reads logs", "stage": "collect", "required": required,
        "remedy": "grant it",
    }  # fmt: skip


@pytest.mark.parametrize("verdict", ["no_leader", "churning", "majority_behind"])
@pytest.mark.parametrize("pre_vote", [True, False])
def test_an_unstable_quorum_takes_two_lines(verdict: str, pre_vote: bool) -> None:
    quorum = {"verdict": verdict, "reasons": REASONS, "pre_vote_supported": pre_vote}
    (message,) = readiness.obstacles({"permissions": NOTHING_MISSING, "quorum": quorum, "partitions": None}, RUN, ReadinessPolicy(window=5))
    first, second = message.splitlines()
    assert f"({verdict})" in first and first.endswith(f"Seen in 5 s: {'; '.join(REASONS)}")
    assert second.startswith("Next: ") and "run again" in second
    assert ("KIP-996" in second) == (verdict == "churning" and not pre_vote)


@pytest.mark.parametrize("stages", [["collect"], ["collect", "reassign"]])
@pytest.mark.parametrize("name", ["orders", "*"])
def test_a_missing_permission_takes_two_lines_after_the_first(name: str, stages: list[str]) -> None:
    permissions = {"missing": [missing(name), missing("optional", required=False), missing(name)]}
    (message,) = readiness.obstacles({"permissions": permissions, "quorum": None}, RUN, ReadinessPolicy(stages))
    head, *rows = message.splitlines()
    assert "east" in head
    assert ("name the partitions to recover (kafka_recovery_partitions)" in head) is (name == "*" and stages == ["collect"]), (
        "redundancy is for all topics"
    )
    assert [line.strip() for line in rows] == ["grant it", f"(READ on topic {name}: reads logs)"] * 2


@pytest.mark.parametrize("part", ["permissions", "quorum", "partitions", "evidence"])
def test_a_part_that_was_not_read_stops_the_run(part: str) -> None:
    (message,) = readiness.obstacles({**ready(0), part: None}, RUN, ReadinessPolicy())
    assert message == f"Not read from east: {part}. Run again"


def test_lost_brokers_that_are_not_lost_take_a_line_each_after_the_remedy() -> None:
    objections = ["broker 1 is not fenced", "broker 2 is offline, too"]
    for found in ({"lost_broker_objections": objections}, {**ready(0), "lost_broker_objections": objections, "evidence": None}):
        (message,) = readiness.obstacles(found, RUN, ReadinessPolicy())
        head, *rows = message.splitlines()
        assert head.startswith("kafka_recovery_lost_brokers of east is wrong") and "Name every broker that is lost for good" in head
        assert rows == objections


def test_a_quorum_without_a_verdict_stops_the_run() -> None:
    with pytest.raises(KeyError):
        readiness.obstacles({"quorum": {}}, RUN, ReadinessPolicy())


@given(st.integers(0, 6), st.integers(0, 4), st.integers(0, 6), st.integers(0, 4), st.booleans(), st.booleans())
def test_limits_stop_the_run_as_the_rule_of_elections_says(
    count: int, fenced: int, max_partitions: int, max_offline_brokers: int, planned: bool, allowed: bool
) -> None:
    policy = ReadinessPolicy(
        planned=planned, allow_data_loss=allowed, max_partitions=max_partitions, max_offline_brokers=max_offline_brokers
    )
    exceeded = exceeded_limits(count, fenced, max_partitions, max_offline_brokers)
    counted = [limit for limit in exceeded if limit.option != "max_partitions" or not planned]
    message = "".join(readiness.obstacles(ready(count, fenced), RUN, policy))
    assert bool(message) == (allowed and bool(counted))
    for limit in counted if message else []:
        assert f"-e kafka_recovery_{limit.option}={limit.needed}" in message
    assert message.count(" -e ") == (len(counted) if message else 0)


@pytest.mark.parametrize("playbook", ["recover", "apply", "apply_merged"])
def test_limits_are_raised_by_one_whole_command_of_the_playbook_that_runs(playbook: str) -> None:
    run = replace(RUN, playbook=playbook, partitions=[("orders", 7)])
    (message,) = readiness.obstacles(ready(4), run, ELECTS)
    plans = "-e kafka_recovery_plan_dir=/w/plans/1 " if playbook == "apply" else ""
    assert message.splitlines()[-1].endswith(
        "--limit east -e '{kafka_recovery_partitions: [{topic: orders, partition: 7}]}' -e kafka_recovery_allow_data_loss=true "
        f"{plans}-e kafka_recovery_max_partitions=4 -e kafka_recovery_max_offline_brokers=1 streamops.kafka_recovery.{playbook}"
    )


def test_another_playbook_is_run_again_with_the_raised_limits() -> None:
    (message,) = readiness.obstacles(ready(4), RUN, ELECTS)
    partitions, brokers, command = message.splitlines()
    assert partitions.startswith("4 partitions of east have no live leader, and kafka_recovery_max_partitions is 3. ")
    assert brokers.startswith("1 broker of east is offline (1), and kafka_recovery_max_offline_brokers is 0. ")
    assert command == "The same run with --limit east -e kafka_recovery_max_partitions=4 -e kafka_recovery_max_offline_brokers=1"


@pytest.mark.parametrize(
    ("count", "run", "first"),
    [
        (1, RUN, "1 partition has no live leader"),
        (2, RUN, "2 partitions have no live leader"),
        (1, replace(RUN, partitions_file="/p.json"), "1 of the requested partitions has no live leader"),
        (0, replace(RUN, partitions=[("orders", 1)]), "0 of the requested partitions have no live leader"),
    ],
)
def test_a_run_without_obstacles_shows_how_many_partitions_have_no_leader(count: int, run: PresentRun, first: str) -> None:
    assert readiness.lines(ready(count, 2), run) == [first, "Brokers fenced: 1, 2; unfenced: 90"]


def test_what_does_not_stop_a_run_is_shown() -> None:
    found: Mapping[str, Any] = {
        "permissions": {"missing": [missing(required=False)], "unknown": [{"operation": "READ"}]},
        "quorum": {**STABLE, "reasons": ["voter 2 is behind"], "risks": ["one voter less"], "unknown": ["timeouts"]},
        "partitions": offline(0, 0),
    }
    assert readiness.obstacles(found, RUN, ELECTS) == []
    assert readiness.lines(found, RUN)[2:] == [
        "Optional, improves evidence: grant it",
        "The cluster does not report whether this is granted: READ",
        "The metadata quorum is stable, but voter 2 is behind",
        "The metadata quorum is stable, but one voter less",
        "Unknown about the metadata quorum: timeouts",
    ]
