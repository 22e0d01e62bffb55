# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts the memory of the results that a client keeps from all its nodes' answers. Pure: no I/O."""

from __future__ import annotations

from sys import getsizeof
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import limits
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError

# Rows of one answer share their names: at most this many texts are remembered at a time.
TEXTS = 4096
FIRST_NUMBER, LAST_NUMBER = -5, 256  # Python has one object for each number between these


class KeptMemory:
    """The memory of all nodes' results of related rounds of requests. One budget for all, because a node can pretend to be many."""

    def __init__(self) -> None:
        self._nodes: dict[Any, int] = {}
        self.bytes = 0

    def add(self, node: Any, size: int) -> None:
        """Count the bytes that are kept of a node's answer. ClusterError if all nodes together exceed limits.KEPT_BYTES; it names the largest."""
        self._nodes[node] = self._nodes.get(node, 0) + size
        self.bytes += size
        if self.bytes > limits.KEPT_BYTES:
            largest = max(self._nodes, key=lambda one: self._nodes[one])
            raise ClusterError(
                f"answers of {len(self._nodes)} nodes take more than {limits.KEPT_BYTES >> 20} MiB, most of it from node {largest} "
                f"({self._nodes[largest] >> 20} MiB); check its logs, or select fewer partitions"
            )


def kept_bytes(value: Any, row_bytes: int | None = None) -> int:
    """Return the approximate bytes of a result.

    row_bytes  the most that a row takes, if the result is a dict of rows of numbers. They need not be measured one by one.
    """
    return size_of(value) if row_bytes is None else getsizeof(value) + row_bytes * len(value)


def size_of(value: Any) -> int:
    """Return the approximate bytes of a value of containers, texts and numbers.

    A text that many rows share counts once. Partitions that are keys of a dict do not count: they are the caller's own (`partitions.only`).
    """
    total = 0
    texts: set[int] = set()
    waiting: list[Any] = [(value,)]
    while waiting:
        for one in waiting.pop():
            if one is None:
                continue
            if isinstance(one, int):  # first, because most values are
                if not FIRST_NUMBER <= one <= LAST_NUMBER:
                    total += getsizeof(one)
            elif isinstance(one, (tuple, list, set, frozenset)):
                total += getsizeof(one)
                waiting.append(one)
            elif isinstance(one, dict):
                total += getsizeof(one)
                waiting.append(one.values())
                waiting.append(key for key in one if not isinstance(key, tuple))
            elif not isinstance(one, str):
                total += getsizeof(one)
            elif id(one) not in texts:
                if len(texts) >= TEXTS:
                    texts.clear()
                texts.add(id(one))
                total += getsizeof(one)
    return total
