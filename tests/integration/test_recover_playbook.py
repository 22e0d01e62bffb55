# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbooks recover, plan and apply, as an operator runs them: exit codes, recap, results, and what reached the cluster."""

from __future__ import annotations

import json
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
from integration.requestlog import RequestLog
from integration.support import ALL_TASKS, CHECKOUT, Operator, outcomes, run_module

# Topics of the shared cluster that the tests of strategies never elect anything in, or nothing but this file's.
WITHOUT_LEAVE = ["lagging.none", "identical.none"]
# A plugin of Ansible that replaces the plan, before the task that elects, by one that decides by the strategy aggressive.
FORGER = """
import json
from pathlib import Path
from ansible.plugins.callback import CallbackBase
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import plan_file
class CallbackModule(CallbackBase):
    CALLBACK_VERSION, CALLBACK_TYPE, CALLBACK_NAME = 2.0, "notification", "forger"
    def v2_playbook_on_task_start(self, task, is_conditional):
        if task.get_name().endswith("Elect what the plan designates"):
            path = Path({path!r})
            plan = json.loads(path.read_text())
            plan["strategy"] = "aggressive"
            path.write_text(json.dumps({{**plan, "sha256": plan_file.sha256(plan)}}))
"""
# Of a recovery of one cluster that succeeds, that of localhost included. One is skipped, once for all clusters of a batch: what a batch shows that fails as a
# whole. What became of the partitions, and the failure if some have no leader, are two tasks: a failed one would show its data as JSON.
TASKS = 14
# Of a run as the checkout's ansible.cfg shows it, its summary and Ansible's error included.
MOST_LINES = 60


def named(east: Operator, topics: list[str]) -> list[dict[str, Any]]:
    return [{"topic": topic, "partition": partition} for topic, partition in east.keys(topics)]


def test_without_leave_to_lose_data_it_stops_after_the_plan_and_says_what_to_add(east: Operator) -> None:
    before, log = east.states(*WITHOUT_LEAVE), RequestLog(east.cluster)
    played = east.play("recover", "1", partitions=named(east, WITHOUT_LEAVE))
    assert played.returncode != 0, played
    assert played.recap["east"]["changed"] == 0
    assert "-e kafka_recovery_allow_data_loss=true" in played.said
    results = east.read("results", "1")
    assert outcomes(results["partitions"]) == {topic: {"held"} for topic in WITHOUT_LEAVE}
    assert all(row["reason_code"] == "data_loss_not_allowed" for row in results["partitions"])
    assert len(east.read("plans", "1")["partitions"]) == 8
    assert log.written() == {}
    assert east.states(*WITHOUT_LEAVE) == before


