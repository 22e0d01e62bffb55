# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ready pipelines for an operations repository: never two at once, secrets for one step of the protected branch, and they name what there is."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from repository_root import ROOT
from simulation.scripts_to_keep import SHORTENED

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.kinds import KINDS

PIPELINES = ROOT / "extensions" / "pipelines"
WORKFLOWS = [*sorted((ROOT / ".github").rglob("*.yml")), PIPELINES / "github" / "kafka-recovery.yml"]
SECRET = re.compile(r"secrets\.|github\.token|GITHUB_TOKEN")
HELPER = re.compile(r"GIT_CONFIG_VALUE_0(?:=|: )'(.*)'")


def github() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((PIPELINES / "github" / "kafka-recovery.yml").read_text())
    return loaded


def gitlab() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((PIPELINES / "gitlab" / ".gitlab-ci.yml").read_text())
    return loaded


def scripts() -> list[str]:
    """All shell commands of both."""
    of_gitlab = [job[key] for job in gitlab().values() if isinstance(job, dict) for key in ("before_script", "script") if key in job]
    return [step["run"] for job in github()["jobs"].values() for step in job["steps"] if "run" in step] + [
        "\n".join(lines) for lines in of_gitlab
    ]


def test_never_are_two_at_work_at_once_and_none_is_cut_off() -> None:
    assert github()["concurrency"] == {"group": "kafka-recovery", "cancel-in-progress": False}
    shared = gitlab()[".recovery"]
    assert shared["resource_group"] == "kafka-recovery" and shared["interruptible"] is False
    assert all(gitlab()[name]["extends"] == ".recovery" for name in ("propose", "apply"))


@pytest.mark.parametrize("script", scripts())
def test_commands_are_shell_and_take_nothing_from_outside_unquoted(script: str) -> None:
    assert subprocess.run(["bash", "-n", "-c", script], capture_output=True, check=False, timeout=60).returncode == 0
    assert "${{" not in script, "what people type in must not become a command"

    outside = re.sub(r"'[^']*'|\"[^\"]*\"", "", script)
    assert "$" not in outside, "a variable that is not quoted"


@pytest.mark.parametrize("script", [script for script in scripts() if "ansible-playbook" in script])
def test_playbooks_and_variables_are_there(script: str) -> None:
    (playbook,) = re.findall(r"streamops\.kafka_recovery\.(\w+)", script)
    assert (ROOT / "playbooks" / f"{playbook}.yml").is_file()
    documented = [
        name
        for role, entry in (("common", "name"), ("propose", "main"))
        for name in yaml.safe_load((ROOT / f"roles/{role}/meta/argument_specs.yml").read_text())["argument_specs"][entry]["options"]
    ]
    assert set(re.findall(r"-e (kafka_\w+)", script)) <= set(documented)
    applies = playbook == "apply_merged"
    assert ("kafka_recovery_allow_data_loss=true" in script) == ("kafka_recovery_plan_signers=" in script) == applies
    assert ("kafka_recovery_plan_signing_key=" in script) == (not applies)
    assert "kafka_recovery_allow_unsigned_plans" not in script


@pytest.mark.parametrize("script", [script for script in scripts() if "kafka_recovery.propose" in script])
@pytest.mark.parametrize(
    ("limit", "runs"),
    [
        ("kafka_clusters", True),
        ("east,west-2,eu_*", True),
        ("east,{{ lookup('pipe','id') }},localhost", False),
        ("@/etc/kafka-recovery/signing_key", False),
        ("--list-hosts", False),
        ("", False),
        ("east\nwest", False),
    ],
)
def test_a_limit_that_is_more_than_names_runs_nothing(script: str, limit: str, runs: bool, tmp_path: Path) -> None:
    """A user who may start the pipeline by hand chooses the limit. Ansible evaluates templates in it, and prints the lines of @FILE."""
    program = tmp_path / "ansible-playbook"
    program.write_text("#!/bin/sh\necho ran\n")
    program.chmod(0o700)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "LIMIT": limit, "REPOSITORY": "r", "SIGNING_KEY": "k"}
    done = subprocess.run(["bash", "-ec", script], capture_output=True, text=True, check=False, timeout=60, env=environment, cwd=tmp_path)
    assert ("ran" in done.stdout, done.returncode == 0) == (runs, runs), done


