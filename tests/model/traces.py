"""How a partition came to lie without a leader: what the metadata log would tell of its ISR."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from model.partition import LEADER, OUT, Bounds, Partition, Replica, Replicas, State, told

Row = dict[str, Any]
NO_LEADER = -1


class Trace(NamedTuple):
    """`survivors`: place of the replica → what is known of it; `changes`: as `isr_history` gathers them, brokers numbered by place."""

    survivors: dict[int, Replica]
    changes: list[Row]


class _InPlace(Partition):
    """Replicas keep their places from one state to the next."""

    def _ordered(self, codes: list[int]) -> tuple[int, ...]:
        return tuple(codes)


def traces(bounds: Bounds) -> Iterator[Trace]:
    """One way to each distinct set of survivors (with their part in the ISR's history) that the partition can reach."""
    partition = _InPlace(bounds)
    first = partition.first()
    before: dict[State, State | None] = {first: None}
    seen, told_of, todo = {_sorted(first)}, set[tuple[Replica, ...]](), [first]
    for state in todo:
        for places in partition.survivors(state):
            replicas = partition.replicas(state)
            known = told([replicas[place] for place in places])
            if tuple(sorted(known)) not in told_of:
                told_of.add(tuple(sorted(known)))
                way = [(one.epoch, partition.replicas(one)) for one in _way(state, before)]
                yield Trace(dict(zip(places, known, strict=True)), _changes(way))
        for after in partition.steps(state):
            if _sorted(after) not in seen:
                seen.add(_sorted(after))
                before[after] = state
                todo.append(after)


def _sorted(state: State) -> State:
    return state._replace(replicas=tuple(sorted(state.replicas)))


def _way(state: State, before: dict[State, State | None]) -> list[State]:
    way = [state]
    while (earlier := before[way[-1]]) is not None:
        way.append(earlier)
    return way[::-1]


def _changes(way: list[tuple[int, Replicas]]) -> list[Row]:
    """The changes of leader and ISR on a way of (epoch, replicas), and the death of its last leader."""
    changes: list[Row] = []
    epoch_before = 0
    for epoch, replicas in way:
        isr = [place for place, replica in enumerate(replicas) if replica.role != OUT]
        leader = next(place for place in isr if replicas[place].role == LEADER)
        if changes and epoch > epoch_before and len(changes[-1]["isr"]) == 1:
            _change(changes, NO_LEADER, changes[-1]["isr"])
        if not changes or (leader, isr) != (changes[-1]["leader"], changes[-1]["isr"]):
            _change(changes, leader, isr, unclean=bool(changes) and leader not in changes[-1]["isr"])
        epoch_before = epoch
    _change(changes, NO_LEADER, isr)
    return changes


def _change(changes: list[Row], leader: int, isr: list[int], unclean: bool = False) -> None:
    count = len(changes)
    elected = count > 0 and leader != changes[-1]["leader"]
    changes.append(
        {
            "offset": 100 + count, "timestamp": 1000 * count, "leader": leader, "isr": isr, "eligible_leader_replicas": [],
            "leader_epoch": changes[-1]["leader_epoch"] + elected if count else 0, "unclean": unclean, "reassigned": False,
        }
    )  # fmt: skip