def test_a_plan_that_was_replaced_before_its_election_is_not_elected(
    east: Operator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, log, plan = east.states(*WITHOUT_LEAVE), RequestLog(east.cluster), east.path("plans", "forged")
    (tmp_path / "forger.py").write_text(FORGER.format(path=str(plan)))
    monkeypatch.setenv("ANSIBLE_CALLBACK_PLUGINS", str(tmp_path))
    played = east.play("recover", "forged", partitions=named(east, WITHOUT_LEAVE), allow_data_loss=True)
    assert json.loads(plan.read_text())["strategy"] == "aggressive"
    assert played.returncode != 0 and f"{plan} has sha256" in played.said and "it was replaced since it was made" in played.said, played
    assert log.written() == {}
    assert east.states(*WITHOUT_LEAVE) == before


@pytest.mark.long
def test_check_mode_is_a_dry_run_that_shows_the_forecast_and_writes_nothing(east: Operator) -> None:
    before, log = east.states(*WITHOUT_LEAVE), RequestLog(east.cluster)
    played = east.play("recover", "1", "--check", "--diff", partitions=named(east, WITHOUT_LEAVE), allow_data_loss=True)
    assert played.returncode == 0, played
    assert "8 elected" in played.stdout
    assert "lagging.none-0" in played.stdout, "the diff"
    assert east.read("plans", "1")["dry_run"] is True
    assert not east.path("results", "1").exists()
    assert log.written() == {}
    assert east.states(*WITHOUT_LEAVE) == before


def test_a_plan_is_made_reviewed_and_applied_once(east: Operator) -> None:
    wanted = east.workdir / "wanted.json"
    wanted.write_text(json.dumps({"partitions": [{"topic": "lagging.playbook", "partitions": [0, 1, 2, 3]}]}))
    planned = east.play("plan", "planned", partitions_file=str(wanted))
    assert planned.returncode == 0, planned
    assert not east.path("results", "planned").exists()

    log = RequestLog(east.cluster)
    plan = {**east.files("refused"), "plan": str(east.path("plans", "planned")), "allow_data_loss": True, "confirm": "elect 5"}
    refused = run_module("kafka_designated_election", {**east.connection, **plan})
    assert "this run would elect 4" in refused.result["msg"] and log.written() == {}, refused
    plan_dir = str(east.path("plans", "planned").parent)
    applied = east.play("apply", "applied", plan_dir=plan_dir, allow_data_loss=True, confirm="elect 4")
    assert applied.returncode == 0, applied
    assert applied.recap["east"]["changed"] == 1
    assert log.written()["ELECT_LEADERS"] == 1
    assert outcomes(east.read("results", "applied")["partitions"]) == {"lagging.playbook": {"elected"}}
    assert {state.leader for state in east.cluster.describe("lagging.playbook")} == {2}

    log = RequestLog(east.cluster)
    again = east.apply("planned", "again")
    assert again["changed"] is False and log.written() == {}
    assert outcomes(again["results"]) == {"lagging.playbook": {"already_online"}}


def test_what_is_held_back_fails_the_run_until_the_operator_decides(east: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    topics = ["identical.playbook", "forked.playbook"]
    kip_460 = east.workdir / "kip-460.json"
    # As a topic that was deleted since the list was made.
    kip_460.write_text(json.dumps({"partitions": [*named(east, topics), {"topic": "nowhere", "partition": 3}]}))
    quiet = ConfigParser()
    quiet.read(CHECKOUT / "ansible.cfg")
    with monkeypatch.context() as checkout:
        for name in ALL_TASKS:
            checkout.setenv(name, quiet["defaults"][name.removeprefix("ANSIBLE_").lower()])
        balanced = east.play("recover", "balanced", partitions_file=str(kip_460), allow_data_loss=True)
    assert len(balanced.said.splitlines()) <= MOST_LINES and len(balanced.tasks) == 2, "tasks that change or show something, and no others"
    assert balanced.returncode != 0, "four partitions have no leader yet"
    assert "failed (unknown_topic_or_partition), 1: nowhere-3\n" in balanced.stderr, balanced
    assert "), 4: forked.playbook-0..3\n" in balanced.stderr, "the list has all of them"
    assert "[ERROR]: Task failed: Action failed: 5 partitions of east have no leader." in balanced.stderr, balanced
    assert "fatal:" not in balanced.stdout and "identical.playbook" not in balanced.stderr, balanced
    assert balanced.recap["east"]["changed"] == 1
    assert outcomes(east.read("results", "balanced")["partitions"]) == {
        "identical.playbook": {"elected"},
        "forked.playbook": {"held"},
        "nowhere": {"failed"},
    }
    assert "kafka_recovery_strategy=aggressive" in balanced.said, "what to do next"

    options: dict[str, Any] = {"partitions": named(east, topics), "allow_data_loss": True, "strategy": "aggressive"}
    aggressive = east.play("recover", "aggressive", **options)
    assert aggressive.returncode == 0 and "fatal:" not in aggressive.said and "ERROR" not in aggressive.stderr, aggressive
    assert len(aggressive.tasks) == len(set(aggressive.tasks)) == TASKS, aggressive
    assert aggressive.recap["east"]["skipped"] == 1, aggressive
    expected = {"identical.playbook": {"already_online"}, "forked.playbook": {"elected"}}
    results = east.read("results", "aggressive")
    assert outcomes(results["partitions"]) == expected
    # A success says what it gave up, and that the cluster has more partitions without a leader.
    truncated = [row["truncated"] for row in results["partitions"] if row["outcome"] == "elected"]
    records = sum(cut["records"] for cuts in truncated for cut in cuts)
    assert (
        records > 0
        and f"{records:,} records of 4 partitions are truncated from survivors: forked.playbook-0 on broker" in aggressive.stdout
    )
    others = results["other_offline_partitions"]
    assert others > 0 and f"{others:,} other partitions of east have no live leader" in aggressive.stdout

    # A plan of before says of what it held how that is now.
    late = east.apply("balanced", "late")
    assert late["changed"] is False
    expected = {**{topic: {"already_online"} for topic in topics}, "nowhere": {"failed"}}
    assert outcomes(late["results"]) == expected


@pytest.mark.long
def test_bad_input_ends_the_run_before_anything_is_read_or_elected(east: Operator) -> None:
    log = RequestLog(east.cluster)
    played = east.play("recover", "1", partitions=[{"topic": "nowhere", "partition": 0}], allow_data_loss=True)
    assert played.returncode != 0
    assert "no topic nowhere" in played.said
    assert not (east.workdir / "landing").exists()
    assert log.written() == {}
