# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Automatic recoveries: which plans are applied unattended, and that no outage is claimed twice, even if runs are killed or concurrent."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from module_processes import run_module

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import MOST_NAMED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.events import auto_recovery_ledger
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.events.active_watcher import ActiveWatcher
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.events.auto_recovery_ledger import AutoRecoveryLimits, Ledger
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import plan_file

pytestmark = pytest.mark.slow
# A run that is killed right when the first of its claims is on disk.
KILLED = """
import os, signal
sync = os.fsync
def last(handle):
    sync(handle)
    if "/claim." in os.readlink(f"/proc/self/fd/{handle}"):
        os.kill(os.getpid(), signal.SIGKILL)
os.fsync = last
"""
LIMITS = AutoRecoveryLimits(max_partitions=5, max_offline_brokers=2, max_per_hour=2, max_fleet_per_hour=3)
NOW = 1_800_000_000.0
LOSS = {
    "lower_bound": 0, "lower_bound_from": "high_watermark", "upper_bound": None, "upper_bound_from": "unknown",
    "estimate": None, "estimate_from": "unknown", "gaps": [],
}  # fmt: skip


def entry(partition: int, evidence: str = "prefix", epoch: int = 4, topic_id: str = "3rCxnsJbS1mYcVG5OAoIqQ") -> dict[str, Any]:
    survivors = [{"broker_id": 2, "last_written_epoch": 1, "log_end_offset": 7, "broker_epoch": 7}]
    return {
        "topic": "orders", "partition": partition, "designatedLeader": 2, "replicas_best_first": [2, 1], "evidence": evidence, "explanation": "text",
        "guards": {"topic_id": topic_id, "leader_epoch": epoch, "replicas": [1, 2], "survivors": survivors}, "loss": LOSS, "truncated": [],
        "fenced_truncated": [],
        "isr": [], "eligible_leader_replicas": [], "last_known_elr": [], "in_sync_on_return": [], "named": False,
        "min_insync_replicas": 1, "unclean_leader_election_enable": False,
    }  # fmt: skip


def plan(*entries: dict[str, Any], cluster: str = "east", run_id: str = "r1", offline: int = 1, **header: Any) -> dict[str, Any]:
    brokers = [{"broker_id": number, "broker_state": "fenced", "silent_seconds": 12.3} for number in range(1, offline + 1)]
    brokers.append({"broker_id": 9, "broker_state": "unfenced", "silent_seconds": 0.1})
    content = {
        "plan_id": "0b7c", "cluster": cluster, "cluster_id": "abc", "run_id": run_id, "created_at": "2026-11-21T04:00:00Z",
        "backend": "compat", "strategy": "balanced", "topic_strategies": [], "ranking": "last_written_epoch", "dry_run": False, **header,
    }  # fmt: skip
    return {**content, "brokers": brokers, "partitions": list(entries), "held": [], "online": []}


def written(workdir: Path, content: Mapping[str, Any]) -> Path:
    """The plan where a run would leave it."""
    path = workdir / "plans" / content["run_id"] / f"{content['cluster']}.json"
    for folder in (workdir, workdir / "plans", path.parent):
        folder.mkdir(mode=0o700, exist_ok=True)
    header = {key: value for key, value in content.items() if key not in plan_file.SECTIONS}
    with plan_file.open_writer(path, header) as writer:
        for section in plan_file.SECTIONS:
            for row in content[section]:
                writer.add(section, row)
    return path


def run(workdir: Path, content: Mapping[str, Any], before: str = "", check: bool = False, **options: Any) -> dict[str, Any]:
    """Return the result of the module for this plan, with data loss allowed. It is empty if the process was killed."""
    path = written(workdir, content) if options.get("state") != "finished" else None
    arguments = {"cluster": content["cluster"], "run_id": content["run_id"], "workdir": str(workdir), "allow_data_loss": True, **options}
    if path:
        arguments["plan"] = str(path)
    return run_module("kafka_recovery_incident", {**arguments, "_ansible_check_mode": check}, before=before)


def codes_of(reasons: list[str]) -> set[str]:
    return {reason.partition(":")[0] for reason in reasons}