def test_the_collection_never_evaluates_the_limit_of_a_run() -> None:
    files = [path for folder in ("roles", "playbooks") for path in (ROOT / folder).rglob("*.yml")]
    assert len(files) > 50 and not [path for path in files if "ansible_limit" in path.read_text()]


def test_only_a_merge_that_brings_files_to_apply_starts_a_run() -> None:
    """A proposal may have revivals, replays or moves, and no plan. Results start nothing."""
    paths = [f"recoveries/*/{kind.folder}/*.json" for kind in KINDS]
    assert github()["on"]["push"] == {"branches": ["main"], "paths": paths}
    assert gitlab()["apply"]["rules"][0]["changes"] == paths


def test_a_merge_whose_title_skips_the_pipeline_is_applied_by_the_schedule() -> None:
    (schedule,) = github()["on"]["schedule"]
    assert re.fullmatch(r"\d+ \* \* \* \*", schedule["cron"]), "hourly"
    jobs = github()["jobs"]
    assert re.findall(r"github\.event_name == '(\w+)'", jobs["apply"]["if"]) == ["push", "schedule"]
    assert "schedule" not in jobs["propose"]["if"]
    scheduled = gitlab()["apply"]["rules"][1]
    assert '$CI_PIPELINE_SOURCE == "schedule" && $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH' in scheduled["if"] and "changes" not in scheduled


@pytest.mark.parametrize("file", ["github/kafka-recovery.yml", "gitlab/.gitlab-ci.yml"])
def test_git_gets_the_token_from_the_environment(file: str, tmp_path: Path) -> None:
    (helper,) = set(HELPER.findall((PIPELINES / file).read_text()))
    secret = {"GIT_TOKEN": "s3cret"}
    given = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "credential.helper", "GIT_CONFIG_VALUE_0": helper}
    asked = subprocess.run(
        ["git", "credential", "fill"], input="protocol=https\nhost=git.example.com\n\n", capture_output=True, text=True, check=True, timeout=60,
        env={**os.environ, **given, **secret, "GIT_TERMINAL_PROMPT": "0", "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}, cwd=tmp_path,
    )  # fmt: skip
    assert "password=s3cret\n" in asked.stdout


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_the_digest_of_a_commit(workflow: Path) -> None:
    used = re.findall(r"uses:\s*(\S+)(.*)", workflow.read_text())
    for action, comment in used:
        if not action.startswith("./"):
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), action
            assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment), f"{action}: the comment names the release"


def test_workflows_install_the_programs_without_which_tests_are_skipped() -> None:
    steps = yaml.safe_load((ROOT / ".github/actions/setup/action.yml").read_text())["runs"]["steps"]
    (script,) = (step["run"] for step in steps if "apt-get install" in step.get("run", ""))
    assert subprocess.run(["bash", "-n", "-c", script], check=False, timeout=60).returncode == 0
    assert all(f"command -v {program} " in script for program in ("chromium", "npm", "promtool", "kcat"))
    for name in ("test", "nightly"):
        jobs = yaml.safe_load((ROOT / f".github/workflows/{name}.yml").read_text())["jobs"]
        assert all({"./.github/actions/setup"} & {step.get("uses") for step in job["steps"]} for job in jobs.values())


def test_workflows_of_this_repository_have_no_secrets() -> None:
    for workflow in WORKFLOWS[:-1]:
        assert not SECRET.search(workflow.read_text()), workflow
        assert yaml.safe_load(workflow.read_text()).get("permissions", {"contents": "read"}) == {"contents": "read"}


