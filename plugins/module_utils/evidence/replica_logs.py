# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs of replicas: where they end, what was written last, and why a broker did not say so."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import core
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.kip1275_numbers import LIMIT_REACHED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import deadline
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.document import DISK_FAILED, NO_ANSWER
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.failed_disks import FailedDisks
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.replica_log import NOT_HOSTED, STORAGE_ERROR, ReplicaLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.topic_configs import TopicConfigs

POLL_SECONDS = 0.5
LEAST_ROUND_SECONDS = 0.1  # nothing is asked in less time
# A broker that has just come back hosts its replicas by then, and every broker knows that it is back.
SETTLED_SECONDS = 5.0
# The error of a broker that has not replayed the metadata of a partition up to the leader epoch of the controller: its log may still change (KIP-966).
STALE_METADATA = "STALE_METADATA"
# What may pass beside Kafka's own retriable errors, with which a replica that was just opened, or whose broker still loads metadata, answers.
PASSING = {NO_ANSWER, STALE_METADATA, LIMIT_REACHED}


Replicas = dict[tuple[TopicPartition, int], ReplicaLog]
# As `group_offsets` has it.
Committed = tuple[str, TopicPartition, int, int]


class FirstAnswers(NamedTuple):
    """Partitions of which no replica answers in time are asked for on until the first answer comes (KIP-966, Aggressive), for at most `seconds`."""

    keys: Collection[TopicPartition] = ()
    seconds: float = 0.0

    def awaited(self, missing: Iterable[tuple[TopicPartition, int]], logs: Replicas) -> list[tuple[TopicPartition, int]]:
        """Return which of the replicas `missing` are asked for on."""
        answered = {key for (key, _broker), log in logs.items() if log.error is None}
        return [replica for replica in missing if self.seconds > 0 and replica[0] in self.keys and replica[0] not in answered]


NOT_AWAITED = FirstAnswers()


class Asked(Protocol):
    """What evidence needs of a cluster."""

    unreachable: dict[int, str]
    cut_off: set[int]

    def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]: ...
    def log_ends(self, work: Mapping[int, Collection[TopicPartition]]) -> dict[int, dict[TopicPartition, Any]]: ...

    def batches(
        self, work: Mapping[int, Mapping[TopicPartition, int]], retry_empty: bool = True
    ) -> dict[int, dict[TopicPartition, Any]]: ...
    def epoch_ends(self, work: Mapping[int, Mapping[TopicPartition, int]]) -> dict[int, dict[TopicPartition, Any]]: ...
    def unfenced(self) -> set[int]: ...
    def broker_states(self, mentioned: Collection[int] = ()) -> list[dict[str, Any]]: ...
    def committed_offsets(self, keys: Collection[TopicPartition], seconds: float, missed: list[str]) -> list[Committed]: ...
    def topic_configs(self, topics: Collection[str]) -> TopicConfigs: ...
    def failed_log_dirs(self, work: Mapping[int, Collection[TopicPartition]]) -> Mapping[int, Any]: ...


def replica_row(key: TopicPartition, broker_id: int, log: ReplicaLog) -> dict[str, Any]:
    """One replica's log as flat fields; the last batch's are None where there is none."""
    return {"topic": key[0], "partition": key[1], "failed_log_dirs": [], **log_fields(broker_id, log)}


def log_fields(broker_id: int, log: ReplicaLog) -> dict[str, Any]:
    """A log as flat fields; the last batch's are None where there is none."""
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
    # Most logs have none, and a landing file has millions of them.
    if log.failed_log_dirs:
        fields["failed_log_dirs"] = list(log.failed_log_dirs)
    return fields


