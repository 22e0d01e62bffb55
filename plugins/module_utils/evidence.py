# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evidence: what each survivor's log holds, and for each pair of survivors whether one log is a prefix of the other.

Gathering decides nothing: the pairs hold for any winner. Choice is the decision's.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils import forks
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.batches import LastBatch
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.brokers import UNFENCED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.bounds import EVIDENCE_ROWS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.document import DISK_FAILED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.schema import MOST_PROOFS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.partitions import (
    PartitionError,
    PartitionState,
    TopicPartition,
    has_live_leader,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.topic_configs import TopicConfigs

POLL_SECONDS = 0.5
# A broker that has just come back hosts its replicas by then, and every broker knows that it is back.
SETTLED_SECONDS = 5.0
# For committed offsets, also if `duration` is shorter.
LEAST_PROOF_SECONDS = 10.0
# A replica that was just opened, or whose broker is still loading metadata, answers with these for a moment.
NO_ANSWER, NOT_HOSTED, STORAGE_ERROR = "NO_ANSWER", "NOT_LEADER_OR_FOLLOWER", "KAFKA_STORAGE_ERROR"
PASSING = {
    NO_ANSWER,
    NOT_HOSTED,
    STORAGE_ERROR,
    "UNKNOWN_TOPIC_OR_PARTITION",
    "UNKNOWN_TOPIC_ID",
    "LEADER_NOT_AVAILABLE",
    "FENCED_LEADER_EPOCH",
    "UNKNOWN_LEADER_EPOCH",
    "REQUEST_LIMIT_REACHED",
}


# Of a partition, beside those of healthy snapshots.
KEPT_PROOFS = MOST_PROOFS - 64
LONGEST_NAME = 255


@dataclass(frozen=True)
class ReplicaLog:
    """One survivor's log. Offsets in records; `last_written_epoch` is -1 for an empty log and None where no batch could be read.

    The native backend knows the `broker_epoch` (KIP-966: another one means that the broker has rebooted since), and the log's end where the
    last batch cannot be read: `probe_error` says why it could not.
    """

    error: str | None
    log_start_offset: int | None = None
    log_end_offset: int | None = None
    high_watermark: int | None = None
    partition_leader_epoch: int | None = None
    last_batch: LastBatch | None = None
    broker_epoch: int | None = None
    probe_error: str | None = None

    @property
    def empty(self) -> bool:
        """Whether the log holds no record."""
        return self.log_end_offset is not None and self.log_end_offset in (0, self.log_start_offset)

    @property
    def last_written_epoch(self) -> int | None:
        """Leader epoch of the last batch (KIP-966's LastWrittenLeaderEpoch)."""
        if self.last_batch is not None:
            return self.last_batch.epoch
        return -1 if self.empty else None


Replicas = dict[tuple[TopicPartition, int], ReplicaLog]
# As `group_offsets` has it.
Committed = tuple[str, TopicPartition, int, int]


class Asked(Protocol):
    """What evidence needs of a cluster."""

    unreachable: dict[int, str]

    def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]: ...
    def log_ends(self, work: Mapping[int, Collection[TopicPartition]]) -> dict[int, dict[TopicPartition, Any]]: ...

    def batches(
        self, work: Mapping[int, Mapping[TopicPartition, int]], retry_empty: bool = True
    ) -> dict[int, dict[TopicPartition, Any]]: ...
    def epoch_ends(self, work: Mapping[int, Mapping[TopicPartition, int]]) -> dict[int, dict[TopicPartition, Any]]: ...
    def unfenced(self) -> set[int]: ...
    def broker_states(self, mentioned: Collection[int] = ()) -> list[dict[str, Any]]: ...
    def committed_offsets(self, keys: Collection[TopicPartition], seconds: float, missed: list[str]) -> list[Committed]: ...


