# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What counts as approved, on real repositories and with real signatures: every doubt refuses, and says why."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from git_approvals import PATH, judged, refused, the_one
from git_proposals import FOLDER, committed, plan, proposed, results
from git_remotes import Forge, Person, git, signing, ssh_key, with_a_key
from release.gnupg import home_with_key

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.approval_rules import Rules
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.kinds import PLANS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.proposals import summary
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.provenance import merge_signers
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.repository import GitError, Remote, scratch
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.signatures import (
    MERGE_SIGNERS,
    AllowedSigners,
    SignatureError,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def forge(tmp_path: Path) -> Forge:
    return Forge(tmp_path / "forge")


@pytest.fixture
def merged(forge: Forge, tmp_path: Path) -> Path:
    """A plan that Ada has merged."""
    path = plan(tmp_path)
    proposed(forge, path)
    forge.ada.merge("recovery/r1")
    return path


def reviewed_by(signers: Path) -> Rules:
    """Merges must be signed by the keys of this file."""
    return Rules(True, AllowedSigners(signers, 60, MERGE_SIGNERS))


def test_a_plan_is_approved_once_it_is_merged_and_what_is_applied_is_what_was_merged(forge: Forge, tmp_path: Path) -> None:
    path = plan(tmp_path)
    assert refused(forge, tmp_path, path) == ("not_merged", refused(forge, tmp_path, path)[1])
    assert "recovery/r1" in refused(forge, tmp_path, path)[1]
    proposed(forge, path)
    assert refused(forge, tmp_path, path)[0] == "not_merged", "a proposal does not approve"
    assert judged(forge, tmp_path) == []

    commit = forge.ada.merge("recovery/r1")
    for rows in (judged(forge, tmp_path, path), judged(forge, tmp_path)):
        row = the_one(rows)
        assert row["state"] == "merged"
        assert Path(row["plan"]).read_bytes() == path.read_bytes()
        assert row["merged_by"]["commit"] == commit and row["merged_by"]["committer"] == "Ada <ada@example.com>"
        assert row["brought_by"]["commit"] == forge.tip("recovery/r1")


def test_the_copy_of_a_merged_plan_is_not_in_the_store_of_the_workdir(
    forge: Forge, tmp_path: Path, merged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mount = SimpleNamespace(root=tmp_path / "work", shared=tmp_path / "machine", url="s3://bucket/work")
    monkeypatch.setattr(mounts, "_mounts", [mount])
    copy = Path(the_one(judged(forge, tmp_path, merged))["plan"])
    assert copy.read_bytes() == merged.read_bytes() and mount.shared in copy.parents


@pytest.mark.parametrize("how", [["--ff-only"], ["--squash"]])
def test_however_it_was_merged(forge: Forge, tmp_path: Path, how: list[str]) -> None:
    path = plan(tmp_path)
    proposed(forge, path)
    if how == ["--squash"]:
        commit = forge.ada.write({name: forge.show("recovery/r1", name) for name in forge.names("recovery/r1")}, "squashed")
    else:
        commit = forge.ada.merge("recovery/r1", *how)
    assert the_one(judged(forge, tmp_path, path))["merged_by"]["commit"] == commit


def test_a_plan_that_is_not_what_was_merged_is_refused(forge: Forge, tmp_path: Path, merged: Path) -> None:
    state, reason = refused(forge, tmp_path, plan(tmp_path, strategy="aggressive"))
    assert state == "changed" and PATH in reason
    path = plan(tmp_path)
    path.write_text(path.read_text() + "\n")
    assert refused(forge, tmp_path, path)[0] == "changed", "not even a space"
    path.write_text(path.read_text().replace("orders", "others"))
    state, reason = refused(forge, tmp_path, path)
    assert state == "unusable" and "edited by hand" in reason
    path.write_text('{"partitions": [{"topic": "foo", "partition": 1, "designatedLeader": 0}]}')
    assert refused(forge, tmp_path, path)[0] == "unusable"


def test_a_plan_that_was_edited_on_the_branch_is_refused(forge: Forge, tmp_path: Path, merged: Path) -> None:
    forge.ada.write({PATH: merged.read_text().replace("orders", "others")})
    assert refused(forge, tmp_path, merged)[0] == "changed"
    state, reason = refused(forge, tmp_path)
    assert state == "unusable" and "edited by hand" in reason


def test_a_plan_of_another_cluster_or_run_is_refused(forge: Forge, tmp_path: Path, merged: Path) -> None:
    forge.ada.write({f"{FOLDER}/plans/west.json": merged.read_bytes(), "recoveries/r2/plans/east.json": merged.read_bytes()})
    rows = {row["path"]: row for row in judged(forge, tmp_path)}
    assert rows[PATH]["state"] == "other_summary", "reviewers read of no plan for west"
    for path in (f"{FOLDER}/plans/west.json", "recoveries/r2/plans/east.json"):
        assert rows[path]["state"] == "other_cluster" and "was made for cluster east in run r1" in rows[path]["reason"]
    west = tmp_path / "west.json"
    west.write_bytes(merged.read_bytes())
    assert refused(forge, tmp_path, west)[0] == "other_cluster"


def test_what_is_applied_is_never_applied_again_and_results_that_were_removed_are_no_silent_end(
    forge: Forge, tmp_path: Path, merged: Path
) -> None:
    committed(forge, {"east": merged}, {"east": results(tmp_path)})
    state, reason = refused(forge, tmp_path, merged)
    assert state == "already_applied" and "recovery r1 of cluster east is not applied" in reason
    assert judged(forge, tmp_path) == []
    assert refused(forge, tmp_path, run_ids=["r1"])[0] == "already_applied"
    forge.ada.remove(f"{FOLDER}/results/east.json")
    for rows in (judged(forge, tmp_path, merged), judged(forge, tmp_path)):
        row = the_one(rows)
        assert row["state"] == "other_results" and f"{FOLDER}/results/east.json was on main" in row["reason"]


def test_plans_since_a_commit_are_those_of_the_merge(forge: Forge, tmp_path: Path, merged: Path) -> None:
    before = forge.tip()
    other = plan(tmp_path, "west", run_id="r2", created_at="2026-11-20T04:00:00Z")
    forge.ada.write({"recoveries/r2/plans/west.json": other.read_bytes()})
    assert [row["run_id"] for row in judged(forge, tmp_path)] == ["r2", "r1"], "the oldest plan first"
    assert [row["run_id"] for row in judged(forge, tmp_path, since=before)] == ["r2"]
    assert [row["run_id"] for row in judged(forge, tmp_path, run_ids=["r1"])] == ["r1"]
    assert len(judged(forge, tmp_path, since="0" * 40)) == 2
    assert judged(forge, tmp_path, since=forge.tip()) == []
    for since in ("nowhere", "--all", forge.tip("recovery/r1")[::-1]):
        with pytest.raises(GitError, match="since '"):
            judged(forge, tmp_path, since=since)


def test_a_plan_that_is_too_old_is_refused(forge: Forge, tmp_path: Path, merged: Path) -> None:
    state, reason = refused(forge, tmp_path, merged, rules=Rules(max_plan_age=1))
    assert state == "too_old" and "kafka_recovery_max_plan_age is 1 s" in reason
    assert the_one(judged(forge, tmp_path, merged, rules=Rules(max_plan_age=1e12)))["state"] == "merged"


def test_only_a_merge_that_is_signed_by_an_allowed_key_counts(forge: Forge, tmp_path: Path) -> None:
    path = plan(tmp_path)
    proposed(forge, path)
    (key, line), (stranger, _) = ssh_key(tmp_path, "ada"), ssh_key(tmp_path, "mallory")
    signers = tmp_path / "allowed_signers"
    signers.write_text(line)
    start = forge.tip()

    def merged_by(person: Person) -> dict[str, Any]:
        git(Path(forge.url), "update-ref", "refs/heads/main", start)
        person.merge("recovery/r1")
        return the_one(judged(forge, tmp_path, path, rules=reviewed_by(signers)))

    row = merged_by(forge.ada)
    assert row["state"] == "unsigned" and "it carries no signature" in row["reason"]
    row = merged_by(Person(forge.ada.clone, signing(stranger)))
    assert row["state"] == "unsigned" and "by a key that is not trusted" in row["reason"]
    row = merged_by(Person(forge.ada.clone, signing(key)))
    assert row["state"] == "merged", row
    assert row["signer"].startswith("ada@example.com (")

    # No signers are configured.
    assert refused(forge, tmp_path, path, rules=Rules(True, None))[0] == "unsigned"
    # Signed, but for other purposes, or no longer.
    for option in ('namespaces="file"', 'namespaces="git",valid-before="20200101"'):
        signers.write_text(line.replace('namespaces="git"', option))
        assert refused(forge, tmp_path, path, rules=reviewed_by(signers))[0] == "unsigned", option
    # The file as it was read, whatever becomes of it.
    signers.write_text(line)
    rules = reviewed_by(signers)
    signers.write_text("")
    assert the_one(judged(forge, tmp_path, path, rules=rules))["state"] == "merged"


@pytest.mark.parametrize("by_git", [False, True])
def test_a_file_of_merge_signers_that_others_could_change_is_refused(
    forge: Forge, tmp_path: Path, by_git: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    _key, line = ssh_key(tmp_path, "ada")
    signers = tmp_path / "allowed_signers"
    signers.write_text(line)
    (tmp_path / "gitconfig").write_text(f'[gpg "ssh"]\n allowedSignersFile = {signers}\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig") if by_git else os.devnull)
    with scratch(Remote(forge.url), "main") as repository:
        named = None if by_git else signers
        assert merge_signers(repository, named, 60) is not None
        for mode in (0o666, 0o664):
            signers.chmod(mode)
            with pytest.raises(SignatureError, match=r"kafka_recovery_merge_signers .*allowed_signers could be changed by others"):
                merge_signers(repository, named, 60)
        signers.unlink()
        with pytest.raises(SignatureError, match=r"kafka_recovery_merge_signers .*allowed_signers cannot be read"):
            merge_signers(repository, named, 60)
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        assert merge_signers(repository, None, 60) is None


def test_a_signed_merge_of_something_else_does_not_sign_an_edit_that_came_later(forge: Forge, tmp_path: Path) -> None:
    path = plan(tmp_path)
    proposed(forge, path)
    signed, signers = with_a_key(forge.ada, tmp_path)
    signed.merge("recovery/r1")
    other = plan(tmp_path, strategy="aggressive")
    page = summary({PLANS: [json.loads(other.read_bytes())]}, "r1")
    forge.ada.write({PATH: other.read_bytes(), f"{FOLDER}/README.md": page}, "unsigned edit")
    assert refused(forge, tmp_path, other, rules=reviewed_by(signers))[0] == "unsigned"


def test_signatures_of_gpg_count_where_the_keyring_trusts_the_key(forge: Forge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with home_with_key("ada@example.com") as home:
        monkeypatch.setenv("GNUPGHOME", str(home))
        path = plan(tmp_path)
        proposed(forge, path)
        Person(forge.ada.clone, ["-c", "user.signingKey=ada@example.com", "-c", "gpg.format=openpgp"]).merge("recovery/r1")
        row = the_one(judged(forge, tmp_path, path, rules=Rules(True)))
        assert row["state"] == "merged" and "ada@example.com" in row["signer"]

        trust = subprocess.run(["gpg", "--export-ownertrust"], capture_output=True, text=True, check=True).stdout.replace(":6:", ":2:")
        subprocess.run(["gpg", "--batch", "--import-ownertrust"], input=trust, text=True, check=True, capture_output=True)
        assert refused(forge, tmp_path, path, rules=Rules(True))[0] == "unsigned", "a key that is only known"
