# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers to ElectLeaders that are not what the controller has done, in one way each: all brokers give them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from simulation.kafka_errors import code


def _with_error(name: str | None) -> Callable[[Any], None]:
    def change(answer: Any) -> None:
        for topic in answer.replica_election_results:
            for row in topic.partition_result:
                row.error_code, row.error_message = code(name), name

    return change


def _leave_out(answer: Any) -> None:
    for topic in answer.replica_election_results:
        topic.partition_result = topic.partition_result[1:]


WAYS: Mapping[str, Callable[[Any], None]] = {
    "leaves out a partition": _leave_out,
    "says that it took too long": _with_error("REQUEST_TIMED_OUT"),
    "says that the broker does not reach the controller": _with_error("NOT_CONTROLLER"),
    "says that all are elected": _with_error(None),
    "says that none was needed": _with_error("ELECTION_NOT_NEEDED"),
}


def falsified(what: str) -> Callable[[int, Any, Any, int], bytes | None]:
    """Return a function that changes answers in this way."""

    def change(_node: int, request: Any, answer: Any, version: int) -> bytes | None:
        if request.name != "ElectLeadersRequest":
            return None
        WAYS[what](answer)
        return bytes(answer.encode(version=version))

    return change
