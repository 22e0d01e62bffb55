"""What is to happen to a cluster: drawn from a seed, before anything is done. The same seed gives the same script.

Three shapes: a random walk of brokers that leave and come back; a fork, made so that it stands in the end; and Raft's "Figure 8".
Three of the five brokers are its actors. The two others leave at some moment, and stay away or come back in the end.
Which partition feels what of it depends on who leads it, so that one script makes many different histories.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from chaos.keys import SUFFIX, is_compacted
from chaos.ledger import ALL, LEADER
from rig import NewTopic
from rig.admin import TopicPartition

BROKERS = (1, 2, 3, 4, 5)
GROUPS = 3  # recoveries per history, each with topics of its own
PARTITIONS = 4  # per topic of the actors
FEW = 2  # per topic that is compacted, or has a replica on every broker
PAIRS = 6
TWIN = "-twin"
COMPACTED = {
    "cleanup.policy": "compact",
    "segment.ms": "500",
    "min.cleanable.dirty.ratio": "0.01",
}
Amounts = dict[TopicPartition, tuple[int, str]]  # how many records, with which acks


@dataclass(frozen=True)
class Step:
    """One event. `broker` takes part, `other` is paused at first, `amounts` are written.

    write       records for some partitions
    kill        SIGKILL, until the broker is fenced
    terminate   controlled shutdown
    stop        SIGSTOP until the broker is fenced and out of the ISRs, then SIGKILL
    alone       the broker acknowledges records that no follower copies (acks=1), then SIGKILL
    carried     the broker acknowledges records (acks=1) that one follower copies while `other` does not, then SIGKILL
    usurped     as carried, by a follower that hangs while `other` takes over and acknowledges records that no follower copies; `other` dies too
    back        the broker starts again; `settled`: until it is in sync wherever there is a leader. `unflushed`: if it was killed, it has first lost
                what was not flushed, as in a power cut
    disk        the second log dir of the broker fails. The broker lives
    read        consumers read whatever has a leader: that is committed, whichever leader acknowledged it
    controller  the active controller is killed and started again
    """

    what: str
    broker: int = 0
    other: int = 0
    settled: bool = False
    unflushed: bool = False
    amounts: Amounts = field(default_factory=dict)

    def __str__(self) -> str:
        if self.what == "write":
            return f"write {sum(number for number, _ in self.amounts.values())}"
        name = f"{self.what} {self.broker}" if self.broker else self.what
        return f"{name} without what was not flushed" if self.unflushed else name


@dataclass(frozen=True)
class Script:
    """A history: topics and steps. `survivors` are back in the end, `lost` leaves last: it is dead, or alive without a disk. `dead` are all that stay away."""

    seed: int
    shape: str
    topics: tuple[NewTopic, ...]
    steps: tuple[Step, ...]
    lost: int
    survivors: tuple[int, ...]
    dead: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.shape}: {', '.join(map(str, self.steps))}"


def group_topics(seed: int, group: int) -> list[str]:
    """Topics of one recovery: with min.insync.replicas 1 and 2, with a replica on every broker, and one that is compacted."""
    return [f"s{seed}-g{group}{kind}" for kind in ("-isr1", "-isr2", "-wide", SUFFIX)]


def calm_topic(seed: int) -> str:
    """The topic of two replicas per partition, on pairs of brokers. It is in no recovery: some of it stays online, and must be left alone."""
    return f"s{seed}-calm"


def draw(seed: int) -> Script:
    """Draw a history."""
    random = Random(seed)
    shape = random.choices(("walk", "fork", "figure 8"), weights=(4, 4, 2))[0]
    actors = random.sample(BROKERS, k=3)
    first, second, last = actors
    others = [broker for broker in BROKERS if broker not in actors]
    topics = _topics(seed, random, actors, first if shape == "fork" else None)
    writer = _Writer(random, topics)
    steps = {"walk": _walk, "fork": _fork, "figure 8": _figure_8}[shape](random, writer, first, second, last)
    survivors = [first, second] if random.random() < 0.9 else [random.choice((first, second))]
    dead = [broker for broker in (first, second) if broker not in survivors]
    for broker in others:
        fate = random.choices(("dead", "back", "stays"), weights=(5, 4, 1))[0]
        if fate != "stays":
            steps.insert(random.randint(1, len(steps) - 1), _by(random.choices(("kill", "terminate"), weights=(5, 1))[0], writer, broker))
        if fate == "back":
            survivors.append(broker)
        elif fate == "dead":
            dead.append(broker)
    if shape == "walk" and random.random() < 0.2:
        steps[-1] = Step("disk", last)
    else:
        dead.append(last)
    steps += [Step("back", broker, unflushed=random.random() < 0.25) for broker in survivors]
    if len(survivors) > 1 and random.random() < 0.25:
        steps.append(Step("disk", random.choice(survivors)))
    return Script(seed, shape, tuple(topics), tuple(steps), last, tuple(survivors), tuple(dead))


def _topics(seed: int, random: Random, actors: Collection[int], leader: int | None) -> list[NewTopic]:
    """`leader`: of most partitions with min.insync.replicas 2: if it forks their logs, the ISR history can tell which branch was committed."""
    topics = []
    for group in range(GROUPS):
        small, strict, wide, compacted = group_topics(seed, group)
        orders = {
            small: [*(_order(random, actors) for _ in range(PARTITIONS - 1)), random.sample(BROKERS, k=3)],
            strict: [_order(random, actors, leader if random.random() < 0.75 else None) for _ in range(PARTITIONS)],
            wide: [_order(random, BROKERS) for _ in range(FEW)],
            compacted: [_order(random, actors) for _ in range(FEW)],
        }
        minimum = {small: 1, strict: 2, wide: random.choice((2, 3)), compacted: random.choice((1, 2))}
        for name, assignments in orders.items():
            config = {"min.insync.replicas": str(minimum[name]), **(COMPACTED if is_compacted(name) else {})}
            copies = [name, name + TWIN] if group == 0 and name in (small, strict) else [name]
            topics += [NewTopic(copy, assignments, config) for copy in copies]
    pairs: Sequence[Sequence[int]] = random.sample(list(itertools.permutations(BROKERS, 2)), k=PAIRS)
    return [*topics, NewTopic(calm_topic(seed), pairs, {"min.insync.replicas": "1"})]


def _order(random: Random, brokers: Collection[int], leader: int | None = None) -> list[int]:
    order = random.sample(sorted(brokers), k=len(brokers))
    return order if leader is None else [leader, *(broker for broker in order if broker != leader)]


class _Writer:
    """Draws what is written to which partition. Twins get what their originals get."""

    def __init__(self, random: Random, topics: Sequence[NewTopic]) -> None:
        self._random = random
        self._keys = [(topic.name, number) for topic in topics for number in range(len(topic.assignments))]

    def some(self, acks: str | None = None, least: int = 0) -> Amounts:
        amounts: Amounts = {}
        for topic, number in self._keys:
            original = amounts.get((topic.removesuffix(TWIN), number))
            drawn = (
                max(least, self._random.choice((0, 0, 1, 3, 8, 20))),
                acks or self._random.choices((ALL, LEADER), weights=(3, 1))[0],
            )
            amounts[topic, number] = original if topic.endswith(TWIN) and original else drawn
        return amounts

    def step(self) -> Step:
        return Step("write", amounts=self.some())


def _walk(random: Random, writer: _Writer, first: int, second: int, last: int) -> list[Step]:
    steps = [Step("write", amounts=writer.some(ALL, least=2))]
    for _ in range(random.randint(0, 2)):
        steps += _detour(random, writer, random.choice((first, second, last)))
    steps += [_leaves(random, writer, first, second), writer.step()]
    if random.random() < 0.25:
        steps += [Step("back", first, settled=random.random() < 0.5), writer.step(), _leaves(random, writer, first, second), writer.step()]
    if random.random() < 0.3:
        steps.append(Step("read"))
    ways = ("kill", "terminate", "stop", "alone")
    steps += [_by(random.choice(ways), writer, second), writer.step()]
    return [*steps, _by(random.choice(("kill", "kill", "terminate", "alone")), writer, last)]


def _fork(random: Random, writer: _Writer, first: int, second: int, last: int) -> list[Step]:
    # After a controlled shutdown `second` would come back as an eligible leader, and no partition with min.insync.replicas 2 would be offline.
    steps = [Step("write", amounts=writer.some(ALL, least=2)), _by("alone", writer, first), writer.step()]
    steps += [_by(random.choices(("kill", "alone", "terminate"), weights=(5, 3, 1))[0], writer, second), writer.step()]
    return [*steps, _by(random.choice(("kill", "terminate")), writer, last)]


def _figure_8(random: Random, writer: _Writer, first: int, second: int, last: int) -> list[Step]:
    steps = [
        Step("write", amounts=writer.some(ALL, least=2)),
        Step("usurped", first, other=second, amounts=writer.some(LEADER, least=1)),
        Step("back", first, settled=True),
        Step("read"),
    ]
    if random.random() < 0.4:
        steps.append(writer.step())
    return [*steps, Step("kill", first), _by(random.choice(("kill", "terminate")), writer, last)]


def _detour(random: Random, writer: _Writer, broker: int) -> Iterator[Step]:
    if random.random() < 0.25:
        yield Step("controller")
    else:
        yield _by(random.choice(("kill", "terminate", "stop", "alone")), writer, broker)
        yield writer.step()
        yield Step("back", broker, settled=random.random() < 0.7, unflushed=random.random() < 0.15)
    yield writer.step()


def _leaves(random: Random, writer: _Writer, broker: int, other: int) -> Step:
    way = random.choice(("kill", "terminate", "stop", "alone", "carried"))
    return Step(way, broker, other=other, amounts=writer.some(LEADER, least=1)) if way == "carried" else _by(way, writer, broker)


def _by(way: str, writer: _Writer, broker: int) -> Step:
    return Step(way, broker, amounts=writer.some(LEADER, least=1) if way == "alone" else {})
