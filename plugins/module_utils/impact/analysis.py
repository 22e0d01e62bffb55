# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The impact of an unclean election on consumer groups and transactional producers, with the remedy for each. Pure: no I/O, no Kafka client.

A group's committed offset has the leader epoch of the last record that it read (KIP-320). An epoch has one leader, so the new leader's log diverges
from the log that the group has read at the end of that epoch. If the log has no record of the epoch, the forks in the plan show the divergence. If a
group committed no epoch, the end of the log at the election does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numbers import MOST_INT64
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.phrases import broker_list
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.impact.kafka_cli import Tools
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumer_groups import Group
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumers import UNENDED, LeaderLog, Producer, Transaction
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.recovered_partition import RecoveredPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replayed_records import ReplayedRun

BEYOND_LOG_END, AFTER_FORK, IN_DOUBT = "beyond_log_end", "after_fork", "in_doubt"
COMMIT_SAVED = "saved records have its COMMIT marker: do not abort it, and run kafka_record_replay, which writes the marker again"
NOT_READ = "it hangs, but saved records, which may have its COMMIT marker, cannot be read: repair them, and run again before you abort it"
ON_DISK = (
    "it hangs, but {brokers} had a log of the partition that is not saved, and may have its COMMIT marker: save the disk (playbook rescue), and run "
    "kafka_record_replay. Abort it (kafka-transactions.sh abort) only if that disk is gone"
)
OPEN, HANGING, RECORDS_LOST = "open", "hanging", "records_lost"
INACTIVE = ("Empty", "Dead")  # the states in which a group's offsets can be set


# --- consumer groups ---------------------------------------------------------------------------------------------------


class Divergence(NamedTuple):
    """The log diverges from what a group has read at `offset` (None: the offset is not known). `certain`: whether that is proven."""

    offset: int | None
    certain: bool


def divergence(offset: int, epoch: int, before: RecoveredPartition, log: LeaderLog, predates: bool) -> Divergence | None:
    """Return where the log diverges from what a group has read that committed `offset` with `epoch` (-1: none), or None if it does not.

    `predates`: the same offset had been committed before the election.
    """
    at = log.epoch_ends.get(epoch) if epoch >= 0 else None
    if at is None:
        return _without_epoch(offset, before, log, predates)
    if at.leader_epoch == epoch or (before.leader_epoch is not None and epoch > before.leader_epoch):
        # The log has the epoch's records up to there. A group that commits an epoch from after the election has read the new log.
        return Divergence(at.end_offset, True) if offset > at.end_offset else None
    # The log has no record of that epoch. A survivor whose log reaches that epoch or a later one is on the branch that the group has read.
    forks = [fork.offset for fork in before.forks if fork.last_written_epoch is None or fork.last_written_epoch >= epoch]
    parted = min([*forks, at.end_offset])
    if offset > parted:
        return Divergence(parted, True)
    committed = before.committed_below or 0
    if offset == 0 or (offset == at.end_offset and (forks or offset <= committed)):
        return None
    # At the end of the log, either no record was ever written in that epoch (a consumer that starts there commits the leader's epoch), or its records are
    # lost. Below the end it is a branch that no survivor shows, and which an unclean election may have begun although the present records were committed.
    return Divergence(before.committed_below if offset > committed else None, False)


def _without_epoch(offset: int, before: RecoveredPartition, log: LeaderLog, predates: bool) -> Divergence | None:
    end, ended = log.log_end_offset or 0, log.end_at_election(before)
    if offset > end:
        return Divergence(end if ended is None else min(end, ended), ended is not None)
    if ended is not None and offset > ended:
        return Divergence(ended, predates)
    parted = min((fork.offset for fork in before.forks), default=offset)
    return Divergence(parted, False) if parted < offset else None


def group_rows(
    committed: Iterable[tuple[str, TopicPartition, int, int]],
    recovered: Mapping[TopicPartition, RecoveredPartition],
    logs: Mapping[TopicPartition, LeaderLog],
    groups: Mapping[str, Group],
    committed_before: Mapping[tuple[str, TopicPartition], int],
    tools: Tools,
    replayed: Mapping[TopicPartition, Sequence[ReplayedRun]] = MappingProxyType({}),
) -> Iterator[dict[str, Any]]:
    """Yield a row (RETURN of kafka_consumer_impact_info) for each committed offset that does not fit the new log, in the order of `committed`.

    committed         group, partition, offset and leader epoch (-1: none)
    committed_before  offsets that were committed before the election, by group and partition
    replayed          records that a replay has written again, by partition
    """
    for name, key, offset, epoch in committed:
        before, log = recovered.get(key), logs.get(key)
        if before is None or log is None or log.log_end_offset is None:
            continue
        parted = divergence(offset, epoch, before, log, committed_before.get((name, key)) == offset)
        if parted is None:
            continue
        group = groups.get(name, Group())
        row = group_row(name, group, key, offset, epoch, parted, log, replayed.get(key, ()))
        row["command"] = None if row["reset_to"] is None else tools.reset(name, group.type, key, row["reset_to"])
        yield row


