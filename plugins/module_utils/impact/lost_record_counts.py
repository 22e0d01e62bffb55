# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What became of the records that the elections of a run cost, by partition: from its results, saved records, verdicts on disks, and replays.

Contacts no cluster. What a disk has is what it had when it was read last.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.phrases import broker_list
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.impact.recovered_partitions import RecoveredRun
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.epoch_segments import Segment
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, in_recovery_order
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.recovered_partition import RecoveredPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import disk_verdict, replayed_records, store
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.disk_comparison import ONLY_ON_DISK
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.lost_records import NUMBERS, LostRecords, lost_records
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.saved_folder import folder_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.store import Piece

_UNKNOWN_EPOCHS = "records that were not saved may be the same as others: the leader epochs in which they were written are not known"
_OTHER_LEADER = "not the designated broker leads, so what the others truncate is not known"


class LostRecordCounts:
    """Reads the files of one run and cluster. `error`: why no number is known, None if the files can be used."""

    def __init__(self, workdir: Path, cluster: str, run_id: str, run: RecoveredRun) -> None:
        self._run = run
        self._pieces: dict[TopicPartition, list[Piece]] = {}
        self._disks: frozenset[int] = frozenset()
        self._disk_rows: dict[TopicPartition, list[tuple[int, dict[str, Any]]]] = {}
        self._replayed: dict[tuple[TopicPartition, str], list[replayed_records.ReplayedRun]] = {}
        self.error: str | None = None
        try:
            verdicts = disk_verdict.read_all(workdir, cluster, run.cluster_id)
            self._disks = frozenset(broker for broker, verdict in verdicts.items() if verdict.get("partitions") is not None)
            for broker in self._disks:
                for row in verdicts[broker]["partitions"]:
                    self._disk_rows.setdefault((row["topic"], row["partition"]), []).append((broker, row))
            # The disk of a broker may have been saved, and replayed, with another run id.
            others = {verdicts[broker]["run_id"] for broker in self._disks} - {run_id}
            for own in (run_id, *sorted(others)):
                pieces = store.read_pieces(folder_of(workdir, own, cluster), run.cluster_id)
                for piece in pieces:
                    if own == run_id or (piece.broker_id in self._disks and verdicts[piece.broker_id]["run_id"] == own):
                        self._pieces.setdefault((piece.topic, piece.partition), []).append(piece)
                for key, runs in replayed_records.read(workdir, cluster, own, run.cluster_id).items():
                    self._replayed.setdefault(key, []).extend(runs)
        except RecoveryError as error:
            self.error = str(error)

    def replayed(self, key: TopicPartition, topic_id: str) -> list[replayed_records.ReplayedRun]:
        """Return the saved records of a partition that are in it again."""
        return self._replayed.get((key, topic_id), [])

    def unsaved_disks(self, key: TopicPartition, lost: Collection[int]) -> list[int]:
        """Return the brokers whose disks may have records of a partition that are not saved. `lost`: brokers of its replicas that are not alive."""
        part = self._run.partitions[key]
        unread = {*lost} - self._answered(part, self._pieces_of(part)) - self._disks
        rows = ((broker, row) for broker, row in self._disk_rows.get(key, ()) if part.topic_id in (None, row["topic_id"]))
        left = {broker for broker, row in rows if not row.get("saved") or row["damage"] is not None}
        return sorted(unread | (left & {*lost}))

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each partition whose election has cost records, or may have: see `kafka_consumer_impact_info`, `records`."""
        elected = (part for part in self._run.partitions.values() if part.outcome in (Outcome.ELECTED, Outcome.ALREADY_ONLINE))
        found = [self._row(part) for part in sorted(elected, key=lambda part: in_recovery_order(part.key))]
        return [row for row in found if row["total"] != 0 or row["unread_brokers"] != []]

    def _row(self, part: RecoveredPartition) -> dict[str, Any]:
        pieces = self._pieces_of(part)
        on_disk, unread = self._on_disks(part, pieces)
        counts, reason = None, self.error
        if reason is None:
            counts, reason = self._counts(part, pieces, on_disk)
        numbers = dict.fromkeys(NUMBERS) if counts is None else {**counts._asdict(), "total": counts.total}
        return {"topic": part.topic, "partition": part.partition, **numbers, "unread_brokers": unread, "reason": reason}

    def _pieces_of(self, part: RecoveredPartition) -> list[Piece]:
        return [piece for piece in self._pieces.get(part.key, ()) if part.topic_id in (None, piece.topic_id)]

    def _answered(self, part: RecoveredPartition, pieces: Iterable[Piece]) -> set[int]:
        """Return the brokers that were cut off, and answered: their tails were saved before the election."""
        return {piece.broker_id for piece in pieces if piece.leader_epoch == part.leader_epoch}

    def _counts(self, part: RecoveredPartition, pieces: Iterable[Piece], on_disk: list[Segment]) -> tuple[LostRecords | None, str | None]:
        if part.truncated is None:
            return None, _OTHER_LEADER
        if unplaced := [cut.broker_id for cut in part.truncated if cut.start is None or cut.end is None]:
            return None, f"it is not known from which offset on {broker_list(unplaced)} truncate"
        saved: dict[int, list[Segment]] = {}
        for piece in pieces:
            saved.setdefault(piece.broker_id, []).extend(piece.segments)
        topic_ids = {part.topic_id} if part.topic_id else {piece.topic_id for piece in pieces}
        replayed = [run.segment for topic_id in topic_ids for run in self._replayed.get((part.key, topic_id or ""), ())]
        truncated = {cut.broker_id: (cut.start or 0, cut.end or 0) for cut in part.truncated}
        if counts := lost_records(truncated, saved, on_disk, replayed):
            return counts, None
        return None, _UNKNOWN_EPOCHS

    def _on_disks(self, part: RecoveredPartition, pieces: Sequence[Piece]) -> tuple[list[Segment], list[int] | None]:
        """Return what only disks have, and the brokers whose disks may have more, None if it is not known who was lost."""
        segments: list[Segment] = []
        unread = {*(part.lost_replicas or ())} - self._answered(part, pieces) - self._disks
        for broker, row in self._disk_rows.get(part.key, ()):
            if part.topic_id not in (None, row["topic_id"]):
                continue
            is_known = row["relation"] == ONLY_ON_DISK and row["end_offset"] is not None and row["leader_epochs"] != []
            segments += _segments(row) if is_known else []
            if not is_known or row["damage"] is not None:
                unread.add(broker)
        return segments, None if part.lost_replicas is None and not segments else sorted(unread)


def _segments(row: Mapping[str, Any]) -> list[Segment]:
    epochs = row["leader_epochs"]
    ends = [*(entry["start_offset"] for entry in epochs[1:]), row["end_offset"]]
    return [Segment(entry["start_offset"], end, entry["epoch"]) for entry, end in zip(epochs, ends, strict=True)]
