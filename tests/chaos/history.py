"""What is to happen to a cluster: drawn from a seed, before anything is done. The same seed gives the same script.

Three shapes: a random walk of brokers that leave and come back; a fork, made so that it stands in the end; and Raft's "Figure 8".
Which partition feels what of it depends on who leads it, so that one script makes many different histories.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from chaos.ledger import ALL, LEADER
from rig import NewTopic
from rig.admin import TopicPartition

BROKERS = (1, 2, 3)
GROUPS = 3  # recoveries per history, each with topics of its own
PARTITIONS = 4  # per topic
TWIN = "-twin"
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
    back        the broker starts again; `settled`: until it is in sync wherever there is a leader
    read        consumers read whatever has a leader: that is committed, whichever leader acknowledged it
    controller  the active controller is killed and started again
    """

    what: str
    broker: int = 0
    other: int = 0
    settled: bool = False
    amounts: Amounts = field(default_factory=dict)

    def __str__(self) -> str:
        if self.what == "write":
            return f"write {sum(number for number, _ in self.amounts.values())}"
        return self.what if self.what in ("controller", "read") else f"{self.what} {self.broker}"


@dataclass(frozen=True)
class Script:
    """A history: topics and steps. `lost` stays dead in the end, `survivors` are back."""

    seed: int
    shape: str
    topics: tuple[NewTopic, ...]
    steps: tuple[Step, ...]
    lost: int
    survivors: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.shape}: {', '.join(map(str, self.steps))}"


def group_topics(seed: int, group: int) -> list[str]:
    """Topics of one recovery: one with min.insync.replicas 1, one with 2."""
    return [f"s{seed}-g{group}-isr{minimum}" for minimum in (1, 2)]


def calm_topic(seed: int) -> str:
    """The topic of two replicas per partition, on all pairs of brokers. It is in no recovery: some of it stays online, and must be left alone."""
    return f"s{seed}-calm"


def draw(seed: int) -> Script:
    """Draw a history."""
    random = Random(seed)
    topics = _topics(seed, random)
    first, second, last = random.sample(BROKERS, k=3)
    shape = random.choices(("walk", "fork", "figure 8"), weights=(5, 3, 2))[0]
    writer = _Writer(random, topics)
    steps = {"walk": _walk, "fork": _fork, "figure 8": _figure_8}[shape](random, writer, first, second, last)
    survivors = (first, second) if random.random() < 0.9 else (random.choice((first, second)),)
    return Script(seed, shape, tuple(topics), (*steps, *(Step("back", broker) for broker in survivors)), last, survivors)


def _topics(seed: int, random: Random) -> list[NewTopic]:
    topics = []
    for group in range(GROUPS):
        for minimum, name in enumerate(group_topics(seed, group), start=1):
            assignments = [random.sample(BROKERS, k=3) for _ in range(PARTITIONS)]
            copies = [name, name + TWIN] if group == 0 else [name]
            topics += [NewTopic(copy, assignments, {"min.insync.replicas": str(minimum)}) for copy in copies]
    pairs: Sequence[Sequence[int]] = list(itertools.permutations(BROKERS, 2))
    return [*topics, NewTopic(calm_topic(seed), pairs, {"min.insync.replicas": "1"})]


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
        steps += _detour(random, writer, random.choice(BROKERS))
    steps += [_leaves(random, writer, first, second), writer.step()]
    if random.random() < 0.25:
        steps += [Step("back", first, settled=random.random() < 0.5), writer.step(), _leaves(random, writer, first, second), writer.step()]
    if random.random() < 0.3:
        steps.append(Step("read"))
    ways = ("kill", "terminate", "stop", "alone")
    steps += [_by(random.choice(ways), writer, second), writer.step()]
    return [*steps, _by(random.choice(("kill", "kill", "terminate", "alone")), writer, last)]


def _fork(random: Random, writer: _Writer, first: int, second: int, last: int) -> list[Step]:
    steps = [Step("write", amounts=writer.some(ALL, least=2)), _by("alone", writer, first), writer.step()]
    steps += [_by(random.choice(("kill", "terminate", "alone")), writer, second), writer.step()]
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
        yield Step("back", broker, settled=random.random() < 0.7)
    yield writer.step()


def _leaves(random: Random, writer: _Writer, broker: int, other: int) -> Step:
    way = random.choice(("kill", "terminate", "stop", "alone", "carried"))
    return Step(way, broker, other=other, amounts=writer.some(LEADER, least=1)) if way == "carried" else _by(way, writer, broker)


def _by(way: str, writer: _Writer, broker: int) -> Step:
    return Step(way, broker, amounts=writer.some(LEADER, least=1) if way == "alone" else {})