def read_logs(
    cluster: Asked,
    wanted: Iterable[tuple[TopicPartition, int]],
    duration: float,
    epochs: Mapping[TopicPartition, int] | None = None,
    once: Sequence[tuple[TopicPartition, int]] = (),
    first: FirstAnswers = NOT_AWAITED,
) -> Replicas:
    """Read the log of each wanted (partition, broker); see `gather` for how long. The error of a replica on a failed disk is DISK_FAILED.

    With a `duration` of 0 each is asked once, for as long as requests may take.

    epochs  the controller's leader epoch of each partition: an answer of an older one is not used, its error is STALE_METADATA
    once    replicas on fenced brokers, which are asked once, beside the others. Such a broker knows an older leader epoch
    first   partitions that are asked for beyond `duration`
    """
    end = time.monotonic() + duration
    logs: Replicas = {}
    missing = list(wanted)
    # Since when a broker has not hosted a replica that the cluster calls offline.
    since: dict[tuple[TopicPartition, int], float] = {}
    fenced: Replicas = {}
    disks = FailedDisks(cluster)
    late = False
    while missing or (once and not fenced):
        if not logs or not duration or time.monotonic() < end - LEAST_ROUND_SECONDS:
            beside = () if fenced else once
            with deadline.until(end if duration else None):
                answers = _ask_once(cluster, [*missing, *beside])
            fenced |= {replica: answers.pop(replica) for replica in beside}
            # A broker that was cut off by the end of the time does not take back what it has answered before.
            logs |= {
                replica: fenced_by_epoch(log, (epochs or {}).get(replica[0]))
                for replica, log in answers.items()
                if log.error != NO_ANSWER or replica not in logs
            }
        refused = [replica for replica, log in logs.items() if log.error not in (None, DISK_FAILED, STALE_METADATA)]
        for replica in disks.lost(refused):
            logs[replica] = ReplicaLog(DISK_FAILED, failed_log_dirs=disks.paths(replica[1]))
        now = time.monotonic()
        without_disk = _without_disk(cluster, logs)
        since = {replica: since.get(replica, now) for replica in without_disk if logs[replica].error == NOT_HOSTED}
        for replica in without_disk:
            if replica not in since or now - since[replica] >= SETTLED_SECONDS:
                logs[replica] = ReplicaLog(DISK_FAILED, failed_log_dirs=disks.paths(replica[1]))
        missing = [replica for replica in missing if _may_pass((log := logs[replica]).error) or _may_pass(log.probe_error)]
        # Whether a broker lives without its disk is worth a few seconds more.
        end = max([end, *(since[replica] + SETTLED_SECONDS for replica in missing if replica in since)])
        if missing and now >= end and not late:
            late, end = True, now + first.seconds
        if late:
            missing = first.awaited(missing, logs)
        if not missing or now >= end:
            break
        time.sleep(min(POLL_SECONDS, (end - now) / 2 if end - now > 2 * LEAST_ROUND_SECONDS else end - now))
        alive = cluster.unfenced()
        missing = [(key, broker) for key, broker in missing if broker in alive]
    return logs | fenced


def _may_pass(error: str | None) -> bool:
    return error is not None and (error in PASSING or core.is_retriable(error))


def fenced_by_epoch(log: ReplicaLog, epoch: int | None) -> ReplicaLog:
    """The log, or what stands for it if its broker knows only an older leader epoch than `epoch`."""
    known = log.partition_leader_epoch
    if log.error is not None or epoch is None or known is None or not 0 <= known < epoch:
        return log
    return ReplicaLog(error=STALE_METADATA)


def is_ahead(log: ReplicaLog | None, epoch: int) -> bool:
    """Whether a log has a leader epoch that is greater than `epoch`, the controller's."""
    return log is not None and max(log.last_written_epoch or 0, log.partition_leader_epoch or 0) > epoch


def _without_disk(cluster: Asked, logs: Replicas) -> set[tuple[TopicPartition, int]]:
    """Return the replicas whose brokers seem to live without their disks: the broker says so, and the cluster calls the replica offline (KIP-858).

    A broker whose disk fails answers STORAGE_ERROR. When it has started again without the disk, it does not host the replica any more; one that has
    just come back says so too, for a moment.
    """
    refused = [replica for replica, log in logs.items() if log.error in (STORAGE_ERROR, NOT_HOSTED)]
    if not refused:
        return set()
    # In this order: a replica is also offline while its broker is fenced.
    alive = cluster.unfenced()
    states = cluster.partitions({key for key, _broker in refused})
    return {(key, broker) for key, broker in refused if broker in alive and key in states and broker in states[key].offline_replicas}


def _ask_once(cluster: Asked, wanted: Sequence[tuple[TopicPartition, int]]) -> Replicas:
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
    # No batch at the log's last offset: the log is empty (Kafka calls the offset out of range). Its end can be asked for start and high watermark.
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
    for key, broker in wanted:
        own_ends, own_batches = answers[broker]
        end, fetched = own_ends.get(key), own_batches.get(key)
        if end is not None and end.error:
            logs[key, broker] = ReplicaLog(error=end.error)
        elif end is None:
            logs[key, broker] = ReplicaLog(error=NO_ANSWER)
        elif fetched is None or fetched.error:
            logs[key, broker] = _unprobed(end, NO_ANSWER if fetched is None else fetched.error)
        else:
            logs[key, broker] = ReplicaLog(
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
    """A log whose last batch could not be read. GetReplicaLogInfo speaks for itself; without it the replica has not answered."""
    if end.broker_epoch is None:
        return ReplicaLog(error=error)
    return ReplicaLog(
        None,
        log_end_offset=end.log_end_offset,
        partition_leader_epoch=end.partition_leader_epoch,
        broker_epoch=end.broker_epoch,
        probe_error=error,
    )
