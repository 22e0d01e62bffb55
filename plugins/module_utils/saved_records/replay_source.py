# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The saved records of one partition that are to be replayed, and what was done with them."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    INTERNAL_TOPICS,
    PartitionState,
    TopicPartition,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import CRC, BatchError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_records import Marker, marker_of, records_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_log import content_of, sent
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_origin import Sent
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_rules import ALREADY_THERE, Chosen, Rules
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replayed_records import ReplayedRun, runs_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replicas import (
    Contents,
    Replica,
    SavedBatch,
    batches_of,
    contents_of,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.selection import (
    SelectedRecord,
    Selection,
    selected_records,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.store import Piece

# Topics whose records are never written again.
INTERNAL = {*INTERNAL_TOPICS, "__cluster_metadata", "__share_group_state"}
# Offsets of groups that are returned of one partition, those that are held first.
RETURNED_OFFSETS = 1_000


class Most(NamedTuple):
    """How much of one partition may be written, because it was reviewed."""

    records: int
    markers: int
    group_offsets: int


@dataclass
class Source:
    """What is saved of one partition, from the headers of its batches.

    batches           leader epoch and base offset of each batch; markers are not among them
    markers           of each replica, with their leader epochs
    sent              numbers of the batches of idempotent producers, with the crc of the first one
    conflicts         numbers that saved batches with different records have
    is_transactional  whether it has records of transactions
    most              how much may be written, None for no limit
    """

    key: TopicPartition
    topic_id: str
    pieces: dict[Replica, list[Piece]]
    contents: dict[Replica, Contents] = field(default_factory=dict)
    batches: set[tuple[int, int]] = field(default_factory=set)
    sent: dict[Sent, int] = field(default_factory=dict)
    conflicts: set[Sent] = field(default_factory=set)
    markers: dict[Replica, list[tuple[int, Marker]]] = field(default_factory=dict)
    is_transactional: bool = False
    most: Most | None = None

    def read(self) -> None:
        """Read the headers and markers. Raises SavedRecordsError."""
        for replica, pieces in self.pieces.items():
            self.contents[replica] = contents_of(replica, pieces, partial(self._add, replica))
        if self.conflicts:
            self._compare()

    def check_most(self, kind: str, found: int, *noun: str) -> None:
        """Raise ClusterError if more of a `kind` (a field of Most) were found to be written than may be."""
        if self.most is not None and found > (most := getattr(self.most, kind)):
            raise ClusterError(f"{count(found, *noun)} would be written, and {most} were reviewed: propose the replay again")

    def _add(self, replica: Replica, saved: SavedBatch) -> None:
        batch = saved.header
        if batch.control:
            with suppress(BatchError):  # the contents have it as unreadable, unless compaction has removed it
                self.markers.setdefault(replica, []).append((batch.epoch, marker_of(saved.data)))
            return
        self.batches.add((batch.epoch, max(batch.base_offset, saved.start)))
        self.is_transactional |= batch.transactional
        if numbers := sent(batch):
            (crc,) = CRC.unpack_from(saved.data)
            if self.sent.setdefault(numbers, crc) != crc:
                self.conflicts.add(numbers)

    def _compare(self) -> None:
        """Keep the conflicts of records: a broker may have compressed the same ones in another way, or given them its own time."""
        found: dict[Sent, set[tuple[int, ...]]] = {}
        for saved in chain.from_iterable(map(batches_of, self.pieces.values())):
            if (numbers := sent(saved.header)) in self.conflicts and numbers:
                with suppress(BatchError):
                    found.setdefault(numbers, set()).add(tuple(map(content_of, records_of(saved.data))))
        self.conflicts = {numbers for numbers, contents in found.items() if len(contents) > 1}

    @property
    def epochs(self) -> set[int]:
        """Return the leader epochs of batches and markers."""
        return {epoch for epoch, _offset in self.batches} | {epoch for rows in self.markers.values() for epoch, _marker in rows}

    @property
    def records(self) -> int:
        """Return how many records are saved of the replica that has the most, without what compaction has removed."""
        return max(contents.records for contents in self.contents.values())

    @property
    def digest(self) -> str:
        """Return the sha256 of what is saved: of the same batches from the same replicas, wherever the files are."""
        pieces = [
            [*replica, piece.start, piece.end, piece.sha256, piece.position, piece.size, piece.in_sync, piece.segments]
            for replica, own in self.pieces.items()
            for piece in own
        ]
        return hashlib.sha256(json.dumps(pieces).encode()).hexdigest()

    @property
    def first_leader_epoch(self) -> int:
        """Return the leader epoch that the partition had when its records were saved, the first one if that was more than once."""
        return min(replica.leader_epoch for replica in self.pieces)

    def selected(self, selection: Selection, most: int) -> list[Iterator[SelectedRecord]]:
        """Return the selected records of each replica."""
        return [selected_records(self.contents[replica], pieces, selection, most) for replica, pieces in self.pieces.items()]

    def is_of(self, target: PartitionState | None) -> bool:
        """Return whether the records were saved of this partition: a topic that was created again has another id."""
        return target is not None and (target.key, target.topic_id) == (self.key, self.topic_id)

    def spans(self, offset: int) -> bool:
        """Return whether an offset is among those that were saved, or between them."""
        return any(contents.start <= offset < contents.end for contents in self.contents.values())

    @property
    def unreadable(self) -> int:
        """Return the number of batches that could not be decoded, once for all replicas that had them."""
        return len({row for contents in self.contents.values() for row in contents.unreadable})


def sources_of(pieces: Mapping[Replica, list[Piece]], selection: Selection) -> list[Source]:
    """Return what is saved of each selected partition, in the order of their names."""
    found: dict[tuple[str, int, str], Source] = {}
    for replica, own in pieces.items():
        if selection.has_replica(replica):
            source = found.setdefault(replica[:3], Source((replica.topic, replica.partition), replica.topic_id, {}))
            source.pieces[replica] = own
    return [found[place] for place in sorted(found)]


@dataclass
class Outcome:
    """What came of one partition.

    reason  why records or markers are left, or None
    notes   what else must be looked at
    bytes   of the keys, values and headers of the records that are to be replayed
    runs    what is replayed by now, None if the log was not read
    """

    source: Source
    target_topic: str
    records: int = 0
    replayed: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    timestamps_kept: bool = True
    markers: list[dict[str, Any]] = field(default_factory=list)
    offsets: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    reason: str | None = None
    runs: list[ReplayedRun] | None = None
    bytes: int = 0

    def count(self, records: Iterable[Chosen]) -> None:
        """Count all saved records. Raises ClusterError if more of them would be written than may be."""
        reasons: Counter[str] = Counter()
        size = 0
        for chosen in records:
            reasons[chosen.reason or ""] += 1
            size += 0 if chosen.reason else chosen.size
        self.records, self.bytes = reasons.total(), size
        del reasons[""]
        self.skipped = reasons
        self.source.check_most("records", self.left, "record")

    @property
    def left(self) -> int:
        """Return how many records are to be replayed yet."""
        return self.records - self.replayed - sum(self.skipped.values())

    def note_runs(self, rules: Rules) -> None:
        """Keep what of the saved records is replayed by now, after the log was read."""
        found: dict[tuple[int, int], int] = {}
        epochs, own = self.source.epochs, (rules.cluster_id, self.source.topic_id, self.source.key[1])
        for origin, now in rules.log.replayed.items():
            epoch, offset = rules.lost_again.get(origin, (origin.leader_epoch, origin.offset))
            if origin[:3] == own and epoch in epochs and self.source.spans(offset) and origin not in rules.forged:
                found[epoch, offset] = now
        self.runs = list(runs_of(found))

    def replayed_row(self) -> dict[str, Any]:
        """Return the row of the file of replayed records."""
        return {
            "topic": self.source.key[0], "partition": self.source.key[1], "topic_id": self.source.topic_id, "target_topic": self.target_topic,
            "runs": [run._asdict() for run in self.runs or ()],
        }  # fmt: skip

    def row(self) -> dict[str, Any]:
        """Return what the module returns of the partition."""
        skipped, unreadable = dict(sorted(self.skipped.items())), self.source.unreadable
        return {
            "topic": self.source.key[0], "partition": self.source.key[1], "topic_id": self.source.topic_id, "target_topic": self.target_topic,
            "records": self.records, "replayed": self.replayed, "already_there": skipped.pop(ALREADY_THERE, 0), "skipped": skipped,
            "left": self.left, "unreadable": unreadable, "timestamps_kept": self.timestamps_kept, "markers": self.markers,
            "group_offsets": self.offsets[:RETURNED_OFFSETS], "reason": "; ".join(self._reasons()) or None,
        }  # fmt: skip

    def _reasons(self) -> Iterator[str]:
        if self.reason is not None:
            yield self.reason
        yield from self.notes
        for marker in self.markers:
            if marker["abort_offset"] is not None:
                yield f"of a transaction of producer {marker['producer_id']} a COMMIT is saved: {marker['reason']}"
            elif marker["reason"] is not None:
                yield f"the transaction of producer {marker['producer_id']} from offset {marker['start_offset']} on stays open: {marker['reason']}"
        if unreadable := self.source.unreadable:
            batches = count(unreadable, "saved batch", "saved batches")
            yield f"{batches} cannot be decoded: look at them with kafka_records_info, or raise max_batch_bytes"


def totals(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the sums over all partitions."""
    rows = [outcome.row() for outcome in outcomes]
    skipped: Counter[str] = Counter()
    for row in rows:
        skipped.update(row["skipped"])
    names = ("records", "replayed", "already_there", "left", "unreadable")
    return {
        "partitions": len(rows),
        **{name: sum(row[name] for row in rows) for name in names},
        "skipped": dict(sorted(skipped.items())),
        "markers": sum(marker["written"] for row in rows for marker in row["markers"]),
    }
