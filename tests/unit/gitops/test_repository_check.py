# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of a git repository before anything is asked: each fault is named with its option and the remedy, and what is good is not."""

from __future__ import annotations

import os
import pwd
import subprocess
from pathlib import Path
from typing import Any

import pytest
from git_remotes import Person, plan_key, with_a_key
from role_plays import local_play

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.repository_check import APPLY, PROPOSE, repository_problems

URL = "https://git.example.com/ops/kafka.git"


def problems(use: str, path: str | None = None, **options: Any) -> list[str]:
    """Return the problems of these options; options that are paths name files."""
    options = {"git_repository": URL, **options}
    paths = {name: value for name, value in options.items() if isinstance(value, Path)}
    texts = list(repository_problems(use, {name: value for name, value in options.items() if name not in paths}, paths, path))
    assert all(len(text.splitlines()) == 1 for text in texts)
    return texts


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Path, Path]:
    return plan_key(tmp_path)


def test_good_options_are_no_problem(keys: tuple[Path, Path]) -> None:
    key, signers = keys
    assert problems(PROPOSE, plan_signing_key=key, git_signing_key=key) == []
    assert problems(PROPOSE, plan_signing_key=key.with_suffix(".pub")) == [], "an agent holds the key itself"
    assert problems(PROPOSE, git_repository="recoveries", git_directory="a/b") == []
    assert problems(APPLY, plan_signers=signers, merge_signers=signers, require_signature="yes") == []
    assert problems(APPLY, allow_unsigned_plans="true") == []
    assert problems(PROPOSE, git_repository="http://git.example.com/x", git_allow_plaintext_secrets="yes") == []


@pytest.mark.parametrize(("needed", "problem"), [(1, False), ("2", False), (0, True), ("-1", True), ("two", False)])
def test_signatures_of_people_need_a_number_and_a_file_of_signers(keys: tuple[Path, Path], needed: Any, problem: bool) -> None:
    _key, signers = keys
    found = problems(APPLY, plan_signers=signers, require_signatures=needed)
    assert bool(found) == problem and all("kafka_recovery_require_signatures" in text for text in found)


def test_without_a_file_of_signers_no_signature_can_be_required() -> None:
    (text,) = problems(APPLY, allow_unsigned_plans=True, require_signatures=2)
    assert "kafka_recovery_require_signatures is 2, and kafka_recovery_plan_signers is not set" in text


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"git_repository": ""}, "No git repository is named"),
        ({"git_repository": None}, "give its URL or path with -e kafka_recovery_git_repository=REPOSITORY"),
        ({"git_repository": "https://ada:s3cret@git.example.com/x"}, "kafka_recovery_git_repository https://git.example.com/x holds a password"),
        ({"git_repository": "/no/repository.git"}, "kafka_recovery_git_repository is /no/repository.git, and there is no such directory"),
        ({"git_repository": "http://git.example.com/x"}, "kafka_recovery_git_repository is http://git.example.com/x: git would send"),
        ({"git_directory": "../x"}, "kafka_recovery_git_directory '../x' cannot be a folder"),
        ({"plan_signing_key": Path("/no/key")}, "kafka_recovery_plan_signing_key /no/key cannot be read: No such file"),
        ({"git_signing_key": Path("/etc")}, "kafka_recovery_git_signing_key /etc"),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_its_option(options: dict[str, Any], expected: str) -> None:
    (text,) = problems(PROPOSE, **options)
    assert expected in text and "s3cret" not in text


def test_a_key_that_others_can_read_is_refused_with_the_command(keys: tuple[Path, Path]) -> None:
    key, _ = keys
    key.chmod(0o644)
    (text,) = problems(PROPOSE, plan_signing_key=key)
    assert text.startswith(f"kafka_recovery_plan_signing_key {key} can be read") and f"chmod go= {key}" in text


