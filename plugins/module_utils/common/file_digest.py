# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sha256 of a file, handed from the task that has written it to the task that uses it. Between the two, others may write in an object store."""

from __future__ import annotations

import hashlib
import re
from typing import IO

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError

_SHA256 = re.compile("[0-9a-f]{64}")


class DigestStream:
    """Passes bytes on to a stream, and computes the sha256 of all of them."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._digest = stream, hashlib.sha256()

    def write(self, data: bytes) -> int:
        """Write bytes, as the stream does."""
        self._digest.update(data)
        return self._stream.write(data)

    @property
    def sha256(self) -> str:
        """Return the sha256 of what was written so far, as hex digits, as the command sha256sum prints it."""
        return self._digest.hexdigest()


def sha256(content: bytes) -> str:
    """Return the sha256 of the content of a file as hex digits, as the command sha256sum prints it."""
    return hashlib.sha256(content).hexdigest()


def check(content: bytes, expected: str | None, source: object, option: str) -> None:
    """Raise RecoveryError unless the content has the sha256 `expected`, or if that is not 64 hex digits. None accepts every content.

    `source`: the name of the file, `option`: that of the option with the sha256, both for errors.
    """
    if expected is None:
        return
    if not _SHA256.fullmatch(expected):
        raise RecoveryError(f"{option} {expected!r:.80} is not a sha256 of 64 hex digits, as sha256sum prints it")
    if (found := sha256(content)) != expected:
        raise RecoveryError(
            f"{source} has sha256 {found}, not {expected} ({option}): it was replaced since it was made. Find out who writes there (docs/stores.md), "
            "then make it again under another kafka_recovery_run_id"
        )