@dataclass
class Evidence:
    """What was gathered: broker rows, replica logs by (partition, broker), pair rows, proof rows (see `documents`), history rows of `isr_history`,
    rows of `last_healthy`, configs. `missed`: why there may be more proofs."""

    states: Sequence[PartitionState]
    brokers: list[dict[str, Any]]
    replicas: Replicas = field(default_factory=dict)
    pairs: list[dict[str, Any]] = field(default_factory=list)
    proofs: list[dict[str, Any]] = field(default_factory=list)
    histories: list[dict[str, Any]] = field(default_factory=list)
    healthy: list[dict[str, Any]] = field(default_factory=list)
    configs: TopicConfigs = field(default_factory=TopicConfigs)
    missed: list[str] = field(default_factory=list)

    @property
    def offline(self) -> list[PartitionState]:
        """The partitions without a live leader."""
        return [state for state in self.states if state.leader < 0]

    @property
    def alive(self) -> set[int]:
        """The brokers whose replicas may be elected."""
        return {row["broker_id"] for row in self.brokers if row["broker_state"] == UNFENCED}

    def documents(self, named: Collection[TopicPartition], reassigning: Collection[TopicPartition]) -> Iterator[dict[str, Any]]:
        """Yield the documents of a landing file: each partition with every replica (measured or not), pairs, proofs, history, and what a healthy
        snapshot knew."""
        broker_states = {row["broker_id"]: row["broker_state"] for row in self.brokers}
        pairs, proofs = _by_partition(self.pairs), _by_partition(self.proofs)
        histories, healthy = _by_partition(self.histories), _by_partition(self.healthy)
        for state in self.states:
            config = self.configs.of(state.topic)
            yield {
                **state.as_dict(),
                "named": state.key in named,
                "reassigning": state.key in reassigning,
                "min_insync_replicas": config.effective_min_isr(len(state.replicas)),
                "unclean_leader_election_enable": config.unclean_leader_election_enable,
                "cleanup_policy": config.cleanup_policy,
                "logs": [
                    {
                        **log_fields(broker_id, self.replicas.get((state.key, broker_id), ReplicaLog(error=None))),
                        "broker_state": broker_states[broker_id],
                    }
                    for broker_id in (state.replicas if state.leader < 0 else ())
                ],
                "pairs": pairs.get(state.key, []),
                "proofs": proofs.get(state.key, []),
                "history": next(iter(histories.get(state.key, ())), None),
                "healthy": next(iter(healthy.get(state.key, ())), None),
            }


def bounded_proofs(proofs: Iterable[dict[str, Any]], missed: list[str]) -> list[dict[str, Any]]:
    """As many proofs of each partition as fit into its document, with names that fit.

    Clients may commit any offset under any name, so the ones that decide stay first: of each survivor the greatest that it holds (it has all that a
    smaller one proves of it), then the greatest that nobody need hold. `missed` says of which partitions groups were left out.
    """
    rows: dict[TopicPartition, list[dict[str, Any]]] = {}
    for proof in proofs:
        rows.setdefault((proof["topic"], proof["partition"]), []).append({**proof, "name": _shortened(proof["name"])})
    for key, found in rows.items():
        if len(found) > KEPT_PROOFS:
            greatest = sorted(found, key=lambda proof: -proof["offset"])
            held = {proof["broker_id"]: proof for proof in reversed(greatest) if proof["held"]}
            rows[key] = [*held.values(), *(proof for proof in greatest if proof is not held.get(proof["broker_id"]))][:KEPT_PROOFS]
            missed.append(f"{key[0]}-{key[1]} has {len(found)} committed offsets, of which {KEPT_PROOFS} were kept")
    return [proof for found in rows.values() for proof in found]


def _shortened(name: str) -> str:
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - 20]}… ({hashlib.sha256(name.encode(errors='replace')).hexdigest()[:16]})"


def _by_partition(rows: Iterable[Mapping[str, Any]]) -> dict[TopicPartition, list[dict[str, Any]]]:
    """Rows by the partition that they name, without its name."""
    found: dict[TopicPartition, list[dict[str, Any]]] = {}
    for row in rows:
        rest = {name: value for name, value in row.items() if name not in ("topic", "partition")}
        found.setdefault((row["topic"], row["partition"]), []).append(rest)
    return found


