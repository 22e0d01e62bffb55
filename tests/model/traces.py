"""How a partition came to lie without a leader: what the metadata log would tell of its ISR."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from model.partition import LEADER, OUT, Bounds, Partition, Replica, Replicas, State, survivors_alone

Row = dict[str, Any]
NO_LEADER = -1


class Trace(NamedTuple):
    """`survivors`: place of the replica → what is known of it; `changes`: as `isr_history` collects them, brokers numbered by place.

    `least_min_isr`: the smallest min ISR on the way, which is what the metadata log is asked for.
    """

    survivors: dict[int, Replica]
    changes: list[Row]
    least_min_isr: int


class _InPlace(Partition):
    """Replicas keep their places from one state to the next."""

    def _ordered(self, codes: list[int]) -> tuple[int, ...]:
        return tuple(codes)


def traces(bounds: Bounds) -> Iterator[Trace]:
    """One way to each distinct set of survivors (with their part in the ISR's history) that the partition can reach.

    Where min ISR changes: one for each smallest min ISR on the ways to it.
    """
    partition = _InPlace(bounds)
    first = partition.first()
    before: dict[State, State | None] = {first: None}
    seen, told_of, todo = {_sorted(first)}, set[tuple[int, tuple[Replica, ...]]](), [first]
    for state in todo:
        for places in partition.survivors(state):
            replicas = partition.replicas(state)
            known = survivors_alone([replicas[place] for place in places])
            way = _way(state, before) if bounds.min_isr_changes else []
            least = min((one.min_isr for one in way), default=bounds.min_isr)
            if (least, tuple(sorted(known))) not in told_of:
                told_of.add((least, tuple(sorted(known))))
                steps = [(one.epoch, partition.replicas(one)) for one in way or _way(state, before)]
                yield Trace(dict(zip(places, known, strict=True)), _changes(steps, bounds.eligible_leader_replicas), least)
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


def _changes(way: list[tuple[int, Replicas]], with_elr: bool) -> list[Row]:
    """The changes of leader and ISR on a way of (epoch, replicas), and the death of its last leader, which leaves it in the ISR or moves it to
    the ELR."""
    changes: list[Row] = []
    epoch_before = 0
    for epoch, replicas in way:
        isr = [place for place, replica in enumerate(replicas) if replica.role != OUT]
        elr = [place for place, replica in enumerate(replicas) if replica.eligible]
        leader = next(place for place in isr if replicas[place].role == LEADER)
        if changes and epoch > epoch_before and len(changes[-1]["isr"]) == 1:
            _dies(changes, with_elr)
        now = (leader, isr, elr)
        if not changes or now != (changes[-1]["leader"], changes[-1]["isr"], changes[-1]["eligible_leader_replicas"]):
            may_lead = [*changes[-1]["isr"], *changes[-1]["eligible_leader_replicas"]] if changes else isr
            _change(changes, *now, unclean=leader not in may_lead)
        epoch_before = epoch
    _dies(changes, with_elr)
    return changes


def _dies(changes: list[Row], with_elr: bool) -> None:
    """The only member of the ISR, the leader, is gone."""
    isr, elr = changes[-1]["isr"], changes[-1]["eligible_leader_replicas"]
    _change(changes, NO_LEADER, *(([], [*elr, *isr]) if with_elr else (isr, elr)))


def _change(changes: list[Row], leader: int, isr: list[int], elr: list[int], unclean: bool = False) -> None:
    count = len(changes)
    elected = count > 0 and leader != changes[-1]["leader"]
    changes.append(
        {
            "offset": 100 + count, "timestamp": 1000 * count, "leader": leader, "isr": isr, "eligible_leader_replicas": elr,
            "leader_epoch": changes[-1]["leader_epoch"] + elected if count else 0, "unclean": unclean, "reassigned": False,
        }
    )  # fmt: skip
