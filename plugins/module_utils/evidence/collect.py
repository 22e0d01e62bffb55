# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Collects evidence: the log of each survivor, and for each pair of survivors whether one log is a prefix of the other.

The pairs hold for any leader. Package `decision` chooses the leader.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import deadline
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError, RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import EVIDENCE_ROWS, ROW_KB
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.time_budget import Budget
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence import log_comparison
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.committed_proofs import bounded_proofs, proof_rows
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.documents import Evidence
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.failed_disks import Replica
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.replica_logs import (
    FirstAnswers,
    LogSource,
    Replicas,
    fenced_by_epoch,
    is_ahead,
    read_logs,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import UNFENCED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    TopicPartition,
    has_live_leader,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.replica_log import ReplicaLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.topic_configs import TopicConfigs


def collect_evidence(
    cluster: LogSource,
    states: Sequence[PartitionState],
    budget: Budget,
    silent: Collection[tuple[TopicPartition, int]] = (),
    awaited: Collection[TopicPartition] = (),
    max_rows: int = EVIDENCE_ROWS,
) -> Evidence:
    """Read the logs of all survivors of `states` that have no live leader, compare them, and find committed offsets in forked logs.

    Brokers that do not answer, and replicas that are not ready, are queried again until their part of `budget` is over or the broker is fenced. A
    replica that never answered has the error NO_ANSWER. If a log is ahead of the controller, the states of its partition are read again. `missed` and
    `cut` of the result say what there was no time for. Fenced brokers that answer are queried once, and their logs compared too.

    silent   replicas, by partition and broker, that are queried only once
    awaited  partitions that are queried until their first answer, see `FirstAnswers`
    max_rows see `check_size`

    Raises RecoveryError if there are too many partitions, and ClusterError if the cluster does not answer.
    """
    check_size(states, max_rows)
    with budget.state():
        brokers = _Brokers(cluster, states)
        states = [_without_dead_leader(state, brokers.unfenced) for state in _reread_fenced_leaders(cluster, states, brokers.unfenced)]
        # A reassignment may have ended meanwhile.
        brokers.include(states)
    offline = _without_leader(states)
    cut_off = dict.fromkeys((state.key, broker) for state in offline for broker in state.replicas if broker in cluster.cut_off)
    logs = _read_survivors(cluster, offline, brokers.unfenced, budget, silent, awaited, list(cut_off))
    epochs = {state.key: state.leader_epoch for state in offline}
    ahead = {key for (key, _broker), log in logs.items() if is_ahead(log, epochs[key])}
    if cut_off or ahead or any(log.error or log.probe_error for log in logs.values()):
        with budget.state():
            states = _read_again(cluster, states, brokers, ahead)
        if ahead:
            offline = _without_leader(states)
            logs = dict(_logs_of(offline, logs, cut_off))
    evidence = _sorted_by_broker(states, brokers, logs, cut_off, cluster.cut_off)
    with budget.part():
        evidence.configs = _configs(cluster, {state.topic for state in offline}, evidence.cut)
    prober = log_comparison.Prober(cluster.batches)
    _compare_logs(cluster, evidence, offline, prober, budget)
    evidence.proofs = bounded_proofs(proof_rows(cluster, evidence, prober, budget), evidence.missed)
    return evidence


def _without_leader(states: Iterable[PartitionState]) -> list[PartitionState]:
    return [state for state in states if state.leader < 0]


def _read_survivors(
    cluster: LogSource,
    offline: Sequence[PartitionState],
    unfenced: Collection[int],
    budget: Budget,
    silent: Collection[Replica],
    awaited: Collection[TopicPartition],
    cut_off: Sequence[Replica],
) -> Replicas:
    """Return the logs of the replicas of `offline` on unfenced brokers, and those of `cut_off`, which are queried once, as those of `silent`."""
    alive = [(state.key, broker) for state in offline for broker in state.replicas if broker in unfenced]
    wanted, queried_once = ([replica for replica in alive if (replica in silent) == once] for once in (False, True))
    with budget.logs() as seconds:
        epochs = {state.key: state.leader_epoch for state in offline}
        first = FirstAnswers(awaited, budget.first_answer_seconds)
        return read_logs(cluster, wanted, seconds, epochs, [*cut_off, *queried_once], first)


def _read_again(
    cluster: LogSource, states: Sequence[PartitionState], brokers: _Brokers, ahead: Collection[TopicPartition]
) -> Sequence[PartitionState]:
    """Read the brokers again, and return `states` with those of the partitions `ahead` read again.

    A broker that did not answer may be fenced by now: then it is a lost broker, not a silent survivor. A fenced one may be back, with another log.
    """
    now = cluster.partitions(ahead) if ahead else {}
    brokers.read()
    if not ahead:
        return states
    # The controller may have elected a leader since the states were read, and lost it again: then it knows these epochs.
    current = [_without_dead_leader(now[state.key], brokers.unfenced) if state.key in ahead & now.keys() else state for state in states]
    brokers.include(current)
    return current


def _sorted_by_broker(
    states: Sequence[PartitionState], brokers: _Brokers, logs: Replicas, cut_off: Collection[Replica], cut_off_brokers: Collection[int]
) -> Evidence:
    """Return evidence with these logs: those of survivors, and those of fenced brokers that were read or could not be read."""
    replicas = {replica: log for replica, log in logs.items() if replica[1] in brokers.unfenced and replica not in cut_off}
    # A broker that was fenced after its log was read, but still answers, keeps that log.
    fenced_logs = {
        replica: log
        for replica, log in logs.items()
        if replica[1] not in brokers.unfenced and (replica in cut_off or replica[1] in cut_off_brokers)
    }
    fenced = {replica: log for replica, log in fenced_logs.items() if log.error is None}
    unread = {replica: log for replica, log in fenced_logs.items() if log.error is not None}
    return Evidence(states, brokers.rows, replicas, fenced=fenced, unread=unread)


def _compare_logs(
    cluster: LogSource, evidence: Evidence, offline: Sequence[PartitionState], prober: log_comparison.Prober, budget: Budget
) -> None:
    """Add the pairs of logs of each partition, compared as far as there is time. `cut` of the evidence says how many are not."""
    for state in offline:
        key = state.key
        answered = sorted(
            broker for broker in state.replicas if (log := evidence.replicas.get((key, broker))) is not None and log.error is None
        )
        evidence.pairs += [log_comparison.pair_row(key, one, other) for one, other in combinations(answered, 2)]
        if evidence.fenced and (answered_fenced := {broker for broker in state.replicas if (key, broker) in evidence.fenced}):
            pairs = combinations(sorted([*answered, *answered_fenced]), 2)
            evidence.fenced_pairs += [log_comparison.pair_row(key, *pair) for pair in pairs if {*pair} & answered_fenced]
    pairs_of_all = [*evidence.pairs, *evidence.fenced_pairs]
    logs = {**evidence.replicas, **evidence.fenced}
    with budget.part():
        if left := log_comparison.settle(pairs_of_all, logs, prober, cluster.epoch_ends, evidence.configs.compacted):
            evidence.cut.append(f"{left} of {len(pairs_of_all)} pairs of logs were not compared to the end")


def _configs(cluster: LogSource, topics: Collection[str], cut: list[str]) -> TopicConfigs:
    """Return the configs of these topics, none if there was no time to read them."""
    try:
        return cluster.topic_configs(topics)
    except ClusterError as error:
        if not deadline.has_passed():
            raise
        cut.append(f"topic configs were not read ({error})")
        return TopicConfigs()


class _Brokers:
    """The brokers of the cluster and of its partitions, as read last. `rows`: as `Cluster.broker_states` returns them; `unfenced`: ids."""

    def __init__(self, cluster: LogSource, states: Sequence[PartitionState]) -> None:
        self._cluster = cluster
        self.rows: list[dict[str, Any]] = []
        self.unfenced: set[int] = set()
        self._mentioned = {broker for state in states for broker in state.replicas}
        self.read()

    def read(self) -> None:
        """Read the states of the brokers again."""
        self.rows = self._cluster.broker_states(self._mentioned)
        self.unfenced = {row["broker_id"] for row in self.rows if row["broker_state"] == UNFENCED}

    def include(self, states: Sequence[PartitionState]) -> None:
        """Read the states again if these partitions have replicas on brokers that are not among them."""
        mentioned = {broker for state in states for broker in state.replicas}
        if not mentioned <= self._mentioned:
            self._mentioned |= mentioned
            self.read()


def _without_dead_leader(state: PartitionState, unfenced: Collection[int]) -> PartitionState:
    """Return the state, with leader -1 if its leader is not alive."""
    return state if state.leader == -1 or has_live_leader(state, unfenced) else replace(state, leader=-1)


def _logs_of(
    offline: Sequence[PartitionState], logs: Replicas, once: Collection[tuple[TopicPartition, int]]
) -> Iterator[tuple[tuple[TopicPartition, int], ReplicaLog]]:
    """Yield the logs of these partitions. A log that was read in an older leader epoch may have changed, and gets the error STALE_METADATA."""
    epochs = {state.key: state.leader_epoch for state in offline}
    for replica, log in logs.items():
        if replica[0] in epochs:
            yield replica, log if replica in once else fenced_by_epoch(log, epochs[replica[0]])


def _reread_fenced_leaders(cluster: LogSource, states: Sequence[PartitionState], unfenced: Collection[int]) -> Iterator[PartitionState]:
    """Yield the states. Those whose leader has been fenced meanwhile are read again, because the controller has given them a new leader epoch."""
    fenced = {state.key for state in states if state.leader >= 0 and state.leader not in unfenced}
    now = cluster.partitions(fenced) if fenced else {}
    yield from (now.get(state.key, state) if state.key in fenced else state for state in states)


def check_size(states: Sequence[PartitionState], max_rows: int = EVIDENCE_ROWS) -> None:
    """Raise RecoveryError if the evidence of these partitions has more than `max_rows` rows: partitions, replicas and pairs of replicas."""
    count = sum(1 + len(state.replicas) * (len(state.replicas) + 1) // 2 for state in states)
    if count > max_rows:
        raise RecoveryError(
            f"the evidence of {len(states)} partitions would be {count} rows (partitions, replicas, pairs of replicas), and max_evidence_rows is "
            f"{max_rows}: with {count * ROW_KB >> 20 or 1} GB of free memory run with -e kafka_recovery_max_evidence_rows={count}, else name some of them "
            "with partitions_file (kafka_recovery_partitions_file), and the others in further runs"
        )
