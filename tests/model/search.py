"""Look at every state that a partition can reach, and at what each rule would do wherever it lies without a leader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from model.compaction import Compacted, Keys, loses
from model.logs import common
from model.partition import Bounds, Lost, Partition, State
from model.rules import Rule


@dataclass(frozen=True)
class Findings:
    """What a search came to: how many states with a leader, and steps from one to another; every distinct way to lie without one; and how many
    states in which committed records had already been lost by Kafka itself."""

    states: int
    steps: int
    offline: frozenset[Lost]
    contradictions: int


class Score(NamedTuple):
    """A rule over offline states: how many it elects in, in how many it destroys records with some assignment order, and with how many of the
    orders on average (a sum of shares)."""

    elected: int
    losing: int
    losing_on_average: float


def reached(partition: Partition) -> Iterator[tuple[State, int]]:
    """Every state with a leader that the partition can reach, breadth first from the one in which everybody is in sync, each with the number of
    other states that follow on it."""
    seen: set[State] = {partition.first()}
    todo = list(seen)
    while todo:
        found: list[State] = []
        for state in todo:
            following = {*partition.steps(state)} - {state}
            yield state, len(following)
            found.extend(following - seen)
            seen |= following
        todo = found


def states(partition: Partition) -> Iterator[State]:
    """Every state with a leader that the partition can reach."""
    return (state for state, _following in reached(partition))


def search(bounds: Bounds) -> Findings:
    """Go through all states, and through what may be left of each without a leader."""
    partition = Compacted(bounds) if bounds.keys else Partition(bounds)
    lost, count, steps, contradictions = set[Lost](), 0, 0, 0
    for state, following in reached(partition):
        count += 1
        steps += following
        contradictions += len(state.committed) > 1
        lost.update(partition.lost(state))
    offline = frozenset(after for before in lost for after in partition.crashed(before))
    return Findings(count, steps, offline, contradictions)


def destroys(lost: Lost, winner: int, keys: Keys = ()) -> bool:
    """Whether a committed record that another survivor holds is not in the winner's log. `keys`: those of a compacted log, of which the newest record
    of each key counts."""
    if keys:
        return loses(lost, winner, keys)
    log = lost.survivors[winner].log
    return any(common(one.log, committed) > common(log, committed) for committed in lost.committed for one in lost.survivors)


def score(offline: Iterable[Lost], rule: Rule) -> Score:
    """Count what a rule does."""
    elected = losing = 0
    shares = 0.0
    for lost in offline:
        winners = rule(lost.survivors)
        wrong = sum(destroys(lost, winner) for winner in winners)
        elected += bool(winners)
        losing += bool(wrong)
        shares += wrong / len(winners) if winners else 0
    return Score(elected, losing, shares)


def scores(offline: Iterable[Lost], rules: Mapping[str, Rule]) -> dict[str, Score]:
    """Count what each rule does."""
    return {name: score(offline, rule) for name, rule in rules.items()}