def group_row(
    name: str,
    group: Group,
    key: TopicPartition,
    offset: int,
    epoch: int,
    parted: Divergence,
    log: LeaderLog,
    replayed: Sequence[ReplayedRun],
    doubtful: bool = False,
) -> dict[str, Any]:
    """Return the row of a group that has read up to `offset`, without its command.

    epoch     the greatest leader epoch that it has read, -1 if it is not known
    doubtful  it may have read less than up to `offset`
    """
    end = log.log_end_offset or 0
    reset_to = None if parted.offset is None else min(max(parted.offset, log.log_start_offset or 0), end)
    reason = BEYOND_LOG_END if offset > end and not doubtful else AFTER_FORK if parted.certain else IN_DOUBT
    again = None if parted.offset is None else read_again(range(parted.offset, offset), epoch, replayed)
    explanation = _explanation(reason, offset, reset_to, log, parted.certain, group.is_share)
    return {
        "group": name,
        "group_state": group.state or None,
        "group_type": group.type or None,
        "topic": key[0],
        "partition": key[1],
        "committed_offset": offset,
        "committed_leader_epoch": epoch if epoch >= 0 else None,
        "log_end_offset": end,
        "reason": reason,
        "certain": parted.certain,
        "reset_to": reset_to,
        "offsets_read_and_lost": None if parted.offset is None else max(0, offset - parted.offset - (again.offsets if again else 0)),
        "offsets_replayed": again.offsets if again else 0,
        "replayed_from": again.start if again else None,
        "replayed_to": again.end if again else None,
        "offsets_skipped": None if reset_to is None else max(0, min(offset, end) - reset_to),
        "explanation": explanation + (again.text if again else ""),
        "command": None,
    }


class ReadAgain(NamedTuple):
    """So many of the offsets that a group has read and lost were replayed, to offsets from `start` to `end` (exclusive)."""

    offsets: int
    start: int
    end: int

    @property
    def text(self) -> str:
        """Return what this means for the group, as the end of a sentence."""
        return f"; {self.offsets} of them are replayed at offsets {self.start} to {self.end - 1}, behind the newest records, so that it reads them again"


def read_again(lost: range, epoch: int, replayed: Iterable[ReplayedRun]) -> ReadAgain | None:
    """Return which of these offsets were replayed, None if none was. `epoch`: the greatest leader epoch that the group has read, -1 if not known."""
    runs = [
        run for run in replayed if (epoch < 0 or run.leader_epoch <= epoch) and run.start_offset < lost.stop and lost.start < run.end_offset
    ]
    if not runs:
        return None
    # Logs that fork may both have a record of an offset: it counts once.
    offsets, place = 0, lost.start
    for run in sorted(runs, key=lambda run: run.start_offset):
        end = min(run.end_offset, lost.stop)
        offsets += max(0, end - max(run.start_offset, place))
        place = max(place, end)
    return ReadAgain(offsets, min(run.new_start_offset for run in runs), max(run.new_end_offset for run in runs))


def _explanation(reason: str, offset: int, reset_to: int | None, log: LeaderLog, certain: bool, is_share: bool) -> str:
    if reason == BEYOND_LOG_END and is_share:
        return (
            f"it has acknowledged records up to offset {offset} and the log ends at {log.log_end_offset}: without an error, "
            "it never gets the records that are written until then"
        )
    if reason == BEYOND_LOG_END:
        doubt = "" if certain else "; where the log ended at the election is not known, so records written since may be skipped too"
        return (
            f"it has read up to offset {offset} and the log ends at {log.log_end_offset}: its consumers continue as auto.offset.reset says, "
            f"with latest they skip everything that is written until then{doubt}"
        )
    if reason == AFTER_FORK:
        return f"the records that it read from offset {reset_to} on are lost, and other records have these offsets now: it would never read them"
    if reset_to is None:
        return "the log has no records of the epoch that it read last, and it is not known whether it has read the present records"
    return f"it may have read other records than those that the log has from offset {reset_to} on; a reset to there skips none, and may repeat some"


