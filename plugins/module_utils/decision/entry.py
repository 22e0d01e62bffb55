# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The entry of a plan about one partition, field by field in the order in which a plan file has them. Pure.

Names inside of a field stand in the order of the alphabet, in which the digest of a plan is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.comparison import Relation
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Action, Decision
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.loss import Loss
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.waiting import in_sync_on_return

PARTITIONS, HELD, ONLINE = "partitions", "held", "online"
SECTIONS = {Action.ELECT: PARTITIONS, Action.HOLD: HELD, Action.LEAVE: ONLINE}

Fields = dict[str, object]


def fields(decision: Decision, loss: Loss, text: str, elr: bool | None) -> Fields:
    """Return the entry of a partition that is to be elected or held, for the section `SECTIONS[decision.action]`, ready for JSON.

    `text`: the explanation. `elr`: whether eligible leader replicas are on, None if that is not known.
    If the partition is to be elected, the two fields that `with_leader` adds are missing: which of several identical logs leads is decided
    for the whole cluster.
    """
    return _held(decision, loss, text) if decision.action == Action.HOLD else _elected(decision, loss, text, elr)


def online_fields(decision: Decision) -> Fields:
    """Return the entry of a partition that has a leader, ready for JSON."""
    return {**_place(decision), "leader": decision.state.leader}


def with_leader(lines: str, leader: int, order: Sequence[int]) -> str:
    """Add `designatedLeader` and `replicas_best_first` to the fields of an entry, each of them JSON on a line of its own.

    `order`: the replicas best-first, as `Decision.best_first`.
    """
    topic, partition, rest = lines.split("\n", 2)
    return f"{topic}\n{partition}\n{leader}\n[{','.join(map(str, best_first(order, leader)))}]\n{rest}"


def _elected(decision: Decision, loss: Loss, text: str, elr: bool | None) -> Fields:
    state = decision.state
    return {
        **_place(decision),
        "evidence": decision.word.value,
        "explanation": text,
        "guards": {
            "leader_epoch": state.leader_epoch,
            "replicas": list(state.replicas),
            "survivors": list(_survivors(decision)),
            "topic_id": state.topic_id,
        },
        "loss": loss_fields(loss),
        "truncated": list(truncated(decision)),
        "fenced_truncated": list(fenced_truncated(decision)),
        "isr": list(state.isr),
        "eligible_leader_replicas": list(state.eligible_leader_replicas),
        "last_known_elr": list(state.last_known_elr),
        "in_sync_on_return": list(in_sync_on_return(decision.evidence, state, elr)),
        "named": state.named,
        **_configs(decision),
    }


def _held(decision: Decision, loss: Loss, text: str) -> Fields:
    return {
        **_place(decision),
        "reason_code": decision.reason,
        "evidence": decision.word.value,
        "candidate": decision.winner.broker_id if decision.winner else None,
        "explanation": text,
        "loss": loss_fields(loss),
        "truncated": list(truncated(decision)),
        "survivors": list(_survivors(decision)),
        "named": decision.state.named,
        **_configs(decision),
    }


def _place(decision: Decision) -> Fields:
    return {"topic": decision.evidence.topic, "partition": decision.evidence.partition}


def _configs(decision: Decision) -> Fields:
    state = decision.state
    return {
        "min_insync_replicas": state.min_insync_replicas,
        "unclean_leader_election_enable": state.unclean_leader_election_enable,
    }


def best_first(order: Sequence[int], leader: int) -> list[int]:
    """All replicas in the order in which they should lead, if `leader` is chosen of the identical logs. `order`: as `Decision.best_first`."""
    return [leader, *(broker for broker in order if broker != leader)]


def loss_fields(loss: Loss) -> Fields:
    """The bounds of the loss, ready for JSON."""
    return {**loss._asdict(), "gaps": list(loss.gaps)}


def _survivors(decision: Decision) -> Iterator[Fields]:
    for log in decision.survivors:
        yield {
            "broker_epoch": log.broker_epoch,
            "broker_id": log.broker_id,
            "last_written_epoch": log.last_written_epoch,
            "log_end_offset": log.log_end_offset,
        }


def fenced_truncated(decision: Decision) -> Iterator[Fields]:
    """Yield what fenced brokers that answer lose once they reach the controllers again and follow the winner: as `truncated`, with `log_end_offset`.

    A log that was read from a disk is left out: its broker does not answer, and its disk keeps the records until that broker is started.
    """
    for row in decision.fenced:
        if row.other.read_from_disk_at is not None:
            continue
        if row.common_offset is None or row.common_offset < row.other.end:
            yield {
                "broker_id": row.other.broker_id,
                "log_end_offset": row.other.end,
                **_lost(decision, row),
            }


def truncated(decision: Decision) -> Iterator[Fields]:
    """Yield what survivors lose when the winner, or a log that is identical, leads: from `offset` on, at most `records`; both None if not known."""
    for row in decision.relations:
        if row.common_offset is None or row.common_offset < row.other.end:
            yield {"broker_id": row.other.broker_id, **_lost(decision, row)}


def _lost(decision: Decision, row: Relation) -> Fields:
    """Return from which offset on a log is lost, and how many records. Both None if not known.

    Where the winner's log starts at the offset below which the two agree, or later, what it had before was deleted. So nothing shows that the other log had
    the same, and a follower deletes what lies before the start of its leader's log.
    """
    start = (decision.winner.log_start_offset or 0) if decision.winner else 0
    if row.common_offset is not None and (row.other.log_start_offset or 0) < row.common_offset <= start:
        return {"offset": None, "records": None}
    return {"offset": row.common_offset, "records": row.beyond_common}
