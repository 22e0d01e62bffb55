# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The explanation of a decision for the operator. Every finding is stated, not only the one that decided. Pure.

Lengths are offsets: a range of offsets holds at most that many records (compaction and transaction markers leave gaps).
"""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.comparison import Lack, follows
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Action, Decision, Word
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.disk_text import disk_text
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import (
    COMING_BACK,
    HEALTHY_SNAPSHOT,
    IMPOSSIBLE_ANSWER,
    NO_ANSWER,
    REMOTE_LOG_METADATA,
    ClusterHeader,
    Log,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.fork_text import (
    hidden_forks_text,
    prefixes_text,
    starts_text,
    tails_text,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.held_text import remedy
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.log_pairs import brokers_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.loss import Loss
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.loss_text import loss_text, uncounted_text
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.phrases import (
    broker_list,
    client_name,
    comma_list,
    instant,
    plural,
    proof_text,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.returns import elected_by_return, waited_for
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.shared_sentences import disk_failed

# The most proofs of one offset that an explanation names.
MOST_NAMES = 5


def explanation(decision: Decision, loss: Loss, cluster: ClusterHeader) -> str:
    """Return one text about a partition, the same whichever of several identical logs leads. What to do about a held one comes first."""
    parts = (
        remedy(decision, cluster),
        _defects(decision),
        _best(decision),
        prefixes_text(decision),
        " and ".join(starts_text(decision)),
        " and ".join(hidden_forks_text(decision)),
        " and ".join(tails_text(decision)),
        _history(decision),
        _proof(decision),
        " and ".join(_beyond(decision)),
        _unwritten(decision),
        " and ".join(_unanswered(decision)),
        " and ".join(_uncompared(decision)),
        " and ".join(_failed(decision)),
        _offsets_unread(decision),
        " and ".join(_corrupt(decision)),
        " and ".join(_fenced(decision)),
        ", ".join(_end(decision)),
        ", ".join(_lost(decision, cluster)),
        loss_text(decision, loss, cluster),
        uncounted_text(decision),
        ", ".join(elected_by_return(decision, cluster)),
        ", ".join(waited_for(decision, cluster)),
        _tiered(decision),
        _unclean(decision),
        _writable(decision),
    )
    return "; ".join(part for part in parts if part)


def _defects(decision: Decision) -> str | None:
    defects = decision.evidence.defects
    return f"the evidence of this partition cannot be trusted ({', '.join(defects)})" if defects else None


def _best(decision: Decision) -> str | None:
    log, best = decision.winner, decision.identical
    if log is None:
        return None
    if len(best) > 1:
        spread = f"; leadership is spread over brokers {comma_list(decision.choices)}" if len(decision.choices) > 1 else ""
        return f"brokers {comma_list(best)} hold the best log, identical on each: it ends at offset {log.end}{_last_written(log)}{spread}"
    stands = plural(len(decision.survivors), "is the only survivor", "holds the best log")
    return f"broker {log.broker_id} {stands}: it ends at offset {log.end}{_last_written(log)}"


def _last_written(log: Log) -> str:
    if log.last_written_epoch is None:
        return ", in a leader epoch that could not be read"
    return f", last written in leader epoch {log.last_written_epoch}" if log.last_written_epoch >= 0 else " and is empty"


def _history(decision: Decision) -> str | None:
    """Return what the ISR history says if logs fork."""
    proof, history = decision.isr_proof, decision.evidence.history
    if decision.word == Word.FORKED_RESOLVED and decision.winner and decision.winner.broker_id in proof.agreeing:
        return (
            f"no survivor agrees longer with the log of {broker_list(proof.members)}, which was in the ISR or ELR when it was lost, so every committed "
            "record that a survivor has is on this branch"
        )
    if decision.word == Word.FORKED_RESOLVED and history:
        return (
            f"the ISR history resolves it: since {broker_list(proof.holders)} left the ISR it has always been smaller than min.insync.replicas "
            f"({history.min_insync_replicas}), so nothing was committed any more, and every committed record is on this branch"
        )
    if not decision.tails and not decision.hidden_forks:
        return None
    if decision.contradicted:
        complete = broker_list(proof.holders or proof.members)
        return f"the ISR history says that {complete} would hold every committed record, but what is proven committed is not there"
    return f"the ISR history does not resolve it: {proof.gap}" if proof.gap and not decision.resolved else None


def _proof(decision: Decision) -> str | None:
    """Return what proves that the winner's branch is the committed one."""
    if not decision.singled_out:
        return None
    greatest = max(point.offset for point in decision.points)
    proofs = {
        f"the high watermark of broker {point.holder}"
        if point.source == "high_watermark"
        else f"the high watermark in the healthy snapshot {point.name}"
        if point.source == HEALTHY_SNAPSHOT
        else f"the committed offset of {point.source.replace('_', ' ')} {client_name(point.name or '')}"
        for point in decision.points
        if point.offset == greatest
    }
    named = [*sorted(proofs)[:MOST_NAMES], *([f"{len(proofs) - MOST_NAMES} more"] if len(proofs) > MOST_NAMES else [])]
    return (
        f"everything below offset {greatest} on its branch is proven committed by {' and '.join(named)}, "
        "and the other branch lacks some of it"
    )


