# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Saved offsets of groups are committed again, those of all partitions of `__consumer_offsets` at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.group_offset_admin import GroupOffsetAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.consumer_groups import CommittedOffsets
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.offset_commits import NewOffset
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import signals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import EPOCHS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.offset_records import SavedOffset
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    TopicPartition,
    chunks,
    has_live_leader,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import BatchError, stored_batches
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import replay_offsets
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_log import TargetLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_offsets import GroupPartition, SavedOffsets
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_rules import ALREADY_THERE, Rules
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_source import Outcome, Source
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.selection import Selection

# Groups whose offsets are committed before it is looked whether a signal asks to stop.
GROUPS_AT_ONCE = 50
# The first batch of a log is read whole, however large it is.
FIRST_BATCH_BYTES, ANSWER_BYTES = 1 << 10, 8 << 20


class OffsetReplay:
    """Commits saved offsets. `params`: options of the module."""

    def __init__(self, admin: GroupOffsetAdmin, params: Mapping[str, Any], selection: Selection, check_mode: bool) -> None:
        self._admin, self._params, self._selection, self._check_mode = admin, params, selection, check_mode

    def run(self, sources: Collection[Source]) -> list[Outcome]:
        """Return what came of each of these partitions of `__consumer_offsets`. Raises SavedRecordsError."""
        try:
            return self._run(sources)
        except (ClusterError, BatchError) as error:
            for source in sources:
                source.read()
            return [Outcome(source, source.key[0], records=source.records, reason=str(error)) for source in sources]

    def _run(self, sources: Collection[Source]) -> list[Outcome]:
        outcomes = [Outcome(source, source.key[0]) for source in sources]
        held = [self._obstacle(source) for source in sources]
        states, unfenced = (self._admin.partitions({source.key for source in sources}), self._admin.unfenced()) if sources else ({}, set())
        saved = [self._saved(source, states.get(source.key), unfenced) for source in sources]
        wanted: dict[GroupPartition, SavedOffset] = {}
        for one, obstacle in zip(saved, held, strict=True):
            if obstacle is None:
                wanted |= one.offsets
        cluster = self._cluster(wanted)
        reasons = {place: cluster.obstacle(place, offset) for place, offset in wanted.items()}
        for number, (source, one) in enumerate(zip(sources, saved, strict=True)):
            if held[number] is None and (over := _over_reviewed(source, one, reasons)):
                held[number] = over
                reasons |= dict.fromkeys(one.offsets, over)
        written: set[GroupPartition] = set()
        if not self._check_mode:
            reasons |= self._commit({place: wanted[place] for place, reason in reasons.items() if reason is None}, written)
        for outcome, one, obstacle in zip(outcomes, saved, held, strict=True):
            _conclude(outcome, one, obstacle, reasons, written, cluster.committed)
        return outcomes

    def _obstacle(self, source: Source) -> str | None:
        """Return why nothing of a partition is committed, None if there is no such reason."""
        if not self._params["include_group_offsets"]:
            return f"records of {source.key[0]} are never written again: set include_group_offsets to commit the offsets of groups that they have"
        if self._params["target_topic"] is not None:
            return "offsets of groups cannot go to another topic: name other topics, or no target_topic"
        return None

    def _saved(self, source: Source, state: PartitionState | None, unfenced: Collection[int]) -> SavedOffsets:
        """Return what is saved of a partition, without what its leader has."""
        source.read()
        rules = Rules(self._admin.cluster_id, TargetLog(0, 0, ()))
        if source.is_of(state) and state is not None and has_live_leader(state, unfenced):
            log = self._admin.logs({source.key: state.leader}, {source.key: source.epochs})[source.key]
            if log.error is not None:
                raise ClusterError(f"the log of {source.key[0]}-{source.key[1]} cannot be read: {log.error}; run again")
            rules.epoch_ends = log.epoch_ends
        records = source.selected(self._selection, self._params["max_batch_bytes"])
        groups = self._params["groups"]
        return replay_offsets.saved_offsets(rules.chosen(records), None if groups is None else frozenset(groups))

    def _cluster(self, wanted: Mapping[GroupPartition, SavedOffset]) -> replay_offsets.ClusterOffsets:
        keys = {key for _group, key in wanted}
        found = self._admin.stable_offsets(keys) if keys else CommittedOffsets([], {}, [])
        states, unfenced = (self._admin.partitions(keys), self._admin.unfenced()) if keys else ({}, set())
        leaders = {key: state.leader for key, state in states.items() if has_live_leader(state, unfenced)}
        epochs: dict[TopicPartition, set[int]] = {key: set() for key in leaders}
        for (_group, key), offset in wanted.items():
            if key in leaders and offset.leader_epoch >= 0:
                epochs[key].add(offset.leader_epoch)
        logs = self._admin.logs(leaders, {key: sorted(own)[-EPOCHS:] for key, own in epochs.items()}) if leaders else {}
        without_id = {key for (_group, key), offset in wanted.items() if offset.topic_id is None}
        starts = {key: log.log_start_offset or 0 for key, log in logs.items() if key in without_id and log.error is None}
        blind = found.blind[0] if found.blind else None
        return replay_offsets.ClusterOffsets(
            states, unfenced, logs, found.groups, _committed(found), blind, self._first_times(leaders, starts)
        )  # fmt: skip

    def _first_times(self, leaders: Mapping[TopicPartition, int], starts: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Return the times of the first batches of logs (ms since 1970), of those that can be read. `starts`: where they begin."""
        times: dict[TopicPartition, int] = {}
        left = dict(starts)
        while left:
            work: dict[int, dict[TopicPartition, int]] = {}
            for key, start in left.items():
                work.setdefault(leaders[key], {})[key] = start
            answers = self._admin.records(work, FIRST_BATCH_BYTES, ANSWER_BYTES)
            read = {
                key: time
                for rows in answers.values()
                for key, fetched in rows.items()
                if (time := _first_time(fetched.records)) is not None
            }
            if not read:
                break
            times |= read
            left = {key: start for key, start in left.items() if key not in read}
        return times

    def _commit(self, offsets: Mapping[GroupPartition, SavedOffset], written: set[GroupPartition]) -> dict[GroupPartition, str]:
        """Commit offsets, read them back into `written`, and return reasons for the others."""
        by_group: dict[str, dict[TopicPartition, NewOffset]] = {}
        for (group, key), saved in offsets.items():
            by_group.setdefault(group, {})[key] = NewOffset(saved.offset, saved.leader_epoch, saved.metadata)
        reasons = dict.fromkeys(offsets, "the committed offset cannot be read back: run again")
        for groups in chunks(by_group, GROUPS_AT_ONCE):
            if name := signals.pending_signal():
                reasons |= {(group, key): f"{signals.INTERRUPTED} by {name}: run again" for group in groups for key in by_group[group]}
                continue
            errors = self._admin.commit({group: by_group[group] for group in groups}, forward=True)
            reasons |= {place: _refusal(error) for place, error in errors.items()}
        now = _committed(self._admin.stable_offsets({key for _group, key in offsets})) if offsets else {}
        written |= {place for place, saved in offsets.items() if now.get(place, -1) >= saved.offset}
        return {place: reason for place, reason in reasons.items() if place not in written}


def _over_reviewed(source: Source, saved: SavedOffsets, reasons: Mapping[GroupPartition, str | None]) -> str | None:
    """Return why nothing of a partition is committed if more would be than was reviewed."""
    try:
        source.check_most("group_offsets", sum(reasons[place] is None for place in saved.offsets), "offset of a group", "offsets of groups")
    except ClusterError as error:
        return str(error)
    return None


def _first_time(records: bytes) -> int | None:
    """Return the latest time in the first batch, None if there is no valid one."""
    with suppress(BatchError):
        return next((batch.max_timestamp for batch in stored_batches(records)), None)
    return None


def _committed(found: CommittedOffsets) -> dict[GroupPartition, int]:
    return {(group, key): offset for group, key, offset, _epoch in found.offsets}


def _refusal(error: str) -> str:
    if error in ("UNKNOWN_MEMBER_ID", "REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION", "STALE_MEMBER_EPOCH"):
        return f"the broker refuses it ({error}), as the group has members: stop them, and run again"
    return f"the broker refuses it: {error}"


def _conclude(
    outcome: Outcome,
    saved: SavedOffsets,
    obstacle: str | None,
    reasons: Mapping[GroupPartition, str | None],
    written: Collection[GroupPartition],
    committed: Mapping[GroupPartition, int],
) -> None:
    """Write into an outcome what came of a partition of `__consumer_offsets`."""
    outcome.records = len(saved.offsets) + saved.skipped.total()
    outcome.skipped = saved.skipped
    if obstacle is not None:
        outcome.reason = obstacle
        return
    there = [place for place in saved.offsets if reasons[place] == ALREADY_THERE]
    outcome.skipped[ALREADY_THERE] += len(there)
    places = sorted(saved.offsets.keys() - {*there}, key=lambda place: (reasons[place] is None, place))
    outcome.replayed = sum(place in written for place in places)
    outcome.offsets = [
        replay_offsets.row(place, saved.offsets[place], committed.get(place), place in written, reasons[place]) for place in places
    ]
    held = [row for row in outcome.offsets if row["reason"] is not None]
    if held:
        first = held[0]
        outcome.notes.append(
            f"{count(len(held), 'offset')} of groups not committed, first {first['saved_offset']} of {first['group']} on "
            f"{first['topic']}-{first['partition']}: {first['reason']}"
        )


def lines(outcome: Outcome, check_mode: bool) -> Iterator[str]:
    """Yield what the diff shows of the offsets that were committed, in check mode of those that would be."""
    rows: Iterable[Mapping[str, Any]] = outcome.offsets
    for row in rows:
        if row["written"] or (check_mode and row["reason"] is None):
            yield f"{row['group']} on {row['topic']}-{row['partition']}: offset {row['committed_offset']} to {row['saved_offset']}"
