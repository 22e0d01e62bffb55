# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What evidence says about the leader epochs along each log of a partition. Pure.

The last batch of a log was read, and so was the batch before a committed offset that is confirmed. A log that shares an offset with another has
the same epoch there (log matching), epochs never decrease along a log, and two logs have different epochs at the offset where they fork. What does not
follow from these is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import (
    FORKED,
    PREFIX,
    SAME,
    Log,
    Pair,
    PartitionEvidence,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.epoch_segments import Segment, merged

# By broker: offset → leader epoch of the record there.
Points = dict[int, dict[int, int]]


def batch_epochs(document: Mapping[str, Any]) -> Iterator[tuple[int, int, int]]:
    """Yield (broker, offset, leader epoch) of batches that were read: where the last one begins, and those that confirm committed offsets.

    `document`: a line of a landing file that was decoded without defects.
    """
    for log in document.get("logs", ()):
        base_offset, epoch = log.get("last_batch_base_offset"), log.get("last_written_epoch")
        if base_offset is not None and epoch is not None and epoch >= 0:
            yield log["broker_id"], base_offset, epoch
    for proof in document.get("proofs", ()):
        if proof.get("held") and proof.get("leader_epoch") is not None:
            yield proof["broker_id"], proof["offset"] - 1, proof["leader_epoch"]


def known_epochs(evidence: PartitionEvidence, batches: Iterable[tuple[int, int, int]] = ()) -> dict[int, tuple[Segment, ...]]:
    """Return the segments of each log that was read, by broker, without gaps from its start to its end. `batches`: as `batch_epochs` yields them."""
    logs = {log.broker_id: log for log in evidence.logs if log.answered}
    points: Points = {broker: _last(log) for broker, log in logs.items()}
    for broker, offset, epoch in batches:
        if broker in logs and 0 <= offset < logs[broker].end:
            points[broker].setdefault(offset, epoch)
    pairs = [
        pair for pair in evidence.pairs.values() if pair.relation in (SAME, PREFIX, FORKED) and {pair.broker_a, pair.broker_b} <= {*logs}
    ]
    # All pairs in each round, until none adds anything.
    while sum(_learn(points, pair) for pair in pairs):
        pass
    return {broker: tuple(_segments(log, points[broker])) for broker, log in logs.items()}


def _last(log: Log) -> dict[int, int]:
    return {log.end - 1: log.last_written_epoch} if log.end and log.last_written_epoch is not None and log.last_written_epoch >= 0 else {}


def _learn(points: Points, pair: Pair) -> bool:
    """Add what two logs tell of each other. Returns whether a point was added."""
    one, other, common = points[pair.broker_a], points[pair.broker_b], pair.common_offset
    if common is None:
        return False
    before = len(one) + len(other)
    shared = {offset: epoch for offset, epoch in (one | other).items() if offset < common}
    one |= shared
    other |= shared
    # Both have the epoch of the last shared record: what limits it in one log limits it in the other.
    (low, high), (least, most) = _bounds(one, common - 1), _bounds(other, common - 1)
    highs = [each for each in (high, most) if each is not None]
    if common and highs and max(low, least) == min(highs):
        one[common - 1] = other[common - 1] = min(highs)
    if pair.relation == FORKED:
        # In this order twice: what is learned of the one may tell more of the other.
        for these, those in ((one, other), (other, one), (one, other)):
            _learn_at_fork(these, those, common)
    return len(one) + len(other) > before


def _learn_at_fork(these: dict[int, int], those: dict[int, int], fork: int) -> None:
    """Add the epoch of these records at the fork, if only one epoch remains: those have another one there."""
    (low, high), (least, most) = _bounds(these, fork), _bounds(those, fork)
    if high is None or low > high:
        return
    if least == most:
        low, high = low + (low == least), high - (high == least)
    if low == high:
        these[fork] = low


def _bounds(points: Mapping[int, int], offset: int) -> tuple[int, int | None]:
    """Return the least and the greatest epoch that the record at this offset can have, None if nothing limits it."""
    low = max((epoch for place, epoch in points.items() if place <= offset), default=0)
    return low, min((epoch for place, epoch in points.items() if place >= offset), default=None)


def _segments(log: Log, points: Mapping[int, int]) -> Iterator[Segment]:
    start, found = log.log_start_offset or 0, sorted(points.items())
    if any(later < epoch for (_place, epoch), (_other, later) in pairwise(found)):
        found = []  # epochs that decrease contradict each other
    pieces: list[Segment] = []
    epoch, place = 0, start
    for offset, following in found:
        if offset >= place:
            pieces += [Segment(place, offset, following if following == epoch else None), Segment(offset, offset + 1, following)]
            place = offset + 1
        epoch = following
    return merged([*pieces, Segment(place, log.end, None)])
