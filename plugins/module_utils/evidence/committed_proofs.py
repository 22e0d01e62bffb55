# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the committed offsets of consumer groups prove of survivors: proof rows of evidence documents."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.consumer_groups import Committed
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import deadline
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.time_budget import Budget
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.checks import MOST_PROOFS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import CONSUMER_GROUP
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence import log_comparison, offset_confirmations
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.replica_logs import LogSource
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import INTERNAL_TOPICS, TopicPartition

if TYPE_CHECKING:
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.documents import Evidence

# Of a partition, beside those of healthy snapshots.
KEPT_PROOFS = MOST_PROOFS - 64
LONGEST_NAME = 255


def proof_rows(cluster: LogSource, evidence: Evidence, prober: log_comparison.Prober, budget: Budget) -> Iterator[dict[str, Any]]:
    """Yield what committed offsets of consumer groups prove of the survivors of offline partitions.

    Where logs fork: whether each survivor holds the last record that each group read, as of that record's epoch. Survivors are probed for it, and fenced
    brokers that answer and whose logs are party to the fork.
    Elsewhere only survivors whose log ends before that record. No batch confirms such an offset, so it is shown and counts for nothing, and no probe is
    needed. Of all groups the one that committed the greatest offset is named.

    Partitions of internal topics never have unread offsets: `__consumer_offsets` would wait for the offsets that are read from it.
    """
    answered: dict[TopicPartition, list[int]] = {}
    for (key, broker), log in evidence.replicas.items():
        if log.log_end_offset is not None:
            answered.setdefault(key, []).append(broker)
    forked, with_fenced = (
        {(pair["topic"], pair["partition"]) for pair in pairs if pair["relation"] == log_comparison.FORKED}
        for pairs in (evidence.pairs, evidence.fenced_pairs)
    )
    missed: list[str] = []
    with budget.part() as seconds:
        committed = _committed(cluster, answered.keys(), seconds, missed) if answered else []
    if missed:
        # Logs that could not be compared may fork, too.
        may_fork = (pair for pair in evidence.pairs if pair["relation"] not in (log_comparison.SAME, log_comparison.PREFIX))
        evidence.offsets_unread |= _waiting({(pair["topic"], pair["partition"]) for pair in may_fork})
        evidence.missed += missed
    furthest = {key: (group, key, offset, epoch) for group, key, offset, epoch in sorted(committed, key=lambda row: row[2])}
    searched = {key: sorted(answered.get(key, ())) for key in forked | with_fenced}
    for key, broker in evidence.fenced:
        if key in with_fenced:
            searched[key].append(broker)
    with budget.part() as seconds:
        held = [*_held(cluster, evidence, prober, searched, [row for row in committed if row[1] in searched], seconds, forked)]
    yield from held
    for key in sorted(furthest.keys() - searched.keys()):
        for broker in sorted(answered[key]):
            if (evidence.replicas[key, broker].log_end_offset or 0) < furthest[key][2]:
                yield proof_row(furthest[key], broker, False)


def _waiting(keys: Collection[TopicPartition]) -> set[TopicPartition]:
    """Return the partitions that wait for committed offsets."""
    return {key for key in keys if key[0] not in INTERNAL_TOPICS}


def _committed(cluster: LogSource, keys: Collection[TopicPartition], seconds: float, missed: list[str]) -> list[Committed]:
    """Return the committed offsets that prove something. None that were not read in time do."""
    try:
        return [row for row in cluster.committed_offsets(keys, seconds, missed) if row[2] > 0]
    except ClusterError as error:
        if not deadline.has_passed():
            raise
        missed.append(f"committed offsets were not read within {seconds:.1f} s: {error}")
        return []


def bounded_proofs(proofs: Iterable[dict[str, Any]], missed: list[str]) -> list[dict[str, Any]]:
    """Return as many proofs of each partition as fit into its document, with names that fit.

    Clients may commit any offset under any name, so the ones that decide stay first: of each survivor the greatest that it holds (it has all that a
    smaller one proves of it), then the greatest of the others. `missed` says of which partitions groups were left out.
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


def _held(
    cluster: LogSource,
    evidence: Evidence,
    prober: log_comparison.Prober,
    searched: Mapping[TopicPartition, Sequence[int]],
    committed: Sequence[Committed],
    seconds: float,
    forked: Collection[TopicPartition],
) -> Iterator[dict[str, Any]]:
    """Yield the proof rows of partitions with forks. `searched`: brokers to probe. `forked`: partitions whose survivors fork, which wait for proofs."""
    wanted: dict[offset_confirmations.Replica, set[offset_confirmations.Point]] = {}
    for _group, key, *point in committed:
        for broker in searched[key]:
            wanted.setdefault((key, broker), set()).add((point[0], point[1]))
    judged = offset_confirmations.confirm(
        wanted, {**evidence.replicas, **evidence.fenced}, evidence.configs.compacted, prober, cluster.epoch_ends
    )
    unread = {(key, point) for (key, broker), points in wanted.items() for point in points if point not in judged[key, broker]}
    if unread:
        evidence.offsets_unread |= _waiting({key for key, _point in unread} & {*forked})
        evidence.missed.append(
            f"{len(unread)} committed offsets were not looked for in forked logs within {seconds:.1f} s, first in {min(unread)[0][0]}; raise duration"
        )
    for row in committed:
        _group, key, offset, epoch = row
        if (key, (offset, epoch)) not in unread:
            for broker in searched[key]:
                yield proof_row(row, broker, judged[key, broker][offset, epoch])


def proof_row(committed: Committed, broker: int, held: bool | None) -> dict[str, Any]:
    """Return the row of one committed offset and one survivor. `held`: as in evidence documents."""
    group, key, offset, epoch = committed
    return {
        "topic": key[0],
        "partition": key[1],
        "source": CONSUMER_GROUP,
        "name": group,
        "offset": offset,
        "leader_epoch": epoch,
        "broker_id": broker,
        "held": held,
    }
