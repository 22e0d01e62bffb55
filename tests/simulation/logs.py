# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The log of one replica: batches, epoch cache, high watermark. As Kafka keeps them (UnifiedLog, LeaderEpochFileCache)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple
from zlib import crc32

from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from unit.record_batches import DELTA_AT, EPOCH_AT, Content, batch_of, marker, with_crc

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


def batch(base: int, epoch: int, name: str, records: int, size: int = 0, sent: Sent | None = None, keys: int = 0) -> Batch:
    """Return a batch of so many records, named after `name`, each of `size` bytes at least. `keys`: as in `contents`."""
    return batch_with(base, epoch, name, contents(base, name, records, size, keys), sent)


def contents(base: int, name: str, records: int, size: int = 0, keys: int = 0) -> list[Content]:
    """Return so many records, named after `name`, each of `size` bytes at least. `keys`: how many keys they have, 0: they have none."""
    values = [f"{name}.{number}".encode() for number in range(records)]
    return [
        (TIMESTAMP + base + number, b"key-%d" % (crc32(value) % keys) if keys else None, value.ljust(size, b"."), [])
        for number, value in enumerate(values)
    ]


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
    """A replica's log. `epochs`: its epoch cache, (epoch, start offset) each. `topic_id`: of the topic that it is of.

    `deleted`: batches that it had, and that retention or the cleaner has removed, or that its leader had removed before.
    """

    batches: list[Batch] = field(default_factory=list)
    epochs: list[tuple[int, int]] = field(default_factory=list)
    high_watermark: int = 0
    start: int = 0
    topic_id: int = 0
    deleted: list[Batch] = field(default_factory=list)

    @property
    def end(self) -> int:
        """Log end offset."""
        end = max(self.start, self.batches[-1].last + 1) if self.batches else self.start  # asked for very often
        return max(end, self.deleted[-1].last + 1) if self.deleted else end

    def append(self, one: Batch) -> None:
        """Append a batch, as leader or as follower. There is a gap before it if the leader's cleaner has removed what was there."""
        assert one.base >= self.end, (one, self.end)
        self.begin_epoch(one.epoch, one.base)
        self.batches.append(one)

    def begin_epoch(self, epoch: int, at: int | None = None) -> None:
        """Note that an epoch begins, at the end of the log: a new leader does so, whether or not it will write."""
        begins = self.end if at is None else at
        if not self.epochs or self.epochs[-1][0] < epoch:
            while self.epochs and self.epochs[-1][1] >= begins:
                self.epochs.pop()
            self.epochs.append((epoch, begins))

    def truncate(self, end: int) -> list[Batch]:
        """Remove what is at `end` and behind it, and return that. A log that starts behind `end` begins there again."""
        before = self.end
        gone = [one for one in self.batches if one.last >= end]
        self.batches = [one for one in self.batches if one.last < end]
        self.deleted = [one for one in self.deleted if one.last < end]
        self.start = min(self.start, end)
        self.epochs = [(epoch, at) for epoch, at in self.epochs if at < self.end] if self.end < before else self.epochs
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
        if (
            not (self.deleted or leader.deleted)
            and self.epochs == leader.epochs
            and self.batches == leader.batches
            and self.end == leader.end
        ):
            return gone  # mostly so
        # An epoch in which this replica has led and written nothing, and that the leader does not know (UnifiedLog.truncateTo).
        while self.epochs and self.epochs[-1][1] >= self.end and leader.end_of_epoch(self.epochs[-1][0])[0] != self.epochs[-1][0]:
            self.epochs.pop()
        while own := self.had:
            epoch = own[-1].epoch
            known, end = leader.end_of_epoch(epoch)
            if known == NO_EPOCH:  # the leader knows only earlier ones
                known, end = (leader.epochs[-1][0], leader.end) if leader.epochs else (NO_EPOCH, 0)
            shared = [one.last + 1 for one in own if one.epoch <= known]
            end = min(end, shared[-1]) if shared else min(end, own[0].base)
            gone = self.truncate(end) + gone
            if known == epoch:
                break
        return gone

    def copy(self) -> Log:
        """Return a log with the same content."""
        return replace(self, batches=list(self.batches), epochs=list(self.epochs), deleted=list(self.deleted))

    @property
    def had(self) -> list[Batch]:
        """Return its batches, and those that were removed in this log, or in that of its leader, by age or by key."""
        return sorted([*self.deleted, *self.batches], key=lambda one: one.base) if self.deleted else self.batches

    def has(self, one: Batch) -> bool:
        """Return whether the log has these records, or had them and has removed them by age or by key."""
        return self.holds(one) or any(own.name == one.name and own.base == one.base for own in self.deleted)

    def holds(self, one: Batch) -> bool:
        """Return whether the log has these records, or some of them: the cleaner may have removed others."""
        return any(own.name == one.name and own.base == one.base for own in self.batches)

    # --- retention and compaction ----------------------------------------------------------------------------------------

    def delete_before(self, offset: int) -> None:
        """Let the log start at `offset`, where a batch begins or the log ends, as retention and DeleteRecords do."""
        self._remove([one for one in self.batches if one.last < offset])
        before = [epoch for epoch, at in self.epochs if at <= offset]
        self.epochs = [*((epoch, offset) for epoch in before[-1:]), *((epoch, at) for epoch, at in self.epochs if at > offset)]
        self.start = offset

    def clean(self, keep: int = 1) -> int:
        """Remove records that have a later one with their key, as the cleaner does. Return how many batches were removed or changed.

        It reads batches below the high watermark, but for the last `keep`: they are in the active segment.
        """
        clean = [one for one in self.batches[:-keep] if one.last < self.high_watermark]
        last = {record.key: record.offset for one in clean for record in _records(one)}
        kept = {one.base: [record for record in _records(one) if last[record.key] == record.offset] for one in clean}
        changed = [one for one in clean if len(kept[one.base]) < len(one.values)]
        self._remove([one for one in changed if not kept[one.base]])
        for at, one in enumerate(self.batches):
            if one in changed:
                self.batches[at] = _without_others(one, kept[one.base])
        return len(changed)

    def take_deleted(self, leader: Log, end: int) -> None:
        """Note which batches the leader had removed, between the end of this log and `end`."""
        self.deleted += [one for one in leader.deleted if self.end <= one.base and one.last < end]

    def begin_at(self, leader: Log) -> list[Batch]:
        """Begin an empty log where that of the leader starts, which has deleted all that this one could copy. Return what the leader never had."""
        gone = [one for one in self.batches if not leader.has(one)]
        self.batches, self.epochs, self.start, self.high_watermark = [], [], leader.start, leader.start
        self.deleted = [one for one in leader.deleted if one.last < leader.start]
        return gone

    def load(self) -> None:
        """Load the log, as a broker does that starts: it ends behind its last batch."""
        end, before = self.batches[-1].last + 1 if self.batches else self.start, self.end
        self.deleted = [one for one in self.deleted if one.last < end]
        self.high_watermark = min(self.high_watermark, end)
        self.epochs = [(epoch, at) for epoch, at in self.epochs if at < end] if end < before else self.epochs

    def _remove(self, batches: list[Batch]) -> None:
        self.batches = [one for one in self.batches if one not in batches]
        self.deleted = sorted([*self.deleted, *batches], key=lambda one: one.base)


def _records(one: Batch) -> list[Any]:
    """Return the records of a batch, as kafka-python reads them."""
    return list(DefaultRecordBatch(one.data))


def _without_others(one: Batch, records: list[Any]) -> Batch:
    """Return a batch that the cleaner has rewritten: with these records alone, and the offsets that it had."""
    builder = DefaultRecordBatchBuilder(
        magic=2, compression_type=0, is_transactional=False, producer_id=-1, producer_epoch=-1, base_sequence=-1, batch_size=1 << 30
    )
    for record in records:
        builder.append(record.offset - one.base, timestamp=record.timestamp, key=record.key, value=record.value, headers=[])
    data = bytearray(builder.build())
    struct.pack_into(">q", data, 0, one.base)
    struct.pack_into(">i", data, EPOCH_AT, one.epoch)
    struct.pack_into(">i", data, DELTA_AT, one.last - one.base)
    return one._replace(data=with_crc(data), values=tuple(record.value for record in records))
