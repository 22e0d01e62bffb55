# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Remote git repositories (bare, in a temporary folder), and people who push to them. Real git."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import plan_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.kinds import PLANS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.proposals import summary
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.recovery_folder import Layout
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.signatures import NAMESPACE, sign

PERSON = {
    "GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.com", "GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.com",
    "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
}  # fmt: skip


def git(folder: Path, *arguments: str) -> str:
    """Run git as a person does; the test fails where git does."""
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], env={**os.environ, **PERSON}, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@dataclass
class Person:
    """A committer with a clone of a remote. `sign`: arguments of git with which commits are signed."""

    clone: Path
    sign: list[str] = field(default_factory=list)

    def pull(self, branch: str = "main") -> None:
        """Have the branch as the remote has it."""
        git(self.clone, "fetch", "--quiet", "origin")
        git(self.clone, "checkout", "--quiet", "-B", branch, f"origin/{branch}")

    def write(self, files: Mapping[str, str | bytes], message: str = "a change", branch: str = "main") -> str:
        """Commit files to a branch and push it."""
        self.pull(branch)
        for name, content in files.items():
            path = self.clone / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        git(self.clone, "add", "--all")
        return self._committed(branch, "commit", "--quiet", "-m", message)

    def remove(self, name: str) -> str:
        """Remove a file or a folder from main."""
        self.pull()
        git(self.clone, "rm", "--quiet", "-r", name)
        return self._committed("main", "commit", "--quiet", "-m", f"without {name}")

    def merge(self, branch: str, *how: str) -> str:
        """Merge a branch of the remote into main, as a forge does."""
        self.pull()
        return self._committed("main", "merge", "--quiet", *(how or ("--no-ff",)), "-m", f"Merge branch '{branch}'", f"origin/{branch}")

    def _committed(self, branch: str, *arguments: str) -> str:
        git(self.clone, *self.sign, *arguments, *(["-S"] if self.sign else []))
        git(self.clone, "push", "--quiet", "origin", f"HEAD:refs/heads/{branch}")
        return git(self.clone, "rev-parse", "HEAD")


@dataclass
class Forge:
    """A bare repository whose main has a first commit, and Ada."""

    folder: Path

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True)
        git(self.folder, "init", "--quiet", "--bare", "--initial-branch=main", "remote.git")
        self.ada = self.person("ada")
        git(self.ada.clone, "checkout", "--quiet", "-b", "main")
        git(self.ada.clone, "commit", "--quiet", "--allow-empty", "-m", "first")
        git(self.ada.clone, "push", "--quiet", "origin", "main")

    @property
    def url(self) -> str:
        """Where git finds it."""
        return str(self.folder / "remote.git")

    def person(self, name: str) -> Person:
        """Another committer, with a clone of their own."""
        git(self.folder, "clone", "--quiet", self.url, name)
        return Person(self.folder / name)

    def tip(self, branch: str = "main") -> str:
        """The commit of a branch, an empty text where there is none."""
        return git(Path(self.url), "for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}")

    def show(self, branch: str, path: str) -> bytes:
        """A file of a branch."""
        shown = subprocess.run(["git", "-C", self.url, "cat-file", "blob", f"{branch}:{path}"], capture_output=True, check=True, timeout=60)
        return shown.stdout

    def names(self, branch: str = "main") -> list[str]:
        """The files of a branch."""
        return git(Path(self.url), "ls-tree", "-r", "--name-only", branch).splitlines()

    def hook(self, name: str, script: str) -> None:
        """Let the remote run a script, for example before it takes a push."""
        path = Path(self.url) / "hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)


def ssh_key(folder: Path, name: str, namespace: str = "git") -> tuple[Path, str]:
    """A key to sign with, and its line in a file of allowed signers."""
    key = folder / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(key)], check=True, timeout=60)
    kind, public = key.with_suffix(".pub").read_text().split()[:2]
    return key, f'{name}@example.com namespaces="{namespace}" {kind} {public}\n'


def plan_key(folder: Path) -> tuple[Path, Path]:
    """A key to sign plans with, and the file of allowed signers that has it alone."""
    key, line = ssh_key(folder, "planner", NAMESPACE)
    signers = folder / "plan_signers"
    signers.write_text(line)
    return key, signers


def with_a_key(person: Person, folder: Path) -> tuple[Person, Path]:
    """The same person, who signs from now on, and the file of allowed signers with their key."""
    key, line = ssh_key(folder, "ada")
    signers = folder / "allowed_signers"
    signers.write_text(line)
    return Person(person.clone, signing(key)), signers


def signing(key: Path) -> list[str]:
    """Arguments of git with which commits are signed by that key."""
    return ["-c", "gpg.format=ssh", "-c", f"user.signingKey={key}"]


def resealed(plan: Path, **values: Any) -> bytes:
    """Another plan, made of this one."""
    made = {**json.loads(plan.read_text()), **values}
    return json.dumps({**made, "sha256": plan_file.sha256(made)}).encode()


def proposal(key: Path | None, *plans: bytes) -> dict[str, str | bytes]:
    """The files of a recovery with these plans, as they would be proposed; signed if there is a key."""
    loaded = {plan["cluster"]: (plan, content) for content in plans for plan in [json.loads(content)]}
    (run_id,) = {plan["run_id"] for plan, _content in loaded.values()}
    layout = Layout("recoveries")
    files: dict[str, str | bytes] = {layout.summary(run_id): summary({PLANS: [loaded[cluster][0] for cluster in sorted(loaded)]}, run_id)}
    for cluster, (_plan, content) in loaded.items():
        files[layout.plan(run_id, cluster)] = content
        if key is not None:
            files[layout.signature(run_id, cluster)] = sign(content, key, 60)
    return files