@pytest.mark.parametrize(
    "content, allowed, expected",
    [
        (plan(entry(0)), True, set()),
        (plan(), False, set()),
        (plan(entry(0)), False, {"data_loss_not_allowed"}),
        (plan(entry(0), entry(1, "forked_resolved")), True, {"evidence"}),
        (plan(entry(0, "incomplete")), True, {"evidence"}),
        (plan(*(entry(number) for number in range(6))), True, {"blast_radius"}),
        (plan(*(entry(number) for number in range(5))), True, set()),
        (plan(entry(0), offline=3), True, {"blast_radius"}),
        (plan(entry(0), strategy="aggressive"), True, {"strategy"}),
        (plan(entry(0), ranking="kip1275"), True, {"strategy"}),
    ],
)
def test_only_what_needs_no_judgement_and_is_small_goes_by_itself(content: dict[str, Any], allowed: bool, expected: set[str]) -> None:
    assert codes_of(auto_recovery_ledger.objections(content, LIMITS, allowed)) == expected


def test_a_plan_that_was_replaced_since_it_was_made_claims_nothing(tmp_path: Path) -> None:
    content = plan(entry(0))
    made = hashlib.sha256(written(tmp_path, content).read_bytes()).hexdigest()
    forged = run(tmp_path, plan(entry(0), entry(1)), plan_sha256=made)
    assert forged["failed"] and "it was replaced since it was made" in forged["msg"]
    unknown = run(tmp_path, content, plan_sha256="")
    assert unknown["failed"] and "not a sha256" in unknown["msg"]
    assert run(tmp_path, content, plan_sha256=made)["automatic"]


EVIDENCE = st.sampled_from(
    ["prefix", "forked", "forked_proven", "forked_resolved", "contradicted", "incomplete", "weak", "corrupt", "below_high_watermark"]
)


@given(st.lists(EVIDENCE, max_size=8), st.integers(0, 4), st.booleans())
def test_nothing_but_prefix_within_the_limits_is_ever_automatic(evidence: list[str], offline: int, allowed: bool) -> None:
    content = plan(*(entry(number, word) for number, word in enumerate(evidence)), offline=offline)
    automatic = bool(evidence) and not auto_recovery_ledger.objections(content, LIMITS, allowed)
    assert automatic == (bool(evidence) and allowed and set(evidence) == {"prefix"} and len(evidence) <= 5 and offline <= 2)


def test_a_claim_gets_its_outcome_and_is_never_claimed_again_but_the_next_outage_is(tmp_path: Path) -> None:
    first = run(tmp_path, plan(entry(0), entry(1)), incident="incident-1")
    assert first["automatic"] and len(first["claims"]) == 2 and first["changed"] is False
    files = sorted((tmp_path / "incidents/east").iterdir())
    assert [file.name for file in files] == ["claim.3rCxnsJbS1mYcVG5OAoIqQ.0.4.json", "claim.3rCxnsJbS1mYcVG5OAoIqQ.1.4.json"]
    assert {oct(file.stat().st_mode & 0o777) for file in files} == {"0o600"}

    killed = run(tmp_path, plan(entry(0), run_id="r2"))
    assert not killed["automatic"] and "orders-0" in killed["reasons"][0] and "r1" in killed["reasons"][0]
    assert codes_of(killed["reasons"]) == {"tried_before"}

    results = tmp_path / "results/r1"
    results.mkdir(parents=True, mode=0o700)
    rows = [{"topic": "orders", "partition": 0, "outcome": "elected"}, {"topic": "orders", "partition": 1, "outcome": "stale"}]
    (results / "east.json").write_text(json.dumps({"partitions": rows}))
    finished = run(tmp_path, plan(), state="finished")
    assert {row["partition"]: row["outcome"] for row in finished["claims"]} == {0: "elected", 1: "stale"}
    assert run(tmp_path, plan(), state="finished")["claims"] == []
    again = run(tmp_path, plan(entry(1), run_id="r3"))
    assert not again["automatic"] and "left it stale" in again["reasons"][0]

    later = run(tmp_path, plan(entry(0, epoch=6), run_id="r4"))
    assert later["automatic"], later


