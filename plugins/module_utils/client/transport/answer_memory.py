# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bounds the memory of all nodes' answers: half received, decoded and not read yet, kept, and the table of partitions. Pure: no I/O."""

from __future__ import annotations

from typing import Any, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.kept_memory import KeptMemory
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import limits


class Arrival(Protocol):
    """An answer that has begun to arrive on a connection."""

    def go_on(self) -> None:
        """Receive the answer: there is room for it."""

    def give_up(self, reason: str) -> None:
        """Drop the answer: there will be no room for it."""


class Memory:
    """One budget for all nodes, because a node can pretend to be many. It must be used in the thread of the connections."""

    def __init__(self) -> None:
        self.kept = KeptMemory()  # of the last round
        self._decoded: dict[Any, int] = {}
        self._arriving: dict[Arrival, int] = {}
        self._waiting: dict[Arrival, int] = {}
        self._partitions = 0

    def begin_round(self, kept: KeptMemory | None) -> KeptMemory:
        """Return the counter of a round's results. `kept`: the counter of earlier results that are held together with them."""
        self.kept = KeptMemory() if kept is None else kept
        self._decoded.clear()
        return self.kept

    def hold_partitions(self, count: int) -> None:
        """Count the table of `count` partitions, which stays in memory."""
        self._partitions = count

    def arrive(self, arrival: Arrival, size: int) -> None:
        """Call `arrival.go_on` when there is room for an answer of `size` bytes: now, or after others were read."""
        self._waiting[arrival] = size
        self._settle()

    def end(self, arrival: Arrival) -> None:
        """Stop counting an answer as half received: it is complete, or its connection has ended."""
        self._waiting.pop(arrival, None)
        if self._arriving.pop(arrival, None) is not None:
            self._settle()

    def decode(self, node: Any, size: int) -> None:
        """Count the bytes of an answer before it is decoded. ValueError if there is no room for it."""
        if not self._fits(size):
            raise ValueError(f"{size >> 20} MiB do not fit in addition to the answers in memory, {self._held() >> 20} MiB")
        self._decoded[node] = self._decoded.get(node, 0) + size

    def decoded(self, node: Any) -> int:
        """Return the bytes of a node's answers that are decoded and not read."""
        return self._decoded.get(node, 0)

    def read(self, node: Any) -> None:
        """Stop counting a node's answers as decoded: they were read."""
        if self._decoded.pop(node, 0):
            self._settle()

    def _held(self) -> int:
        answers = self.kept.bytes + sum(self._decoded.values()) + sum(self._arriving.values())
        return answers + max(0, self._partitions * limits.PARTITION_BYTES - limits.FREE_TABLE_BYTES)

    def _fits(self, size: int) -> bool:
        return self._held() + size <= limits.CLIENT_BYTES

    def _settle(self) -> None:
        for arrival, size in list(self._waiting.items()):
            if self._fits(size):
                self._arriving[arrival] = self._waiting.pop(arrival)
                arrival.go_on()
            elif not self._arriving and not any(self._decoded.values()):  # nothing will make room for it
                del self._waiting[arrival]
                arrival.give_up(
                    f"an answer of {size >> 20} MiB does not fit in addition to the answers in memory, {self._held() >> 20} MiB"
                )
