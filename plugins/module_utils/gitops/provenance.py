# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who brought a file to a branch, who merged it, and whether that commit is signed by somebody who may."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.repository import GitError, Repository, spoken
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.signatures import MERGE_SIGNERS, AllowedSigners

_FIELDS = {"commit": "%H", "author": "%an <%ae>", "committer": "%cn <%ce>", "committed_at": "%cI", "subject": "%s"}
GOOD = "G"
# What git's %G? says, as it is told to an operator.
_VERDICTS = {
    "N": "it carries no signature",
    "U": "its signature is good, but by a key that is not trusted: it is not in the file of allowed signers, or has no trust in gpg's keyring",
    "B": "its signature does not fit its content",
    "X": "its signature has expired",
    "Y": "its signature is by a key that has expired",
    "R": "its signature is by a key that was revoked",
    "E": "its signature cannot be checked: the key is not known, or the file of allowed signers (kafka_recovery_merge_signers) is not named",
}


def brought_by(repository: Repository, tip: str, path: str) -> dict[str, str]:
    """The commit that gave the file the content that it has at `tip`."""
    return _last(repository, tip, path)


def merged_by(repository: Repository, tip: str, path: str) -> dict[str, str]:
    """The commit of the branch itself that did: the merge commit where there is one, else what was pushed, squashed or rebased onto it."""
    return _last(repository, tip, path, "--first-parent")


def came_since(repository: Repository, since: str, tip: str, folder: str) -> set[str]:
    """Files below `folder` that are not at `tip` what they were at `since`, which has to be an ancestor of it."""
    known = repository.succeeds("rev-parse", "--verify", "--quiet", "--end-of-options", f"{since}^{{commit}}")
    commit = known.stdout.decode(errors="replace").strip()
    if known.returncode or repository.succeeds("merge-base", "--is-ancestor", commit, tip).returncode:
        raise GitError(f"since {since!r} is no commit of {repository.branch}: name the commit that the branch stood at before the merge")
    rows = repository.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", commit, tip, "--", f"{folder}/")
    return {path for path in rows.decode(errors="surrogateescape").split("\0") if path}


def merge_signers(repository: Repository, path: Path | None, seconds: float) -> AllowedSigners | None:
    """The ssh keys that may sign merges: those of `path`, else of git's own file, None if git names none. SignatureError if others could change it."""
    if path is not None:
        return AllowedSigners(path, seconds, MERGE_SIGNERS)
    configured = repository.succeeds("config", "--type=path", "--get", "gpg.ssh.allowedSignersFile")
    name = configured.stdout.decode(errors="surrogateescape").rstrip("\n")
    return AllowedSigners(Path(name), seconds, f"{MERGE_SIGNERS} (git's gpg.ssh.allowedSignersFile)") if name else None


def unsigned(repository: Repository, commit: str, signers: AllowedSigners | None) -> str:
    """Why the signature of a commit is not good enough; an empty text where it is good, by a key that is trusted."""
    with _trusting(signers) as trust:
        verdict = repository.run(*trust, "log", "-1", "--format=%G?", commit).decode(errors="replace").strip()
        checked = repository.succeeds(*trust, "verify-commit", commit)
    if verdict == GOOD and checked.returncode == 0:
        return ""
    said = spoken(checked.stderr.decode(errors="replace"))
    return _VERDICTS.get(verdict, "git does not find its signature good") + (f" ({said})" if said else "")


def signer(repository: Repository, commit: str, signers: AllowedSigners | None) -> str:
    """Who has signed a commit, as git says it."""
    with _trusting(signers) as trust:
        return spoken(repository.run(*trust, "log", "-1", "--format=%GS (%GK)", commit).decode(errors="replace"))


@contextmanager
def _trusting(signers: AllowedSigners | None) -> Iterator[list[str]]:
    """Arguments of git that make signatures of these keys good."""
    trust = ["-c", "gpg.minTrustLevel=marginal"]
    if signers is None:  # git names no file either
        yield trust
        return
    with signers.private_copy() as path:
        yield [*trust, "-c", f"gpg.ssh.allowedSignersFile={path}"]


def _last(repository: Repository, tip: str, path: str, *how: str) -> dict[str, str]:
    shape = "%x00".join(_FIELDS.values())
    values = repository.run("log", "-1", *how, f"--format={shape}", tip, "--", path).decode(errors="replace").rstrip("\n").split("\0")
    if len(values) != len(_FIELDS):
        raise GitError(f"no commit of {repository.branch} has brought {path}")
    return {name: spoken(value) for name, value in zip(_FIELDS, values, strict=True)}
