# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Kafka's controller does by itself with a partition that has no leader: whom it elects now, and whom when a broker comes back.

The rule of KIP-966 as `org.apache.kafka.controller.PartitionChangeBuilder` has it in Kafka 3.8 to 4.4. Pure: no I/O, no Kafka client.

The version of Kafka is not an input: `tests/integration/test_controller_rule.py` shows that the classes of 3.8.1, 3.9.1, 4.3.1 and 4.4.0 differ in no case if
the feature ELR is off, and Kafka before 4.0 does not have that feature.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from typing import NamedTuple

ELR_FEATURE = "eligible.leader.replicas.version"


class Why(StrEnum):
    """Why the controller elects a broker."""

    ISR = "isr"  # without loss, if the broker was shut down cleanly or min.insync.replicas others were in the ISR
    ELR = "elr"  # without loss
    LAST_KNOWN_LEADER = "last_known_leader"  # the end of its log may be missing
    UNCLEAN = "unclean"  # any replica that is alive, whatever its log holds


class Registration(NamedTuple):
    """What the controller keeps of a partition, with Kafka's names. Broker ids stand in Kafka's order."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    leader: int = -1


@dataclass(frozen=True)
class ElectionConfig:
    """What decides about elections beside the partition. None where it is not known.

    `elr`: whether the feature eligible.leader.replicas.version is on. `unclean`: unclean.leader.election.enable of the topic.
    `min_isr`: min.insync.replicas of the topic, not more than the number of replicas.
    """

    elr: bool | None
    unclean: bool | None
    min_isr: int | None = None


class Election(NamedTuple):
    """A leader that the controller elects."""

    broker: int
    why: Why


def elr_is_on(level: int | None) -> bool | None:
    """Whether a cluster with the feature eligible.leader.replicas.version at this level keeps eligible leader replicas, None if it is not known."""
    return None if level is None else level > 0


def _eligible(partition: Registration) -> tuple[int, ...]:
    """Return the members of the ISR, or of the ELR if the ISR is empty. An ELR from before the feature was switched off counts."""
    return partition.isr or partition.elr


def may_lead(partition: Registration, broker: int, live: Collection[int]) -> bool:
    """Return whether the controller makes this broker the leader without loss, as in a preferred election (KIP-460). `live`: as for `elected`."""
    return broker in live and broker in _eligible(partition)


def elected(partition: Registration, live: Collection[int], elr: bool, unclean: bool) -> Election | None:
    """Return which broker the controller elects if it examines the partition now, None if it elects none.

    `live`: the brokers that are unfenced and whose log directory of this partition is online. `elr`: as in ElectionConfig.
    `unclean`: whether any live replica will do, because of the topic's config or because an unclean election is asked for (KIP-460).
    """
    eligible = _eligible(partition)
    for broker in partition.replicas:
        if may_lead(partition, broker, live):
            return Election(broker, Why.ISR if partition.isr else Why.ELR)
    # Not while a member of the ELR may come back, also if it never does.
    if elr and not eligible and len(partition.last_known_elr) == 1 and partition.last_known_elr[0] in live:
        return Election(partition.last_known_elr[0], Why.LAST_KNOWN_LEADER)
    if unclean:
        return next((Election(broker, Why.UNCLEAN) for broker in partition.replicas if broker in live), None)
    return None


def after_unclean_shutdown(partition: Registration, broker: int, elr: bool, min_isr: int) -> Registration:
    """Return what is kept of a partition without a leader when a broker registers that was not shut down cleanly.

    It leaves ISR and ELR. Without the feature ELR the last member of the ISR stays there.
    """
    if broker not in partition.isr and broker not in partition.elr:
        return partition
    rest = tuple(member for member in partition.isr if member != broker)
    if not elr:
        return partition._replace(isr=rest) if rest else partition
    if len(rest) >= min(min_isr, len(partition.replicas)):
        return partition._replace(isr=rest, elr=())
    members = [*partition.elr, *(member for member in partition.isr if member not in partition.elr)]
    return partition._replace(isr=rest, elr=tuple(member for member in members if member not in rest and member != broker))


def after_fencing(partition: Registration, broker: int, live: Collection[int], elr: bool, min_isr: int) -> Registration:
    """Return what is kept of a partition, with its leader, when the controller fences a broker that was not shut down uncleanly.

    The broker leaves the ISR and, with the feature ELR, enters the ELR if fewer than `min_isr` members are left. `live`: as for `elected`, without
    this broker. The topic allows no unclean elections.
    """
    if broker not in partition.isr:
        return partition
    rest = tuple(member for member in partition.isr if member != broker)
    eligible = partition.elr
    if elr:
        members = () if len(rest) >= min(min_isr, len(partition.replicas)) else (*eligible, *partition.isr)
        eligible = tuple(dict.fromkeys(member for member in members if member not in rest))
    shrunk = partition._replace(isr=rest, elr=eligible)
    if may_lead(shrunk, partition.leader, live):
        leader = partition.leader
    else:
        election = elected(shrunk, live, elr, unclean=False)
        leader = election.broker if election else -1
    if leader in eligible:
        rest, eligible = (leader,), tuple(member for member in eligible if member != leader)
    if not elr:
        return partition._replace(isr=rest or partition.isr, elr=(), leader=leader)
    last_known = () if leader >= 0 else partition.last_known_elr if partition.leader < 0 else (partition.leader,)
    return Registration(partition.replicas, rest, eligible, last_known, leader)


def after_losses(partition: Registration, lost: Collection[int], live: Collection[int], config: ElectionConfig) -> frozenset[Registration]:
    """Return every registration that a partition may have after all brokers of `lost` are fenced. If all have the same leader, it is certain.

    They are fenced one after the other. `live`: as for `elected`, those of `lost` may be among them. `config`: `unclean` does not count.
    """
    # Without the feature the first fencing of a member of the ISR clears the ELR. So it matters whether members of the ELR alone are fenced before it.
    in_isr, others = ([broker for broker in lost if (broker in partition.isr) == member] for member in (True, False))
    orders = ([*in_isr, *others], [*others, *in_isr]) if partition.elr else (in_isr,)
    found = set()
    for elr, order in product(_either(config.elr), orders):
        for min_isr in [config.min_isr] if config.min_isr is not None else range(1, len(partition.replicas) + 1):
            kept, left = partition, {*live}
            for broker in order:
                left.discard(broker)
                kept = after_fencing(kept, broker, left, elr, min_isr)
            found.add(kept)
    return frozenset(found)


def possible(
    partition: Registration, live: Collection[int], config: ElectionConfig, back: Iterable[tuple[int, bool | None]] = ()
) -> frozenset[Election | None]:
    """Return every election that may follow when the brokers `back` are alive, too. One element: it is certain; None in it: perhaps no broker is elected.

    `back`: broker and whether it was shut down cleanly (None: not known), in the order in which they come.
    """
    returning = list(back)
    found: set[Election | None] = set()
    for elr in _either(config.elr):
        for unclean in _either(config.unclean):
            for min_isr in [config.min_isr] if config.min_isr is not None else range(1, len(partition.replicas) + 1):
                for clean in product(*(_either(known) for _broker, known in returning)):
                    found.add(_after_returns(partition, set(live), returning, clean, elr, unclean, min_isr))
    return frozenset(found)


def waited_for(partition: Registration, present: Collection[int], elr: bool | None) -> set[int]:
    """Return the brokers that the controller may elect by itself, without loss or as the last known leader, if only `present` brokers come back.

    `present`: brokers that are alive or coming back; whether they were shut down cleanly is not known. Each that was not leaves ISR and ELR, so these
    count one after the other: while a member of one is gone for good, the controller waits for it and elects none of the next. `elr`: as in ElectionConfig.
    """
    last_known = partition.last_known_elr if len(partition.last_known_elr) == 1 else ()
    # Without the feature the ISR keeps its last member, and the last known leader does not count.
    lists = [partition.isr or partition.elr] if elr is False else [partition.isr, partition.elr, last_known]
    waited: set[int] = set()
    for members in lists:
        waited |= {*members} & {*present}
        if not {*members} <= {*present}:
            break
    return waited


def origins(
    partition: Registration, broker: int, live: Collection[int], back: Collection[int], elr: bool | None
) -> dict[bool, frozenset[Why]]:
    """Return why `broker` may have been elected after it came back, by whether it was shut down cleanly before.

    live  the other brokers that were alive all the time
    back  the other brokers that may have come back before it. One that is eligible and was shut down cleanly would have been elected, so only the
          others matter
    elr   as in ElectionConfig

    UNCLEAN does not depend on unclean.leader.election.enable: any tool may ask for an unclean election (KIP-460).
    """
    eligible = {*partition.isr, *partition.elr}
    # A member that is alive may have registered again, too.
    isr, elr_only = (
        [member for member in members if member in {*live, *back} and member != broker]
        for members in (partition.isr, [member for member in partition.elr if member not in partition.isr])
    )
    # A broker that comes back can only stand before this one in an unclean election. Everything else is the likelier the more members have left ISR and ELR.
    # So no return at all and all returns together have all origins between them. The first to return matters: with a member of the ELR the ISR is at its
    # largest, and may empty the ELR.
    orders = {(), (*isr, *elr_only), (*elr_only, *isr)}
    others = {*live} - eligible - {broker}
    found: dict[bool, set[Why]] = {True: set(), False: set()}
    # The greater min.insync.replicas, the less empties the ELR: so the least and the greatest have all origins between them, too.
    for keeps_elr, min_isr in product(_either(elr), {1, len(partition.replicas)}):
        for returned in orders:
            left = partition
            for member in returned:
                left = after_unclean_shutdown(left, member, keeps_elr, min_isr)
            for clean in (True, False):
                now = left if clean else after_unclean_shutdown(left, broker, keeps_elr, min_isr)
                election = elected(now, {broker, *returned, *others}, keeps_elr, True)
                if election is not None and election.broker == broker:
                    found[clean].add(election.why)
    return {clean: frozenset(reasons) for clean, reasons in found.items()}


def _either(known: bool | None) -> tuple[bool, ...]:
    return (False, True) if known is None else (known,)


def _after_returns(
    partition: Registration,
    live: set[int],
    back: Iterable[tuple[int, bool | None]],
    clean: tuple[bool, ...],
    elr: bool,
    unclean: bool,
    min_isr: int,
) -> Election | None:
    election = elected(partition, live, elr, unclean)
    for (broker, _known), was_clean in zip(back, clean, strict=True):
        if election:
            break
        if not was_clean:
            partition = after_unclean_shutdown(partition, broker, elr, min_isr)
        live.add(broker)
        election = elected(partition, live, elr, unclean)
        if not elr and partition.elr:
            partition = partition._replace(elr=())  # whenever the controller has looked at the partition
    return election
