# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of Kafka's error codes, and which errors Kafka's clients retry. Pure: no I/O."""

from __future__ import annotations

from contextlib import suppress
from functools import cache

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import quoted
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal

with suppress(ImportError):  # optional_imports.py says why
    from kafka.errors import for_code

# Errors that kafka-python names differently from Kafka, for example with the name of 6 before KIP-392.
RENAMED = {
    -1: "UNKNOWN_SERVER_ERROR",
    6: "NOT_LEADER_OR_FOLLOWER",
    10: "MESSAGE_TOO_LARGE",
    17: "INVALID_TOPIC_EXCEPTION",
    39: "INVALID_REPLICA_ASSIGNMENT",
}
CODES = 256  # more than there are error codes


def error_name(code: int) -> str | None:
    """Return Kafka's own name of an error code, None for 0, UNKNOWN_<code> for a code that kafka-python does not know."""
    if code == 0:
        return None
    name = getattr(for_code(code), "message", "UNKNOWN")
    return RENAMED.get(code) or (f"UNKNOWN_{code}" if name == "UNKNOWN" else name)


def refusal(code: int, message: str | None) -> Refusal | None:
    """Return Kafka's error and the start of its ErrorMessage, None for code 0."""
    error = error_name(code)
    return None if error is None else Refusal(error, quoted(message) or None)


@cache
def _retriable() -> frozenset[str]:
    return frozenset(name for code in range(1, CODES) if getattr(for_code(code), "retriable", False) and (name := error_name(code)))


def is_retriable(error: str) -> bool:
    """Return whether Kafka's clients retry after this error (RetriableException), as kafka-python's error classes state."""
    return error in _retriable()