def _beyond(decision: Decision) -> Iterator[str]:
    for row in decision.beyond:
        yield (
            f"broker {row.other.broker_id}'s high watermark {row.other.high_watermark} says that committed records would be lost, "
            f"since only offsets below {row.common_offset or 0} are known to be shared"
        )
    # Clients may have committed many. The one that reaches furthest says it.
    for point, common_offset in sorted((lack for lack in decision.lacking if lack.point.source != "high_watermark"), key=_reach)[-1:]:
        yield (
            f"offsets {common_offset} to {point.offset - 1} in the log of broker {point.holder} are committed, by "
            f"{proof_text(point.source, point.name, point.holder)}, and the best log does not have them"
        )


def _reach(lack: Lack) -> tuple[int, int]:
    return lack.point.offset, -lack.common_offset


def _unwritten(decision: Decision) -> str | None:
    if not decision.unwritten:
        return None
    return f"the last-written epoch of {broker_list(decision.unwritten)} could not be read"


def _unanswered(decision: Decision) -> Iterator[str]:
    for log in decision.unanswered:
        error = "no log end offset" if log.error is None else log.error
        yield f"broker {log.broker_id} is alive but did not answer for its replica ({error})"


def _uncompared(decision: Decision) -> Iterator[str]:
    for row in decision.uncompared:
        reason = "no reason given" if row.reason is None else row.reason
        yield f"whether broker {row.other.broker_id}'s log (to offset {row.other.end}) fits it is not known ({reason})"


def _failed(decision: Decision) -> Iterator[str]:
    for broker, row in decision.failed:
        reason = "no reason given" if row.reason is None else row.reason
        yield f"broker {broker} may not lead: whether its log fits that of broker {row.other.broker_id} is not known ({reason})"


def _offsets_unread(decision: Decision) -> str | None:
    if not decision.evidence.offsets_unread:
        return None
    return "groups may have committed offsets that were not read, or not looked for in these logs: they may prove another branch"


def _corrupt(decision: Decision) -> Iterator[str]:
    for pair in decision.corrupt:
        yield pair.reason or f"brokers {pair.broker_a} and {pair.broker_b} have different bytes in one leader epoch"