def replica_row(key: TopicPartition, broker_id: int, log: ReplicaLog) -> dict[str, Any]:
    """One replica's log as flat fields; the last batch's are None where there is none."""
    return {"topic": key[0], "partition": key[1], **log_fields(broker_id, log)}


def log_fields(broker_id: int, log: ReplicaLog) -> dict[str, Any]:
    """A log as flat fields; the last batch's are None where there is none."""
    batch = log.last_batch
    return {
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


def gather(cluster: Asked, states: Sequence[PartitionState], duration: float) -> Evidence:
    """Read the logs of all survivors of `states` (partitions without a live leader; others pass through unread).

    Brokers that do not answer, and replicas that are not ready, are asked again until `duration` seconds have passed or the
    broker is fenced. What never answered keeps the error NO_ANSWER. Committed offsets are read, and then looked for in forked logs, for as long
    each, at least LEAST_PROOF_SECONDS; `missed` says what was left.
    """
    check_size(states)
    mentioned = {broker for state in states for broker in state.replicas}
    brokers = cluster.broker_states(mentioned)
    unfenced = {row["broker_id"] for row in brokers if row["broker_state"] == UNFENCED}
    states = [state if has_live_leader(state, unfenced) else replace(state, leader=-1) for state in states]
    offline = [state for state in states if state.leader < 0]
    wanted = [(state.key, broker) for state in offline for broker in state.replicas if broker in unfenced]
    replicas = read_logs(cluster, wanted, duration)
    if any(log.error or log.probe_error for log in replicas.values()):
        # What did not answer may have been fenced meanwhile: then it is a lost broker, not a silent survivor.
        brokers = cluster.broker_states(mentioned)
        unfenced = {row["broker_id"] for row in brokers if row["broker_state"] == UNFENCED}
        replicas = {(key, broker): log for (key, broker), log in replicas.items() if broker in unfenced}
    evidence = Evidence(states, brokers, replicas)
    prober = forks.Prober(cluster.batches)
    for state in offline:
        answered = sorted(
            broker for broker in state.replicas if (state.key, broker) in replicas and replicas[state.key, broker].error is None
        )
        evidence.pairs += [forks.pair_row(state.key, one, other) for one, other in combinations(answered, 2)]
    forks.settle(evidence.pairs, replicas, prober, cluster.epoch_ends)
    evidence.proofs = bounded_proofs(_proofs(cluster, evidence, prober, max(duration, LEAST_PROOF_SECONDS)), evidence.missed)
    return evidence


def check_size(states: Sequence[PartitionState]) -> None:
    """PartitionError if the evidence of these partitions is too much to be gathered at once."""
    count = sum(1 + len(state.replicas) * (len(state.replicas) + 1) // 2 for state in states)
    if count > EVIDENCE_ROWS:
        raise PartitionError(
            f"the evidence of {len(states)} partitions would be {count} rows (partitions, replicas, pairs of replicas), at most {EVIDENCE_ROWS} are "
            "gathered at once; name some of them with partitions_file (kafka_recovery_partitions_file), and the others in further runs"
        )


def read_logs(cluster: Asked, wanted: Iterable[tuple[TopicPartition, int]], duration: float) -> Replicas:
    """Read the log of each wanted (partition, broker); see `gather` for how long. The error of a replica on a failed disk is DISK_FAILED."""
    deadline = time.monotonic() + duration
    logs: Replicas = {}
    missing = list(wanted)
    # Since when a broker has not hosted a replica that the cluster calls offline.
    since: dict[tuple[TopicPartition, int], float] = {}
    while missing:
        logs |= _ask_once(cluster, missing)
        now = time.monotonic()
        without_disk = _without_disk(cluster, logs)
        since = {replica: since.get(replica, now) for replica in without_disk if logs[replica].error == NOT_HOSTED}
        for replica in without_disk:
            if replica not in since or now - since[replica] >= SETTLED_SECONDS:
                logs[replica] = ReplicaLog(error=DISK_FAILED)
        missing = [replica for replica in missing if {logs[replica].error, logs[replica].probe_error} & PASSING]
        # Whether a broker lives without its disk is worth a few seconds more.
        end = max([deadline, *(since[replica] + SETTLED_SECONDS for replica in missing if replica in since)])
        if not missing or now >= end:
            break
        time.sleep(min(POLL_SECONDS, max(0.0, end - now)))
        alive = cluster.unfenced()
        missing = [(key, broker) for key, broker in missing if broker in alive]
    return logs


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
    rest = {
        broker: {
            key: end.log_end_offset
            for key, end in found.items()
            if end.error is None
            and (end.log_end_offset == 0 or (key in tails[broker] and tails[broker][key].error == "OFFSET_OUT_OF_RANGE"))
        }
        for broker, found in ends.items()
    }
    heads = cluster.batches({broker: offsets for broker, offsets in rest.items() if offsets}, retry_empty=False)
    logs: Replicas = {}
    for key, broker in wanted:
        end = ends.get(broker, {}).get(key)
        fetched = heads.get(broker, {}).get(key) or tails.get(broker, {}).get(key)
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


def _proofs(cluster: Asked, evidence: Evidence, prober: forks.Prober, seconds: float) -> Iterator[dict[str, Any]]:
    """What committed offsets of consumer groups prove of the survivors of offline partitions.

    Where logs fork: whether each survivor holds the last record that each group read, as of that record's epoch. Survivors are probed for it.
    Elsewhere only survivors whose log ends before that record: what they lack is lost with them, and no probe is needed. Of all groups
    the one that read furthest proves most.
    """
    answered: dict[TopicPartition, list[int]] = {}
    for (key, broker), log in evidence.replicas.items():
        if log.log_end_offset is not None:
            answered.setdefault(key, []).append(broker)
    forked = {(pair["topic"], pair["partition"]) for pair in evidence.pairs if pair["relation"] == forks.FORKED}
    committed = [row for row in cluster.committed_offsets(answered.keys(), seconds, evidence.missed) if row[2] > 0] if answered else []
    furthest = {key: (group, key, offset, epoch) for group, key, offset, epoch in sorted(committed, key=lambda row: row[2])}
    survivors = {key: sorted(answered[key]) for key in forked}
    yield from _held(evidence, prober, survivors, [row for row in committed if row[1] in forked], seconds)
    for key in sorted(furthest.keys() - forked):
        for broker in sorted(answered[key]):
            if (evidence.replicas[key, broker].log_end_offset or 0) < furthest[key][2]:
                yield _proof(furthest[key], broker, False)


def _held(
    evidence: Evidence,
    prober: forks.Prober,
    survivors: Mapping[TopicPartition, Sequence[int]],
    committed: Sequence[Committed],
    seconds: float,
) -> Iterator[dict[str, Any]]:
    long_enough = {
        (broker, key, offset - 1)
        for _group, key, offset, _epoch in committed
        for broker in survivors[key]
        if (evidence.replicas[key, broker].log_end_offset or 0) >= offset
    }
    prober.fetch(long_enough, time.monotonic() + seconds)
    unprobed = {(key, offset) for _broker, key, offset in long_enough - prober.found.keys()}
    if unprobed:
        evidence.missed.append(
            f"{len(unprobed)} committed offsets were not looked for in forked logs within {seconds:g} s (duration), first in {min(unprobed)[0][0]}"
        )
    for row in committed:
        _group, key, offset, epoch = row
        if (key, offset - 1) in unprobed:
            continue
        for broker in survivors[key]:
            held: bool | None = False
            if (broker, key, offset - 1) in prober.found:
                batch = prober.found[broker, key, offset - 1]
                held = batch.epoch == epoch if batch is not None and batch.holds(offset - 1) and epoch >= 0 else None
            yield _proof(row, broker, held)


def _proof(committed: Committed, broker: int, held: bool | None) -> dict[str, Any]:
    group, key, offset, epoch = committed
    return {
        "topic": key[0],
        "partition": key[1],
        "source": "consumer_group",
        "name": group,
        "offset": offset,
        "leader_epoch": epoch,
        "broker_id": broker,
        "held": held,
    }