def test_a_secret_is_given_to_one_step_of_a_job_that_only_main_can_run() -> None:
    loaded = github()
    jobs = loaded.pop("jobs")
    assert not SECRET.search(json.dumps(loaded)) and loaded["permissions"] == {"contents": "read"}
    for name, job in jobs.items():
        assert job["environment"] == "kafka-recovery" and job["runs-on"]["group"] == "kafka-recovery", name
        assert "github.ref == 'refs/heads/main'" in job["if"]
        *before, last = job.pop("steps")
        assert not SECRET.search(json.dumps([job, before])), f"{name}: a step that needs no secret has one"
        assert list(last["env"]).count("GIT_TOKEN") == 1 and "ansible-playbook" in last["run"]
        assert all(step.get("with", {}).get("persist-credentials") is False for step in before if "uses" in step)
    assert [name for name, job in jobs.items() if job.get("permissions")] == ["propose"], "only results and branches are pushed"


def test_on_gitlab_only_protected_branches_run_and_only_the_playbook_has_the_token() -> None:
    loaded = gitlab()
    shared = loaded[".recovery"]
    assert shared["environment"] == "kafka-recovery"
    assert all(
        rule["if"].startswith('$CI_COMMIT_REF_PROTECTED == "true" && ') for name in ("propose", "apply") for rule in loaded[name]["rules"]
    )
    assert "TOKEN" not in json.dumps(loaded["variables"])
    install = "\n".join([*shared["before_script"][:2], "env"])
    seen = subprocess.run(
        ["bash", "-eu", "-c", install],
        env={"PATH": os.environ["PATH"], "KAFKA_RECOVERY_TOKEN": "s3cret"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "s3cret" not in seen.stdout
    assert shared["before_script"][2].startswith("python3"), "the token is gone before anything is installed"
    for name in ("propose", "apply"):
        script = loaded[name]["script"][-1]
        assert script.startswith('GIT_TOKEN="${token:-}" ansible-playbook ')


@pytest.mark.parametrize("file", ["github/kafka-recovery.yml", "gitlab/.gitlab-ci.yml"])
def test_the_version_of_the_collection_is_pinned_to_this_one(file: str) -> None:
    released = yaml.safe_load((ROOT / "galaxy.yml").read_text())["version"]
    text = (PIPELINES / file).read_text()
    assert f"COLLECTION: streamops.kafka_recovery:{released}\n" in text
    assert set(re.findall(r"collection install (\S+)", text)) == {'"$COLLECTION"'}
    assert set(re.findall(r"pip\"? install --quiet (\S+)", text)) == {'"$ANSIBLE_CORE"', "-r"}


@pytest.mark.parametrize("forge", ["github", "gitlab"])
def test_owners_review_everything(forge: str) -> None:
    rules = [line for line in (PIPELINES / forge / "CODEOWNERS").read_text().splitlines() if line and not line.startswith("#")]
    assert [rule.split()[0] for rule in rules] == ["*"]


def test_the_night_plays_each_part_of_the_long_tests() -> None:
    targets = (ROOT / "Makefile").read_text()

    def parts(target: str) -> set[str]:
        (called,) = re.findall(rf"(?m)^{target}: setup\n(?:\t.*\n)*?\t\$\(call WITH_TABLE,(.*)\)", targets)
        return {*re.split(r"[ ,]", called)}

    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "nightly.yml").read_text())["jobs"]
    at_night = {*jobs["long"]["strategy"]["matrix"]["target"]}
    assert parts("test-long") == parts("test-long-clusters") | at_night - {"test-long-clusters", "test-matrix", "test-matrix-older"}


def test_the_night_keeps_the_scripts_of_simulated_histories_that_end_badly() -> None:
    steps = yaml.safe_load((ROOT / ".github" / "workflows" / "nightly.yml").read_text())["jobs"]["long"]["steps"]
    (kept,) = [step for step in steps if "upload-artifact" in step.get("uses", "")]
    assert steps.index(kept) > next(index for index, step in enumerate(steps) if step.get("run") == 'make "$TARGET"')
    assert "failure()" in kept["if"] and "cancelled()" in kept["if"]
    assert kept["with"]["path"] == str(SHORTENED)
    assert kept["with"]["include-hidden-files"] is True, "the folder's name begins with a dot"
