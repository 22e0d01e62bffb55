# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Moves of replicas that are proposed in a git repository, merged and made on real brokers; and that nothing is changed that was not merged."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from integration.requestlog import RequestLog
from integration.support import Operator, run_module
from integration.throttle_leaks import clear, wait_for_throttles
from unit.git_remotes import Forge, ssh_key

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.signatures import NAMESPACE
from rig import NewTopic

LOST, RATE = 3, 50_000_000


@pytest.fixture
def operator(west: Operator) -> Iterator[Operator]:
    """An operator who works on a cluster without any throttle, which has lost a broker."""
    clear(west.cluster)
    west.cluster.create_topics([NewTopic("orders", [[3, 1], [2, 3], [1, 2]]), NewTopic("later", [[2, 3]])])
    for number in range(3):
        west.cluster.produce("orders", number, ["x" * 1000] * 50)
    west.cluster.kill(LOST)
    west.cluster.wait_fenced([LOST])
    yield west
    west.cluster.heal()
    clear(west.cluster)


def sign(forge: Forge, path: str, key: Path, name: str) -> None:
    """A second person adds a signature to the protected branch, as the guide shows."""
    command = ["ssh-keygen", "-q", "-Y", "sign", "-n", NAMESPACE, "-f", str(key)]
    done = subprocess.run(command, input=forge.show("main", path), capture_output=True, check=True, timeout=60)
    forge.ada.write({f"{path}.{name}.sig": done.stdout})


@pytest.mark.long
def test_moves_are_proposed_merged_and_made_and_nothing_else_is(operator: Operator, tmp_path: Path) -> None:
    cluster, forge = operator.cluster, Forge(tmp_path / "forge")
    (machine, one), (ada, two) = ssh_key(tmp_path, "planner", NAMESPACE), ssh_key(tmp_path, "ada", NAMESPACE)
    signers = tmp_path / "plan_signers"
    signers.write_text(one + two)
    before, log = operator.states("orders", "later"), RequestLog(cluster)
    wanted: dict[str, Any] = {"git_repository": forge.url, "restore_redundancy": True, "plan_signing_key": str(machine), "throttle": RATE}
    proposed = operator.play("propose", "r1", **wanted)
    assert proposed.returncode == 0 and "have the branch merged into main" in proposed.said, proposed
    moves = "recoveries/r1/moves/west.json"
    assert forge.names("recovery/r1") == ["recoveries/r1/README.md", moves, f"{moves}.sig"]
    page = forge.show("recovery/r1", "recoveries/r1/README.md").decode()
    assert "approves new replicas for 3 partitions in 1 cluster" in page and "50.0 MB/s for each broker" in page, page
    again = operator.play("propose", "r1", **wanted)
    assert again.returncode == 0 and "it already exists" in again.said, again

    # What is not merged is not done, whatever the variables say.
    options: dict[str, Any] = {
        "git_repository": forge.url, "plan_signers": str(signers), "allow_data_loss": True, "restore_redundancy": True, "require_signatures": 2,
        "throttle": 2 * RATE, "require_commit": True,
    }  # fmt: skip
    unmerged = operator.play("apply_merged", "x1", **options)
    assert unmerged.returncode == 0 and "that are not merged were made" in unmerged.said, unmerged
    bypassed = operator.play("reassign", "x2", allow_data_loss=True, require_commit=True)
    assert bypassed.returncode != 0 and "not known to be merged, so nothing is changed" in bypassed.said, bypassed
    forge.ada.merge("recovery/r1")
    alone = operator.play("apply_merged", "x3", **options)
    assert alone.returncode != 0 and "2 different people" in alone.said, alone
    sign(forge, moves, ada, "ada")
    dry = operator.play("apply_merged", "x4", **{**options, "allow_data_loss": False})
    assert dry.returncode == 0 and "Dry run, nothing was moved" in dry.said, dry
    assert log.written() == {} and operator.states("orders", "later") == before

    # Another operator gives one of the partitions other replicas meanwhile.
    moved_by_hand = [{"topic": "later", "partition": 0, "replicas": [2]}]
    operator.ask("kafka_partition_reassignment", **operator.files("hand"), partitions=moved_by_hand)
    # The remote takes no results: as if the run had been killed before it could commit them.
    tip = forge.tip()
    forge.hook("pre-receive", "echo 'main is protected' >&2; exit 1")
    killed = operator.play("apply_merged", "x5", **options)
    assert killed.returncode != 0 and "The replicas are already moved" in killed.said, killed
    states = operator.states("orders", "later")
    assert {key: sorted(state.replicas) for key, state in states.items()} == {
        ("orders", 0): [1, 2], ("orders", 1): [1, 2], ("orders", 2): [1, 2], ("later", 0): [2],
    }  # fmt: skip
    assert all(len(state.isr) == len(state.replicas) for state in states.values()) and forge.tip() == tip
    assert all(state.leader == state.replicas[0] for state in states.values())
    assert "later-0 is stale: its replicas are [2], and were [2, 3]" in killed.said, killed
    assert operator.read("move_results", "x5")["throttle"] == RATE, "never faster than approved"

    forge.hook("pre-receive", "")
    log = RequestLog(cluster)
    repeated = operator.play("apply_merged", "x6", **options)
    assert repeated.returncode != 0 and "later-0" in repeated.said, repeated
    results = json.loads(forge.show("main", "recoveries/r1/move_results/west.json"))
    assert {(row["topic"], row["partition"]): row["outcome"] for row in results["partitions"]} == {
        ("orders", 0): "unchanged", ("orders", 1): "unchanged", ("later", 0): "stale",
    }  # fmt: skip
    tip = forge.tip()
    last = operator.play("apply_merged", "x7", **options)
    assert last.returncode == 0 and "No merged plan waits to be applied" in last.said, last
    assert log.written() == {} and forge.tip() == tip
    cluster.heal()
    wait_for_throttles(cluster)


@pytest.mark.long
def test_moves_of_another_cluster_are_not_made(operator: Operator, tmp_path: Path) -> None:
    """A cluster that was created again under the same name, for which the moves were signed and merged."""
    forge, (key, line) = Forge(tmp_path / "forge"), ssh_key(tmp_path, "planner", NAMESPACE)
    (tmp_path / "plan_signers").write_text(line)
    folder = operator.workdir / "reassignments" / "r1"
    assert operator.play("reassign", "r1").returncode == 0
    planned = json.loads((folder / "west.json").read_text())
    (folder / "west.json").write_text(json.dumps({**planned, "cluster_id": "another"}))
    options = {"repository": forge.url, "run_id": "r1", "moves_dir": str(folder), "clusters": ["west"], "plan_signing_key": str(key)}
    assert run_module("kafka_recovery_commit", options).returncode == 0
    forge.ada.merge("recovery/r1")
    log = RequestLog(operator.cluster)
    done = operator.play("apply_merged", "x1", git_repository=forge.url, plan_signers=str(tmp_path / "plan_signers"), allow_data_loss=True)
    assert done.returncode != 0 and "was made for cluster west (another)" in done.said, done
    assert log.written() == {} and "recoveries/r1/move_results/west.json" not in forge.names()
