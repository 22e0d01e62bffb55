# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ISR history: who led offline partitions, who was in their ISRs and what min.insync.replicas was, change by change, from the metadata log.

Facts only: what follows from them is for `decision.isr_proof` to say. Whatever could make them wrong is told as a `doubt`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.metadata_log_reader import Controllers, Entry, MetadataLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import metadata_records as records
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.kept_memory import size_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import limits
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numbers import whole_number
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition

MIN_ISR, METADATA_VERSION = "min.insync.replicas", "metadata.version"
# A partition whose ISR has flapped for long: what is older than so many changes decides nothing any more.
CHANGES_KEPT = 500
# Whether there is a doubt behind a change is known by the last one.
DOUBTS_KEPT = 100
# min.insync.replicas is a 32-bit number. What is longer stays longer than any number of replicas, or no number at all.
VALUE_LENGTH = 11
CHANGE_BYTES, ID_BYTES = 600, 8  # of a change, and of each broker id in its lists

Row = dict[str, Any]


@dataclass
class _Configs:
    """min.insync.replicas as the metadata log sets it: per topic, per broker, and for the whole cluster (the empty text)."""

    topics: dict[str, str] = field(default_factory=dict)
    brokers: dict[str, str] = field(default_factory=dict)

    def set(self, change: records.ConfigChange) -> None:
        """Apply a change of this option."""
        table = self.topics if change.resource_type == records.TOPIC_RESOURCE else self.brokers
        if change.value is None:
            table.pop(change.resource, None)
        else:
            table[change.resource] = change.value[:VALUE_LENGTH]

    def in_force(self, topic: str, replicas: int) -> int | None:
        """What the leader asks for, at most as many as there are replicas. None where the log does not say: a static default of the brokers.

        Brokers with a setting of their own may each lead: the smallest counts.
        """
        values = [self.topics[topic]] if topic in self.topics else [*self.brokers.values()] if "" in self.brokers else []
        numbers = [number for value in values if (number := whole_number(value)) is not None]
        return min(replicas, *numbers) if values and len(numbers) == len(values) else None


