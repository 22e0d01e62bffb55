# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commits that introduced and merged a file, and whether the merge is signed by an allowed key."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.repository import GitError, Repository, redacted_line
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.signatures import MERGE_SIGNERS, AllowedSigners

_FIELDS = {"commit": "%H", "author": "%an <%ae>", "committer": "%cn <%ce>", "committed_at": "%cI", "subject": "%s"}
GOOD = "G"
# Meanings of git's %G?, as operators read them.
_VERDICTS = {
    "N": "it carries no signature",
    "U": "its signature is good, but by a key that is not trusted: it is not in the file of allowed signers, or has no trust in gpg's keyring",
    "B": "its signature does not match its content",
    "X": "its signature has expired",
    "Y": "its signature is by a key that has expired",
    "R": "its signature is by a key that was revoked",
    "E": "its signature cannot be checked: the key is not known, or the file of allowed signers (kafka_recovery_merge_signers) is not named",
}


def commit_introducing(repository: Repository, tip: str, path: str) -> dict[str, str]:
    """Return the commit that gave the file its content at `tip`: `commit`, `author`, `committer`, `committed_at` (ISO 8601) and `subject`.

    Raises GitError if there is none.
    """
    return _last(repository, tip, path)


def merged_by(repository: Repository, tip: str, path: str) -> dict[str, str]:
    """Return the commit on the first-parent line of `tip` that brought the file its content there, with the keys of `commit_introducing`.

    That is the merge commit, or the commit that was pushed, squashed or rebased. Raises GitError if there is none.
    """
    return _last(repository, tip, path, "--first-parent")


def files_changed_since(repository: Repository, since: str, tip: str, folder: str) -> set[str]:
    """Return the paths of files below `folder` that differ between two commits. Raises GitError if `since` is not an ancestor of `tip`."""
    known = repository.attempt("rev-parse", "--verify", "--quiet", "--end-of-options", f"{since}^{{commit}}")
    commit = known.stdout.decode(errors="replace").strip()
    if known.returncode or repository.attempt("merge-base", "--is-ancestor", commit, tip).returncode:
        raise GitError(f"since {since!r} is not a commit of {repository.branch}: name the tip of the branch before the merge")
    rows = repository.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", commit, tip, "--", f"{folder}/")
    return {path for path in rows.decode(errors="surrogateescape").split("\0") if path}


def merge_signers(repository: Repository, path: Path | None, seconds: float) -> AllowedSigners | None:
    """Return the ssh keys that may sign merges: of `path`, else of git's gpg.ssh.allowedSignersFile, None if that is not set.

    `seconds`: time limit of ssh-keygen. Raises SignatureError if the file cannot be read, or if other users could change it.
    """
    if path is not None:
        return AllowedSigners(path, seconds, MERGE_SIGNERS)
    configured = repository.attempt("config", "--type=path", "--get", "gpg.ssh.allowedSignersFile")
    name = configured.stdout.decode(errors="surrogateescape").rstrip("\n")
    return AllowedSigners(Path(name), seconds, f"{MERGE_SIGNERS} (git's gpg.ssh.allowedSignersFile)") if name else None


def signature_problem(repository: Repository, commit: str, signers: AllowedSigners | None) -> str:
    """Return the reason why a commit's signature does not count; an empty text if it is good, by a trusted key.

    `signers`: the ssh keys to trust, None for those of git's own configuration. Raises GitError if git fails.
    """
    with _trusting(signers) as trust:
        verdict = repository.run(*trust, "log", "-1", "--format=%G?", commit).decode(errors="replace").strip()
        checked = repository.attempt(*trust, "verify-commit", commit)
    if verdict == GOOD and checked.returncode == 0:
        return ""
    output = redacted_line(checked.stderr.decode(errors="replace"))
    return _VERDICTS.get(verdict, "git does not accept its signature") + (f" ({output})" if output else "")


def signer(repository: Repository, commit: str, signers: AllowedSigners | None) -> str:
    """Return the signer of a commit as git prints it: principal and key. It does not check the signature (see `signature_problem`)."""
    with _trusting(signers) as trust:
        return redacted_line(repository.run(*trust, "log", "-1", "--format=%GS (%GK)", commit).decode(errors="replace"))


@contextmanager
def _trusting(signers: AllowedSigners | None) -> Iterator[list[str]]:
    """Yield the arguments of git that make signatures of these keys valid."""
    trust = ["-c", "gpg.minTrustLevel=marginal"]
    if signers is None:  # git's configuration names no file either
        yield trust
        return
    with signers.private_copy() as path:
        yield [*trust, "-c", f"gpg.ssh.allowedSignersFile={path}"]


def _last(repository: Repository, tip: str, path: str, *how: str) -> dict[str, str]:
    shape = "%x00".join(_FIELDS.values())
    values = repository.run("log", "-1", *how, f"--format={shape}", tip, "--", path).decode(errors="replace").rstrip("\n").split("\0")
    if len(values) != len(_FIELDS):
        raise GitError(f"no commit of {repository.branch} introduced {path}")
    return {name: redacted_line(value) for name, value in zip(_FIELDS, values, strict=True)}
