# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What cannot be true of an evidence document. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import (
    CORRUPT,
    FORKED,
    SAME,
    UNFENCED,
    UNKNOWN,
    ClusterHeader,
    Log,
    Pair,
    PartitionEvidence,
    State,
)


def contradictions(found: PartitionEvidence, state: State, pairs: int) -> Iterator[str]:
    """Yield a sentence for each contradiction inside one document. `pairs`: how many comparisons the document has.

    The seal proves that the document is as it was written. So a contradiction is a defect of what wrote it, and the whole document proves nothing.
    """
    replicas = {*state.replicas}
    if not replicas or len(replicas) < len(state.replicas):
        yield "replicas is empty, or names a broker twice"
    if state.leader >= 0 and state.leader not in replicas:
        yield f"its leader is broker {state.leader}, which is not one of its replicas"
    # Kafka does not filter the ELR: after a reassignment, or a cancelled one, it may name a broker that is no replica any more.
    if not replicas.issuperset(state.isr):
        yield "isr names a broker that is not one of its replicas"
    if (state.min_insync_replicas or 1) > max(1, len(state.replicas)):
        yield "min_insync_replicas is greater than the number of replicas"
    logs = {log.broker_id: log for log in found.logs}
    if len(logs) < len(found.logs):
        yield "two logs of one replica"
    if not logs.keys() <= replicas:
        yield "the log of a broker outside the assignment"
    if state.leader < 0 and not logs.keys() >= replicas:
        yield "nothing about the log of one of its replicas"
    for log in found.logs:
        if exceeds_its_end(log):
            yield f"the log of broker {log.broker_id} starts, or has its high watermark, beyond its end"
    yield from _between(found, logs, pairs)
    if found.history and not _in_order([change.offset for change in found.history.changes]):
        yield "a history that is not in order"
    if found.healthy and found.healthy.high_watermark > found.healthy.log_end_offset:
        yield "a healthy snapshot whose high watermark is beyond the log end"


def beside_header(found: PartitionEvidence, cluster: ClusterHeader) -> PartitionEvidence:
    """Return the evidence, with a defect for each contradiction between it and the header of its landing file.

    Both were written from one description of the brokers. So every replica, and with it every member of the ISR, is on a broker of the header, and only
    what is alive by the header can lead or be a survivor. Not checked: the ELR and the last known ELR, in which Kafka leaves brokers that are no replicas
    any more; and members of ISR and ELR that are alive while nothing leads, because the controller may be about to elect them.
    """
    defects = tuple(_beside_header(found, cluster))
    return replace(found, defects=(*found.defects, *defects)) if defects else found


def _beside_header(found: PartitionEvidence, cluster: ClusterHeader) -> Iterator[str]:
    if found.state is None:
        return
    if found.state.leader >= 0 and not _is_alive(found.state.leader, cluster):
        yield f"its leader is broker {found.state.leader}, which is not alive by the header"
    for log in found.logs:
        if log.broker_state == UNFENCED and not _is_alive(log.broker_id, cluster):
            yield f"broker {log.broker_id} is alive by its log, and not by the header"
    for broker in found.state.replicas:
        if broker not in cluster.brokers:
            yield f"its replica is on broker {broker}, which the header does not name"


def _is_alive(broker: int, cluster: ClusterHeader) -> bool:
    row = cluster.brokers.get(broker)
    return row is not None and row.broker_state == UNFENCED


def exceeds_its_end(log: Log) -> bool:
    """Whether the start or the high watermark of a log lies beyond its end."""
    end = log.log_end_offset
    return end is not None and max(log.log_start_offset or 0, log.high_watermark or 0) > end


def _between(found: PartitionEvidence, logs: Mapping[int, Log], pairs: int) -> Iterator[str]:
    if pairs > len(found.pairs):
        yield "two comparisons of one pair"
    for pair in found.pairs.values():
        if not fits(pair, logs):
            yield f"the comparison of brokers {pair.broker_a} and {pair.broker_b} does not fit their logs"
    for proof in found.proofs:
        holder = logs.get(proof.broker_id)
        if holder is None or not holder.answered or (proof.held and proof.offset > holder.end):
            yield f"a committed offset that broker {proof.broker_id} cannot hold"


def _in_order(offsets: Sequence[int]) -> bool:
    return list(offsets) == sorted(offsets)


def _same_epoch(one: Log, other: Log) -> bool:
    return None in (one.last_written_epoch, other.last_written_epoch) or one.last_written_epoch == other.last_written_epoch


def fits(pair: Pair, logs: Mapping[int, Log]) -> bool:
    """Whether a comparison can be true of these logs."""
    one, other = logs.get(pair.broker_a), logs.get(pair.broker_b)
    if one is None or other is None or pair.broker_a >= pair.broker_b or not (one.answered and other.answered):
        return False
    if pair.relation in (UNKNOWN, CORRUPT):
        return True
    if pair.common_offset is None:
        return False
    if pair.relation == FORKED:
        return pair.common_offset <= min(one.end, other.end)
    if pair.relation == SAME:
        return one.end == other.end == pair.common_offset and _same_epoch(one, other)
    if pair.shorter not in (pair.broker_a, pair.broker_b):
        return False
    shorter, longer = (one, other) if pair.shorter == pair.broker_a else (other, one)
    return shorter.end <= longer.end and pair.common_offset == shorter.end