def _fenced(decision: Decision) -> Iterator[str]:
    """Yield what fenced brokers hold that answered, and what to do about those that hold more than the winner."""
    relations, unsure = {row.other.broker_id: row for row in decision.fenced}, brokers_of(decision.hidden_forks)
    repair = "repair its connection to the controllers first"
    for log in decision.lost:
        broker, row = log.broker_id, relations.get(log.broker_id)
        if not log.answered:
            continue
        if log.read_from_disk_at is not None:
            yield disk_text(decision, log, row, broker in unsure)
        elif row is None:
            yield f"broker {broker} is fenced but answers, and its log ends at offset {log.end}: {repair}"
        elif follows(row) and broker not in unsure:
            yield f"broker {broker} is fenced but answers, and its log (to offset {log.end}) holds nothing more"
        elif row.beyond_common is None or broker in unsure:
            yield f"broker {broker} is fenced but answers, and whether its log (to offset {log.end}) holds more is not known: {repair}"
        else:
            more = f"{row.beyond_common} more {plural(row.beyond_common, 'offset', 'offsets')}"
            yield f"the fenced broker {broker} holds {more} ({row.common_offset} to {log.end - 1}): {repair}"


def _end(decision: Decision) -> Iterator[str]:
    """Yield since when the partition is offline, and which survivors were in the ISR last."""
    history, proof = decision.evidence.history, decision.isr_proof
    if history and history.offline_since is not None:
        last_isr = "null" if history.last_isr is None else comma_list(history.last_isr)
        yield f"it has had no leader since {instant(history.offline_since)}, when the ISR was [{last_isr}]"
    if proof.left_at is not None and len(decision.survivors) > 1:
        yield f"{broker_list(proof.left_last)} left the ISR last of the survivors, at {instant(proof.left_at)}"


def _lost(decision: Decision, cluster: ClusterHeader) -> Iterator[str]:
    """Yield why lost replicas were not read: a failed disk, a broker that is coming back, an impossible answer, an error, or for how many seconds it is
    silent."""
    for log in decision.unread:
        broker = cluster.brokers.get(log.broker_id)
        if log.disk_failed:
            yield disk_failed(log.broker_id, log.failed_log_dirs or ())
        elif log.broker_state == COMING_BACK:
            yield f"broker {log.broker_id} is coming back"
        elif log.error == IMPOSSIBLE_ANSWER:
            yield f"broker {log.broker_id} is fenced, and its answer cannot be true, so it counts as none"
        elif log.error not in (None, NO_ANSWER):
            yield f"broker {log.broker_id} is fenced but answers, with the error {log.error}, so what it holds is not known"
        elif broker is None or broker.silent_seconds is None:
            yield f"broker {log.broker_id} is fenced, since when is not known"
        else:
            yield f"broker {log.broker_id} has been silent for {int(broker.silent_seconds)} s"


def _tiered(decision: Decision) -> str | None:
    """Return what an election does to remote storage. Of a partition that is held the remedy says it."""
    if not decision.evidence.tiered or decision.action != Action.ELECT or decision.winner is None:
        return None
    log = decision.winner
    if decision.evidence.topic == REMOTE_LOG_METADATA:
        has, cost = "brokers find all segments in remote storage", "brokers do not find segments in remote storage whose records are lost"
    else:
        has = "the topic has tiered storage, and all of it stays readable"
        cost = (
            "the topic has tiered storage, and what lost brokers copied there of records that this log never had is readable no longer "
            f"(from offset {log.end} on, or on another branch)"
        )
    return f"{has}: the log is known to hold every committed record" if decision.complete else cost


def _unclean(decision: Decision) -> str | None:
    if not decision.state.unclean_leader_election_enable:
        return None
    return "unclean.leader.election.enable is true: the controller elects any live replica by itself, without a look at its log, and may be faster"


def _writable(decision: Decision) -> str | None:
    """Return what the partition cannot do with its new leader: with fewer live replicas than min.insync.replicas it can only be read."""
    live, wanted = len(decision.survivors) + len(decision.unanswered), decision.state.min_insync_replicas
    if not decision.survivors or wanted is None or live >= wanted:
        return None
    missing = wanted - live
    return (
        f"once elected it is online but not writable with acks=all: {live} live {plural(live, 'replica', 'replicas')}, min ISR {wanted}, "
        f"until {missing} more {plural(missing, 'is', 'are')} back"
    )
