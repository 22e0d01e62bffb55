"""The score: pure functions over what was found when the game ended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from gameday.scenario import CLEAN, GONE, HOLD, ONLINE, RESCUE, SERVE

RECORDS, REFUSALS, SERVICE, TIME, TIDY = 40, 20, 20, 10, 10
HINT = 5  # points that a hint costs
TOO_LATE = 3  # times par
LED = (SERVE, CLEAN, ONLINE, RESCUE)  # partitions that have a leader where everything is done right


@dataclass(frozen=True)
class PartitionFacts:
    """One partition at the end. Records are those acknowledged with acks=all.

    achievable  what the best play keeps
    worst       what the worst leader that may be had would keep
    kept        what can be read
    moved       another leader than when the game began (of partitions that had one)
    reordered   its replicas stand in another order
    """

    site: str
    topic: str
    partition: int
    expected: str
    acknowledged: int
    achievable: int
    worst: int
    kept: int
    led: bool
    moved: bool = False
    reordered: bool = False

    @property
    def wrongly_elected(self) -> bool:
        """It has a leader that should not have been elected, or not yet."""
        if self.expected == HOLD:
            return self.led
        if self.expected == CLEAN:
            return self.led and self.kept < self.achievable
        return self.expected == ONLINE and self.moved

    @property
    def share(self) -> float:
        """Of what was at stake, how much is kept."""
        if self.achievable > self.worst:
            return min(1.0, max(0, self.kept - self.worst) / (self.achievable - self.worst))
        return min(1.0, self.kept / self.achievable) if self.achievable else 1.0


@dataclass(frozen=True)
class Facts:
    """What was found. `seconds`: until the last partition that ought to have a leader had one, or until the end where none lacked one."""

    partitions: Sequence[PartitionFacts]
    seconds: float
    par: float
    hints: int = 0
    throttles: Sequence[str] = ()  # configs that a run has left behind
    stock: dict[tuple[str, str], int] = field(default_factory=dict)  # kept by Kafka's own tool on a copy, by site and topic

    def expected(self, *wanted: str) -> list[PartitionFacts]:
        return [row for row in self.partitions if row.expected in wanted]


@dataclass(frozen=True)
class Line:
    """One line of the card."""

    name: str
    points: float
    of: int
    why: str


@dataclass(frozen=True)
class Card:
    """The score card. `total` is out of 100, whatever lines apply."""

    lines: Sequence[Line]
    hints: int

    @property
    def total(self) -> int:
        of = sum(line.of for line in self.lines)
        whole = round(100 * sum(line.points for line in self.lines) / of) if of else 100
        # 100 is for those who left nothing undone, however small it was
        rounded = whole if whole < 100 or all(line.points == line.of for line in self.lines) else 99
        return max(0, rounded - HINT * self.hints)


def score(facts: Facts) -> Card:
    """The card of a game. Lines for which a scenario gives no occasion are left out."""
    lines = [_records(facts), _refusals(facts), _service(facts), _time(facts), _tidy(facts)]
    return Card([line for line in lines if line is not None], facts.hints)


def _records(facts: Facts) -> Line | None:
    rows = facts.expected(*LED)
    if not rows:
        return None
    share = sum(row.share for row in rows) / len(rows)
    missing = sum(max(0, row.achievable - row.kept) for row in rows)
    why = f"{_of(rows)}" + (f"; {missing} more could have been kept" if missing else "; no play keeps more")
    return Line("records kept", RECORDS * share, RECORDS, why)


def _refusals(facts: Facts) -> Line | None:
    rows = facts.expected(HOLD, CLEAN, ONLINE)
    if not rows:
        return None
    wrong = [row for row in rows if row.wrongly_elected]
    moved = [row for row in wrong if row.expected == ONLINE]
    elected = [row for row in wrong if row.expected != ONLINE]
    reasons = []
    if elected:
        given_up = sum(row.achievable - row.kept for row in elected)
        reasons.append(
            f"{len(elected)} of {len(rows)} partitions were elected that should not have been, or not yet: {given_up} records given up"
        )
    if moved:
        reasons.append(f"{len(moved)} of {len(rows)} had a leader, and have another one")
    why = "; ".join(reasons) or f"{_count(len(rows))} left alone, as was right"
    return Line("refusals", REFUSALS * (1 - len(wrong) / len(rows)), REFUSALS, why)


def _service(facts: Facts) -> Line | None:
    rows = facts.expected(*LED)
    if not rows:
        return None
    led = sum(row.led for row in rows)
    why = f"{led} of {_count(len(rows))} that can have a leader have one"
    return Line("service", SERVICE * led / len(rows), SERVICE, why)


def _time(facts: Facts) -> Line:
    rows = facts.expected(*LED)
    if not all(row.led for row in rows):
        return Line("time", 0, TIME, "not all of them came back")
    late = max(0.0, facts.seconds - facts.par) / (facts.par * (TOO_LATE - 1))
    return Line("time", TIME * max(0.0, 1 - late), TIME, f"{facts.seconds:.0f} s; full points up to {facts.par:.0f} s")


def _tidy(facts: Facts) -> Line:
    changed = [f"{row.topic}-{row.partition}" for row in facts.partitions if row.reordered]
    problems = []
    if changed:
        problems.append(f"replicas of {len(changed)} partitions stand in another order, the first: {changed[0]}")
    if facts.throttles:
        problems.append(f"throttles are left: {', '.join(sorted(facts.throttles))}")
    half = TIDY / 2
    return Line("left as found", TIDY - half * len(problems), TIDY, "; ".join(problems) or "replica orders as before, no throttle left")


def same_order(before: Sequence[int], now: Sequence[int]) -> bool:
    """Whether the replicas that stayed stand in the order of before. Replicas that were given to other brokers are no disorder."""
    return [broker for broker in before if broker in now] == [broker for broker in now if broker in before]


def _of(rows: Iterable[PartitionFacts]) -> str:
    chosen = list(rows)
    return f"{sum(row.kept for row in chosen)} of {sum(row.acknowledged for row in chosen)} acknowledged records can be read"


def _count(number: int) -> str:
    return f"{number} partition{'' if number == 1 else 's'}"


__all__ = ["GONE", "Card", "Facts", "Line", "PartitionFacts", "same_order", "score"]