def group_totals(rows: Sequence[Mapping[str, Any]], groups: Mapping[str, Group]) -> list[dict[str, Any]]:
    """Return one row per group, most partitions first: how many need a reset or are in doubt, and whether the group must be stopped for the reset."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        group = groups.get(row["group"], Group())
        total = found.setdefault(
            row["group"],
            {
                "group": row["group"],
                "group_state": group.state or None,
                "group_type": group.type or None,
                "partitions": 0,
                "in_doubt": 0,
                "offsets_read_and_lost": 0,
                "must_stop": group.state not in INACTIVE,
            },
        )
        total["partitions" if row["certain"] else "in_doubt"] += 1
        lost = row["offsets_read_and_lost"] or 0 if row["certain"] else 0
        total["offsets_read_and_lost"] = min(MOST_INT64, total["offsets_read_and_lost"] + lost)
    return sorted(found.values(), key=lambda total: (-total["partitions"], -total["in_doubt"], total["group"]))


# --- transactions ------------------------------------------------------------------------------------------------------


def transaction_rows(
    producers: Mapping[TopicPartition, Sequence[Producer]],
    transactions: Sequence[Transaction],
    blind: Sequence[str],
    now: int,
    tools: Tools,
    saved_commits: Collection[tuple[TopicPartition, int]] | None = frozenset(),
    unsaved_disks: Mapping[TopicPartition, Collection[int]] = MappingProxyType({}),
) -> Iterator[dict[str, Any]]:
    """Yield a row for each transaction that is not ended on a recovered partition, as reported by its leader and the coordinators (KIP-664).

    producers  those of the recovered partitions whose leader answered
    blind      why some coordinators did not answer; a transaction that no coordinator knows is then IN_DOUBT
    now        milliseconds since 1970
    saved_commits  partition and producer id of transactions that a saved marker commits, None if saved records cannot be read
    unsaved_disks  brokers whose disks may have records of a partition that are not saved

    A coordinator knows a transaction from before its first record until its last marker is written. So a transaction that is open at a leader, but
    that its coordinator does not know, hangs, however young it is: its marker was lost with the old leader.
    """
    by_producer = {transaction.producer_id: transaction for transaction in transactions}
    for key in sorted(producers):
        begun = [producer for producer in producers[key] if producer.start_offset >= 0]
        for producer in begun:
            transaction = by_producer.get(producer.producer_id)
            owed = transaction is not None and transaction.state in UNENDED and key in transaction.partitions
            state = OPEN if owed else IN_DOUBT if transaction is None and blind else HANGING
            row = _transaction(key, state, producer, transaction, now, tools, blind)
            if state == HANGING and (saved_commits is None or (key, producer.producer_id) in saved_commits):
                row |= {"command": None, "explanation": NOT_READ if saved_commits is None else COMMIT_SAVED}
            elif state == HANGING and (brokers := unsaved_disks.get(key)):
                row |= {"command": None, "explanation": ON_DISK.format(brokers=broker_list(brokers))}
            yield row
        there = {producer.producer_id for producer in begun}
        for transaction in transactions:
            if transaction.state in UNENDED and key in transaction.partitions and transaction.producer_id not in there:
                yield _transaction(key, RECORDS_LOST, None, transaction, now, tools, blind)


def _transaction(
    key: TopicPartition,
    state: str,
    producer: Producer | None,
    transaction: Transaction | None,
    now: int,
    tools: Tools,
    blind: Sequence[str],
) -> dict[str, Any]:
    seconds = None
    if transaction is not None and transaction.state == "Ongoing" and transaction.started_at >= 0:
        seconds = max(0.0, round((transaction.started_at + transaction.timeout - now) / 1000, 1))
    at = f"the coordinator has {transaction.transactional_id} as {transaction.state}" if transaction else "no coordinator knows it"
    if state == HANGING:
        explanation = f"{at}, so no coordinator will end it here: consumers with read_committed do not get past it; abort it"
        command = tools.abort(key, producer.start_offset) if producer else None
    elif state == IN_DOUBT:
        explanation = f"{at}, but not all answered ({'; '.join(blind)}); run again before you abort it"
        command = None
    else:
        ends = f"aborted by itself in {seconds:g} s, unless its producer ends it" if seconds is not None else "being ended"
        lost = (
            ""
            if state == OPEN
            else "the log has no record of it: if it has written records here, they are lost, and a commit would be partial; "
        )
        explanation = f"{lost}{at}, and it is {ends}"
        command = tools.terminate(transaction.transactional_id) if transaction and seconds is not None else None
    return {
        "topic": key[0],
        "partition": key[1],
        "state": state,
        "transactional_id": transaction.transactional_id if transaction else None,
        "coordinator_state": transaction.state if transaction else None,
        "producer_id": producer.producer_id if producer else transaction.producer_id if transaction else None,
        "producer_epoch": producer.producer_epoch if producer else transaction.producer_epoch if transaction else None,
        "start_offset": producer.start_offset if producer else None,
        "ends_in_seconds": seconds,
        "explanation": explanation,
        "command": command,
    }
