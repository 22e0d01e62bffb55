# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A recovery that is proposed in a git repository, merged and applied, with real pushes and elections; and the ways in which it is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from integration.requestlog import RequestLog
from integration.support import CHECKOUT, GIVE_UP_SECONDS, Operator, Played, failure, outcomes, run_module
from unit.git_remotes import Forge, plan_key, proposal, resealed, with_a_key

from rig.fleet import host_vars, inventory, write_inventory

# Another committer pushes to main at the moment in which results arrive there, once; the remote then takes the push of neither into account but theirs.
FASTER = """\
unset GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES
while read old new ref; do
  if [ "$ref" = refs/heads/main ] && mkdir faster 2>/dev/null; then
    export GIT_AUTHOR_NAME=Bob GIT_AUTHOR_EMAIL=bob@example.com GIT_COMMITTER_NAME=Bob GIT_COMMITTER_EMAIL=bob@example.com
    git update-ref refs/heads/main "$(git commit-tree -p main -m meanwhile 'main^{tree}')"
  fi
done"""


@pytest.fixture
def forge(tmp_path: Path) -> Forge:
    return Forge(tmp_path / "forge")


def worse(plan: Path, run_id: str) -> bytes:
    """The plan with broker 3 as the leader of every partition, whose log is shorter than that of broker 2."""
    rows = json.loads(plan.read_text())["partitions"]
    forged = [
        {**row, "designatedLeader": 3, "replicas_best_first": [3, *(one for one in row["replicas_best_first"] if one != 3)]} for row in rows
    ]
    return resealed(plan, run_id=run_id, partitions=forged)


def forgeries(key: Path, plan: Path) -> dict[str, str | bytes]:
    """What a reviewer can be led to merge: another leader below the same summary (f1), or with its own summary and no signature (f2), results that
    came with the plan (f3), a plan that is never too old (f4); and a good plan (r3) of another cluster of that name."""
    return {
        **proposal(key, resealed(plan, run_id="f1")), "recoveries/f1/plans/east.json": worse(plan, "f1"),
        **proposal(None, worse(plan, "f2")),
        **proposal(key, resealed(plan, run_id="f3")), "recoveries/f3/results/east.json": json.dumps({"plan_id": json.loads(plan.read_text())["plan_id"]}),
        **proposal(key, resealed(plan, run_id="f4", created_at="2099-01-01T00:00:00Z")),
        # Merged, but made for another cluster of that name.
        **proposal(key, resealed(plan, run_id="r3", cluster_id="another")),
    }  # fmt: skip


def check_forgeries(east: Operator, forge: Forge, key: Path, repository: dict[str, Any]) -> None:
    """Merge them, and fail the test if a run applies one of them."""
    forge.ada.write(forgeries(key, east.path("plans", "r1")))
    forged = east.play("apply_merged", "forged", allow_data_loss=True, **repository)
    assert forged.returncode != 0, forged
    for reason in (
        "recoveries/f1/README.md on main",
        "there is no recoveries/f2/plans/east.json.sig",
        "recoveries/f3/results/east.json on main",
        "recoveries/f4/plans/east.json was made at 2099-01-01T00:00:00Z, which is in the future",
        "was made for cluster east (another)",
    ):
        assert reason in forged.said, forged
    assert "plan signed by planner@example.com (SHA256:" in forged.said
    assert "recoveries/r3/results/east.json" not in forge.names(), "it was not applied"


