# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads tails of logs from their replicas, checks them, and saves them part by part.

All brokers that are equally fast are read side by side, each with one request at a time, and slow ones after them. A tail whose records are not what the
plan says, or cannot be read, is not saved, and the reason is kept; the others go on.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.replica_log_fetch import FetchedRecords
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import deadline
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import BatchError, StoredBatch, stored_batches
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.broker_pace import BrokerPaces
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.part_writer import PartWriter, open_part
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.run_bytes import RunBytes, counted_bytes
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.save_limits import Limits
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.save_progress import SaveProgress
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.saved_folder import locked, no_room
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tail_reading import Reading, first_gap
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails import Tail
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails_to_read import StateSource, changes, unfinished

# Of one answer, and of one partition in it. Answers of all brokers of a round are in memory at once.
ROUND_BYTES, ANSWER_BYTES, PIECE_BYTES = 32 << 20, 8 << 20, 1 << 20
TAILS_PER_REQUEST = 200
PAUSE_SECONDS = 1.0  # after which a pause for the rate looks for signals
BROKERS_PER_ROUND = ROUND_BYTES // PIECE_BYTES
# For reading where the logs of all tails without a start begin.
START_SECONDS = 30.0
OUT_OF_RANGE = "OFFSET_OUT_OF_RANGE"
# Kafka's error for an offset below the start of the local log of a topic with tiered storage.
IN_REMOTE_STORAGE = "OFFSET_MOVED_TO_TIERED_STORAGE"
STOP_AND_RESCUE = "stop this broker, run again, and save its disk before it is started again, or give the records up"
# Answers of one broker in a row without any partition: it throttles, and the client waits as long as the answer says (KIP-219).
THROTTLED_ROUNDS = 20


class RecordSource(Protocol):
    """Where tails are read from: a cluster (`Cluster`), or the disk of a lost broker (`DiskSource`)."""

    unreachable: dict[Any, str]

    def records(
        self, work: Mapping[int, Mapping[TopicPartition, int]], partition_bytes: int, answer_bytes: int
    ) -> dict[int, dict[TopicPartition, FetchedRecords]]: ...
    def log_starts(self, work: Mapping[int, Mapping[TopicPartition, int]]) -> dict[int, dict[TopicPartition, int]]: ...


@dataclass
class Saved:
    """What was saved: tails that are complete, those of them that a run before had saved, bytes and batches of this run, and why others are not.

    `refused`: tails that could not be saved. `damaged`: those of them whose records cannot be read or are not valid. `gaps`: tails that lack offsets,
    although their topic is not compacted. `changed`: tails whose partitions are not as the plan has them, so that the plan does not elect them.
    """

    complete: list[Tail] = field(default_factory=list)
    before: list[Tail] = field(default_factory=list)
    refused: dict[Tail, str] = field(default_factory=dict)
    damaged: set[Tail] = field(default_factory=set)
    gaps: dict[Tail, str] = field(default_factory=dict)
    changed: dict[Tail, str] = field(default_factory=dict)
    size: int = 0
    batches: int = 0


def _offsets_left(readings: Iterable[Reading]) -> int:
    return sum(one.tail.end - one.next_offset for one in readings)


