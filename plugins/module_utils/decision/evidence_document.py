# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evidence documents: what was collected about one partition, and what the header says of its cluster. `decode.py` reads them.

Offsets and epochs are Kafka's; times are milliseconds since 1970. None stands for what was not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.controller import elr_is_on

# The error of a replica whose broker lives without its log directory (KIP-858), and that the cluster calls offline for it.
DISK_FAILED = "DISK_FAILED"
# Kafka's error for a replica whose log directory has failed. The broker gives it until it is restarted.
STORAGE_ERROR = "KAFKA_STORAGE_ERROR"
# Kafka's error for a topic whose records this login may not read.
READ_REFUSED = "TOPIC_AUTHORIZATION_FAILED"
# The error of a replica whose broker has not replayed the metadata of the partition up to the controller's leader epoch: its log may still change (KIP-966).
STALE_METADATA = "STALE_METADATA"
# The error of a replica whose fenced broker answered something that cannot be true: its answer counts as none.
IMPOSSIBLE_ANSWER = "IMPOSSIBLE_ANSWER"
# The error of a replica whose broker gave no answer.
NO_ANSWER = "NO_ANSWER"
UNFENCED, FENCED, COMING_BACK = "unfenced", "fenced", "coming_back"
BROKER_STATES = (UNFENCED, FENCED, COMING_BACK)
# Corrupt: the logs have one offset from one leader epoch, and different bytes there.
SAME, PREFIX, FORKED, UNKNOWN, CORRUPT = "same", "prefix", "forked", "unknown", "corrupt"
RELATIONS = (SAME, PREFIX, FORKED, UNKNOWN, CORRUPT)
# The topic in which brokers keep what remote storage has (KIP-405).
REMOTE_LOG_METADATA = "__remote_log_metadata"
# What proves records committed, or bounds a loss from below.
CONSUMER_GROUP, HEALTHY_SNAPSHOT, FENCED_BROKER = "consumer_group", "healthy_snapshot", "fenced_broker"


class Log(NamedTuple):
    """What a replica's broker answered about its log. `error`: Kafka's error name, DISK_FAILED, NO_ANSWER, STALE_METADATA or
    IMPOSSIBLE_ANSWER; None if it answered.

    `last_written_epoch`: the leader epoch of its last batch, -1 for an empty log, None where it could not be read. `failed_log_dirs`: if its disk has
    failed, the paths of its broker's log directories that have failed, as far as they are known. `read_from_disk_at`: when the log was read from the disk
    of its lost broker, which gives no answer; left out if the broker answered.
    """

    broker_id: int
    broker_state: str
    error: str | None
    log_start_offset: int | None
    log_end_offset: int | None
    high_watermark: int | None
    partition_leader_epoch: int | None
    last_written_epoch: int | None
    broker_epoch: int | None
    last_batch_transactional: bool | None
    failed_log_dirs: tuple[str, ...] | None = None
    read_from_disk_at: int | None = None

    @property
    def end(self) -> int:
        """The log end offset of a log that was read."""
        return self.log_end_offset or 0

    @property
    def answered(self) -> bool:
        """Whether the log was read."""
        return self.error is None and self.log_end_offset is not None

    @property
    def newest_epoch(self) -> int:
        """The greatest leader epoch that its broker knows for it, 0 if none was read."""
        return max(self.last_written_epoch or 0, self.partition_leader_epoch or 0)

    @property
    def silent(self) -> bool:
        """Whether its broker is alive and did not answer for it, and may do so soon."""
        return self.broker_state == UNFENCED and not self.answered and not self.disk_failed

    @property
    def disk_failed(self) -> bool:
        """Whether its broker is alive and its log directory has failed. It is lost until the disk is changed: the controller does not elect it."""
        return self.broker_state == UNFENCED and self.error in (DISK_FAILED, STORAGE_ERROR)

    @property
    def may_hold_more(self) -> bool:
        """Whether it cannot be read now and may be read soon: it may hold more than any survivor."""
        return self.broker_state == COMING_BACK or self.silent

    @property
    def gone(self) -> bool:
        """Whether the controller cannot elect this replica before its broker or its disk is repaired."""
        return self.broker_state == FENCED or self.disk_failed


class Pair(NamedTuple):
    """How the logs of two brokers relate: below `common_offset` they hold the same records. `shorter`: of a prefix, whose log it is."""

    broker_a: int
    broker_b: int
    relation: str
    shorter: int | None
    common_offset: int | None
    reason: str | None


class Proof(NamedTuple):
    """A committed offset and a survivor: whether its log is known to hold all below the offset (None: not known)."""

    source: str
    name: str | None
    offset: int
    broker_id: int
    held: bool | None


class RecordedState(NamedTuple):
    """A record of the metadata log: what held for the partition from then on."""

    offset: int
    timestamp: int | None
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    eligible_leader_replicas: tuple[int, ...]
    unclean: bool
    reassigned: bool


