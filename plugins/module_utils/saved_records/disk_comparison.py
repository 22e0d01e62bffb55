# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares a log on the disk of a lost broker with that of the partition's present leader. Pure.

When the broker starts, it asks the leader where the greatest leader epoch that both logs have ends, and truncates its log there (KIP-101, KIP-279). What
follows that offset on the disk is in no log of the cluster.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.controller import ElectionConfig, Registration, possible
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumers import LeaderLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    TopicPartition,
    has_live_leader,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails import Tail

IN_CLUSTER, ONLY_ON_DISK, OTHER_TOPIC, UNKNOWN = "in_cluster", "only_on_disk", "other_topic", "unknown"
NO_LEADER, CLEAN_LEADER = "no_leader", "clean_leader"
RELATIONS = (ONLY_ON_DISK, UNKNOWN, NO_LEADER, CLEAN_LEADER, OTHER_TOPIC, IN_CLUSTER)
# The most leader epochs of one log that the leader is asked for, the last ones first.
MOST_EPOCHS = 64


class DiskLog(NamedTuple):
    """A log on the disk. `end`: the offset after its last valid batch; `epochs`: start offsets by leader epoch; `epoch`: of its last batch, -1 if empty.

    `last_base_offset`: first offset of its last valid batch, None if it has none. `doubt`: why it cannot be compared, None if it can. `damage`: why it may
    have records that were not read, else None. `end_is_checked`: whether all was checked that Kafka checks when the broker starts, and cuts a log at.
    """

    topic: str
    partition: int
    topic_id: str | None
    start: int
    end: int
    epoch: int
    epochs: Mapping[int, int]
    doubt: str | None = None
    damage: str | None = None
    last_base_offset: int | None = None
    end_is_checked: bool = True

    @property
    def key(self) -> TopicPartition:
        """Return the topic and the number of the partition."""
        return self.topic, self.partition

    @property
    def asked_epochs(self) -> list[int]:
        """Return the epochs whose ends in the leader's log decide the comparison."""
        return sorted(self.epochs)[-MOST_EPOCHS:]


class Return(NamedTuple):
    """How a lost broker comes back. `was_clean`: it was shut down cleanly. `elr`: whether the cluster keeps eligible leader replicas, None: not known."""

    broker_id: int
    was_clean: bool
    elr: bool | None


class Compared(NamedTuple):
    """The result for one log: one of RELATIONS, and why.

    `start`, `end`: the offsets that are saved: those that only the disk has, or the whole log if that is not known; both 0 if there are none.
    """

    log: DiskLog
    relation: str
    reason: str | None = None
    start: int = 0
    end: int = 0

    @property
    def epochs(self) -> list[tuple[int, int]]:
        """Return the leader epochs of the offsets that are saved, each with where it starts in the log."""
        ends = _ends(self.log)
        return [(epoch, start) for epoch, start in sorted(self.log.epochs.items()) if start < self.end and ends[epoch] > self.start]


def disk_log(row: Mapping[str, Any], alone: bool) -> DiskLog:
    """Return the log of a row of `log_dirs.broker_disk.read_broker`. `alone`: whether no other log dir has a log of the partition."""
    if row["error"] is not None:
        return DiskLog(row["topic"], row["partition"], None, 0, 0, -1, {}, f"{row['error']['path']}: {row['error']['reason']}")
    # Epochs only go up, so no record has a greater one than the last batch.
    epochs = {
        entry["epoch"]: entry["start_offset"]
        for entry in row["epochs"]
        if entry["start_offset"] < row["log_end_offset"] and entry["epoch"] <= row["last_written_epoch"]
    }
    doubt = None
    if not alone:
        # Neither of them is known to be the one, so nothing is saved.
        return DiskLog(row["topic"], row["partition"], None, 0, 0, -1, {}, "two log dirs have a log of it")
    if row["topic_id"] is None:
        doubt = "its folder has no topic id (partition.metadata)"
    elif not epochs and row["log_start_offset"] < row["log_end_offset"]:
        doubt = "it has records, and no leader epochs"
    elif row["last_written_epoch"] > max(epochs, default=-1):
        doubt = f"its leader-epoch-checkpoint does not have the leader epoch of its last batch, {row['last_written_epoch']}"
    torn = row["torn"]
    damage = next(iter(row["doubts"]), None)
    if torn and torn["goes_on"]:
        damage = f"{torn['segment']}, byte {torn['position']}: {torn['reason']}"
    elif links := [name for name in row["foreign_files"] if name.endswith(".log")]:
        damage = f"{links[0]} is not a file, but a link or a folder, and was not read"
    return DiskLog(
        row["topic"], row["partition"], row["topic_id"], row["log_start_offset"], row["log_end_offset"], row["last_written_epoch"], epochs, doubt, damage,
        row["last_batch_base_offset"], row["kept_end_checked"],
    )  # fmt: skip


