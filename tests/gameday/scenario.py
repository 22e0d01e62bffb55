"""A scenario: what one is made of, and the dice that a seed throws for it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from random import Random

from rig import Plot, Roles
from rig.scenarios import SCENARIOS

ALLOW = "-e kafka_recovery_allow_data_loss=true"
RECOVER = f"run recover {ALLOW}"
GONE_FOR_GOOD = "The machine of broker {0} has burnt out, disks and all. There is no copy of them. Do not wait for it."
TOPICS = ("orders", "payments", "shipments", "clicks", "invoices", "sessions", "prices", "stock-levels")
OFFSETS = "__consumer_offsets"


def last_known(roles: Roles, index: int) -> Plot:
    """Two survivors. One has every acknowledged record: nothing is acknowledged any more when it leads alone."""
    order = (roles.ahead, roles.behind) if index % 4 == 3 else (roles.behind, roles.ahead)
    (lost,) = roles.lost
    return Plot(first_leader=lost, replicas=(lost, *order), base=100, middle=20)


def on_the_other_disk(roles: Roles, index: int) -> Plot:
    """As lagging, but the last in-sync replica is on a disk of its broker that works."""
    return replace(SCENARIOS["lagging"](roles, index), online=True)


LAST_KNOWN, OTHER_DISK = "last_known", "on_the_other_disk"
KINDS = {**SCENARIOS, LAST_KNOWN: last_known, OTHER_DISK: on_the_other_disk}

# What becomes of a topic's partitions where everything is done right.
SERVE = "serve"  # the best survivor leads
CLEAN = "clean"  # a broker that holds everything leads again, and no other broker before it
HOLD = "hold"  # no replica leads yet
RESCUE = "rescue"  # the best survivor leads, and what only the disk of a lost broker has is written again
GONE = "gone"  # no replica can lead
ONLINE = "online"  # the leader of before leads


@dataclass(frozen=True)
class Loss:
    """A topic and what happens to it (a name of KINDS)."""

    topic: str
    kind: str
    partitions: int
    expected: str

    def plots(self, roles: Roles) -> tuple[Plot, ...]:
        return tuple(KINDS[self.kind](roles, index) for index in range(self.partitions))


@dataclass(frozen=True)
class Trouble:
    """What goes on besides: a node and how it is. `seconds`: after so long it ends by itself, None: never.

    unmounted  the broker's machine is up, its disk is not mounted: `mount` brings it back
    starting   the broker loads its logs, and will be there
    hanging    the process lives and does not answer: `restart` helps
    down       the process has ended, its machine is up: `restart` helps
    """

    kind: str
    site: str
    nodes: tuple[int, ...]
    seconds: float | None = None


@dataclass(frozen=True)
class Site:
    """One cluster and its losses. `abrupt`: the last in-sync replicas die by SIGKILL. `returns`: the returning broker is on its way, else it is down."""

    name: str
    roles: Roles
    losses: tuple[Loss, ...]
    brokers: int = 3
    controllers: int = 1
    abrupt: bool = True
    returns: bool = True
    group_offsets: bool = False  # __consumer_offsets is offline, too

    @property
    def last_known(self) -> bool:
        """Whether the last leader is back, and is not elected. That damage has a course of its own."""
        return any(loss.kind == LAST_KNOWN for loss in self.losses)

    @property
    def failed_disk(self) -> bool:
        """Whether the lost broker is alive, and has lost one of its two disks."""
        return any(loss.kind == OTHER_DISK for loss in self.losses)

    @property
    def topics(self) -> tuple[str, ...]:
        return (*(loss.topic for loss in self.losses), *((OFFSETS,) if self.group_offsets else ()))


@dataclass(frozen=True)
class Scenario:
    """A night: what is broken, what the operator hears, what would have been best and why."""

    key: str
    title: str
    level: str
    seed: int
    sites: tuple[Site, ...]
    troubles: tuple[Trouble, ...]
    clock: str
    alert: tuple[str, ...]
    colleagues: tuple[str, ...]  # what colleagues add
    hints: tuple[str, ...]
    best: tuple[str, ...]
    why: tuple[str, ...]
    docs: tuple[str, ...]
    par: float = 300.0
    notes: Mapping[tuple[str, int], str] = field(default_factory=dict)  # what is known of machines
    disks: tuple[tuple[str, int], ...] = ()  # site and broker: its machine is gone, its disk is attached to this machine

    @property
    def lost(self) -> set[tuple[str, int]]:
        """Brokers that do not come back."""
        curable = {(trouble.site, node) for trouble in self.troubles for node in trouble.nodes}
        return {(site.name, broker) for site in self.sites if not site.failed_disk for broker in site.roles.lost} - curable

    @property
    def failed_disks(self) -> set[tuple[str, int]]:
        """Brokers that are alive, and have lost one of their disks."""
        return {(site.name, broker) for site in self.sites if site.failed_disk for broker in site.roles.lost}

    def placed(self, paths: Mapping[tuple[str, int], str]) -> Scenario:
        """The same with the paths of disks in its texts. Which paths these are is known when the clusters are there."""

        def fill(lines: tuple[str, ...]) -> tuple[str, ...]:
            for (site, broker), path in paths.items():
                lines = tuple(line.replace(disk_of(site, broker), path) for line in lines)
            return lines

        return replace(self, colleagues=fill(self.colleagues), hints=fill(self.hints), best=fill(self.best), why=fill(self.why))


def disk_of(site: str, broker: int) -> str:
    """What stands in texts for the path of a disk until `Scenario.placed`."""
    return f"<disk of broker {broker} of {site}>"


class Dice:
    """What the seed decides: names, numbers, which broker plays which part."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.clock = f"0{self.random.randint(1, 5)}:{self.random.randint(0, 59):02}"
        self.names = self.random.sample(TOPICS, len(TOPICS))

    def topic(self) -> str:
        return self.names.pop()

    def partitions(self) -> int:
        return self.random.randint(3, 6)

    def roles(self, returning: bool = False) -> Roles:
        lost, ahead, behind = self.random.sample((1, 2, 3), 3)
        return Roles((lost,), ahead, behind, 4 if returning else None)

    def seconds(self, least: int, most: int) -> float:
        return float(self.random.randint(least, most))

    def losses(self, *wanted: tuple[str, str]) -> tuple[Loss, ...]:
        """One topic for each (kind, expected)."""
        return tuple(Loss(self.topic(), kind, self.partitions(), expected) for kind, expected in wanted)


def offline(site: Site) -> str:
    """The alert of a cluster."""
    counts = {loss.topic: loss.partitions for loss in site.losses if loss.expected != ONLINE}
    counts |= {OFFSETS: 1} if site.group_offsets else {}
    listed = ", ".join(f"{topic} ({count})" for topic, count in counts.items())
    return f"kafka-{site.name}: OfflinePartitionsCount = {sum(counts.values())}: {listed}"
