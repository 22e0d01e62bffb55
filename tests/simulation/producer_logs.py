# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a log says of its producers and transactions, as Kafka derives it from the batches (ProducerStateManager)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from simulation.logs import Batch, End, Log, Sent

KEPT_BATCHES = 5  # of a producer, to notice that one is sent again


@dataclass
class ProducerState:
    """A producer in a log: its epoch, its last batches, and where its open transaction begins, None if there is none."""

    epoch: int = -1
    coordinator_epoch: int = -1
    begins: int | None = None
    batches: deque[Batch] = field(default_factory=lambda: deque(maxlen=KEPT_BATCHES))
    timestamp: int = -1

    def refusal(self, sent: Sent) -> str | None:
        """Return Kafka's error for a batch with these numbers, None if it may be appended."""
        if sent.producer_epoch < self.epoch:
            return "INVALID_PRODUCER_EPOCH"
        expected = 0 if sent.producer_epoch > self.epoch else self._next_sequence()
        # The log may have lost what it knew of the producer: then every sequence is right.
        return None if expected is None or self.epoch < 0 or sent.sequence == expected else "OUT_OF_ORDER_SEQUENCE_NUMBER"

    def _next_sequence(self) -> int | None:
        own = [one for one in self.batches if one.sent and one.sent.producer_epoch == self.epoch]
        return own[-1].sent.sequence + own[-1].last - own[-1].base + 1 if own and own[-1].sent else None

    def sent_before(self, sent: Sent) -> Batch | None:
        """Return the batch with the same numbers, if the log has it."""
        return next((one for one in self.batches if one.sent == sent), None)

    def ended_by(self, end: End) -> str | None:
        """Return Kafka's error for a marker, None if it may be appended."""
        if end.producer_epoch < self.epoch:
            return "INVALID_PRODUCER_EPOCH"
        return "TRANSACTION_COORDINATOR_FENCED" if end.coordinator_epoch < self.coordinator_epoch else None


def producers(log: Log) -> dict[int, ProducerState]:
    """Return the producers of a log, by id."""
    found: dict[int, ProducerState] = {}
    for one in log.batches:
        if one.ends is not None:
            state = found.setdefault(one.ends.producer_id, ProducerState())
            state.epoch, state.coordinator_epoch, state.begins = one.ends.producer_epoch, one.ends.coordinator_epoch, None
        elif one.sent is not None:
            state = found.setdefault(one.sent.producer_id, ProducerState())
            state.epoch = one.sent.producer_epoch
            state.batches.append(one)
            if one.sent.transactional and state.begins is None:
                state.begins = one.base
    return found


def last_stable_offset(log: Log) -> int:
    """Return the offset up to which consumers with read_committed read: that of the first transaction that has not ended below the high watermark."""
    begins: dict[int, int] = {}
    for one in log.batches:
        if one.ends is not None and one.last < log.high_watermark:
            begins.pop(one.ends.producer_id, None)
        elif one.sent is not None and one.sent.transactional:
            begins.setdefault(one.sent.producer_id, one.base)
    return min([log.high_watermark, *begins.values()])


def aborted(log: Log) -> Iterator[tuple[int, int, int]]:
    """Yield each transaction that was aborted: producer id, its first offset, and the offset of its marker."""
    begins: dict[int, int] = {}
    for one in log.batches:
        if one.sent is not None and one.sent.transactional:
            begins.setdefault(one.sent.producer_id, one.base)
        elif one.ends is not None and (first := begins.pop(one.ends.producer_id, None)) is not None and not one.ends.commits:
            yield one.ends.producer_id, first, one.base


class Committed(NamedTuple):
    """A record that counts. `end`: the marker that has committed it, None if it is of no transaction."""

    value: bytes
    batch: Batch
    end: Batch | None


def committed(log: Log) -> list[Committed]:
    """Return the records that count: without a transaction, or of one that was committed. In the order of the log."""
    found: list[tuple[Batch, Batch | None]] = []
    waiting: dict[int, list[Batch]] = {}
    for one in log.batches:
        if one.ends is not None:
            batches = waiting.pop(one.ends.producer_id, [])
            found += [(batch, one) for batch in batches if one.ends.commits]
        elif one.sent is not None and one.sent.transactional:
            waiting.setdefault(one.sent.producer_id, []).append(one)
        else:
            found.append((one, None))
    return [Committed(value, batch, end) for batch, end in sorted(found, key=lambda row: row[0].base) for value in batch.values]
