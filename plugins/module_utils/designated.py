# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Leaders that an operator named, without a plan: their evidence is collected live before anything is elected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.brokers import UNFENCED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import Electing
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence import Evidence, ReplicaLog, gather
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.guards import NAMED, Entry
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.partitions import (
    PartitionError,
    PartitionState,
    TopicPartition,
    in_recovery_order,
    only_known,
)

SHOWN = 5  # partitions that a warning names


class Designated(NamedTuple):
    """What operators designated, with the evidence of now, and what they should know before it is elected."""

    entries: list[Entry]
    warnings: list[str]


def designations(rows: Sequence[Mapping[str, Any]], source: str) -> dict[TopicPartition, int]:
    """Return the designated leader by partition. Rows have `topic`, `partition`, `designated_leader`.

    PartitionError for one named twice, and where none is named: a list that a template made empty must not look like a recovery.
    """
    if not rows:
        raise PartitionError(f"{source}: no partition is named; name some, each with the leader that it shall get")
    named: dict[TopicPartition, int] = {}
    for row in rows:
        key = row["topic"], row["partition"]
        if key in named:
            raise PartitionError(f"{source}: {key[0]}-{key[1]} is named twice; name each partition once")
        named[key] = row["designated_leader"]
    return named


def collect(cluster: Electing, named: Mapping[TopicPartition, int], duration: float) -> Designated:
    """Gather live evidence for these partitions and return them as entries. Warnings name committed records that are given up.

    Raises PartitionError, before anything is written, for partitions that do not exist and for designated brokers that are not in the
    replica set, fenced, or without an answer within `duration` seconds.
    """
    keys = sorted(named, key=in_recovery_order)
    states = only_known(keys, cluster.partitions(keys))
    strangers = [f"{_name(state)}: broker {named[state.key]} is not among its replicas {list(state.replicas)}" for state in states
                 if named[state.key] not in state.replicas]  # fmt: skip
    if strangers:
        raise PartitionError(f"designated leaders cannot be elected: {'; '.join(strangers)}")
    evidence = gather(cluster, states, duration)
    broker_states = {row["broker_id"]: row["broker_state"] for row in evidence.brokers}
    problems = [
        problem for state in evidence.states if state.leader < 0 for problem in _problems(state, named[state.key], evidence, broker_states)
    ]
    if problems:
        raise PartitionError(f"designated leaders cannot be elected: {'; '.join(problems)}; designate a broker that is alive")
    pairs: dict[TopicPartition, list[dict[str, Any]]] = {}
    for pair in evidence.pairs:
        pairs.setdefault((pair["topic"], pair["partition"]), []).append(pair)
    logs: dict[TopicPartition, dict[int, ReplicaLog]] = {}
    for (key, broker), log in evidence.replicas.items():
        logs.setdefault(key, {})[broker] = log
    entries = [_entry(state, named[state.key], logs.get(state.key, {}), pairs.get(state.key, [])) for state in evidence.states]
    given_up = [sentence for entry in entries for sentence in _proven(entry, logs.get(entry.key, {}))]
    more = [f"and {len(given_up) - SHOWN} more"] if len(given_up) > SHOWN else []
    return Designated(entries, [f"committed records are given up: {'; '.join(given_up[:SHOWN] + more)}"] if given_up else [])


def _proven(entry: Entry, logs: Mapping[int, ReplicaLog]) -> Iterator[str]:
    """The committed records that survivors truncate when they follow the designated leader, as far as their high watermarks prove them."""
    for row in entry.truncated:
        log = logs[row["broker_id"]]
        end = min(log.high_watermark or 0, log.log_end_offset or 0)
        if end > row["offset"]:
            yield (
                f"{entry.topic}-{entry.partition}: broker {row['broker_id']} proves offsets {row['offset']} to {end - 1} committed (its high "
                f"watermark), and leader {entry.designated_leader} does not have them"
            )


def _name(state: PartitionState) -> str:
    return f"{state.topic}-{state.partition}"


def _problems(state: PartitionState, designated: int, evidence: Evidence, broker_states: Mapping[int, str]) -> Iterator[str]:
    if broker_states[designated] != UNFENCED:
        yield f"{_name(state)}: broker {designated} is {broker_states[designated]}"
    else:
        error = evidence.replicas[state.key, designated].error
        if error is not None:
            yield f"{_name(state)}: broker {designated} does not answer for its replica ({error})"


def _entry(state: PartitionState, designated: int, logs: Mapping[int, ReplicaLog], pairs: Sequence[Mapping[str, Any]]) -> Entry:
    return Entry(
        topic=state.topic,
        partition=state.partition,
        designated_leader=designated,
        best_first=(designated, *(broker for broker in state.replicas if broker != designated)),
        topic_id=state.topic_id,
        leader_epoch=state.leader_epoch,
        replicas=state.replicas,
        survivors={broker: (log.last_written_epoch, log.log_end_offset or 0) for broker, log in logs.items() if log.error is None},
        evidence=NAMED,
        strategy="balanced",
        truncated=list(_truncated(designated, pairs, logs)),
        broker_epochs={broker: log.broker_epoch for broker, log in logs.items() if log.error is None and log.broker_epoch is not None},
        isr=state.isr,
        eligible_leader_replicas=state.eligible_leader_replicas,
        last_known_elr=state.last_known_elr,
    )


def _truncated(designated: int, pairs: Sequence[Mapping[str, Any]], logs: Mapping[int, ReplicaLog]) -> Iterator[dict[str, Any]]:
    """What the other survivors lose when they follow the designated leader: everything from the end of the common part on."""
    for pair in pairs:
        if designated in (pair["broker_a"], pair["broker_b"]) and pair["common_offset"] is not None:
            other = pair["broker_b"] if pair["broker_a"] == designated else pair["broker_a"]
            records = (logs[other].log_end_offset or 0) - pair["common_offset"]
            if records > 0:
                yield {"broker_id": other, "offset": pair["common_offset"], "records": records}