class TailSaver:
    """Saves the tails of one cluster below `folder`. `header`: as in `part_writer.open_part`. `compacted`: topics whose logs may lack offsets.

    states         a cluster: each partition must still be without a live leader in the leader epoch of the plan. None if there is no plan
    keep_gaps      whether a tail that lacks offsets is saved, and its first gap kept in `saved.gaps`. Else it is refused
    pause          gets seconds to wait, so that `limits.bytes_per_second` is kept
    asked_to_stop  returns the name of a signal after which nothing more is read
    saved          what was saved for the same run before, to which this is added
    paces          how fast brokers answer, None for the real clock
    progress       of the run, None if it saves once
    """

    def __init__(
        self,
        source: RecordSource,
        folder: Path,
        header: Mapping[str, Any],
        limits: Limits,
        compacted: Collection[str] = (),
        states: StateSource | None = None,
        pause: Callable[[float], None] = time.sleep,
        asked_to_stop: Callable[[], str | None] = lambda: None,
        saved: Saved | None = None,
        keep_gaps: bool = False,
        paces: BrokerPaces | None = None,
        progress: SaveProgress | None = None,
    ) -> None:
        self._source, self._folder, self._header, self._limits = source, folder, header, limits
        self._compacted, self._states, self._pause, self._asked_to_stop = compacted, states, pause, asked_to_stop
        self.saved, self._keep_gaps = saved or Saved(), keep_gaps
        self._size_before = self.saved.size
        self._again = "run again" if states is None else "plan again"
        self._together = BROKERS_PER_ROUND
        self._throttled: dict[int, int] = {}
        self._paces, self._progress = paces or BrokerPaces(), progress or SaveProgress(folder, header)
        self._read_to_end: list[Tail] = []

    def save(self, tails: Iterable[Tail]) -> Saved:
        """Save all of `tails` that no run before has saved. Raises FileError if nothing more can be written, SavedRecordsError for damaged parts."""
        current = list(tails)
        if self._states is not None:
            changed = changes(self._states, current)
            self.saved.changed |= changed
            current = [tail for tail in current if tail not in changed]
        self._began = began = time.monotonic()
        with locked(self._folder), self._counted() as self._run_bytes:
            waiting = self._waiting(current)
            readings = [one for each in waiting.values() for one in each]
            self._progress.begin((one.tail, _offsets_left([one])) for one in readings)
            while waiting and self._obstacle() is None:
                with open_part(self._folder, self._header) as part:
                    while waiting and not part.is_full and self._obstacle() is None:
                        self._round(waiting, part)
                        self._progress.write()
                        self._keep_rate(began)
                self.saved.complete += self._read_to_end
                self._read_to_end = []
            for reading in (one for readings in waiting.values() for one in readings):
                self._refuse(reading.tail, self._slowly(reading, self._obstacle() or "it was not read to its end"))
            self._progress.end()
        return self.saved

    def _counted(self) -> AbstractContextManager[RunBytes | None]:
        """Return the count of all clusters of the run, None if it has no limit."""
        most = self._limits.run_bytes
        return nullcontext() if most is None else counted_bytes(self._folder, most)

    def _obstacle(self) -> str | None:
        """Return why nothing more is read, None if it is."""
        if signal := self._asked_to_stop():
            return f"{signal} came before it was read to its end"
        return None if self._seconds_left() > 0 else self._out_of_time()

    def _out_of_time(self) -> str:
        return f"it was not read to its end in {self._limits.seconds:g} s: run again with the same plan and run id, which goes on, or raise save_timeout"

    def _seconds_left(self) -> float:
        return math.inf if self._limits.seconds is None else self._began + self._limits.seconds - time.monotonic()

    def _slowly(self, reading: Reading, reason: str) -> str:
        """Return why a tail was not read to its end, with its broker if that is slower than others."""
        broker = reading.tail.broker_id
        return f"broker {broker} answers too slowly, and {reason}" if self._paces.is_slow(broker) else reason

    def _waiting(self, tails: Sequence[Tail]) -> dict[int, list[Reading]]:
        """Return what is left to read of each broker."""
        with deadline.until(time.monotonic() + 2 * START_SECONDS):
            found = unfinished(self._source, self._folder, self._header["cluster_id"], tails)
        for tail in found.unknown:
            self._refuse(tail, f"where its log begins could not be read: {self._why_silent(tail)}")
        self.saved.before += found.before
        self.saved.complete += found.before
        waiting: dict[int, list[Reading]] = {}
        for tail, offset in found.left:
            waiting.setdefault(tail.broker_id, []).append(Reading(tail, offset))
        return waiting

    def _round(self, waiting: dict[int, list[Reading]], part: PartWriter) -> None:
        """Send one request to each of the fastest brokers, and write what they answer. Removes from `waiting` what is complete or refused."""
        brokers = self._paces.fastest(waiting)[: self._together]
        seconds = self._paces.seconds(brokers, waiting)
        share = min(ANSWER_BYTES, ROUND_BYTES // len(brokers))
        work = {broker: {one.tail.key: one.next_offset for one in waiting[broker][:TAILS_PER_REQUEST]} for broker in brokers}
        try:
            # A round of requests takes half of the time before its deadline.
            with deadline.until(None if seconds is None else time.monotonic() + 2 * seconds):
                answers = self._source.records(work, min(PIECE_BYTES, share), share)
        except ClusterError as error:
            self._after(error, brokers, waiting)
            return
        for broker in brokers:
            readings = waiting.pop(broker)
            answer = answers.get(broker)
            if answer is None and seconds is not None:
                self._paces.slow_down(broker)
                waiting[broker] = readings
                continue
            if answer is None:
                for reading in readings:
                    self._refuse(reading.tail, self._why_silent(reading.tail))
                continue
            self._throttled[broker] = 0 if answer else self._throttled.get(broker, 0) + 1
            if not answer and self._throttled[broker] <= THROTTLED_ROUNDS:
                waiting[broker] = readings
                continue
            first, before = readings[0], _offsets_left(readings)
            left = [
                reading
                for reading in readings
                if reading.tail.key not in work[broker] or self._read(reading, answer.get(reading.tail.key), reading is first, part)
            ]
            self._paces.add(broker, before - _offsets_left(left))
            if left and self._paces.is_too_slow(broker, _offsets_left(left), self._seconds_left()):
                for reading in left:
                    self._refuse(reading.tail, self._slowly(reading, self._out_of_time()))
            elif left:
                waiting[broker] = left  # behind the other brokers

    def _after(self, error: ClusterError, brokers: Sequence[int], waiting: dict[int, list[Reading]]) -> None:
        """Go on with one broker at a time: large batches of several do not fit into memory. If it was one broker, its tails are refused."""
        if len(brokers) > 1:
            self._together = 1
            return
        for reading in waiting.pop(brokers[0]):
            self._refuse(reading.tail, str(error))

    def _read(self, reading: Reading, fetched: FetchedRecords | None, is_first: bool, part: PartWriter) -> bool:
        """Write what an answer has of a tail. Return whether more of it is to be read. `is_first`: whether an empty answer means that its log ends."""
        tail = reading.tail
        if fetched is None:
            return self._refuse(tail, self._why_silent(tail))
        if fetched.error == OUT_OF_RANGE:
            return self._refuse(tail, f"its log does not have offset {reading.next_offset} any more: {self._again}")
        if fetched.error == IN_REMOTE_STORAGE:
            return self._refuse(tail, f"offset {reading.next_offset} is only in remote storage ({fetched.error}): {STOP_AND_RESCUE}")
        if fetched.error is not None:
            self.saved.damaged.add(tail)
            return self._refuse(tail, f"it cannot be read: {fetched.error}")
        try:
            batches = list(stored_batches(fetched.records))
            if batches:
                reading.check(batches, self._again)
                self._check_gaps(reading, batches)
            elif is_first:
                raise BatchError(f"its log ends at offset {reading.next_offset}, and not at {tail.end}: {self._again}")
        except BatchError as error:
            self.saved.damaged.add(tail)
            return self._refuse(tail, str(error))
        if not batches:
            return True
        size = sum(batch.size for batch in batches)
        if (limit := self._reached(reading.size + size, size)) is not None:
            return self._refuse(tail, limit)
        try:
            part.add(tail, reading.next_offset, memoryview(fetched.records)[:size], batches)
        except BatchError as error:
            return self._refuse(tail, str(error))
        offset = reading.next_offset
        reading.add(batches, size)
        self._progress.add(tail, reading.next_offset - offset, size, reading.next_offset >= tail.end)
        self.saved.size += size
        self.saved.batches += len(batches)
        if reading.next_offset < tail.end:
            return True
        self._read_to_end.append(tail)
        return False

    def _check_gaps(self, reading: Reading, batches: Sequence[StoredBatch]) -> None:
        """Raise BatchError if the tail lacks offsets that it must have, or keep its first gap."""
        tail = reading.tail
        if tail.topic not in self._compacted and tail not in self.saved.gaps and (gap := first_gap(batches, reading.next_offset)):
            if not self._keep_gaps:
                raise BatchError(gap)
            self.saved.gaps[tail] = gap

    def _reached(self, of_partition: int, more: int) -> str | None:
        """Return why so many bytes are too many, None if they are not. `more`: bytes that would be written now."""
        limits = self._limits
        if limits.partition_bytes is not None and of_partition > limits.partition_bytes:
            return f"it has more than {limits.partition_bytes} bytes: raise max_saved_partition_bytes"
        if limits.cluster_bytes is not None and self.saved.size + more > limits.cluster_bytes:
            return f"all tails have more than {limits.cluster_bytes} bytes: raise max_saved_bytes"
        if reason := no_room(self._folder, more):
            return f"{reason}: make room, or choose another workdir"
        if self._run_bytes is not None and not self._run_bytes.take(more):
            return f"all clusters of the run have more than {limits.run_bytes} bytes: raise max_saved_run_bytes"
        return None

    def _keep_rate(self, began: float) -> None:
        if not self._limits.bytes_per_second:
            return
        read = self.saved.size - self._size_before
        left = min(began + read / self._limits.bytes_per_second - time.monotonic(), self._seconds_left())
        while left > 0 and self._obstacle() is None:  # after a signal it ends at once
            self._pause(min(left, PAUSE_SECONDS))
            left -= PAUSE_SECONDS

    def _refuse(self, tail: Tail, reason: str) -> bool:
        self.saved.refused[tail] = reason
        return False

    def _why_silent(self, tail: Tail) -> str:
        return f"broker {tail.broker_id} does not answer: {self._source.unreachable.get(tail.broker_id, 'no answer for this partition')}"
