# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Signatures of plans and moves, made and verified by `ssh-keygen -Y`: `<cluster>.json.sig` signs `<cluster>.json` in the same folder.

A signature covers every byte of the plan, including plan id, cluster and run id. It is valid for NAMESPACE only: signatures that the same key made
for git, for files or for a later version of plans do not count.
"""

from __future__ import annotations

import base64
import os
import re
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError, printable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import opened_regular
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.processes import run_bounded
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.different_signers import Signer

PLAN_SIGNERS, MERGE_SIGNERS = "kafka_recovery_plan_signers", "kafka_recovery_merge_signers"
NAMESPACE = "kafka-recovery-plan-v1"
SUFFIX = ".sig"
# A signature of RSA with 16,384 bits has 3 kB, one by a certificate some more.
MAX_SIGNATURE_BYTES = 65536
_GOOD = re.compile(rf'Good "{NAMESPACE}" signature for .* with \S+ key (SHA256:\S+)')
_QUOTED = 300
# A line of a file of allowed signers: its names come before the kind of the key. A public key itself has nothing before it.
_SIGNER = re.compile(rb"\s*[^#\s].*\s(ssh|ecdsa|sk)-\S+\s+AAAA")
_MAGIC = b"SSHSIG"
NO_SSH_KEYGEN = "ssh-keygen is not installed on the host that runs Ansible: install OpenSSH 8.2 or newer"
NO_SIGNERS = (
    "kafka_recovery_plan_signers is not set, so a branch could have a plan of any origin: name the file of keys that may sign plans. "
    "-e kafka_recovery_allow_unsigned_plans=true applies plans whose evidence anyone with push access can forge"
)


def signers_problem(option: str, needed: int, with_signers: bool) -> str:
    """Return why plans cannot need signatures of so many people, empty if they can. `with_signers`: whether PLAN_SIGNERS is set."""
    if needed < 1:
        return f"{option} {needed} is not a number of people: set at least 1 (kafka_recovery_allow_unsigned_plans is for plans without a signature)"
    if needed > 1 and not with_signers:
        return (
            f"{option} is {needed}, and {PLAN_SIGNERS} is not set, so no signature could count: name the file of keys that may sign plans"
        )
    return ""


class SignatureError(RecoveryError):
    """A plan cannot be signed, or its signature is not valid; the text has the reason."""


def check_key(option: str, key: Path, seconds: float) -> None:
    """Raise SignatureError if a private ssh key needs a passphrase or is damaged, unless an agent may hold it. Parameters: those of `sign`."""
    if "SSH_AUTH_SOCK" in os.environ:
        return
    done = _ssh_keygen(["-y", "-P", "", "-f", str(key)], b"", str(key.parent), seconds)
    if done.returncode:
        raise SignatureError(_cannot_sign(option, key, done))


def _cannot_sign(option: str, key: Path, done: subprocess.CompletedProcess[bytes]) -> str:
    return (
        f"{option} {key} cannot sign: {_error_output(done)}; name a private ssh key without a passphrase (chmod 600), or the public key of one that an "
        "agent holds"
    )


def sign(content: bytes, key: Path, seconds: float) -> bytes:
    """Return the content of the signature file of a plan (`content`: its bytes). Raises SignatureError if the key cannot sign.

    `key`: a private ssh key without a passphrase, or a public key whose private half an agent holds. `seconds`: time limit of ssh-keygen.
    """
    with tempfile.TemporaryDirectory(prefix="kafka-recovery-sign-") as folder:
        plan = Path(folder, "plan")
        plan.write_bytes(content)
        done = _ssh_keygen(["-Y", "sign", "-n", NAMESPACE, "-f", str(key), str(plan)], b"", folder, seconds)
        signature = Path(folder, f"plan{SUFFIX}")
        if done.returncode or not signature.is_file():
            raise SignatureError(_cannot_sign("kafka_recovery_plan_signing_key", key, done))
        return signature.read_bytes()


class AllowedSigners:
    """The keys whose signatures count: a file in the form of ALLOWED SIGNERS in ssh-keygen(1), read once.

    `seconds`: time limit of ssh-keygen. `option`: the variable that names the file, for errors. Raises SignatureError if the file cannot be
    read, or if other users could change it.
    """

    def __init__(self, path: Path, seconds: float, option: str = PLAN_SIGNERS) -> None:
        self._path = path
        self._seconds = seconds
        self._option = option
        try:
            with opened_regular(path) as stream:
                found = os.fstat(stream.fileno())
                self._lines = stream.read()
        except OSError as error:
            raise SignatureError(f"{option} {path} cannot be read: {error.strerror}; no plan is applied without it") from error
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) or found.st_uid not in (os.geteuid(), 0):
            raise SignatureError(
                f"{option} {path} could be changed by others (mode {stat.S_IMODE(found.st_mode):04o}, owner {found.st_uid}): "
                "let it belong to root or to the user who runs Ansible, chmod go-w"
            )

    def check(self) -> None:
        """Raise SignatureError if the file has no line of a key, so that it could allow no signature."""
        if not any(map(_SIGNER.match, self._lines.splitlines())):
            raise SignatureError(
                f"{self._option} {self._path} has no line of a key that may sign: write a name before each public key, such as planner@example.com "
                "ssh-ed25519 AAAA…"
            )

    def signer(self, content: bytes, signature: bytes) -> Signer:
        """Return the signer of a plan. `content`: the plan's bytes; `signature`: those of its signature file.

        Raises SignatureError if none of the keys that are valid now signed it for NAMESPACE.
        """
        if len(signature) > MAX_SIGNATURE_BYTES:
            raise SignatureError(f"it has {len(signature)} bytes, larger than any signature")
        with self.private_copy() as signers:
            folder, detached = str(signers.parent), signers.with_name("signature")
            detached.write_bytes(signature)
            files = ["-f", str(signers), "-s", str(detached)]
            done = _ssh_keygen(["-Y", "find-principals", *files], b"", folder, self._seconds)
            if done.returncode:
                raise SignatureError(f"no key in {self._path} made it, or that key is not valid now ({_error_output(done)})")
            names = frozenset(map(printable, [*self._names(signature), *_names_of_certificate(done.stdout)]))
            for principal in _principals(done.stdout):
                done = _ssh_keygen(["-Y", "verify", "-n", NAMESPACE, "-I", principal, *files], content, folder, self._seconds)
                good = _GOOD.match(done.stdout.decode(errors="replace"))
                if done.returncode == 0 and good:
                    return Signer(printable(principal), good[1], names)
        raise SignatureError(_error_output(done))

    def _names(self, signature: bytes) -> Iterator[str]:
        """Yield all names of the key of a signature, of each of its lines. ssh-keygen names the first line alone."""
        key = _public_key(signature)
        for line in self._lines.decode(errors="replace").splitlines():
            if key and key in line.split():
                names = line.strip()
                yield from (names[1:].partition('"')[0] if names.startswith('"') else names.split()[0]).split(",")

    @contextmanager
    def private_copy(self) -> Iterator[Path]:
        """Yield a copy of the file as it was read, in a folder that no other user can read; it is removed when the context ends."""
        with tempfile.TemporaryDirectory(prefix="kafka-recovery-verify-") as folder:
            path = Path(folder, "allowed_signers")
            path.write_bytes(self._lines)
            yield path


def _principals(listed: bytes) -> list[str]:
    """Return the principals of a key: the first name of each line of output, because a line can list several."""
    lines = [line.split(",") for line in listed.decode(errors="replace").splitlines() if line.strip()]
    return [next((name for name in names if not name.startswith("!")), names[0]) for names in lines]


def _names_of_certificate(listed: bytes) -> list[str]:
    """Return all names that ssh-keygen lists. Of a certificate these are its own; it does not stand in the file."""
    return [name for name in listed.decode(errors="replace").replace("\n", ",").split(",") if name]


def _public_key(signature: bytes) -> str:
    """Return the public key that a signature names (PROTOCOL.sshsig), in base64 as lines of keys have it; empty if there is none."""
    armored = b"".join(line for line in signature.splitlines() if not line.startswith(b"-----"))
    with suppress(ValueError):
        raw = base64.b64decode(armored, validate=True)
        start = len(_MAGIC) + 8  # version of the format, length of the key
        size = int.from_bytes(raw[start - 4 : start])
        if raw.startswith(_MAGIC) and 0 < size <= len(raw) - start:
            return base64.b64encode(raw[start : start + size]).decode()
    return ""


def _ssh_keygen(arguments: Sequence[str], given: bytes, folder: str, seconds: float) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "LC_ALL": "C", "SSH_ASKPASS_REQUIRE": "never"}
    try:
        return run_bounded(["ssh-keygen", *arguments], given, environment, Path(folder), seconds)
    except FileNotFoundError as error:
        raise SignatureError(NO_SSH_KEYGEN) from error
    except OSError as error:
        raise SignatureError(f"ssh-keygen cannot be started: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise SignatureError(
            f"ssh-keygen took longer than {seconds:g} s: check the agent that holds the key, or raise kafka_recovery_git_timeout"
        ) from error


def _error_output(done: subprocess.CompletedProcess[bytes]) -> str:
    """Return the error output of ssh-keygen on one line."""
    lines = [line.strip() for line in done.stderr.decode(errors="replace").splitlines()]
    return printable("; ".join(line for line in lines if line) or "ssh-keygen gave no reason")[:_QUOTED]
