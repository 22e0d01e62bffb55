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
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils import forks
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.brokers import UNFENCED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import deadline
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.bounds import EVIDENCE_ROWS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.schema import MOST_PROOFS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.partitions import (
    PartitionError,
    PartitionState,
    TopicPartition,
    has_live_leader,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.replica_logs import (
    Asked,
    Committed,
    ReplicaLog,
    Replicas,
    log_fields,
    read_logs,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.topic_configs import TopicConfigs

# For committed offsets, also if `duration` is shorter.
LEAST_PROOF_SECONDS = 10.0
# For comparisons of logs, also if `duration` is shorter.
LEAST_SETTLE_SECONDS = 30.0
# Of a partition, beside those of healthy snapshots.
KEPT_PROOFS = MOST_PROOFS - 64
LONGEST_NAME = 255


@dataclass
class Evidence:
    """What was gathered: broker rows, replica logs by (partition, broker), pair rows, proof rows (see `documents`), history rows of `isr_history`,
    rows of `last_healthy`, configs. `missed`: why there may be more proofs.

    `fenced`: logs on fenced brokers that answer, which the controller does not elect; `fenced_pairs`: how they relate to each other and to the others.
    """

    states: Sequence[PartitionState]
    brokers: list[dict[str, Any]]
    replicas: Replicas = field(default_factory=dict)
    pairs: list[dict[str, Any]] = field(default_factory=list)
    proofs: list[dict[str, Any]] = field(default_factory=list)
    histories: list[dict[str, Any]] = field(default_factory=list)
    healthy: list[dict[str, Any]] = field(default_factory=list)
    configs: TopicConfigs = field(default_factory=TopicConfigs)
    missed: list[str] = field(default_factory=list)
    fenced: Replicas = field(default_factory=dict)
    fenced_pairs: list[dict[str, Any]] = field(default_factory=list)

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
        pairs, proofs = _by_partition([*self.pairs, *self.fenced_pairs]), _by_partition(self.proofs)
        replicas = {**self.replicas, **self.fenced}
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
                        **log_fields(broker_id, replicas.get((state.key, broker_id), ReplicaLog(error=None))),
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


def gather(
    cluster: Asked, states: Sequence[PartitionState], duration: float, silent: Collection[tuple[TopicPartition, int]] = ()
) -> Evidence:
    """Read the logs of all survivors of `states` (partitions without a live leader; others pass through unread).

    Brokers that do not answer, and replicas that are not ready, are asked again until `duration` seconds have passed or the
    broker is fenced. What never answered keeps the error NO_ANSWER. Committed offsets are read, and then looked for in forked logs, for as long
    each, at least LEAST_PROOF_SECONDS; `missed` says what was left. Fenced brokers that answer are asked once, for their logs alone. `silent`: replicas
    that are asked once, too.
    """
    check_size(states)
    mentioned = {broker for state in states for broker in state.replicas}
    brokers = cluster.broker_states(mentioned)
    unfenced = {row["broker_id"] for row in brokers if row["broker_state"] == UNFENCED}
    states = [state if has_live_leader(state, unfenced) else replace(state, leader=-1) for state in _seen_again(cluster, states, unfenced)]
    if not {broker for state in states for broker in state.replicas} <= mentioned:
        # A reassignment has ended meanwhile.
        mentioned |= {broker for state in states for broker in state.replicas}
        brokers = cluster.broker_states(mentioned)
        unfenced = {row["broker_id"] for row in brokers if row["broker_state"] == UNFENCED}
    offline = [state for state in states if state.leader < 0]
    alive = [(state.key, broker) for state in offline for broker in state.replicas if broker in unfenced]
    wanted = [replica for replica in alive if replica not in silent]
    cut_off = dict.fromkeys((state.key, broker) for state in offline for broker in state.replicas if broker in cluster.cut_off)
    logs = read_logs(cluster, wanted, duration, {state.key: state.leader_epoch for state in offline}, [*cut_off, *({*alive} & {*silent})])
    if cut_off or any(log.error or log.probe_error for log in logs.values()):
        # What did not answer may have been fenced meanwhile: then it is a lost broker, not a silent survivor. A fenced one may be back, with another log.
        brokers = cluster.broker_states(mentioned)
        unfenced = {row["broker_id"] for row in brokers if row["broker_state"] == UNFENCED}
    replicas = {(key, broker): log for (key, broker), log in logs.items() if broker in unfenced and (key, broker) not in cut_off}
    # One that was fenced since its log was read, and answers still, keeps what it said.
    fenced = {
        (key, broker): log
        for (key, broker), log in logs.items()
        if broker not in unfenced and ((key, broker) in cut_off or broker in cluster.cut_off) and log.error is None
    }
    evidence = Evidence(states, brokers, replicas, fenced=fenced)
    prober = forks.Prober(cluster.batches)
    for state in offline:
        answered = sorted(
            broker for broker in state.replicas if (log := replicas.get((state.key, broker))) is not None and log.error is None
        )
        beside = [broker for broker in state.replicas if (state.key, broker) in fenced]
        evidence.pairs += [forks.pair_row(state.key, one, other) for one, other in combinations(answered, 2)]
        pairs = combinations(sorted([*answered, *beside]), 2)
        evidence.fenced_pairs += [forks.pair_row(state.key, *pair) for pair in pairs if {*pair} & {*beside}]
    with deadline.until(time.monotonic() + max(duration, LEAST_SETTLE_SECONDS)):
        forks.settle([*evidence.pairs, *evidence.fenced_pairs], {**replicas, **fenced}, prober, cluster.epoch_ends)
    evidence.proofs = bounded_proofs(_proofs(cluster, evidence, prober, max(duration, LEAST_PROOF_SECONDS)), evidence.missed)
    return evidence


def _seen_again(cluster: Asked, states: Sequence[PartitionState], unfenced: Collection[int]) -> Iterator[PartitionState]:
    """Yield the states, those whose leader has been fenced since as they are now: the controller gives them another leader epoch then."""
    fenced = {state.key for state in states if state.leader >= 0 and state.leader not in unfenced}
    now = cluster.partitions(fenced) if fenced else {}
    yield from (now.get(state.key, state) if state.key in fenced else state for state in states)


def check_size(states: Sequence[PartitionState]) -> None:
    """PartitionError if the evidence of these partitions is too much to be gathered at once."""
    count = sum(1 + len(state.replicas) * (len(state.replicas) + 1) // 2 for state in states)
    if count > EVIDENCE_ROWS:
        raise PartitionError(
            f"the evidence of {len(states)} partitions would be {count} rows (partitions, replicas, pairs of replicas), at most {EVIDENCE_ROWS} are "
            "gathered at once; name some of them with partitions_file (kafka_recovery_partitions_file), and the others in further runs"
        )


def _proofs(cluster: Asked, evidence: Evidence, prober: forks.Prober, seconds: float) -> Iterator[dict[str, Any]]:
    """What committed offsets of consumer groups prove of the survivors of offline partitions.

    Where logs fork: whether each survivor holds the last record that each group read, as of that record's epoch. Survivors are probed for it.
    Elsewhere only survivors whose log ends before that record. No batch confirms such an offset, so it is shown and counts for nothing, and no probe is
    needed. Of all groups the one that committed the greatest offset is named.
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
