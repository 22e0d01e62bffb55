# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the logs of replicas: start and end offset, high watermark and last batch, or the error of the broker."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import error_codes
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.consumer_groups import Committed
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.kip1275_numbers import LIMIT_REACHED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import deadline
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import (
    DISK_FAILED,
    NO_ANSWER,
    STALE_METADATA,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.failed_disks import FailedDisks, LogDirSource, Replica
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionSource, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.replica_log import NOT_HOSTED, STORAGE_ERROR, ReplicaLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.topic_configs import TopicConfigs

POLL_SECONDS = 0.5
LEAST_ROUND_SECONDS = 0.1  # no requests are sent with less time left
# A broker that has restarted hosts its replicas after this time, and every broker knows that it is back.
SETTLED_SECONDS = 5.0
# Errors after which a replica is queried again, in addition to Kafka's retriable errors: it may be starting, or its broker may still load metadata.
PASSING = {NO_ANSWER, STALE_METADATA, LIMIT_REACHED}

Replicas = dict[Replica, ReplicaLog]


class FirstAnswers(NamedTuple):
    """Partitions that are queried until one of their replicas answers (KIP-966, Aggressive), for at most `seconds` beyond the usual time."""

    keys: Collection[TopicPartition] = ()
    seconds: float = 0.0

    def awaited(self, missing: Iterable[tuple[TopicPartition, int]], logs: Replicas) -> list[tuple[TopicPartition, int]]:
        """Return those of the replicas `missing` that are queried further."""
        answered = {key for (key, _broker), log in logs.items() if log.error is None}
        return [replica for replica in missing if self.seconds > 0 and replica[0] in self.keys and replica[0] not in answered]


NOT_AWAITED = FirstAnswers()


class LogSource(LogDirSource, PartitionSource, Protocol):
    """The methods of `Cluster` that collect evidence."""

    cut_off: set[int]

    def log_ends(self, work: Mapping[int, Collection[TopicPartition]]) -> dict[int, dict[TopicPartition, Any]]: ...

    def batches(
        self, work: Mapping[int, Mapping[TopicPartition, int]], retry_empty: bool = True
    ) -> dict[int, dict[TopicPartition, Any]]: ...
    def epoch_ends(self, work: Mapping[int, Mapping[TopicPartition, int]]) -> dict[int, dict[TopicPartition, Any]]: ...
    def broker_states(self, mentioned: Collection[int] = ()) -> list[dict[str, Any]]: ...
    def committed_offsets(self, keys: Collection[TopicPartition], seconds: float, missed: list[str]) -> list[Committed]: ...
    def topic_configs(self, topics: Collection[str]) -> TopicConfigs: ...


def replica_row(key: TopicPartition, broker_id: int, log: ReplicaLog) -> dict[str, Any]:
    """Return the log of one replica as a row. Fields of the last batch are None if the log has no batch."""
    return {"topic": key[0], "partition": key[1], "failed_log_dirs": [], **log_fields(broker_id, log)}


def log_fields(broker_id: int, log: ReplicaLog) -> dict[str, Any]:
    """Return a log as flat fields. Fields of the last batch are None if the log has no batch."""
    batch = log.last_batch
    fields: dict[str, Any] = {
        "broker_id": broker_id,
        "error": log.error,
        "log_start_offset": log.log_start_offset,
        "log_end_offset": log.log_end_offset,
        "high_watermark": log.high_watermark,
        "partition_leader_epoch": log.partition_leader_epoch,
        "last_written_epoch": log.last_written_epoch,
        "last_batch_base_offset": batch.base_offset if batch else None,
        "last_batch_last_offset": batch.last_offset if batch else None,
        "last_batch_crc": batch.crc if batch else None,
        "last_batch_max_timestamp": batch.max_timestamp if batch else None,
        "last_batch_transactional": batch.transactional if batch else None,
        "broker_epoch": log.broker_epoch if log.broker_epoch is None or log.broker_epoch >= 0 else None,
        "probe_error": log.probe_error,
    }
    # Left out if empty: a landing file can have millions of logs.
    if log.failed_log_dirs:
        fields["failed_log_dirs"] = list(log.failed_log_dirs)
    if log.read_from_disk_at is not None:
        fields["read_from_disk_at"] = log.read_from_disk_at
    return fields


def read_logs(
    cluster: LogSource,
    wanted: Iterable[tuple[TopicPartition, int]],
    duration: float,
    epochs: Mapping[TopicPartition, int] | None = None,
    once: Sequence[tuple[TopicPartition, int]] = (),
    first: FirstAnswers = NOT_AWAITED,
) -> Replicas:
    """Read the log of each wanted (partition, broker), again and again for `duration` seconds. The error of a replica on a failed disk is DISK_FAILED.

    With a `duration` of 0 each replica is queried once, for as long as requests may take.

    epochs  the controller's leader epoch of each partition: an answer with an older one is replaced by the error STALE_METADATA
    once    replicas that are queried once, with the first round; fenced brokers know an older leader epoch, so `epochs` does not apply
    first   partitions that are queried beyond `duration`
    """
    return _Reading(cluster, duration, epochs or {}, first).read(list(wanted), once)


class _Reading:
    """Logs that are read until a time. `logs`: what was read last, by replica."""

    def __init__(self, cluster: LogSource, duration: float, epochs: Mapping[TopicPartition, int], first: FirstAnswers) -> None:
        self._cluster, self._epochs, self._first = cluster, epochs, first
        self._limited = duration != 0
        self._end = time.monotonic() + duration
        # A replica that seems to be on a failed disk now and then must not extend the time again and again.
        self._latest_end = self._end + SETTLED_SECONDS
        self._late = self._exhausted = False
        self._disks = FailedDisks(cluster)
        # The time since which a replica seems to be on a failed disk.
        self._since: dict[Replica, float] = {}
        self.logs: Replicas = {}

    def read(self, wanted: list[Replica], once: Sequence[Replica]) -> Replicas:
        """Return the logs of `wanted` and of `once`."""
        missing, fenced = wanted, Replicas()
        while missing or (once and not fenced):
            if not self.logs or not self._limited or time.monotonic() < self._end - LEAST_ROUND_SECONDS:
                fenced |= self._read_round(missing, () if fenced else once)
            now, missing = self._left_to_read(missing)
            if not missing or now >= self._end:
                break
            left = self._end - now
            time.sleep(min(POLL_SECONDS, left / 2 if left > 2 * LEAST_ROUND_SECONDS else left))
            alive = self._cluster.unfenced()
            missing = [(key, broker) for key, broker in missing if broker in alive]
        return self.logs | fenced

    def _read_round(self, missing: Sequence[Replica], extra: Sequence[Replica]) -> Replicas:
        """Read the logs of `missing` into `logs`, and return those of `extra`."""
        with deadline.until(self._end if self._limited else None):
            answers = _read_once(self._cluster, [*missing, *extra])
        others = {replica: answers.pop(replica) for replica in extra}
        # A request that the deadline cuts off does not replace an earlier answer.
        self.logs |= {
            replica: fenced_by_epoch(log, self._epochs.get(replica[0]))
            for replica, log in answers.items()
            if log.error != NO_ANSWER or replica not in self.logs
        }
        return others

    def _left_to_read(self, missing: Iterable[Replica]) -> tuple[float, list[Replica]]:
        """Return the present time and the replicas that are queried again. The time for that may become longer."""
        # Nearly all logs were read: only the others are looked at again.
        unread = [replica for replica, log in self.logs.items() if log.error is not None or log.probe_error is not None]
        self._set_failed(
            self._disks.lost([replica for replica in unread if self.logs[replica].error not in (None, DISK_FAILED, STALE_METADATA)])
        )
        now, not_read = time.monotonic(), {*unread}
        again = [
            replica
            for replica in missing
            if replica in not_read and (_may_pass((log := self.logs[replica]).error) or _may_pass(log.probe_error))
        ]
        if not self._exhausted and (not again or now >= self._end):
            self._exhausted, self._latest_end = True, max(self._latest_end, now + SETTLED_SECONDS)
        self._find_failed_disks(unread, now)
        again = [*dict.fromkeys([*(replica for replica in again if self.logs[replica].error != DISK_FAILED), *self._since])]
        # It takes a few more seconds to know whether a broker runs without its disk.
        settled = [min(first_seen + SETTLED_SECONDS, self._latest_end) for first_seen in self._since.values()]
        self._end = max([self._end, *settled])
        if again and now >= self._end and not self._late:
            self._late, self._end = True, now + self._first.seconds
            self._latest_end = self._end + SETTLED_SECONDS
        return now, self._first.awaited(again, self.logs) if self._late else again

    def _find_failed_disks(self, unread: Iterable[Replica], now: float) -> None:
        """Set the error of the replicas whose disk has failed for certain, or seems to have failed for SETTLED_SECONDS."""
        certain, likely = _without_disk(self._cluster, {replica: self.logs[replica] for replica in unread}, self._exhausted)
        self._since = {replica: self._since.get(replica, now) for replica in likely}
        settled = {replica for replica, first_seen in self._since.items() if now - first_seen >= SETTLED_SECONDS}
        self._set_failed(certain | settled)
        self._since = {replica: first_seen for replica, first_seen in self._since.items() if replica not in certain | settled}

    def _set_failed(self, replicas: Iterable[Replica]) -> None:
        for replica in replicas:
            self.logs[replica] = ReplicaLog(DISK_FAILED, failed_log_dirs=self._disks.paths(replica[1]))


def _may_pass(error: str | None) -> bool:
    return error is not None and (error in PASSING or error_codes.is_retriable(error))


def fenced_by_epoch(log: ReplicaLog, epoch: int | None) -> ReplicaLog:
    """Return the log, or the error STALE_METADATA if its broker knows only a leader epoch before `epoch`."""
    known = log.partition_leader_epoch
    if log.error is not None or epoch is None or known is None or not 0 <= known < epoch:
        return log
    return ReplicaLog(error=STALE_METADATA)


def is_ahead(log: ReplicaLog | None, epoch: int) -> bool:
    """Return whether a log has a leader epoch that is greater than the controller's, `epoch`."""
    return log is not None and max(log.last_written_epoch or 0, log.partition_leader_epoch or 0) > epoch


def _without_disk(
    cluster: LogSource, logs: Replicas, exhausted: bool
) -> tuple[set[tuple[TopicPartition, int]], set[tuple[TopicPartition, int]]]:
    """Return the replicas whose brokers run without their disks, and those that are on such a disk if it stays so for SETTLED_SECONDS (KIP-858).

    A broker whose disk fails returns STORAGE_ERROR, and the cluster reports the replica as offline a moment later. After a restart without the disk it
    returns NOT_HOSTED. A broker that has just restarted returns that too, for a moment. Other errors, and none, count if the replica is offline.

    exhausted  whether replicas are not queried any more: each with another error is looked at then, and not in every round
    """
    refused = [
        replica
        for replica, log in logs.items()
        if log.error in (STORAGE_ERROR, NOT_HOSTED) or (exhausted and log.error not in (None, DISK_FAILED, STALE_METADATA))
    ]
    if not refused:
        return set(), set()
    # Brokers first: a replica is also offline while its broker is fenced.
    alive = cluster.unfenced()
    states = cluster.partitions({key for key, _broker in refused})
    failed = {(key, broker) for key, broker in refused if broker in alive and logs[key, broker].error == STORAGE_ERROR}
    offline = {(key, broker) for key, broker in refused if broker in alive and key in states and broker in states[key].offline_replicas}
    return failed & offline, failed ^ offline


def _read_once(cluster: LogSource, wanted: Sequence[tuple[TopicPartition, int]]) -> Replicas:
    work: dict[int, list[TopicPartition]] = {}
    for key, broker in wanted:
        work.setdefault(broker, []).append(key)
    ends = cluster.log_ends(work)
    tails = cluster.batches(
        {
            broker: {key: end.log_end_offset - 1 for key, end in found.items() if end.error is None and end.log_end_offset > 0}
            for broker, found in ends.items()
        }
    )
    # Without a batch at its last offset a log is empty (Kafka returns OFFSET_OUT_OF_RANGE). A fetch at its end returns start and high watermark.
    rest: dict[int, dict[TopicPartition, int]] = {}
    for broker, found in ends.items():
        out_of_range = {key for key, tail in tails[broker].items() if tail.error == "OFFSET_OUT_OF_RANGE"}
        empty = {
            key: end.log_end_offset for key, end in found.items() if end.error is None and (not end.log_end_offset or key in out_of_range)
        }
        if empty:
            rest[broker] = empty
    heads = cluster.batches(rest, retry_empty=False)
    answers = {broker: (ends.get(broker, {}), {**tails.get(broker, {}), **heads.get(broker, {})}) for broker in work}
    logs: Replicas = {}
    for replica in wanted:
        key, broker = replica
        own_ends, own_batches = answers[broker]
        end, fetched = own_ends.get(key), own_batches.get(key)
        if end is not None and end.error:
            logs[replica] = ReplicaLog(error=end.error)
        elif end is None:
            logs[replica] = ReplicaLog(error=NO_ANSWER)
        elif fetched is None or fetched.error:
            logs[replica] = _unprobed(end, NO_ANSWER if fetched is None else fetched.error)
        else:
            logs[replica] = ReplicaLog(
                None,
                fetched.log_start_offset,
                end.log_end_offset,
                fetched.high_watermark,
                end.partition_leader_epoch,
                fetched.batch,
                end.broker_epoch,
            )
    return logs


def _unprobed(end: Any, error: str | None) -> ReplicaLog:
    """Return a log whose last batch could not be read. Its end counts if GetReplicaLogInfo gave it; without that the log has only the error."""
    if end.broker_epoch is None:
        return ReplicaLog(error=error)
    return ReplicaLog(
        None,
        log_end_offset=end.log_end_offset,
        partition_leader_epoch=end.partition_leader_epoch,
        broker_epoch=end.broker_epoch,
        probe_error=error,
    )