@dataclass
class _Partition:
    """One partition while the log is replayed. `alive`: the replicas whose logs may be elected; None: nobody asks about them."""

    topic: str
    alive: frozenset[int] | None
    known: bool = False
    replicas: frozenset[int] = frozenset()
    isr: tuple[int, ...] = ()
    eligible: tuple[int, ...] = ()
    leader: int = records.NO_LEADER
    leader_epoch: int = -1
    changes: list[Row] = field(default_factory=list)
    least_min_isr: int | None = None
    least_version: int | None = None
    bytes: int = 0

    def add(self, entry: Entry, version: int | None, unclean: bool, reassigned: bool) -> int:
        """Note the state as it is from now on. With a leader and all of `alive` in the ISR nothing older is of use.

        Returns how many bytes more are kept.
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
    """Of what held at one time or another the smaller; unknown where one is unknown."""
    return None if one is None or other is None else min(one, other)


def _least_since(entry: Entry, one: int | None, other: int | None) -> int | None:
    """The same, but in a snapshot everything holds at once, and configuration stands behind the partitions."""
    return other if entry.timestamp is None else _least(one, other)


class _Replay:
    """What the log says of the wanted partitions, up to the entry that was applied last."""

    def __init__(self, wanted: Mapping[tuple[str, int], _Partition]) -> None:
        self._wanted = wanted
        self._configs = _Configs()
        self._version: int | None = None
        self._names: dict[str, str] = {}
        self._pending: list[tuple[Entry, records.Record]] | None = None
        self._pending_bytes = self._changes_bytes = 0
        self.doubts: deque[tuple[int, str]] = deque(maxlen=DOUBTS_KEPT)

    def apply(self, entry: Entry) -> None:
        """Go one entry further; records of a transaction happen at its end, or never."""
        if max(len(self._names), len(self._configs.topics), len(self._pending or ())) > limits.PARTITIONS:
            raise ClusterError(f"it has more than {limits.PARTITIONS} topics, or changes in one transaction, at offset {entry.offset}")
        try:
            record = records.decode(entry.value)
        except records.UnknownRecordError as error:
            self.doubts.append((entry.offset, f"the metadata log holds at offset {entry.offset} what is not understood ({error})"))
            return
        if isinstance(record, records.Transaction):
            self._pending_bytes = 0
            done, self._pending = self._pending or [], [] if record.step == "begin" else None
            for past in done if record.step == "end" else []:
                self._happened(*past)
        elif record is not None and self._pending is not None:
            kept = (entry._replace(value=b""), record)  # the record says all that its bytes do
            self._pending_bytes += size_of(kept)
            if self._pending_bytes > limits.PENDING_BYTES:
                raise ClusterError(f"a transaction has changes of more than {limits.PENDING_BYTES >> 20} MiB at offset {entry.offset}")
            self._pending.append(kept)
        elif record is not None:
            self._happened(entry, record)

    def _happened(self, entry: Entry, record: records.Record) -> None:
        match record:
            case records.PartitionState() | records.PartitionChange():
                partition = self._wanted.get((record.topic_id, record.partition))
                if partition is not None and isinstance(record, records.PartitionState):
                    self._created(entry, partition, record)
                elif partition is not None and isinstance(record, records.PartitionChange) and partition.known:
                    self._changed(entry, partition, record)
            case records.ConfigChange(name=name) if name == MIN_ISR:
                self._configs.set(record)
                for partition in self._wanted.values():
                    partition.least_min_isr = _least_since(entry, partition.least_min_isr, self._min_isr(partition))
            case records.FeatureLevel(name=name, level=level) if name == METADATA_VERSION:
                self._version = level
                for partition in self._wanted.values():
                    partition.least_version = _least_since(entry, partition.least_version, level)
            case records.TopicCreated(name=name, topic_id=topic_id):
                self._names[topic_id] = name
            case records.TopicRemoved(topic_id=topic_id):
                self._configs.topics.pop(self._names.pop(topic_id, ""), None)
            case records.EligibleReplicasCleared(topic=topic):
                for partition in self._wanted.values():
                    if topic in ("", partition.topic):
                        partition.eligible = ()

    def _created(self, entry: Entry, partition: _Partition, record: records.PartitionState) -> None:
        partition.known, partition.replicas = True, frozenset(record.replicas)
        partition.isr, partition.eligible = record.isr, record.eligible_leader_replicas
        partition.leader, partition.leader_epoch = record.leader, record.leader_epoch
        partition.least_min_isr = self._min_isr(partition)
        self._add(entry, partition, record.recovering, record.reassigning)

    def _changed(self, entry: Entry, partition: _Partition, change: records.PartitionChange) -> None:
        unclean, reassigned = bool(change.recovering), change.reassigning is not None
        if change.leader is not None:
            elected = change.leader != records.NO_LEADER
            unclean = unclean or (elected and change.leader not in partition.isr and change.leader not in partition.eligible)
            partition.leader, partition.leader_epoch = change.leader, partition.leader_epoch + 1
        if change.replicas is not None:
            reassigned = reassigned or partition.replicas != set(change.replicas)
            partition.replicas = frozenset(change.replicas)
            partition.least_min_isr = _least(partition.least_min_isr, self._min_isr(partition))
        partition.isr = partition.isr if change.isr is None else change.isr
        partition.eligible = partition.eligible if change.eligible_leader_replicas is None else change.eligible_leader_replicas
        self._add(entry, partition, unclean, reassigned)

    def _add(self, entry: Entry, partition: _Partition, unclean: bool, reassigned: bool) -> None:
        self._changes_bytes += partition.add(entry, self._version, unclean, reassigned)
        if self._changes_bytes > limits.CHANGES_BYTES:
            raise ClusterError(f"changes of partitions take more than {limits.CHANGES_BYTES >> 20} MiB at offset {entry.offset}")

    def _min_isr(self, partition: _Partition) -> int | None:
        return self._configs.in_force(partition.topic, len(partition.replicas))


def rows(log: Iterable[Entry], states: Sequence[PartitionState], alive: Collection[int] | None) -> list[Row]:
    """Replay the metadata log and return one row per partition of `states`.

    `changes`, oldest first: each with the leader, leader epoch, ISR and ELR from then on, whether its leader was elected uncleanly and whether
    the replicas changed. They begin with the last moment at which all replicas on `alive` brokers were in the ISR, or with the oldest known
    (always, where `alive` is None).
    `offline_since` (milliseconds since 1970) and `last_isr`: when the last leader was lost, and the ISR until then; None where that is not known, or doubtful.
    `min_insync_replicas`: the least in all that is known (None: the log does not say); `metadata_version`: the least since the first change.
    `doubt`: why this may not be what happened, else None; a log that could not be read to its end is for the caller to tell.
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
        **untold(state.key, doubt),
        **(_end(found.changes) if doubt is None else {}),
        "metadata_version": found.least_version,
        "min_insync_replicas": found.least_min_isr,
        "changes": found.changes,
    }


def _end(changes: Sequence[Row]) -> Row:
    """When the last leader was lost, and who was in the ISR then."""
    led = next((place for place in reversed(range(len(changes))) if changes[place]["leader"] != records.NO_LEADER), None)
    if led is None or led + 1 == len(changes):
        return {}
    return {"offline_since": changes[led + 1]["timestamp"], "last_isr": changes[led]["isr"]}


def untold(key: TopicPartition, doubt: str | None) -> Row:
    """The row of a partition whose history nobody could read."""
    facts = dict.fromkeys(("offline_since", "last_isr", "metadata_version", "min_insync_replicas"))
    return {"topic": key[0], "partition": key[1], "doubt": doubt, **facts, "changes": []}


def gather(
    controllers: Controllers, states: Sequence[PartitionState], alive: Collection[int] | None, seconds: float
) -> tuple[list[Row], Row]:
    """Read the active controller's metadata log for `seconds` at most.

    Returns the rows, and what reading cost: `bytes`, `seconds`, `from_snapshot`, `doubt`. A log that cannot be read is told in every row.
    """
    log = MetadataLog(controllers, seconds)
    try:
        found = rows(log, states, alive)
        doubt = log.cut
    except ClusterError as error:
        doubt = str(error)
        found = [untold(state.key, None) for state in states]
    if doubt is not None:
        doubt = f"the metadata log could not be read to its end: {doubt}"
        found = [{**row, "doubt": doubt, "offline_since": None, "last_isr": None} for row in found]
    return found, {"bytes": log.bytes, "seconds": round(log.seconds, 3), "from_snapshot": log.snapshot, "doubt": doubt}