def test_a_run_that_was_killed_while_it_wrote_claims_has_claimed_those_outages(tmp_path: Path) -> None:
    assert run(tmp_path, plan(entry(0), entry(1)), before=KILLED) == {}
    assert len(list((tmp_path / "incidents/east").iterdir())) == 1
    after = run(tmp_path, plan(entry(0), entry(1), run_id="r2"))
    assert not after["automatic"] and codes_of(after["reasons"]) == {"tried_before"}
    assert run(tmp_path, plan(entry(1), run_id="r3"))["automatic"], "the other one was not reached"


def test_an_event_source_that_takes_over_continues_each_unfinished_claim_once(tmp_path: Path) -> None:
    first, second, third = (ActiveWatcher(tmp_path) for _ in range(3))
    assert first.check() and not second.check() and second.watcher is None
    assert run(tmp_path, plan(entry(0), entry(1)), watcher=first.watcher)["automatic"]
    (tmp_path / "results/r1").mkdir(parents=True, mode=0o700)
    (tmp_path / "results/r1/east.json").write_text(json.dumps({"partitions": [{"topic": "orders", "partition": 1, "outcome": "failed"}]}))
    claimed = (tmp_path / "incidents/east/claim.3rCxnsJbS1mYcVG5OAoIqQ.0.4.json").read_bytes()
    run(tmp_path, plan(), state="finished", watcher=first.watcher)
    (tmp_path / "incidents/east/claim.3rCxnsJbS1mYcVG5OAoIqQ.0.4.json").write_bytes(claimed)  # as if it had been killed before
    assert codes_of(run(tmp_path, plan(entry(0), run_id="r2"), watcher=first.watcher)["reasons"]) == {"tried_before"}

    first.stop()
    assert second.check()
    late = run(tmp_path, plan(entry(2), run_id="late"), watcher="of-the-first-one")
    assert not late["automatic"] and codes_of(late["reasons"]) == {"not_active"}
    assert codes_of(run(tmp_path, plan(entry(1), run_id="r3"), watcher=second.watcher)["reasons"]) == {"tried_before"}, "it has an outcome"
    assert run(tmp_path, plan(entry(0), run_id="r4"), watcher=second.watcher)["automatic"]
    after = json.loads((tmp_path / "incidents/east/claim.3rCxnsJbS1mYcVG5OAoIqQ.0.4.json").read_text())
    assert (after["run_id"], after["continues"], after["outcome"]) == ("r4", "r1", None)

    second.stop()
    assert third.check()
    assert codes_of(run(tmp_path, plan(entry(0), run_id="r5"), watcher=third.watcher)["reasons"]) == {"tried_before"}, "not a third time"


def test_a_run_without_an_event_source_continues_nothing(tmp_path: Path) -> None:
    watcher = ActiveWatcher(tmp_path)
    assert watcher.check() and run(tmp_path, plan(entry(0)), watcher=watcher.watcher)["automatic"]
    assert codes_of(run(tmp_path, plan(entry(0), run_id="by-hand"))["reasons"]) == {"tried_before"}
    (tmp_path / "incidents/watcher.json").write_text("{")
    broken = run(tmp_path, plan(entry(1), run_id="r2"), watcher=watcher.watcher)
    assert broken["failed"] and "watcher.json" in broken["msg"]


def test_of_many_at_once_one_takes_it_on(tmp_path: Path) -> None:
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda number: run(tmp_path, plan(entry(0), run_id=f"r{number}")), range(6)))
    assert sorted(answer["automatic"] for answer in answers) == [False] * 5 + [True]
    assert {code for answer in answers for code in codes_of(answer["reasons"])} == {"tried_before"}


def test_not_too_often_in_one_cluster_and_not_in_all_of_them(tmp_path: Path) -> None:
    limits: dict[str, Any] = {"max_per_hour": 2, "max_fleet_per_hour": 3}
    for number in range(2):
        assert run(tmp_path, plan(entry(0, epoch=number), run_id=f"r{number}"), **limits)["automatic"]
    third = run(tmp_path, plan(entry(0, epoch=3), run_id="r3"), **limits)
    assert codes_of(third["reasons"]) == {"throttled"} and "kafka_recovery_auto_max_per_hour is 2" in third["reasons"][0]
    assert run(tmp_path, plan(entry(0, topic_id="west"), cluster="west", run_id="r4"), **limits)["automatic"]
    north = run(tmp_path, plan(entry(0, topic_id="north"), cluster="north", run_id="r5"), **limits)
    assert codes_of(north["reasons"]) == {"throttled"} and "fleet" in north["reasons"][0]


