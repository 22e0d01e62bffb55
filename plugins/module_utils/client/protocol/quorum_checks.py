# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks that a DescribeQuorum answer is consistent with itself. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import AnswerError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import BROKERS, LISTENERS, VOTERS


def check(answer: Any, row: Any) -> None:
    """Raise AnswerError if `row`, the answer's partition, names more voters or observers than any quorum has, or one of them twice."""
    nodes = answer.nodes or ()
    for members, most, what in ((row.current_voters, VOTERS, "voters"), (row.observers, BROKERS, "observers"), (nodes, BROKERS, "nodes")):
        if len(members) > most:
            raise AnswerError(f"{answer.name} has {len(members)} {what}, more than {most}")
    voters = [voter.replica_id for voter in row.current_voters]
    if min(voters, default=0) < 0:
        raise AnswerError(f"{answer.name} names voter {min(voters)}")
    _once(answer, "voter", [(voter,) for voter in voters])
    # For some minutes an observer whose disk was replaced is listed with both directories (KIP-853). Answers before version 2 have no directory ids.
    observers = [(one.replica_id, one.replica_directory_id) for one in row.observers]
    _once(answer, "observer", [key for key in observers if key[1] and key[1].int], " with the same directory")
    _once(answer, "node", [(node.node_id,) for node in nodes])
    for node in nodes:
        if len(node.listeners) > LISTENERS:
            raise AnswerError(f"{answer.name} names {len(node.listeners)} listeners of node {node.node_id}, more than {LISTENERS}")


def _once(answer: Any, what: str, keys: Iterable[tuple[Any, ...]], how: str = "") -> None:
    """Raise AnswerError if a key stands twice. The first part of a key is an id."""
    known: set[tuple[Any, ...]] = set()
    for key in keys:
        if key in known:
            raise AnswerError(f"{answer.name} names {what} {key[0]} twice{how}")
        known.add(key)
