# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Groups with committed offsets on partitions that begin again at offset 0, and transactions whose coordinator has lost their state."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.consumer_groups import Committed
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.offset_commits import NewOffset
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.revival_cluster import RevivalCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.impact.analysis import COMMIT_SAVED, NOT_READ
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, has_live_leader
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.saved_commits import Transacted

EMPTY = "Empty"
ABORT = "no coordinator ends it: abort it (kafka-transactions.sh abort) once the disks of lost brokers that had the partition are saved"
MAY_BE_KNOWN = "a coordinator that does not answer may know it: do not abort it, and run kafka_consumer_impact_info when all of them answer"
Offsets = dict[TopicPartition, dict[str, int]]  # committed offsets by partition and group


class CommittedOffset(NamedTuple):
    """A committed offset that the new log does not reach, and the state of its group."""

    group: str
    topic: str
    partition: int
    committed_offset: int
    state: str
    reset: bool = False


class GroupsOfRevival(NamedTuple):
    """Offsets greater than 0 on partitions to revive. `blind`: reasons why there may be more."""

    offsets: list[CommittedOffset]
    blind: list[str]

    def rows(self) -> list[dict[str, Any]]:
        """Return the offsets as dicts for JSON."""
        return [one._asdict() for one in self.offsets]


def read(cluster: RevivalCluster, keys: Collection[TopicPartition]) -> GroupsOfRevival:
    """Return the groups that would skip new records of these partitions in silence."""
    found = cluster.group_offsets(keys)
    return GroupsOfRevival([_row(row, found.groups[row[0]].state) for row in found.offsets if row[2] > 0], found.blind)


def _row(row: Committed, state: str) -> CommittedOffset:
    group, (topic, partition), offset, _epoch = row
    return CommittedOffset(group, topic, partition, offset, state)


def without_members(groups: GroupsOfRevival, keys: Collection[TopicPartition]) -> Offsets:
    """Return the offsets on these partitions of groups without members."""
    old: Offsets = {}
    for one in groups.offsets:
        if one.state == EMPTY and (one.topic, one.partition) in keys:
            old.setdefault((one.topic, one.partition), {})[one.group] = one.committed_offset
    return old


def reset(cluster: RevivalCluster, groups: GroupsOfRevival, old: Offsets) -> list[tuple[TopicPartition, str, str]]:
    """Commit offset 0 for these groups, and mark their rows. Return (partition, group, error) of those that Kafka refuses: they have members now."""
    errors = cluster.commit(_by_group({key: dict.fromkeys(offsets, 0) for key, offsets in old.items()}))
    _mark(groups, {(group, key) for key, offsets in old.items() for group in offsets} - errors.keys(), True)
    return [(key, group, error) for (group, key), error in errors.items()]


def put_back(cluster: RevivalCluster, groups: GroupsOfRevival, old: Offsets) -> dict[tuple[str, TopicPartition], str]:
    """Commit the old offsets of groups whose offset is still 0, and mark their rows. Return the errors by group and partition."""
    found = cluster.group_offsets(old)
    now = {(group, key): offset for group, key, offset, _epoch in found.offsets}
    pairs = {(group, key) for key, offsets in old.items() for group in offsets}
    unread = dict.fromkeys(pairs - now.keys(), found.blind[0]) if found.blind else {}
    still = {key: {group: offset for group, offset in offsets.items() if now.get((group, key)) == 0} for key, offsets in old.items()}
    errors = unread | cluster.commit(_by_group(still))
    _mark(groups, pairs - errors.keys(), False)
    return errors


def _by_group(offsets: Offsets) -> dict[str, dict[TopicPartition, NewOffset]]:
    by_group: dict[str, dict[TopicPartition, NewOffset]] = {}
    for key, of_key in offsets.items():
        for group, offset in of_key.items():
            by_group.setdefault(group, {})[key] = NewOffset(offset)
    return by_group


def _mark(groups: GroupsOfRevival, pairs: Collection[tuple[str, TopicPartition]], reset: bool) -> None:
    groups.offsets[:] = [one._replace(reset=reset) if (one.group, (one.topic, one.partition)) in pairs else one for one in groups.offsets]


def hanging_transactions(
    cluster: RevivalCluster, given_up: Collection[TopicPartition], saved_commits: Callable[[set[Transacted]], set[Transacted] | None]
) -> list[dict[str, Any]]:
    """Return open transactions that no coordinator knows: nothing ends them, and readers of committed records stop there.

    given_up       partitions of `__transaction_state` that are revived: what they know is lost
    saved_commits  returns which transactions a saved marker commits, None if saved records cannot be read
    """
    unfenced = cluster.unfenced()
    leaders = {key: state.leader for key, state in cluster.partitions().items() if has_live_leader(state, unfenced) and key[0][:2] != "__"}
    active = cluster.active_transactions(leaders, given_up)
    known = {(one.producer_id, key) for one in active.transactions for key in one.partitions}
    found = [
        (key, one)
        for key, producers in sorted(active.producers.items())
        for one in producers
        if one.start_offset >= 0 and (one.producer_id, key) not in known
    ]
    commits = saved_commits({(key, one.producer_id) for key, one in found})

    def explanation(transacted: Transacted) -> str:
        if active.blind:
            return MAY_BE_KNOWN
        if commits is None:
            return NOT_READ
        return COMMIT_SAVED if transacted in commits else ABORT

    return [
        {
            "topic": key[0],
            "partition": key[1],
            "producer_id": one.producer_id,
            "producer_epoch": one.producer_epoch,
            "start_offset": one.start_offset,
            "explanation": explanation((key, one.producer_id)),
        }
        for key, one in found
    ]