def test_an_hour_is_over_at_some_time_and_a_clock_that_was_put_back_does_not_shorten_it() -> None:
    claims = auto_recovery_ledger.claims_of(plan(entry(0)), "", "", NOW) + auto_recovery_ledger.claims_of(
        plan(entry(1), run_id="r2"), "", "", NOW
    )
    assert codes_of(auto_recovery_ledger.rate_limit_violations("east", claims, LIMITS, NOW + 3599)) == {"throttled"}
    assert auto_recovery_ledger.rate_limit_violations("east", claims, LIMITS, NOW + 3600) == []
    assert codes_of(auto_recovery_ledger.rate_limit_violations("east", claims, LIMITS, NOW - 9999)) == {"throttled"}


def test_check_mode_takes_nothing_on(tmp_path: Path) -> None:
    assert run(tmp_path, plan(entry(0)), check=True)["automatic"]
    assert list(tmp_path.glob("incidents/*/*")) == []
    assert run(tmp_path, plan(entry(0)))["automatic"]


def test_check_mode_writes_the_files_that_its_commands_name_and_no_others(tmp_path: Path) -> None:
    row: dict[str, Any] = {
        "topic": "orders", "reason_code": "no_survivor", "evidence": "none", "candidate": None, "explanation": "text", "loss": LOSS,
        "truncated": [], "survivors": [], "named": False,
        "min_insync_replicas": 1, "unclean_leader_election_enable": False,
    }  # fmt: skip
    content = {**plan(), "held": [{**row, "partition": number} for number in range(MOST_NAMED + 1)]}
    written(tmp_path, content)
    before = {*tmp_path.rglob("*"), tmp_path / "east-r1.arguments.json", tmp_path / "commands"}
    (step,) = run(tmp_path, content, check=True)["next_steps"]
    (named,) = {*tmp_path.rglob("*")} - before
    assert f"-e kafka_recovery_partitions_file={named} " in step["command"] and named.parent == tmp_path / "commands"
    assert [row["partition"] for row in json.loads(named.read_text())["partitions"]] == [*range(MOST_NAMED + 1)]


def test_a_claim_that_cannot_be_read_stops_every_automatic_recovery(tmp_path: Path) -> None:
    assert run(tmp_path, plan(entry(0)))["automatic"]
    file = next((tmp_path / "incidents/east").iterdir())
    file.write_text("")
    refused = run(tmp_path, plan(entry(1), run_id="r2"))
    assert refused["failed"] and str(file) in refused["msg"]


def test_bad_input_is_named(tmp_path: Path) -> None:
    other = run(tmp_path, plan(entry(0)), run_id="r9")
    assert "only the plan of the same run is applied unattended" in other["msg"]
    hostile = run(tmp_path, plan(entry(0, topic_id="../../x"), run_id="r2"))
    assert "topic id" in hostile["msg"]
    assert "incident" in run(tmp_path, plan(entry(0), run_id="r3"), incident="{{ x }}")["msg"]
    assert "max_partitions is -1" in run(tmp_path, plan(entry(0), run_id="r4"), max_partitions=-1)["msg"]
    bare = {"partitions": [{"topic": "foo", "partition": 1, "designatedLeader": 0}]}
    path = written(tmp_path, plan(run_id="r5"))
    path.write_text(json.dumps(bare))
    assert plan_file.load(path) == bare
    claim = copy.deepcopy(auto_recovery_ledger.claims_of(plan(entry(0)), "", "", NOW))
    ledger = Ledger(tmp_path, "east")
    with ledger.locked():
        ledger.take(claim)
        with pytest.raises(RecoveryError, match=r"claim\..*\.json"):
            ledger.take(claim)
