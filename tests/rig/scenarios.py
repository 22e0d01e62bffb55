"""The ways in which a partition loses every in-sync replica.

A scenario says, for each of its partitions, what is to happen to it in one shared course of events (see `rig.damage`):

1. `base` records reach every replica.
2. `fork` records reach only the broker `behind`, which acknowledges them alone (acks=1) and dies before anyone copies them.
3. `behind` is gone. `middle` records are acknowledged by those that are left.
4. `ahead` leaves. `last` records are acknowledged by the last in-sync replica alone.
5. The last in-sync replica is gone. `ahead` and `behind` come back, with what they had.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Roles:
    """Which broker plays which part.

    lost       hold the last in-sync replicas, die last and stay dead
    ahead      the survivor that left the ISR later
    behind     the survivor that left it first
    returning  the last in-sync replica of some partitions, on its way back but held there; None: none
    """

    lost: tuple[int, ...] = (1,)
    ahead: int = 2
    behind: int = 3
    returning: int | None = 4

    @property
    def survivors(self) -> tuple[int, int]:
        return self.ahead, self.behind


@dataclass(frozen=True)
class Plot:
    """What happens to one partition. `first_leader` leads at the beginning, `replicas` is the order of its assignment."""

    first_leader: int
    replicas: tuple[int, ...]
    base: int
    fork: int = 0
    middle: int = 0
    last: int = 0
    online: bool = False  # a clean leader is there in the end

    def log_end_offsets(self, roles: Roles) -> dict[int, int]:
        """Where each survivor's log must end (nothing is planned for partitions that are online and go on)."""
        if self.online:
            return {}
        ends = {roles.behind: self.base + self.fork, roles.ahead: self.base + self.middle}
        return {broker_id: end for broker_id, end in ends.items() if broker_id in self.replicas}


GOLDEN_RATIO = 0.6180339887

Scenario = Callable[..., Plot]  # of the roles, the partition's index and the scenario's own options


def lagging(roles: Roles, index: int) -> Plot:
    """Two survivors, one log a prefix of the other. In three of four partitions the first live replica is the one that holds less."""
    order = (roles.ahead, roles.behind) if index % 4 == 3 else (roles.behind, roles.ahead)
    lost = roles.lost[index % len(roles.lost)]
    return Plot(first_leader=lost, replicas=(lost, *order), base=100, middle=20, last=10)


def identical(roles: Roles, index: int) -> Plot:
    """Two survivors with the same log."""
    order = (roles.ahead, roles.behind) if index % 2 else (roles.behind, roles.ahead)
    lost = roles.lost[index % len(roles.lost)]
    return Plot(first_leader=lost, replicas=(lost, *order), base=100, last=10)


def forked(roles: Roles, index: int) -> Plot:
    """The longer log was never committed: 80 records that one survivor acknowledged alone, against 20 that were acknowledged with acks=all.
    In three of four partitions the first live replica is the longer, wrong one."""
    order = (roles.ahead, roles.behind) if index % 4 == 3 else (roles.behind, roles.ahead)
    lost = roles.lost[index % len(roles.lost)]
    return Plot(first_leader=roles.behind, replicas=(*order, lost), base=100, fork=80, middle=20, last=10)


def no_survivor(roles: Roles, index: int) -> Plot:
    """Every replica is on a broker that stays dead."""
    start = index % len(roles.lost)
    order = roles.lost[start:] + roles.lost[:start]
    return Plot(first_leader=order[0], replicas=order, base=100)


def clean_returning(roles: Roles, index: int) -> Plot:
    """Two survivors lag, and the last in-sync replica is on its way back: its broker fetches the metadata log but is still fenced."""
    if roles.returning is None:
        raise ValueError("the scenario clean_returning needs a returning broker")
    order = (roles.ahead, roles.behind) if index % 2 else (roles.behind, roles.ahead)
    return Plot(first_leader=roles.returning, replicas=(roles.returning, *order), base=100, middle=20, last=10)


def alone_returning(roles: Roles, index: int) -> Plot:
    """The only replica is on a broker that was shut down, and may come back."""
    if roles.returning is None:
        raise ValueError("the scenario alone_returning needs a returning broker")
    return Plot(first_leader=roles.returning, replicas=(roles.returning,), base=100)


def already_online(roles: Roles, index: int) -> Plot:
    """The last in-sync replica is back, so there is a clean leader and nothing to do."""
    return Plot(first_leader=roles.ahead, replicas=(roles.ahead, roles.behind), base=100, middle=20, online=True)


def many(roles: Roles, index: int, different: float = 0.5) -> Plot:
    """One or two records per partition, made for thousands of partitions; in half of them the survivors hold the same.

    `different` is the share of partitions in which they do not. There the first live replica holds less half of the time.
    """
    order = (roles.ahead, roles.behind) if index % 2 else (roles.behind, roles.ahead)
    lost = roles.lost[index % len(roles.lost)]
    middle = int((index * GOLDEN_RATIO) % 1 < different)  # an even mix that keeps no step with the orders above
    return Plot(first_leader=lost, replicas=(lost, *order), base=1, middle=middle)


SCENARIOS: dict[str, Scenario] = {
    "lagging": lagging,
    "identical": identical,
    "forked": forked,
    "no_survivor": no_survivor,
    "clean_returning": clean_returning,
    "alone_returning": alone_returning,
    "already_online": already_online,
    "many": many,
}
