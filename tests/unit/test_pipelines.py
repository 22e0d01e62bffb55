# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ready pipelines for an operations repository: never two at once, no secret in a command line, and they name what there is."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PIPELINES = ROOT / "extensions" / "pipelines"
HELPER = re.compile(r"GIT_CONFIG_VALUE_0(?:=|: )'(.*)'")


def github() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((PIPELINES / "github" / "kafka-recovery.yml").read_text())
    return loaded


def gitlab() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((PIPELINES / "gitlab" / ".gitlab-ci.yml").read_text())
    return loaded


def scripts() -> list[str]:
    """All shell commands of both."""
    (job,) = github()["jobs"].values()
    of_gitlab = [job[key] for job in gitlab().values() if isinstance(job, dict) for key in ("before_script", "script") if key in job]
    return [step["run"] for step in job["steps"] if "run" in step] + ["\n".join(lines) for lines in of_gitlab]


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
        for role in ("common", "propose")
        for name in yaml.safe_load((ROOT / f"roles/{role}/meta/argument_specs.yml").read_text())["argument_specs"]["main"]["options"]
    ]
    assert set(re.findall(r"-e (kafka_\w+)", script)) <= set(documented)
    assert ("kafka_recovery_allow_data_loss=true" in script) == (playbook == "apply_merged")


def test_only_a_merge_that_brings_plans_applies() -> None:
    on = github()["on"]
    assert on["push"] == {"branches": ["main"], "paths": ["recoveries/*/plans/*.json"]}
    assert gitlab()["apply"]["rules"][0]["changes"] == ["recoveries/*/plans/*.json"]


@pytest.mark.parametrize("file", ["github/kafka-recovery.yml", "gitlab/.gitlab-ci.yml"])
def test_git_gets_the_token_from_the_environment(file: str, tmp_path: Path) -> None:
    (helper,) = HELPER.findall((PIPELINES / file).read_text())
    secret = {"GIT_TOKEN": "s3cret", "KAFKA_RECOVERY_TOKEN": "s3cret"}
    given = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "credential.helper", "GIT_CONFIG_VALUE_0": helper}
    asked = subprocess.run(
        ["git", "credential", "fill"], input="protocol=https\nhost=git.example.com\n\n", capture_output=True, text=True, check=True, timeout=60,
        env={**os.environ, **given, **secret, "GIT_TERMINAL_PROMPT": "0", "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}, cwd=tmp_path,
    )  # fmt: skip
    assert "password=s3cret\n" in asked.stdout
