# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of several identical logs leads: leadership is spread evenly over the brokers of a cluster. Pure.

Partitions with the same choices in the same order are one group. There are few groups, however many partitions. Partitions with
one choice are not spread and do not count: their leader is settled.

At first every partition has its first choice. While a broker leads more than the mean, rounded up, the groups are visited one
after the other, in several sweeps. A visit divides the partitions of one group among its choices as evenly as the loads from all
other groups allow, so no visit makes the cluster more uneven. All numbers are integers: the same groups give the same quotas
on every machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

# Broker ids in the order of the assignment.
Choices = tuple[int, ...]
# How many partitions each of the choices leads, in the same order.
Quota = tuple[int, ...]
# How many partitions have exactly these choices. Each group has at least two choices, and no broker twice.
Groups = Mapping[Choices, int]

# 40 sweeps are enough for chains of brokers that share few partitions. Large clusters that cannot become even end after VISITS,
# but not before the second sweep.
SWEEPS = 40
VISITS = 20_000


def quotas(groups: Groups) -> dict[Choices, Quota]:
    """Return for each group how many of its partitions each choice leads. The order of the mapping does not matter."""
    loads = _Loads(groups)
    order = sorted(groups)
    for sweep in range(1, _sweeps(len(groups)) + 1):
        ranks = _ranks(loads.brokers, sweep)
        for choices in order if sweep % 2 else reversed(order):
            if not loads.crowded:
                return loads.quotas
            loads.divide(choices, ranks)
    return loads.quotas


class Seats:
    """The leaders of partitions that are given in the order of the plan."""

    def __init__(self, groups: Groups) -> None:
        self._quotas = quotas(groups)
        self._given: Counter[Choices] = Counter()

    def leader(self, choices: Choices) -> int:
        """Return the leader of the next partition that has these choices.

        Raises ValueError if the groups do not have this partition.
        """
        if len(choices) == 1:
            return choices[0]
        quota, seat = self._quotas.get(choices, ()), self._given[choices]
        if seat >= sum(quota):
            raise ValueError(f"there are more partitions with the choices {choices} than the {sum(quota)} that were counted")
        self._given[choices] += 1
        return choices[_place(quota, seat)]


class _Loads:
    """How many partitions each broker leads, kept up to date while groups are divided."""

    def __init__(self, groups: Groups) -> None:
        for choices in groups:
            if len({*choices}) != len(choices) or len(choices) < 2:
                raise ValueError(f"not choices of a group: {choices}; a group has at least two brokers, and none twice")
        self.quotas: dict[Choices, Quota] = {choices: (groups[choices], *(0 for _ in choices[1:])) for choices in sorted(groups)}
        self.brokers = sorted({broker for choices in groups for broker in choices})
        self._loads = dict.fromkeys(self.brokers, 0)
        for choices, partitions in groups.items():
            self._loads[choices[0]] += partitions
        self._mean = -(-sum(groups.values()) // max(1, len(self.brokers)))  # rounded up
        # While this is not empty the cluster is uneven. A set, because a look at all loads in each visit takes longer than the visit.
        self.crowded = {broker for broker, load in self._loads.items() if load > self._mean}

    def divide(self, choices: Choices, ranks: Mapping[int, int]) -> None:
        """Divide the partitions of one group again, as evenly as the loads from other groups allow."""
        quota = self.quotas[choices]
        elsewhere = [self._loads[broker] - led for broker, led in zip(choices, quota, strict=True)]
        self.quotas[choices] = _divided(sum(quota), elsewhere, [ranks[broker] for broker in choices])
        for broker, load, led in zip(choices, elsewhere, self.quotas[choices], strict=True):
            self._loads[broker] = load + led
            if load + led > self._mean:
                self.crowded.add(broker)
            else:
                self.crowded.discard(broker)


def _sweeps(groups: int) -> int:
    return min(SWEEPS, max(2, VISITS // max(1, groups)))


def _ranks(brokers: Iterable[int], sweep: int) -> dict[int, int]:
    """Return the rank of each broker in this sweep. A remainder of a division goes to the lowest ranks.

    Ranks differ from sweep to sweep, so that a surplus moves until it meets a broker that has room: first down and up the broker ids
    with the order of the groups, then in an arbitrary order. SHA-256 gives that order because it is the same on every machine.
    With CRC-32 one partition too many remains more often: from sweep to sweep the same bits of its values change for every broker.
    """

    if sweep % 4 in (1, 2):
        order = sorted(brokers, reverse=sweep % 4 == 1)
    else:
        order = sorted(brokers, key=lambda broker: sha256(f"{sweep} {broker}".encode()).digest())
    return {broker: rank for rank, broker in enumerate(order)}


def _divided(partitions: int, elsewhere: Sequence[int], ranks: Sequence[int]) -> Quota:
    """Return how many of `partitions` each choice gets, so that the choices with the least load are raised to one level.

    `elsewhere`: how many partitions of other groups each choice leads. `ranks`: those with the lowest get one more if a remainder is left.
    """
    raised = sorted(range(len(elsewhere)), key=elsewhere.__getitem__)
    # There are not enough partitions to raise all others to the load of the last.
    while (total := partitions + sum(elsewhere[place] for place in raised)) < len(raised) * elsewhere[raised[-1]]:
        raised.pop()
    level, remainder = divmod(total, len(raised))
    quota = [0] * len(elsewhere)
    for number, place in enumerate(sorted(raised, key=ranks.__getitem__)):
        quota[place] = level - elsewhere[place] + (number < remainder)
    return tuple(quota)


def _place(quota: Quota, seat: int) -> int:
    """Return which choice leads the partition with the number `seat` (from 0) of a group.

    The seats of a choice lie evenly between those of the others, not in a row: otherwise one topic's partitions would have one leader.
    Each choice takes its share of the seats that the choices before it did not take.
    """
    seats = sum(quota)
    for place, share in enumerate(quota):
        if share == 0:
            continue
        taken_before = seat * share // seats
        if (seat + 1) * share // seats > taken_before:
            return place
        seat -= taken_before
        seats -= share
    raise ValueError(f"no seat {seat} in a quota of {quota}")