def test_a_recovery_is_proposed_merged_with_a_signature_and_applied_once_and_its_results_are_committed(
    east: Operator, forge: Forge
) -> None:
    named = [{"topic": "gitops", "partition": partition} for _, partition in east.keys(["gitops"])]
    before, log = east.states("gitops"), RequestLog(east.cluster)
    key, planners = plan_key(east.workdir)
    repository: dict[str, Any] = {"git_repository": forge.url, "plan_signers": str(planners)}
    proposed = east.play("propose", "r1", partitions=named, plan_signing_key=str(key), **repository)
    assert proposed.returncode == 0, proposed
    assert "have the branch merged into main to approve it" in proposed.said
    assert f"-e kafka_recovery_plan_signers={planners}" in proposed.said and "not signed" not in proposed.said
    folder = "recoveries/r1"
    assert forge.names("recovery/r1") == [f"{folder}/README.md", f"{folder}/plans/east.json", f"{folder}/plans/east.json.sig"]
    assert forge.show("recovery/r1", f"{folder}/plans/east.json") == east.path("plans", "r1").read_bytes()
    assert "| `gitops-0` | 2 | prefix |" in forge.show("recovery/r1", f"{folder}/README.md").decode()

    plan_dir = str(east.path("plans", "r1").parent)
    options = {**repository, "plan_dir": plan_dir, "allow_data_loss": True, "require_commit": True}
    refused = east.play("apply", "early", **options)
    assert refused.returncode != 0 and f"{folder}/plans/east.json is not on main" in refused.said, refused
    assert "Run readiness checks" not in refused.said, "no cluster was asked"
    check_forgeries(east, forge, key, repository)
    assert log.written() == {} and east.states("gitops") == before

    # From here on every reviewer has to sign.
    signed, signers = with_a_key(forge.ada, east.workdir)
    options |= {"require_signature": True, "merge_signers": str(signers)}
    signed.merge("recovery/r1")
    plan = east.path("plans", "r1")
    # A cluster that cannot be reached, first of all: it fails, the other is recovered, and its results are committed.
    away = resealed(plan, cluster="away")
    signed.write(proposal(key, away, plan.read_bytes()))
    plan.with_name("away.json").write_bytes(away)
    hosts = {"away": {"kafka_bootstrap_servers": "127.0.0.1:9", "kafka_request_timeout": "3"}, "east": host_vars(east.cluster)}
    write_inventory(east.workdir / "both.yml", inventory(hosts))
    forge.hook("pre-receive", FASTER)
    applied = east.play("apply", "applied", inventory_file=east.workdir / "both.yml", **options)
    assert applied.returncode != 0 and applied.recap["away"]["failed"] == 1 and applied.recap["east"]["failed"] == 0, applied
    assert "merged by Ada <ada@example.com>" in applied.said and "The impact on consumers and producers is unknown" not in applied.said
    assert outcomes(east.read("results", "applied")["partitions"]) == {"gitops": {"elected"}}
    assert {state.leader for state in east.cluster.describe("gitops")} == {2}
    assert (Path(forge.url) / "faster").is_dir(), "another committer was faster"
    assert forge.show("main", f"{folder}/results/east.json") == east.path("results", "applied").read_bytes()
    assert f"{folder}/results/away.json" not in forge.names(), "it can be applied yet"

    tip, log = forge.tip(), RequestLog(east.cluster)
    again = east.play("apply", "again", **options)
    assert again.returncode != 0 and "is not applied: results by" in again.said, again
    assert log.written() == {} and forge.tip() == tip and not east.path("results", "again").exists()

    # Merged, and edited afterwards where it is applied from.
    forge.ada.write(proposal(key, resealed(plan, run_id="r2")))
    plan.write_bytes(resealed(plan, run_id="r2", strategy="aggressive"))
    edited = east.play("apply", "edited", **options)
    assert edited.returncode != 0 and "east.json differs from" in edited.said, edited
    assert log.written() == {}


@pytest.mark.long
def test_a_run_that_plans_and_elects_is_refused_if_plans_must_be_merged(east: Operator) -> None:
    log, named = RequestLog(east.cluster), [{"topic": topic, "partition": partition} for topic, partition in east.keys(["forked.none"])]
    options: dict[str, Any] = {"partitions": named, "strategy": "aggressive", "allow_data_loss": True}
    refused = east.play("recover", "1", require_commit=True, **options)
    assert refused.returncode != 0 and "is not known to be merged, so nothing is changed" in refused.said, refused
    assert log.written() == {}