def compare(log: DiskLog, back: Return, state: PartitionState | None, unfenced: Collection[int], leader_log: LeaderLog | None) -> Compared:
    """Compare a log of a lost broker with its partition's. `state`: None if the cluster has no such partition; `leader_log`: None if it was not read.

    `leader_log.epoch_ends` has the ends of `log.asked_epochs`.
    """
    if log.doubt is not None and (log.topic_id is None or log.end <= log.start):
        return Compared(log, UNKNOWN, log.doubt)
    if state is not None and leads_again(log, back, state, unfenced):
        return Compared(
            log, CLEAN_LEADER, "the partition has no leader, and this broker leads it when it starts: start it before an unclean election"
        )
    if log.end <= log.start:
        return Compared(log, IN_CLUSTER)
    relation, reason = _not_comparable(log, back, state, unfenced, leader_log)
    if relation == NO_LEADER:
        return Compared(log, relation, reason)
    if relation is not None or leader_log is None:
        return Compared(log, relation or UNKNOWN, reason, log.start, log.end)
    return _with_leader(log, leader_log)


def _not_comparable(
    log: DiskLog, back: Return, state: PartitionState | None, unfenced: Collection[int], leader_log: LeaderLog | None
) -> tuple[str | None, str | None]:
    """Return the relation of a log that is not compared with the leader's, and the reason; None and None if it can be."""
    if log.doubt is not None:
        return UNKNOWN, log.doubt
    if state is None:
        return OTHER_TOPIC, "the cluster shows no such partition: the topic was deleted, or this login may not describe it"
    if state.topic_id != log.topic_id:
        return (
            OTHER_TOPIC,
            f"the topic was created again, with the id {state.topic_id}: a start of the broker renames this log, of the id {log.topic_id}, to -stray",
        )
    if not has_live_leader(state, unfenced):
        if back.broker_id in (*state.isr, *state.eligible_leader_replicas):
            return NO_LEADER, (
                "the partition has no leader to compare with, and this broker, which was not shut down cleanly, leaves ISR and ELR when it starts, so it "
                "is not known to lead again: elect a leader, and run again"
            )
        return NO_LEADER, "the partition has no leader to compare with: elect one, and run again"
    if leader_log is None or leader_log.error is not None:
        why = "no answer" if leader_log is None else leader_log.error
        return UNKNOWN, f"the log of its leader, broker {state.leader}, cannot be read: {why}"
    return None, None


def leads_again(log: DiskLog, back: Return, state: PartitionState, unfenced: Collection[int]) -> bool:
    """Return whether the broker leads the partition of the log once it is started.

    A broker that was not shut down cleanly leaves ISR and ELR when it registers (KIP-966). Then it leads if it is the last known leader, and the ELR is empty.
    """
    eligible = {*state.isr, *state.eligible_leader_replicas}
    if state.topic_id != log.topic_id or has_live_leader(state, unfenced) or state.leader not in (-1, back.broker_id):
        return False
    if back.broker_id not in eligible:
        return False
    kept = Registration(state.replicas, state.isr, state.eligible_leader_replicas, state.last_known_elr)
    # Members that are unfenced were not elected, so their log dirs are offline.
    live = {*unfenced}.intersection(state.replicas) - eligible
    elections = possible(kept, live, ElectionConfig(back.elr, unclean=False), [(back.broker_id, back.was_clean)])
    return all(one is not None and one.broker == back.broker_id for one in elections)


def _with_leader(log: DiskLog, leader_log: LeaderLog) -> Compared:
    ends = _ends(log)
    for epoch in reversed(log.asked_epochs):
        answer = leader_log.epoch_ends.get(epoch)
        if answer is None:
            return Compared(log, UNKNOWN, f"the leader does not say where leader epoch {epoch} ends in its log", log.start, log.end)
        if answer.leader_epoch != epoch:
            continue
        if log.start < (leader_log.log_start_offset or 0) >= answer.end_offset:
            # A leader that has deleted all of an epoch answers the same as one that never had it.
            reason = (
                f"the leader has deleted what it had below offset {answer.end_offset}, so whether it had leader epoch {epoch} is not known"
            )
            return Compared(log, UNKNOWN, reason, log.start, log.end)
        common = max(min(answer.end_offset, ends[epoch]), log.start)
        return Compared(log, ONLY_ON_DISK, None, common, log.end) if common < log.end else Compared(log, IN_CLUSTER)
    if len(log.epochs) > MOST_EPOCHS:
        return Compared(log, UNKNOWN, f"the leader has none of its last {MOST_EPOCHS} leader epochs", log.start, log.end)
    return Compared(log, ONLY_ON_DISK, None, log.start, log.end)


def _ends(log: DiskLog) -> dict[int, int]:
    """Return where each leader epoch ends on the disk. A log in doubt may have none."""
    epochs = sorted(log.epochs)
    return dict(zip(epochs, [*(log.epochs[epoch] for epoch in epochs[1:]), log.end], strict=True)) if epochs else {}


def tail_of(compared: Compared, broker_id: int, in_sync: bool = False) -> Tail:
    """Return what only the disk has of a log. `in_sync`: as of a tail.

    Its leader epoch is that of the log's last batch, which does not change while the disk is not written.
    """
    log = compared.log
    return Tail(log.topic, log.partition, log.topic_id or "", log.epoch, broker_id, compared.start, compared.end, in_sync=in_sync)
