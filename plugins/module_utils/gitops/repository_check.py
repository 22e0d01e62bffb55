# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks the options of a git repository, and that git and ssh-keygen are installed. Sends no request to a remote and changes nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ansible.module_utils.parsing.convert_bool import boolean

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import secret_files
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import opened_regular
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.user_name import is_unnamed
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops import signatures, unencrypted
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.repository import NO_GIT, Remote, check_folder, redacted_line

PROPOSE, APPLY = "propose", "apply"
# Variables of the role propose, without their prefix.
VALUES = (
    "git_repository",
    "git_directory",
    "git_allow_plaintext_secrets",
    "require_signature",
    "require_signatures",
    "allow_unsigned_plans",
)
KEYS = {PROPOSE: ("plan_signing_key", "git_signing_key"), APPLY: ("git_signing_key",)}
SIGNERS = ("plan_signers", "merge_signers")
PATHS = ("plan_signing_key", "git_signing_key", *SIGNERS)
# The repository is read or written once for all clusters of a run, with the variables of the first one.
SHARED = (*VALUES, *PATHS, "git_branch", "git_run_ids", "git_since", "max_plan_age")
NO_NAME = (
    "ssh-keygen refuses to work for a user without a name, and /etc/passwd has none for uid {}: "
    "run as a user that it has, or let the container add the user at its start"
)
NO_REPOSITORY = (
    "No git repository is named, so nothing can be proposed or approved: "
    "give its URL or path with -e kafka_recovery_git_repository=REPOSITORY, or in the inventory"
)
PEOPLE = "kafka_recovery_require_signatures"
PRIVATE, MAX_HEADER_BYTES = b"PRIVATE KEY-----", 100
KEY_SECONDS = 10.0


def repository_problems(use: str, values: Mapping[str, Any], paths: Mapping[str, Path | None], path: str | None) -> Iterator[str]:
    """Yield a sentence with the remedy for each requirement of PROPOSE or APPLY (`use`) that is not met. Raises nothing for them.

    `values`, `paths`: the variables of VALUES and PATHS that are set, by name without `kafka_recovery_`. `path`: $PATH, None for that of the
    process.
    """
    url = values.get("git_repository")
    if not url:
        yield NO_REPOSITORY
    elif isinstance(url, str):
        yield from _address_problems(url, _true(values.get("git_allow_plaintext_secrets")))
    if folder := values.get("git_directory"):
        try:
            check_folder(str(folder))
        except RecoveryError as error:
            yield f"kafka_recovery_git_{error}"
    if shutil.which("git", path=path) is None:
        yield NO_GIT
    keys = {name: key for name in KEYS[use] if (key := paths.get(name))}
    signers = paths.get("plan_signers") if use == APPLY else None
    ssh_keygen = shutil.which("ssh-keygen", path=path)
    can_run = ssh_keygen is not None and not is_unnamed()
    if (keys or signers) and not can_run:
        yield signatures.NO_SSH_KEYGEN if ssh_keygen is None else NO_NAME.format(os.getuid())
    for name, key in keys.items():
        yield from _key_problems(f"kafka_recovery_{name}", key, can_run)
    if use == APPLY:
        yield from _signers_problems(values, paths)


def _address_problems(url: str, allow_plaintext_secrets: bool) -> Iterator[str]:
    try:
        Remote(url).check()
    except RecoveryError as error:
        yield f"kafka_recovery_git_{error}"
        return
    # Any other text may be an address that git's own configuration knows.
    if url.startswith(("/", "./", "../", "~/")) and not Path(url).expanduser().exists():
        yield f"kafka_recovery_git_repository is {redacted_line(url)}, and there is no such directory: name the URL or the path of a repository"
    if not allow_plaintext_secrets and (problem := unencrypted.refusal(url)):
        yield f"kafka_recovery_git_repository is {redacted_line(url)}: {problem}"


def _key_problems(option: str, key: Path, can_run: bool) -> Iterator[str]:
    """Yield what is wrong with a key. `can_run`: whether ssh-keygen works here."""
    try:
        with opened_regular(key) as stream:
            private = PRIVATE in stream.read(MAX_HEADER_BYTES)
        if private:  # an agent holds the private half of a public key
            secret_files.check(option, key)
            if can_run:
                signatures.check_key(option, key, KEY_SECONDS)
    except RecoveryError as error:
        yield str(error)
    except OSError as error:
        yield (
            f"{option} {key} cannot be read: {error.strerror}; name a private ssh key without a passphrase, or the public key of one that "
            "an agent holds"
        )


def _signers_problems(values: Mapping[str, Any], paths: Mapping[str, Path | None]) -> Iterator[str]:
    if signers := paths.get("plan_signers"):
        try:
            signatures.AllowedSigners(signers, 0).check()
        except RecoveryError as error:
            yield str(error)
    elif not _true(values.get("allow_unsigned_plans")):
        yield signatures.NO_SIGNERS
    needed = str(values.get("require_signatures", 1)).strip()
    # Another check names a value that is not a number.
    if needed.lstrip("-").isdigit() and (problem := signatures.signers_problem(PEOPLE, int(needed), bool(signers))):
        yield problem
    reviewers = paths.get("merge_signers")
    if reviewers and _true(values.get("require_signature")):
        try:
            signatures.AllowedSigners(reviewers, 0, signatures.MERGE_SIGNERS).check()
        except RecoveryError as error:
            yield str(error)


def _true(value: Any) -> bool:
    return bool(boolean(value, strict=False)) if value is not None else False