class History(NamedTuple):
    """What the metadata log says of the partition, oldest change first. `doubt`: why this may not be what happened."""

    doubt: str | None
    offline_since: int | None
    last_isr: tuple[int, ...] | None
    metadata_version: int | None
    min_insync_replicas: int | None
    changes: tuple[RecordedState, ...]


class Healthy(NamedTuple):
    """The newest healthy snapshot in which the partition had a leader. `append_rate`: offsets per second."""

    observed_at: int
    topic_id: str
    leader_epoch: int
    isr: tuple[int, ...]
    log_end_offset: int
    high_watermark: int
    append_rate: float | None


class State(NamedTuple):
    """What the controller keeps of the partition, and what was asked for.

    `offsets_unread`: whether logs fork, or may fork, and groups may have committed offsets that were not read, or not looked for in these logs.
    `remote_storage_enable`: whether the topic has tiered storage (KIP-405). If that is not known it is left out, as where it has none.
    """

    topic_id: str
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    eligible_leader_replicas: tuple[int, ...]
    last_known_elr: tuple[int, ...]
    reassigning: bool
    named: bool
    min_insync_replicas: int | None
    unclean_leader_election_enable: bool | None
    cleanup_policy: str | None
    offsets_unread: bool | None = None
    remote_storage_enable: bool | None = None


class Broker(NamedTuple):
    """A broker of the cluster. `silent_seconds`: for how long a fenced one has not been heard of, None where that is not known."""

    broker_id: int
    broker_state: str
    silent_seconds: float | None
    rack: str | None


class Header(NamedTuple):
    """The header of a landing file. Its fields about the file itself (kind, schema, cluster, cluster id, run) are checked in `formats.landing_format`;
    brokers and absent partitions are read by functions of their own."""

    collected_at: str
    backend: str
    eligible_leader_replicas_version: int | None
    options: Mapping[str, object] | None
    unreachable_brokers: tuple[int, ...] | None


@dataclass(frozen=True)
class ClusterHeader:
    """The fields of a landing file's header that decisions and explanations use. `eligible_leader_replicas_version`: the level of that feature (KIP-966).

    `reorders`: whether an election needs the designated replica first in the replica order, as without KIP-1275's ElectLeaders.
    """

    brokers: Mapping[int, Broker] = field(default_factory=dict)
    eligible_leader_replicas_version: int | None = None
    collected_at: int | None = None
    reorders: bool = True

    @property
    def elr(self) -> bool | None:
        """Whether the feature is on, None where that is not known."""
        return elr_is_on(self.eligible_leader_replicas_version)


@dataclass(frozen=True, slots=True)
class PartitionEvidence:
    """One partition. `defects`: why nothing may be concluded from it; `state` is None where it could not be read."""

    topic: str
    partition: int
    state: State | None
    logs: tuple[Log, ...] = ()
    pairs: Mapping[tuple[int, int], Pair] = field(default_factory=dict)
    proofs: tuple[Proof, ...] = ()
    history: History | None = None
    healthy: Healthy | None = None
    defects: tuple[str, ...] = ()

    def pair(self, one: int, other: int) -> Pair | None:
        """The comparison of the logs of two brokers, None if there is none."""
        return self.pairs.get((min(one, other), max(one, other)))

    @property
    def offsets_unread(self) -> bool:
        """Whether committed offsets that are not among the proofs may prove another branch of a fork."""
        return self.state is not None and bool(self.state.offsets_unread)

    def is_ahead(self, fenced: bool) -> bool:
        """Return whether a log was written in an epoch that the controller has not issued, as after a quorum that was rebuilt. Epochs are issued twice then,
        and one offset in one epoch is no longer one record. `fenced`: also those on fenced brokers. Who gives up what these hold does not look at them."""
        known = -1 if self.state is None else self.state.leader_epoch
        return any(log.newest_epoch > known for log in self.logs if fenced or log.broker_state == UNFENCED)

    @property
    def tiered(self) -> bool:
        """Whether a shorter log of this partition makes records in remote storage unreadable: its own, or those of which its records keep account."""
        return may_orphan_remote_records(self.topic, self.state is not None and self.state.remote_storage_enable)

    @property
    def unheard(self) -> tuple[int, ...]:
        """Members of ISR, ELR and last known ELR that have not answered. KIP-966 waits for them ("Unclean recovery", Balanced).

        A broker outside the assignment has no replica that could answer.
        """
        if self.state is None:
            return ()
        heard = {log.broker_id for log in self.logs if log.broker_state == UNFENCED and log.answered}
        members = {*self.state.isr, *self.state.eligible_leader_replicas, *self.state.last_known_elr}
        return tuple(sorted((members & {*self.state.replicas}) - heard))


def may_orphan_remote_records(topic: str, remote_storage_enable: bool | None) -> bool:
    """Return whether a shorter log makes records in remote storage unreadable: its own, or those of which its records keep account (KIP-405).

    `remote_storage_enable`: the topic config, None if it is not known, which counts as false.
    """
    return topic == REMOTE_LOG_METADATA or bool(remote_storage_enable)
