# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The log of one replica: batches, epoch cache, high watermark. As Kafka keeps them (UnifiedLog, LeaderEpochFileCache)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from unit.record_batches import Content, batch_of, marker

TIMESTAMP = 1_795_000_000_000
NO_EPOCH, NO_OFFSET = -1, -1


class Sent(NamedTuple):
    """What an idempotent producer numbers its batches with. `transactional`: they are part of its transaction."""

    producer_id: int
    producer_epoch: int
    sequence: int = 0
    transactional: bool = False


class End(NamedTuple):
    """The end of a producer's transaction. `coordinator_epoch`: of who has written it."""

    producer_id: int
    producer_epoch: int
    commits: bool
    coordinator_epoch: int


class Batch(NamedTuple):
    """One batch of a log: its offsets, the leader epoch in which it was written, and its bytes. `name`: of the records in it; `values`: of each of them.

    `sent`: the numbers of its producer, None if that is not idempotent. `ends`: the transaction that it ends, None if it has records.
    """

    base: int
    last: int
    epoch: int
    name: str
    data: bytes
    values: tuple[bytes, ...] = ()
    sent: Sent | None = None
    ends: End | None = None


def batch(base: int, epoch: int, name: str, records: int, size: int = 0, sent: Sent | None = None) -> Batch:
    """Return a batch of so many records, named after `name`, each of `size` bytes at least."""
    return batch_with(base, epoch, name, contents(base, name, records, size), sent)


def contents(base: int, name: str, records: int, size: int = 0) -> list[Content]:
    """Return so many records, named after `name`, each of `size` bytes at least."""
    return [(TIMESTAMP + base + number, None, f"{name}.{number}".encode().ljust(size, b"."), []) for number in range(records)]


def batch_with(base: int, epoch: int, name: str, content: Sequence[Content], sent: Sent | None = None) -> Batch:
    """Return a batch with these records."""
    numbers = {} if sent is None else {**sent._asdict()}
    return Batch(
        base, base + len(content) - 1, epoch, name, batch_of(base, content, epoch=epoch, **numbers), tuple(value or b"" for _, _, value, _ in content), sent
    )  # fmt: skip


def end_marker(base: int, epoch: int, end: End, timestamp: int) -> Batch:
    """Return the batch that ends a transaction. `timestamp`: ms since 1970."""
    what = "COMMIT" if end.commits else "ABORT"
    data = marker(base, end.producer_id, end.commits, end.coordinator_epoch, epoch, end.producer_epoch, timestamp)
    return Batch(
        base, base, epoch, f"{what} of producer {end.producer_id} in epoch {end.producer_epoch}, leader epoch {epoch}", data, ends=end
    )


@dataclass
class Log:
    """A replica's log. `epochs`: its epoch cache, (epoch, start offset) each. `topic_id`: of the topic that it is of."""

    batches: list[Batch] = field(default_factory=list)
    epochs: list[tuple[int, int]] = field(default_factory=list)
    high_watermark: int = 0
    start: int = 0
    topic_id: int = 0

    @property
    def end(self) -> int:
        """Log end offset."""
        return self.batches[-1].last + 1 if self.batches else self.start

    def append(self, one: Batch) -> None:
        """Append a batch, as leader or as follower."""
        assert one.base == self.end, (one, self.end)
        self.begin_epoch(one.epoch)
        self.batches.append(one)

    def begin_epoch(self, epoch: int) -> None:
        """Note that an epoch begins at the end of the log: a new leader does so, whether or not it will write."""
        if not self.epochs or self.epochs[-1][0] < epoch:
            while self.epochs and self.epochs[-1][1] >= self.end:
                self.epochs.pop()
            self.epochs.append((epoch, self.end))

    def truncate(self, end: int) -> list[Batch]:
        """Remove what is at `end` and behind it, and return that."""
        gone = [one for one in self.batches if one.last >= end]
        self.batches = [one for one in self.batches if one.last < end]
        self.epochs = [(epoch, at) for epoch, at in self.epochs if at < self.end] if gone else self.epochs
        self.high_watermark = min(self.high_watermark, self.end)
        return gone

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """Return the greatest epoch up to `epoch` and where it ends; NO_EPOCH and NO_OFFSET if the log does not know one as great (KIP-101)."""
        if not self.epochs or epoch < 0:
            return NO_EPOCH, NO_OFFSET
        if self.epochs[-1][0] == epoch:
            return epoch, self.end
        higher = [entry for entry in self.epochs if entry[0] > epoch]
        if not higher:
            return NO_EPOCH, NO_OFFSET
        floor = [entry[0] for entry in self.epochs if entry[0] <= epoch]
        return (floor[-1] if floor else epoch), higher[0][1]

    def from_offset(self, offset: int) -> list[Batch]:
        """Return the batches from the one that has `offset` on."""
        return [one for one in self.batches if one.last >= offset]

    def follow(self, leader: Log) -> list[Batch]:
        """Truncate to the leader's log, as a follower does before it fetches (KIP-279), and return what was removed."""
        gone: list[Batch] = []
        while self.batches:
            epoch = self.batches[-1].epoch
            known, end = leader.end_of_epoch(epoch)
            if known == NO_EPOCH:  # the leader knows only earlier ones
                known, end = (leader.epochs[-1][0], leader.end) if leader.epochs else (NO_EPOCH, 0)
            shared = [one.last + 1 for one in self.batches if one.epoch <= known]
            end = min([end, *shared[-1:]]) if shared else 0
            gone = self.truncate(end) + gone
            if known == epoch:
                break
        return gone

    def copy(self) -> Log:
        """Return a log with the same content."""
        return replace(self, batches=list(self.batches), epochs=list(self.epochs))

    def has(self, one: Batch) -> bool:
        """Return whether the log has these records."""
        return any(own.name == one.name and own.base == one.base for own in self.batches)
