# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Committed offsets of groups that saved records of `__consumer_offsets` have: which ones are committed again, and why the others are not. Pure.

An offset says how far a group has read the log of that time. It is committed again only if the leader has the last record before it, and only forward.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import quoted
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import NO_ANSWER
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumer_groups import Group
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumers import LeaderLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.offset_records import (
    OffsetRecordError,
    SavedOffset,
    key_of,
    value_of,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    TopicPartition,
    has_live_leader,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_rules import (
    ALREADY_THERE,
    Chosen,
    is_held,
    known_ends,
)

SUPERSEDED, DELETED, OTHER_GROUP, NO_OFFSET, UNREADABLE = "superseded", "deleted", "other_group", "no_offset", "unreadable"
# States of groups without members (classic groups that have offsets alone are listed as Empty, too).
WITHOUT_MEMBERS = ("Empty", "Dead", "")

GroupPartition = tuple[str, TopicPartition]


@dataclass
class SavedOffsets:
    """The last saved offset of each group and partition, of one partition of `__consumer_offsets`. `skipped`: records that count for nothing, by reason."""

    offsets: dict[GroupPartition, SavedOffset] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)


def saved_offsets(chosen: Iterable[Chosen], groups: Collection[str] | None) -> SavedOffsets:
    """Return what saved records say. `chosen`: in their order, see `Rules`. `groups`: those that are selected, None for all."""
    found = SavedOffsets()
    last: dict[GroupPartition, SavedOffset | None] = {}
    for one in chosen:
        if one.reason is not None:
            found.skipped[one.reason] += 1
            continue
        try:
            place = key_of(one.record.key or b"")
            offset = None if place is None or one.record.value is None else value_of(one.record.value)
        except OffsetRecordError:
            found.skipped[UNREADABLE] += 1
            continue
        if place is None:
            found.skipped[NO_OFFSET] += 1
        elif groups is not None and place[0] not in groups:
            found.skipped[OTHER_GROUP] += 1
        else:
            found.skipped[SUPERSEDED] += place in last
            last[place] = offset
    found.offsets = {place: offset for place, offset in last.items() if offset is not None}
    found.skipped[DELETED] += len(last) - len(found.offsets)
    found.skipped = +found.skipped
    return found


@dataclass(frozen=True)
class ClusterOffsets:
    """What a cluster says of the partitions and groups of saved offsets.

    committed    offsets by group and partition
    blind        why some of them may be missing, None if none are
    first_times  of the first batch of logs (ms since 1970), of partitions whose topic id was not saved
    """

    states: Mapping[TopicPartition, PartitionState]
    unfenced: Collection[int]
    logs: Mapping[TopicPartition, LeaderLog]
    groups: Mapping[str, Group]
    committed: Mapping[GroupPartition, int]
    blind: str | None
    first_times: Mapping[TopicPartition, int]

    def obstacle(self, place: GroupPartition, saved: SavedOffset) -> str | None:
        """Return why an offset must not be committed: ALREADY_THERE, or a reason with the remedy. None if it may be."""
        group, key = place
        before, state = self.committed.get(place), self.states.get(key)
        if before is not None and before >= saved.offset:
            return ALREADY_THERE
        if before is None and self.blind is not None:
            return f"the committed offset of the group cannot be read ({self.blind}): run again"
        if state is None:
            return "the partition does not exist, or this login may not describe it"
        if saved.topic_id not in (None, state.topic_id):
            return f"the topic has been created again (topic id {state.topic_id}, saved {saved.topic_id})"
        if not has_live_leader(state, self.unfenced):
            return "the partition has no live leader: elect one, and run again"
        reason = _not_in_log(self.logs.get(key, LeaderLog(NO_ANSWER)), saved) or self._may_be_of_another_topic(key, saved)
        if reason is not None:
            return reason
        if (members := self.groups.get(group, Group()).state) not in WITHOUT_MEMBERS:
            return f"the group has members (state {quoted(members, 20)}): stop them, and run again"
        return None

    def _may_be_of_another_topic(self, key: TopicPartition, saved: SavedOffset) -> str | None:
        """Return why a partition may be of a topic that was created after the commit, None if its id was saved or its log is older than the commit."""
        if saved.topic_id is not None or saved.offset == 0 or 0 <= self.first_times.get(key, -1) <= saved.committed_at:
            return None
        return (
            "no topic id was saved with it, and the log of the partition does not begin before the commit, so the topic may have been created again: "
            "set the offset with kafka-consumer-groups.sh"
        )


def _not_in_log(log: LeaderLog, saved: SavedOffset) -> str | None:
    """Return why it is not proven that a log has the last record before an offset, None if it is."""
    if log.error is not None:
        return f"the log of the partition cannot be read: {log.error}; run again"
    end = log.log_end_offset or 0
    if saved.offset > end:
        return f"the log of the leader ends before it, at {end}: set the offset with kafka-consumer-groups.sh"
    ends = known_ends(log.epoch_ends, log.log_start_offset or 0)
    if saved.offset == 0 or is_held(ends, saved.leader_epoch, saved.offset - 1):
        return None
    if saved.leader_epoch < 0:
        reason = "the group has committed no leader epoch"
    else:
        reason = f"the leader does not have the record before it in leader epoch {saved.leader_epoch}"
    return f"{reason}, so new records may stand in place of those that the group has read: set the offset with kafka-consumer-groups.sh"


def row(place: GroupPartition, saved: SavedOffset, before: int | None, written: bool, reason: str | None) -> dict[str, Any]:
    """Return what the module returns of an offset."""
    group, (topic, partition) = place
    return {
        "group": quoted(group, 255), "topic": topic, "partition": partition, "saved_offset": saved.offset, "committed_offset": before,
        "written": written, "reason": reason,
    }  # fmt: skip
