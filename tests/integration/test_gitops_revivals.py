# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Revivals and replays that are proposed in a git repository, merged and made on real brokers; and that nothing is changed that was not merged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from integration.requestlog import RequestLog
from integration.support import Operator
from integration.test_gitops_moves import sign
from integration.test_record_replay import values
from integration.test_revival import CONFIG, commit, committed, wait_silent
from unit.git_remotes import Forge, ssh_key

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.signatures import NAMESPACE
from rig import NewTopic

LOST, SURVIVOR, OTHER = 1, 2, 3
GONE, LATER, BEHIND = "gone", "gone.later", "behind"


@pytest.fixture
def operator(west: Operator) -> Iterator[Operator]:
    """An operator whose cluster has lost broker 1. GONE and LATER have no survivor. BEHIND has lost five records, which are saved from the disk."""
    cluster = west.cluster
    cluster.create_topics(
        [NewTopic(GONE, [[LOST]] * 2, CONFIG), NewTopic(LATER, [[LOST]], CONFIG), NewTopic(BEHIND, [[LOST, SURVIVOR]], CONFIG)]
    )
    cluster.writer.write({(topic, 0): ["x"] * 10 for topic in (GONE, LATER, BEHIND)})
    commit(cluster, "idle", GONE, 10)
    cluster.kill(SURVIVOR)
    cluster.wait_fenced([SURVIVOR])
    cluster.wait_for_partitions([BEHIND], lambda state: list(state.isr) == [LOST], "alone in the ISR")
    cluster.produce(BEHIND, 0, [f"lost {number}" for number in range(5)], acks="1")
    cluster.kill(LOST)
    cluster.start_node(SURVIVOR)
    cluster.wait_unfenced([SURVIVOR])
    cluster.wait_fenced([LOST])
    row = {"topic": BEHIND, "partition": 0, "designated_leader": SURVIVOR}
    west.ask("kafka_designated_election", **west.files("hand"), allow_data_loss=True, partitions=[row])
    disk: dict[str, Any] = {"log_dirs": [str(cluster.brokers[LOST].data_dir)], "broker_id": LOST}
    west.ask("kafka_lost_disk_records", **west.files("disk"), **disk, partitions=[{"topic": BEHIND, "partition": 0}])
    wait_silent(cluster, LOST)
    yield west
    cluster.heal()


@pytest.mark.long
def test_revivals_and_replays_are_proposed_merged_and_made_and_nothing_else_is(operator: Operator, tmp_path: Path) -> None:
    cluster, forge = operator.cluster, Forge(tmp_path / "forge")
    (machine, one), (ada, two) = ssh_key(tmp_path, "planner", NAMESPACE), ssh_key(tmp_path, "ada", NAMESPACE)
    signers = tmp_path / "plan_signers"
    signers.write_text(one + two)
    before, log = operator.states(GONE, LATER, BEHIND), RequestLog(cluster)
    wanted: dict[str, Any] = {
        "git_repository": forge.url, "plan_signing_key": str(machine), "lost_brokers": [LOST], "reset_groups": True,
        "revive_empty": [{"topic": GONE}, {"topic": LATER}], "replay_run_id": "disk", "replay_topics": [BEHIND],
    }  # fmt: skip
    proposed = operator.play("propose", "r1", **wanted)
    assert proposed.returncode == 0 and "have the branch merged into main" in proposed.said, proposed
    revivals, replays = "recoveries/r1/revivals/west.json", "recoveries/r1/replays/west.json"
    assert forge.names("recovery/r1") == ["recoveries/r1/README.md", replays, f"{replays}.sig", revivals, f"{revivals}.sig"]
    page = forge.show("recovery/r1", "recoveries/r1/README.md").decode()
    assert "gives up every record of 3 partitions in 1 cluster" in page and "| `idle` | `gone-0` | 10 |" in page, page
    assert "writes 5 saved records again, to 1 partition in 1 cluster" in page, page
    again = operator.play("propose", "r1", **wanted)
    assert again.returncode == 0 and "it already exists" in again.said, again

    # What is not merged is not done, whatever the variables say.
    options: dict[str, Any] = {
        "git_repository": forge.url, "plan_signers": str(signers), "allow_data_loss": True, "require_signatures": 2, "require_commit": True,
    }  # fmt: skip
    unmerged = operator.play("apply_merged", "x1", **options)
    assert unmerged.returncode == 0 and "No merged plan waits to be applied" in unmerged.said, unmerged
    bypassed = operator.play("revive", "x2", **{**wanted, "allow_data_loss": True, "require_commit": True})
    assert bypassed.returncode != 0 and "kafka_recovery_require_commit" in bypassed.said, bypassed
    forge.ada.merge("recovery/r1")
    alone = operator.play("apply_merged", "x3", **options)
    assert alone.returncode != 0 and "2 different people" in alone.said, alone
    sign(forge, revivals, ada, "ada")
    sign(forge, replays, ada, "ada")
    dry = operator.play("apply_merged", "x4", **{**options, "allow_data_loss": False})
    assert dry.returncode == 0 and "nothing was revived" in dry.said and "nothing was written" in dry.said, dry
    assert log.written() == {} and operator.states(GONE, LATER, BEHIND) == before

    # Another operator revives one of the partitions meanwhile, on another broker.
    by_hand: dict[str, Any] = {
        "partitions": [{"topic": LATER, "partition": 0, "replicas": [OTHER]}],
        "lost_brokers": [LOST],
        "allow_data_loss": True,
    }
    operator.ask("kafka_partition_revival", **operator.files("hand"), **by_hand)
    # The remote takes no results: as if the run had been killed before it could commit them.
    forge.hook("pre-receive", "echo 'main is protected' >&2; exit 1")
    killed = operator.play("apply_merged", "x5", **options)
    assert killed.returncode != 0 and "The partitions are already revived" in killed.said, killed
    states = operator.states(GONE, LATER)
    assert all(state.leader in (SURVIVOR, OTHER) for state in states.values()) and states[LATER, 0].replicas == (OTHER,), states
    assert committed(cluster, "idle", GONE) == 0

    forge.hook("pre-receive", "")
    repeated = operator.play("apply_merged", "x6", **options)
    assert repeated.returncode == 0 and "5 saved records written again" in repeated.said, repeated
    results = json.loads(forge.show("main", "recoveries/r1/revival_results/west.json"))
    assert {row["outcome"] for row in results["partitions"]} == {"already_online"}
    assert json.loads(forge.show("main", "recoveries/r1/replay_results/west.json"))["summary"]["replayed"] == 5
    assert values(cluster, BEHIND)[-5:] == [f"lost {number}" for number in range(5)] and len(values(cluster, BEHIND)) == 15
    tip, log = forge.tip(), RequestLog(cluster)
    last = operator.play("apply_merged", "x7", **options)
    assert last.returncode == 0 and "No merged plan waits to be applied" in last.said, last
    assert log.written() == {} and forge.tip() == tip
