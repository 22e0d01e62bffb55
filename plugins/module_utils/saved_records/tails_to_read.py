# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which tails a run has to read: those whose partitions are as the plan has them, from where an earlier run has saved them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    TopicPartition,
    has_live_leader,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import store
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.part_writer import count_parts
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails import Tail


class StateSource(Protocol):
    """The parts of a cluster that show whether a plan still fits it (`Cluster`)."""

    def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]: ...
    def unfenced(self) -> set[int]: ...


class StartSource(Protocol):
    """The method of a source of records that reads where logs begin (`RecordSource`)."""

    def log_starts(self, work: Mapping[int, Mapping[TopicPartition, int]]) -> dict[int, dict[TopicPartition, int]]: ...


class Unfinished(NamedTuple):
    """Tails with the offset from which on they have to be read, those that an earlier run has saved, and those whose start could not be read."""

    left: list[tuple[Tail, int]]
    before: list[Tail]
    unknown: list[Tail]


def changes(states: StateSource, tails: Collection[Tail]) -> dict[Tail, str]:
    """Return the tails whose partitions are not as the plan has them, and what has changed."""
    if not tails:
        return {}
    found, unfenced = states.partitions({tail.key for tail in tails}), states.unfenced()
    reasons = {tail: _change(tail, found.get(tail.key), unfenced) for tail in tails}
    return {tail: reason for tail, reason in reasons.items() if reason}


def _change(tail: Tail, state: PartitionState | None, unfenced: Collection[int]) -> str | None:
    if state is None or state.topic_id != tail.topic_id:
        return "the topic of the plan does not exist any more: plan again"
    if has_live_leader(state, unfenced):
        return f"the partition has a leader, broker {state.leader}: nothing needs to be elected"
    if state.leader_epoch != tail.leader_epoch:
        return f"its leader epoch is {state.leader_epoch}, and {tail.leader_epoch} in the plan: plan again"
    return None


def unfinished(source: StartSource, folder: Path, cluster_id: str, tails: Sequence[Tail]) -> Unfinished:
    """Return what is left to read of these tails, the shortest first: a long one may reach a limit.

    Raises SavedRecordsError if a part of an earlier run is damaged: what it has is not read again, and an election destroys the original.
    """
    pieces: dict[tuple[TopicPartition, int], list[store.Piece]] = {}
    for piece in store.read_pieces(folder, cluster_id):
        pieces.setdefault(((piece.topic, piece.partition), piece.broker_id), []).append(piece)
    if pieces:
        # A killed run may have left parts whose names are not on the disk yet, or that it has not counted.
        count_parts(folder)
    starts = _log_starts(source, [tail for tail in tails if tail.start is None])
    found, counted = Unfinished([], [], []), list[store.Piece]()
    for tail in sorted(tails, key=lambda tail: (tail.start is None, tail.end - (tail.start or 0))):
        start = starts.get((tail.key, tail.broker_id)) if tail.start is None else tail.start
        if start is None:
            found.unknown.append(tail)
            continue
        end, used = store.saved_end(tail, start, pieces.get((tail.key, tail.broker_id), ()))
        counted += used
        if end >= tail.end:
            found.before.append(tail)
        else:
            found.left.append((tail, end))
    store.check_digests(counted)
    return found


def _log_starts(source: StartSource, tails: Sequence[Tail]) -> dict[tuple[TopicPartition, int], int]:
    work: dict[int, dict[TopicPartition, int]] = {}
    for tail in tails:
        work.setdefault(tail.broker_id, {})[tail.key] = tail.end - 1
    found = source.log_starts(work) if work else {}
    # A log has the last offset of its tail, so it cannot begin behind it.
    ends = {(tail.key, tail.broker_id): tail.end for tail in tails}
    return {
        (key, broker): start for broker, starts in found.items() for key, start in starts.items() if 0 <= start < ends.get((key, broker), 0)
    }