def test_a_key_with_a_passphrase_is_refused_unless_an_agent_may_hold_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before evidence is collected, not when the plans are to be signed."""
    key = tmp_path / "locked"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "swordfish", "-f", key], check=True, timeout=60)
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    (text,) = problems(PROPOSE, plan_signing_key=key)
    assert text.startswith(f"kafka_recovery_plan_signing_key {key} cannot sign: ") and "without a passphrase" in text
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "agent"))
    assert problems(PROPOSE, plan_signing_key=key) == []


@pytest.mark.parametrize("content", ["", "# planner@example.com {key}\n", "{key}\n", "PRIVATE KEY\n"])
def test_a_file_of_signers_without_a_line_of_a_signer_is_refused_before_there_is_a_plan(keys: tuple[Path, Path], content: str) -> None:
    """As the public key itself, which is easily named in its place."""
    key, signers = keys
    signers.write_text(content.format(key=key.with_suffix(".pub").read_text().strip()))
    (text,) = problems(APPLY, plan_signers=signers)
    assert text.startswith(f"kafka_recovery_plan_signers {signers} has no line of a key") and "planner@example.com" in text
    (text,) = problems(APPLY, allow_unsigned_plans=True, merge_signers=signers, require_signature=True)
    assert text.startswith(f"kafka_recovery_merge_signers {signers} has no line of a key")


def test_plans_are_applied_with_signers_alone(keys: tuple[Path, Path], tmp_path: Path) -> None:
    _, signers = keys
    assert "kafka_recovery_plan_signers is not set" in problems(APPLY)[0]
    assert "no plan is applied without it" in problems(APPLY, plan_signers=tmp_path / "none")[0]
    (text,) = problems(APPLY, plan_signers=signers, merge_signers=tmp_path / "none", require_signature=True)
    assert f"kafka_recovery_merge_signers {tmp_path}/none cannot be read" in text
    _key, reviewers = with_a_key(Person(tmp_path), tmp_path)
    assert problems(APPLY, plan_signers=signers, merge_signers=reviewers, require_signature=True) == []
    reviewers.chmod(0o666)
    (text,) = problems(APPLY, plan_signers=signers, merge_signers=reviewers, require_signature=True)
    assert f"kafka_recovery_merge_signers {reviewers} could be changed by others" in text
    signers.chmod(0o666)
    (text,) = problems(APPLY, plan_signers=signers)
    assert "could be changed by others" in text and "chmod go-w" in text


def test_programs_that_are_missing_are_named(keys: tuple[Path, Path], tmp_path: Path) -> None:
    key, signers = keys
    git, keygen = "git is not installed", "ssh-keygen is not installed"
    for use, options, missing in (
        (PROPOSE, {}, [git]),
        (PROPOSE, {"plan_signing_key": key}, [git, keygen]),
        (APPLY, {"plan_signers": signers}, [git, keygen]),
        (APPLY, {"allow_unsigned_plans": True}, [git]),
    ):
        texts = problems(use, str(tmp_path), **options)
        assert len(texts) == len(missing) and all(text.startswith(start) for text, start in zip(texts, missing, strict=True))
        assert problems(use, os.environ["PATH"], **options) == []


def test_a_user_without_a_name_cannot_sign(keys: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container whose user id is not in /etc/passwd."""

    def unknown(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    key, signers = keys
    for (text,) in (problems(PROPOSE, plan_signing_key=key), problems(APPLY, plan_signers=signers)):
        assert f"/etc/passwd has none for uid {os.getuid()}" in text
    assert problems(PROPOSE) == []


def test_clusters_of_one_run_have_one_rule_for_signatures(tmp_path: Path) -> None:
    """The repository is read once for all clusters: without the check the first one's rule would hold for them all."""
    check = {
        "streamops.kafka_recovery.kafka_recovery_options_info": {"clusters": ["dev", "prod"], "roles": [], "gitops": APPLY},
        "run_once": True,
    }
    common: dict[str, Any] = {"kafka_recovery_git_repository": URL, "kafka_recovery_allow_unsigned_plans": True}
    _key, signers = plan_key(tmp_path)
    strict = {**common, "kafka_recovery_plan_signers": str(signers), "kafka_recovery_require_signatures": 2}
    done = local_play(tmp_path, {"dev": common, "prod": strict}, [check])
    assert done.returncode == 2, done.stdout
    assert "kafka_recovery_plan_signers" in done.stdout and "--limit dev" in done.stdout
    assert local_play(tmp_path, {"dev": strict, "prod": strict}, [check]).returncode == 0


def test_plans_must_be_merged_where_the_cluster_itself_requires_it(tmp_path: Path) -> None:
    """`dev` is the first cluster of the play, which makes the check once for all of them."""
    (tmp_path / "plans").mkdir(mode=0o700)
    plans = {"kafka_recovery_plan_dir": str(tmp_path / "plans"), "kafka_recovery_git_repository": URL, "kafka_bootstrap_servers": "a:1"}
    for name in ("dev", "prod", "test"):
        (tmp_path / "plans" / f"{name}.json").write_text("{}")
    check = {
        "streamops.kafka_recovery.kafka_recovery_options_info": {"clusters": ["dev", "prod", "test"], "roles": [], "apply": True},
        "run_once": True,
        "register": "found",
    }
    show = {
        "ansible.builtin.debug": {"msg": "{{ found.problems | map(attribute='clusters') | map('join') | join(' ') }}."},
        "run_once": True,
    }
    required, unsigned = {**plans, "kafka_recovery_require_commit": "yes"}, {"kafka_recovery_allow_unsigned_plans": True}
    hosts = {"dev": {**plans, "kafka_recovery_require_commit": "no"}, "prod": required, "test": {**required, **unsigned}}
    done = local_play(tmp_path, hosts, [check, show])
    assert done.returncode == 0 and '"msg": "prod prodtest."' in done.stdout, done.stdout
    hosts = {"dev": {**required, **unsigned}, "prod": {**required, **unsigned}, "test": plans}
    done = local_play(tmp_path, hosts, [check, show])
    assert done.returncode == 0 and '"msg": "."' in done.stdout, done.stdout