def test_without_signers_no_plan_is_looked_at_unless_that_is_accepted(forge: Forge, tmp_path: Path) -> None:
    options = {"repository": forge.url, "workdir": str(tmp_path / "work"), "clusters": ["east"]}
    said = failure("kafka_recovery_commit_info", options)
    assert "kafka_recovery_plan_signers is not set" in said and "kafka_recovery_allow_unsigned_plans=true" in said
    accepted = run_module("kafka_recovery_commit_info", {**options, "allow_unsigned_plans": True})
    assert accepted.returncode == 0 and accepted.result["plans"] == [], accepted
    missing = failure("kafka_recovery_commit_info", {**options, "plan_signers": str(tmp_path / "nowhere"), "allow_unsigned_plans": True})
    assert f"kafka_recovery_plan_signers {tmp_path}/nowhere cannot be read" in missing


def pipeline(kind: str, step: str) -> str:
    """The shell commands of a step of one of the pipelines, as they stand."""
    folder = CHECKOUT / "extensions" / "pipelines"
    if kind == "gitlab":
        return "\n".join(yaml.safe_load((folder / "gitlab" / ".gitlab-ci.yml").read_text())[step]["script"])
    jobs = yaml.safe_load((folder / "github" / "kafka-recovery.yml").read_text())["jobs"].values()
    return str(next(one["run"] for job in jobs for one in job["steps"] if one["name"] == step))


def run(commands: str, folder: Path, **variables: str) -> Played:
    """Run the commands of a step where a runner has checked the repository out."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "ANSIBLE_CONFIG": str(CHECKOUT / "ansible.cfg"),
    }
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", commands], cwd=folder, env={**environment, "ANSIBLE_NOCOLOR": "1", **variables},
        capture_output=True, text=True, check=False, timeout=GIVE_UP_SECONDS, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return Played(done.returncode, done.stdout, done.stderr)


@pytest.mark.long
def test_the_pipelines_propose_and_apply_what_came_with_a_merge(east: Operator, forge: Forge) -> None:
    settings: dict[str, Any] = {
        "kafka_recovery_workdir": str(east.workdir / "runner"),
        "kafka_recovery_spark_remote": east.spark_remote,
        "kafka_recovery_partitions": [
            {"topic": topic, "partition": partition} for topic, partition in east.keys(["gitops.pipeline", "forked.none"])
        ],
    }
    key, signers = plan_key(east.workdir)
    runner = {"REPOSITORY": forge.url, "SIGNING_KEY": str(key), "PLAN_SIGNERS": str(signers)}
    forge.ada.pull()
    write_inventory(forge.ada.clone / "inventory.yml", inventory({"east": {**host_vars(east.cluster), **settings}}))
    forge.ada.write({"README.md": "Operations"})
    proposed = run(pipeline("github", "Propose"), forge.ada.clone, **runner, LIMIT="kafka_clusters")
    assert proposed.returncode == 0, proposed
    branch = next(line for line in proposed.said.split() if line.startswith("recovery/")).rstrip(",")

    # The first time the remote takes no results: as if the run had been killed before it could commit them.
    before, merged = forge.tip(), forge.ada.merge(branch)
    forge.hook("pre-receive", "echo 'main is protected' >&2; exit 1")
    applied = run(pipeline("gitlab", "apply"), forge.ada.clone, **runner, CI_COMMIT_BEFORE_SHA=before)
    assert applied.returncode != 0 and all(said in applied.said for said in ("main is protected", "The elections are already done")), (
        applied
    )
    assert "held (forked" in applied.said, "what is held fails the pipeline"
    assert {state.leader for state in east.cluster.describe("gitops.pipeline")} == {2}
    assert forge.tip() == merged

    forge.hook("pre-receive", "")
    log = RequestLog(east.cluster)
    again = run(pipeline("github", "Apply what was merged"), forge.ada.clone, **runner, BEFORE=before)
    assert again.returncode != 0 and "held (forked" in again.said, again
    results = f"recoveries/{branch.removeprefix('recovery/')}/results/east.json"
    expected = {"gitops.pipeline": {"already_online"}, "forked.none": {"held"}}
    assert outcomes(json.loads(forge.show("main", results))["partitions"]) == expected, "also where not every partition got a leader"

    tip = forge.tip()
    last = run(pipeline("github", "Apply what was merged"), forge.ada.clone, **runner, BEFORE=before)
    assert last.returncode == 0 and "No merged plan waits to be applied" in last.said, last
    assert log.written() == {} and forge.tip() == tip
