# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers of Kafka's errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kafka import errors


def _kinds() -> Iterator[Any]:
    return (kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.BrokerResponseError))


# kafka-python has other names of these.
_CODES: dict[str, int] = {kind.message: kind.errno for kind in _kinds()} | {
    "NOT_LEADER_OR_FOLLOWER": 6,
    "INVALID_REPLICA_ASSIGNMENT": 39,
    "UNKNOWN_SERVER_ERROR": -1,
}


def code(name: str | None) -> int:
    """Return the number of one of Kafka's errors, 0 for None."""
    return 0 if name is None else _CODES[name]
