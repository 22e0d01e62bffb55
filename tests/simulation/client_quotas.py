# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Quotas of clients: a broker whose client has read more than its consumer_byte_rate answers without records, and says for how long (KIP-13, KIP-219)."""

from __future__ import annotations

from typing import Any

from simulation.world import World

RATES = 50, 100, 200, 1_000  # bytes per second: logs have some hundred bytes
SAMPLES, WINDOW = 11, 1.0  # quota.window.num, quota.window.size.seconds
ROW_BYTES = 50  # of an answer about a partition, without records: Kafka counts the whole answer


class _Reads:
    """What a client has read from a broker, in samples as Kafka's Rate takes them."""

    def __init__(self) -> None:
        self._samples: list[list[float]] = []  # when each began, and its bytes

    def throttle_seconds(self, now: float, size: int, rate: int) -> float:
        """Record an answer. Return how long the client must wait instead of getting it: until the rate is kept, however long that takes (0: it gets it)."""
        self._samples = [one for one in self._samples if now - one[0] < SAMPLES * WINDOW]
        if not self._samples or now - self._samples[-1][0] >= WINDOW:
            self._samples = [*self._samples, [now, 0.0]][-SAMPLES:]
        elapsed = now - self._samples[0][0]
        window = elapsed + max(0, SAMPLES - 1 - int(elapsed / WINDOW)) * WINDOW
        seconds = (sum(one[1] for one in self._samples) + size) / rate - window
        if seconds <= 0:
            self._samples[-1][1] += size
        return max(0.0, seconds)


class ClientQuotas:
    """The quota of control nodes at each broker. `rate`: bytes per second, None: there is none. `count`: answers without records because of it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.rate: int | None = None
        self.count = 0
        self._reads: dict[int, _Reads] = {}

    def cap(self, request: Any) -> None:
        """Cap the bytes of an answer as brokers do: one with more would never be sent. A batch that has more is never sent, then."""
        if self.rate is not None and request.name == "FetchRequest":
            request.max_bytes = min(request.max_bytes, int(self.rate * (SAMPLES - 1) * WINDOW))

    def limited(self, broker: int, request: Any, answer: Any) -> Any:
        """Return the answer of a broker to a request that reads records: without them as long as the client has read too much."""
        if self.rate is None or request.name != "FetchRequest" or answer is None:
            return answer
        size = sum(ROW_BYTES + len(row.records or b"") for topic in answer.responses for row in topic.partitions)
        seconds = self._reads.setdefault(broker, _Reads()).throttle_seconds(self._world.now, size, self.rate)
        if round(seconds * 1000) > 0:
            self.count += 1
            answer.throttle_time_ms, answer.responses = round(seconds * 1000), []
        return answer
