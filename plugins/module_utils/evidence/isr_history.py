# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ISR history of offline partitions, from the metadata log: leader, ISR, ELR and min.insync.replicas, change by change.

Facts only: `decision.isr_proof` draws the conclusions. Anything that could make the facts wrong is recorded as `doubt`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.metadata_log_reader import (
    LogRecord,
    MetadataLog,
    MetadataLogSource,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import metadata_records
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.kept_memory import size_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import limits
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numbers import whole_number
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.topic_configs import MIN_ISR

METADATA_VERSION = "metadata.version"
# Of a partition whose ISR changes often. Older changes do not affect the decision.
CHANGES_KEPT = 500
# The last doubt is enough to know whether there is one after a change.
DOUBTS_KEPT = 100
# min.insync.replicas is a 32-bit number. A longer value is still greater than any number of replicas when it is cut, or not a number.
VALUE_LENGTH = 11
CHANGE_BYTES, ID_BYTES = 600, 8  # of a change, and of each broker id in its lists

Row = dict[str, Any]


@dataclass
class _Configs:
    """min.insync.replicas in the metadata log: per topic, per broker, and for the whole cluster (key "")."""

    topics: dict[str, str] = field(default_factory=dict)
    brokers: dict[str, str] = field(default_factory=dict)

    def set(self, change: metadata_records.ConfigChange) -> None:
        """Apply a change of this option."""
        table = self.topics if change.resource_type == metadata_records.TOPIC_RESOURCE else self.brokers
        if change.value is None:
            table.pop(change.resource, None)
        else:
            table[change.resource] = change.value[:VALUE_LENGTH]

    def in_force(self, topic: str, replicas: int) -> int | None:
        """Return the effective min.insync.replicas, at most `replicas`. None if the log has no value: the brokers have a static default then.

        If brokers have settings of their own, the smallest counts, because each of them may lead.
        """
        values = [self.topics[topic]] if topic in self.topics else [*self.brokers.values()] if "" in self.brokers else []
        numbers = [number for value in values if (number := whole_number(value)) is not None]
        return min(replicas, *numbers) if values and len(numbers) == len(values) else None


@dataclass
class _Partition:
    """One partition while the log is replayed. `alive`: its replicas on live brokers; None to keep all changes."""

    topic: str
    alive: frozenset[int] | None
    known: bool = False
    replicas: frozenset[int] = frozenset()
    isr: tuple[int, ...] = ()
    eligible: tuple[int, ...] = ()
    leader: int = metadata_records.NO_LEADER
    leader_epoch: int = -1
    changes: list[Row] = field(default_factory=list)
    least_min_isr: int | None = None
    least_version: int | None = None
    bytes: int = 0

    def add(self, entry: LogRecord, version: int | None, unclean: bool, reassigned: bool) -> int:
        """Record the present state as a change. Older changes are dropped if there is a leader and all of `alive` are in the ISR.

        Returns by how many bytes the recorded changes have grown.
        """
        before = self.bytes
        if not self.changes or (self.alive is not None and self.leader >= 0 and self.alive <= set(self.isr)):
            self.changes.clear()
            self.bytes = 0
            self.least_version = version
        self.changes.append(
            {
                "offset": entry.offset,
                "timestamp": entry.timestamp,
                "leader": self.leader,
                "leader_epoch": self.leader_epoch,
                "isr": list(self.isr),
                "eligible_leader_replicas": list(self.eligible),
                "unclean": unclean,
                "reassigned": reassigned,
            }
        )
        self.bytes += _bytes_of(self.changes[-1])
        if len(self.changes) > CHANGES_KEPT:
            self.bytes -= _bytes_of(self.changes.pop(0))
        return self.bytes - before


def _bytes_of(change: Row) -> int:
    return CHANGE_BYTES + ID_BYTES * (len(change["isr"]) + len(change["eligible_leader_replicas"]))


def _least(one: int | None, other: int | None) -> int | None:
    """Return the smaller value, or None if one is unknown."""
    return None if one is None or other is None else min(one, other)


def _least_since(entry: LogRecord, one: int | None, other: int | None) -> int | None:
    """As `_least`, but an entry of a snapshot replaces the value: there all records hold at once, and configs come after partitions."""
    return other if entry.timestamp is None else _least(one, other)


class _Replay:
    """The state of the wanted partitions at the entry of the log that was applied last. `doubts`: offsets and reasons."""

    def __init__(self, wanted: Mapping[tuple[str, int], _Partition]) -> None:
        self._wanted = wanted
        self._configs = _Configs()
        self._version: int | None = None
        self._names: dict[str, str] = {}
        self._pending: list[tuple[LogRecord, metadata_records.Record]] | None = None
        self._pending_bytes = self._changes_bytes = 0
        self.doubts: deque[tuple[int, str]] = deque(maxlen=DOUBTS_KEPT)

    def apply(self, entry: LogRecord) -> None:
        """Apply one entry. Records of a transaction (KIP-868) are applied at its end, or never. Raises ClusterError beyond the memory limits."""
        if max(len(self._names), len(self._configs.topics), len(self._pending or ())) > limits.PARTITIONS:
            raise ClusterError(f"it has more than {limits.PARTITIONS} topics, or changes in one transaction, at offset {entry.offset}")
        try:
            record = metadata_records.decode(entry.value)
        except metadata_records.UnknownRecordError as error:
            self.doubts.append((entry.offset, f"the metadata log has an unknown record at offset {entry.offset} ({error})"))
            return
        if isinstance(record, metadata_records.TransactionStep):
            self._pending_bytes = 0
            done, self._pending = self._pending or [], [] if record.step == "begin" else None
            for past in done if record.step == "end" else []:
                self._apply_record(*past)
        elif record is not None and self._pending is not None:
            kept = (entry._replace(value=b""), record)  # the decoded record replaces the bytes
            self._pending_bytes += size_of(kept)
            if self._pending_bytes > limits.PENDING_BYTES:
                raise ClusterError(f"a transaction has changes of more than {limits.PENDING_BYTES >> 20} MiB at offset {entry.offset}")
            self._pending.append(kept)
        elif record is not None:
            self._apply_record(entry, record)

    def _apply_record(self, entry: LogRecord, record: metadata_records.Record) -> None:
        match record:
            case metadata_records.PartitionRegistration() | metadata_records.PartitionChange():
                partition = self._wanted.get((record.topic_id, record.partition))
                if partition is not None and isinstance(record, metadata_records.PartitionRegistration):
                    self._created(entry, partition, record)
                elif partition is not None and isinstance(record, metadata_records.PartitionChange) and partition.known:
                    self._changed(entry, partition, record)
            case metadata_records.ConfigChange(name=name) if name == MIN_ISR:
                self._configs.set(record)
                for partition in self._wanted.values():
                    partition.least_min_isr = _least_since(entry, partition.least_min_isr, self._min_isr(partition))
            case metadata_records.FeatureLevel(name=name, level=level) if name == METADATA_VERSION:
                self._version = level
                for partition in self._wanted.values():
                    partition.least_version = _least_since(entry, partition.least_version, level)
            case metadata_records.TopicCreated(name=name, topic_id=topic_id):
                self._names[topic_id] = name
            case metadata_records.TopicRemoved(topic_id=topic_id):
                self._configs.topics.pop(self._names.pop(topic_id, ""), None)
            case metadata_records.EligibleReplicasCleared(topic=topic):
                for partition in self._wanted.values():
                    if topic in ("", partition.topic):
                        partition.eligible = ()

    def _created(self, entry: LogRecord, partition: _Partition, record: metadata_records.PartitionRegistration) -> None:
        partition.known, partition.replicas = True, frozenset(record.replicas)
        partition.isr, partition.eligible = record.isr, record.eligible_leader_replicas
        partition.leader, partition.leader_epoch = record.leader, record.leader_epoch
        partition.least_min_isr = self._min_isr(partition)
        self._add(entry, partition, record.recovering, record.reassigning)

    def _changed(self, entry: LogRecord, partition: _Partition, change: metadata_records.PartitionChange) -> None:
        unclean, reassigned = bool(change.recovering), change.reassigning is not None
        if change.leader is not None:
            elected = change.leader != metadata_records.NO_LEADER
            unclean = unclean or (elected and change.leader not in partition.isr and change.leader not in partition.eligible)
            partition.leader, partition.leader_epoch = change.leader, partition.leader_epoch + 1
        if change.replicas is not None:
            reassigned = reassigned or partition.replicas != set(change.replicas)
            partition.replicas = frozenset(change.replicas)
            partition.least_min_isr = _least(partition.least_min_isr, self._min_isr(partition))
        partition.isr = partition.isr if change.isr is None else change.isr
        partition.eligible = partition.eligible if change.eligible_leader_replicas is None else change.eligible_leader_replicas
        self._add(entry, partition, unclean, reassigned)

    def _add(self, entry: LogRecord, partition: _Partition, unclean: bool, reassigned: bool) -> None:
        self._changes_bytes += partition.add(entry, self._version, unclean, reassigned)
        if self._changes_bytes > limits.CHANGES_BYTES:
            raise ClusterError(f"changes of partitions take more than {limits.CHANGES_BYTES >> 20} MiB at offset {entry.offset}")

    def _min_isr(self, partition: _Partition) -> int | None:
        return self._configs.in_force(partition.topic, len(partition.replicas))


def rows(log: Iterable[LogRecord], states: Sequence[PartitionState], alive: Collection[int] | None) -> list[Row]:
    """Replay the metadata log and return one row per partition of `states`.

    changes              oldest first: leader, leader epoch, ISR and ELR from then on, whether the leader was elected uncleanly and whether the
                         replicas changed. They begin with the last change after which all replicas on `alive` brokers were in the ISR, or with the
                         oldest known one (always, if `alive` is None)
    offline_since        when the last leader was lost (milliseconds since 1970), None if not known or in doubt
    last_isr             the ISR until then, None if not known or in doubt
    min_insync_replicas  the least since the first change, None if the log has no value
    metadata_version     the least since the first change
    doubt                why the row may be wrong, else None. The caller adds a log that could not be read to its end
    """
    wanted = {
        (state.topic_id, state.partition): _Partition(state.topic, None if alive is None else frozenset(state.replicas) & set(alive))
        for state in states
    }
    replay = _Replay(wanted)
    for entry in log:
        replay.apply(entry)
    return [_row(state, wanted[state.topic_id, state.partition], replay.doubts) for state in states]


def _row(state: PartitionState, found: _Partition, doubts: Iterable[tuple[int, str]]) -> Row:
    first = found.changes[0]["offset"] if found.changes else -1
    doubt = next((text for offset, text in doubts if offset > first), None)
    if not found.known:
        doubt = doubt or "the metadata log does not have this partition"
    elif (found.leader_epoch, set(found.isr)) != (state.leader_epoch, set(state.isr)):
        doubt = doubt or (
            f"the metadata log ends at leader epoch {found.leader_epoch} with ISR {sorted(found.isr)}, "
            f"the brokers know leader epoch {state.leader_epoch} with ISR {sorted(state.isr)}"
        )
    return {
        **unreadable_history_row(state.key, doubt),
        **(_end(found.changes) if doubt is None else {}),
        "metadata_version": found.least_version,
        "min_insync_replicas": found.least_min_isr,
        "changes": found.changes,
    }


def _end(changes: Sequence[Row]) -> Row:
    """Return `offline_since` and `last_isr`, if the changes show the loss of the last leader."""
    led = next((place for place in reversed(range(len(changes))) if changes[place]["leader"] != metadata_records.NO_LEADER), None)
    if led is None or led + 1 == len(changes):
        return {}
    return {"offline_since": changes[led + 1]["timestamp"], "last_isr": changes[led]["isr"]}


def unreadable_history_row(key: TopicPartition, doubt: str | None) -> Row:
    """Return the row of a partition whose history could not be read."""
    facts = dict.fromkeys(("offline_since", "last_isr", "metadata_version", "min_insync_replicas"))
    return {"topic": key[0], "partition": key[1], "doubt": doubt, **facts, "changes": []}


def read_isr_history(
    controllers: MetadataLogSource, states: Sequence[PartitionState], alive: Collection[int] | None, seconds: float
) -> tuple[list[Row], Row]:
    """Read the active controller's metadata log for at most `seconds`.

    Returns rows as `rows` does, and the cost of reading: `bytes`, `seconds`, `from_snapshot`, `doubt`. If the log cannot be read, every row has the
    reason as `doubt`.
    """
    log = MetadataLog(controllers, seconds)
    try:
        found = rows(log, states, alive)
        doubt = log.cut
    except ClusterError as error:
        doubt = str(error)
        found = [unreadable_history_row(state.key, None) for state in states]
    if doubt is not None:
        doubt = f"the metadata log could not be read to its end: {doubt}"
        found = [{**row, "doubt": doubt, "offline_since": None, "last_isr": None} for row in found]
    return found, {"bytes": log.bytes, "seconds": round(log.seconds, 3), "from_snapshot": log.snapshot, "doubt": doubt}
