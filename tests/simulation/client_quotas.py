# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Quotas of clients: a broker whose client has read more than its consumer_byte_rate answers without records, and says for how long (KIP-13, KIP-219)."""

from __future__ import annotations

from typing import Any

from simulation.world import World

RATES = 100, 1_000, 10_000  # bytes per second
LONGEST = 1.0  # seconds: a window of the quota (quota.window.size.seconds)


class ClientQuotas:
    """The quota of control nodes at each broker. `rate`: bytes per second, None: there is none. `count`: answers without records because of it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.rate: int | None = None
        self.count = 0
        self._free_at: dict[int, float] = {}

    def limited(self, broker: int, request: Any, answer: Any) -> Any:
        """Return the answer of a broker to a request that reads records: without them as long as the client has read too much."""
        if self.rate is None or request.name != "FetchRequest" or answer is None:
            return answer
        rows = [row for topic in answer.responses for row in topic.partitions]
        size = sum(len(row.records or b"") for row in rows)
        wait = self._free_at.get(broker, 0.0) - self._world.now
        if size and wait > 0:
            self.count += 1
            answer.throttle_time_ms, answer.responses = int(min(wait, LONGEST) * 1000), []
        elif size:
            self._free_at[broker] = self._world.now + size / self.rate
        return answer
