# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pairs of logs: is one a prefix of the other, or at which offset do they fork? Found by comparing batches at chosen offsets.

B's log is a prefix of A's exactly when A's batch at B's last offset is B's last batch. Where it is not, binary search over
the same test gives the fork offset. All pairs are searched side by side, so that the number of rounds does not grow with them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.batches import DIFFERENT, SAME, UNKNOWN, LastBatch, compare
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.partitions import TopicPartition

if TYPE_CHECKING:
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence import ReplicaLog, Replicas

PREFIX, FORKED = "prefix", "forked"
Probe = tuple[int, TopicPartition, int]


class Prober:
    """Fetches batches at offsets and remembers them. `found`: (broker, partition, offset) → batch, None where none came."""

    def __init__(self, batches: Callable[..., Mapping[int, Mapping[TopicPartition, Any]]]) -> None:
        self._batches = batches
        self.found: dict[Probe, LastBatch | None] = {}

    def fetch(self, probes: Iterable[Probe], deadline: float = math.inf) -> None:
        """Fetch what is not known yet. A request has one offset per partition, so several offsets of one replica go one after the other, the greatest first.

        At `deadline` (of the monotonic clock) the rest is left, and is not in `found`.
        """
        left = {probe for probe in probes if probe not in self.found}
        while left and time.monotonic() < deadline:
            layer: dict[int, dict[TopicPartition, int]] = {}
            for broker, key, offset in sorted(left, reverse=True):
                layer.setdefault(broker, {}).setdefault(key, offset)
            answers = self._batches(layer)
            for broker, offsets in layer.items():
                for key, offset in offsets.items():
                    answer = answers.get(broker, {}).get(key)
                    self.found[broker, key, offset] = answer.batch if answer is not None and answer.error is None else None
                    left.discard((broker, key, offset))


@dataclass
class _Search:
    """A forked pair: the logs agree below `low` and differ from `high` on."""

    pair: dict[str, Any]
    low: int
    high: int

    @property
    def key(self) -> TopicPartition:
        return self.pair["topic"], self.pair["partition"]

    @property
    def middle(self) -> int:
        return (self.low + self.high) // 2

    def probes(self) -> list[Probe]:
        return [(self.pair[side], self.key, self.middle) for side in ("broker_a", "broker_b")]

    def narrow(self, one: LastBatch | None, other: LastBatch | None) -> None:
        verdict = compare(self.middle, one, other)
        if verdict == UNKNOWN or one is None or other is None:
            _unknown(self.pair, f"the batches at offset {self.middle} cannot be compared (compacted?), so the fork offset is not known")
        elif verdict == SAME:
            self.low = one.last_offset + 1
        else:
            self.high = max(self.low, min(one.base_offset, other.base_offset))


def pair_row(key: TopicPartition, broker_a: int, broker_b: int) -> dict[str, Any]:
    """A pair whose relation is yet to be settled."""
    return {
        "topic": key[0],
        "partition": key[1],
        "broker_a": broker_a,
        "broker_b": broker_b,
        "relation": None,
        "shorter": None,
        "common_offset": None,
        "reason": None,
    }


def settle(pairs: list[dict[str, Any]], replicas: Replicas, prober: Prober) -> None:
    """Fill in `relation` (same, prefix, forked, unknown), `shorter`, `common_offset` and `reason` of every pair, in place."""
    probes: list[Probe] = []
    compared: list[tuple[dict[str, Any], int, int, int]] = []
    for pair in pairs:
        key = pair["topic"], pair["partition"]
        longer, shorter = sorted((pair["broker_a"], pair["broker_b"]), key=lambda broker: _length(replicas[key, broker]))
        end = replicas[key, shorter].log_end_offset or 0
        if replicas[key, shorter].empty:
            same = _length(replicas[key, longer]) == _length(replicas[key, shorter])
            pair |= {"relation": SAME if same else PREFIX, "shorter": None if same else shorter, "common_offset": end}
            continue
        compared.append((pair, longer, shorter, end))
        if replicas[key, longer].log_end_offset == end:
            prober.found[longer, key, end - 1] = replicas[key, longer].last_batch
        prober.found[shorter, key, end - 1] = replicas[key, shorter].last_batch
        probes.append((longer, key, end - 1))
    prober.fetch(probes)
    searches = []
    for pair, longer, shorter, end in compared:
        key = pair["topic"], pair["partition"]
        one, other = prober.found[longer, key, end - 1], prober.found[shorter, key, end - 1]
        verdict = compare(end - 1, one, other)
        if verdict == SAME:
            same = replicas[key, longer].log_end_offset == end
            pair |= {"relation": SAME if same else PREFIX, "shorter": None if same else shorter, "common_offset": end}
        elif verdict == DIFFERENT and one is not None and other is not None:
            pair["relation"] = FORKED
            start = max(replicas[key, longer].log_start_offset or 0, replicas[key, shorter].log_start_offset or 0)
            searches.append(_Search(pair, start, max(start, min(one.base_offset, other.base_offset))))
        else:
            _unknown(
                pair,
                f"broker {longer} has no batch at offset {end - 1} to compare with the last batch of broker {shorter} (compacted or deleted?)",
            )
    _search_forks(searches, prober)


def _length(log: ReplicaLog) -> tuple[int, bool]:
    """Sort key, longest first; of two logs with one end the empty one (everything in it was deleted) counts as the shorter."""
    return -(log.log_end_offset or 0), log.empty


def _search_forks(searches: list[_Search], prober: Prober) -> None:
    while searches:
        prober.fetch(probe for search in searches if search.low < search.high for probe in search.probes())
        still = []
        for search in searches:
            if search.low >= search.high:
                search.pair["common_offset"] = search.high
                continue
            search.narrow(*(prober.found[probe] for probe in search.probes()))
            if search.pair["relation"] == FORKED:
                still.append(search)
        searches = still


def _unknown(pair: dict[str, Any], reason: str) -> None:
    pair |= {"relation": UNKNOWN, "shorter": None, "common_offset": None, "reason": reason}
