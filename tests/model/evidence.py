# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What would be collected about a partition that lies as the model has it: the evidence that `decide` reads, without JSON and without Spark."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from itertools import combinations
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import (
    DISK_FAILED,
    FENCED,
    UNFENCED,
    History,
    Log,
    Pair,
    PartitionEvidence,
    RecordedState,
    State,
)
from model.comparison import answered, seen, stored
from model.partition import Bounds, Replica
from model.traces import Row, Trace

KAFKA_3_7, BEFORE_KAFKA_3_7 = 15, 14
# The model knows no more than four replicas.
REPLICAS = range(4)

Part = tuple[int, bool, int]
Compare = Callable[[int, int, Replica, Replica], Pair]


class Standing(NamedTuple):
    """What the controller keeps of the partition."""

    leader_epoch: int = 7
    isr: tuple[int, ...] = (REPLICAS[-1],)
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()


class Past(NamedTuple):
    """One way to lie without a leader, as the metadata log has it. `parts`: place of a survivor → its part in the ISR's history."""

    parts: dict[int, Part]
    history: History
    standing: Standing


def evidence(
    survivors: Mapping[int, Replica],
    past: Past | None = None,
    standing: Standing | None = None,
    without_disk: Collection[int] = (),
    named: bool = True,
    fenced: Mapping[int, Replica] | None = None,
    compare: Compare | None = None,
) -> PartitionEvidence:
    """The partition with these survivors (in the order of the assignment). Its other replicas' brokers are dead, but for those `without_disk` and those
    that are `fenced` and answer. `compare`: as `pairs` has it."""
    beside = dict(fenced or {})
    if standing is None:
        standing = past.standing if past else Standing()
    # A past that stands for others may have fewer epochs than the logs: it is given as if it had begun that much later.
    later = max([0, *(one.log[-1] - standing.leader_epoch for one in [*survivors.values(), *beside.values()] if one.log)])
    epoch = standing.leader_epoch + later
    replicas = (*survivors, *(broker for broker in REPLICAS if broker not in survivors))
    state = State(
        "id", -1, epoch, replicas, standing.isr, standing.elr, standing.last_known_elr, False, named, None, False, "delete"
    )  # fmt: skip
    known = [_log(broker, survivors.get(broker), epoch, broker in without_disk) for broker in replicas if broker not in beside]
    known += [_log(broker, one, epoch, False)._replace(broker_state=FENCED) for broker, one in beside.items()]
    compared = pairs({**survivors, **beside}, compare)
    return PartitionEvidence("orders", 0, state, tuple(known), compared, (), _later(past.history, later) if past else None)


def pairs(survivors: Mapping[int, Replica], compare: Compare | None = None) -> dict[tuple[int, int], Pair]:
    """How the logs of every two survivors relate. `compare`: if not as brokers' answers have it for compacted logs, and the logs themselves for others."""
    return {
        (one, other): (compare or (answered if survivors[one].epochs or survivors[other].epochs else seen))(
            one, other, stored(survivors[one]), stored(survivors[other])
        )
        for one, other in combinations(sorted(survivors), 2)
    }


def past_of(bounds: Bounds, trace: Trace) -> Past:
    """What the metadata log records of a trace. Before Kafka 3.7 an ISR below min ISR could commit."""
    changes = tuple(map(_change, trace.changes))
    end = changes[-1]
    version = KAFKA_3_7 if bounds.commit_needs_min_isr else BEFORE_KAFKA_3_7
    return Past(
        {place: part(one) for place, one in trace.survivors.items()},
        History(None, end.timestamp, end.isr, version, trace.least_min_isr, changes),
        Standing(end.leader_epoch, end.isr, end.eligible_leader_replicas),
    )


def part(replica: Replica) -> Part:
    """What of a survivor's past its history shows."""
    return replica.left, replica.overtaken, replica.since


def in_past(survivors: Iterable[Replica], past: Past) -> dict[int, Replica]:
    """The survivors, each at a place at which the past has one with its part."""
    places = sorted(past.parts, key=lambda place: past.parts[place])
    return dict(zip(places, sorted(survivors, key=part), strict=True))


@cache
def _later(history: History, epochs: int) -> History:
    """The same history, so many epochs later."""
    return history._replace(changes=tuple(change._replace(leader_epoch=change.leader_epoch + epochs) for change in history.changes))


@cache
def _log(broker: int, replica: Replica | None, epoch: int, without_disk: bool) -> Log:
    if replica is None:
        error = DISK_FAILED if without_disk else None
        return Log(broker, UNFENCED if without_disk else FENCED, error, None, None, None, None, None, None, None)
    # None where compaction has left nothing at its end.
    written = None if len(replica.log) - 1 in replica.cleaned else replica.log[-1] if replica.log else -1
    return Log(broker, UNFENCED, None, 0, len(replica.log), replica.high_watermark, epoch, written, None, None)


def _change(row: Row) -> RecordedState:
    return RecordedState(
        row["offset"], row["timestamp"], row["leader"], row["leader_epoch"], tuple(row["isr"]), tuple(row["eligible_leader_replicas"]),
        row["unclean"], row["reassigned"],
    )  # fmt: skip
