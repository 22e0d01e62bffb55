# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Throttles of replication (KIP-73): four configs, from the partitions that move and a rate. Pure: no I/O, no Kafka client.

A broker's two rates, bytes per second, hold for the replicas that a topic's two lists name as `partition:broker`: what the broker sends of
those that it leads, and what it fetches of those that it follows. Replicas in sync are never held up, but what they fetch counts for the leader.

Lists are changed entry by entry (APPEND and SUBTRACT), so that nobody's entries are lost who changes the same list at the same time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import SpokenError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numbers import whole_number
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import (
    APPEND,
    BROKER,
    DELETE,
    OF_BROKER,
    SET,
    SUBTRACT,
    TOPIC,
    Change,
    Resource,
    Settings,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.throttle_rate import LEAST_RATE

LEADER_RATE, FOLLOWER_RATE = "leader.replication.throttled.rate", "follower.replication.throttled.rate"
LEADER_REPLICAS, FOLLOWER_REPLICAS = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"
RATES, LISTS = (LEADER_RATE, FOLLOWER_RATE), (LEADER_REPLICAS, FOLLOWER_REPLICAS)
ALL_REPLICAS = "*"
MOST_RATE = 2**63 - 1
LONGEST_LIST = 32_767  # bytes of a config's value that a request can carry


class ThrottleError(SpokenError):
    """A throttle cannot be set; the text names the option, broker or topic and the remedy."""


class Moved(Protocol):
    """A partition on its way: the brokers that hold it, and those that are to hold it."""

    @property
    def current(self) -> tuple[int, ...]: ...
    @property
    def target(self) -> tuple[int, ...]: ...


class Copying(NamedTuple):
    """The live replicas of one partition that copy it: `leaders` may lead it meanwhile, `followers` are not in sync. `leader`: -1 where there is none."""

    leaders: tuple[int, ...]
    followers: tuple[int, ...]
    leader: int = -1


def rate_problem(name: str, rate: int) -> str | None:
    """Why a rate of this `name` is not valid; None where it is (KIP-179: INVALID_THROTTLE)."""
    return (
        None if LEAST_RATE <= rate <= MOST_RATE else f"{name} is {rate}: it is bytes per second, at least {LEAST_RATE} (INVALID_THROTTLE)"
    )


class Rate(NamedTuple):
    """Bytes per second of one broker: what it sends of throttled replicas as a `leader`, and what it fetches as a `follower` (KIP-179, ThrottledRate)."""

    leader: int
    follower: int

    def of(self, config: str) -> int:
        """The value of one of RATES."""
        return self.leader if config == LEADER_RATE else self.follower


@dataclass(frozen=True)
class Rates:
    """The rate of `each` broker, and other rates of some (`of_broker`). ThrottleError for one that is not valid (KIP-179: INVALID_THROTTLE)."""

    each: Rate
    of_broker: Mapping[int, Rate] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for suffix, rate in [("", self.each), *((f" of broker {broker} in broker_rates", rate) for broker, rate in self.of_broker.items())]:
            same = rate.leader == rate.follower
            for name, value in [("rate", rate.leader)] if same else [("leader_rate", rate.leader), ("follower_rate", rate.follower)]:
                if problem := rate_problem(name + suffix, value):
                    raise ThrottleError(problem)

    @classmethod
    def same(cls, each: int, of_broker: Mapping[int, int] | None = None) -> Rates:
        """The same rate for leaders and followers."""
        return cls(Rate(each, each), {broker: Rate(rate, rate) for broker, rate in (of_broker or {}).items()})

    def of(self, broker: int, config: str) -> int:
        """The rate of one broker, for one of RATES."""
        return self.of_broker.get(broker, self.each).of(config)


@dataclass(frozen=True)
class SetRate:
    """A rate of one broker that we set: what stood there `before` (None: nothing), and the `values` that are ours, oldest first."""

    broker: int
    config: str
    before: str | None
    values: tuple[str, ...]


@dataclass(frozen=True)
class AddedReplicas:
    """The `entries` of one list of one topic that we added. `was_empty`: somebody had set that list, to nothing."""

    topic: str
    topic_id: str
    config: str
    entries: tuple[str, ...]
    was_empty: bool = False


class Shortfall(NamedTuple):
    """A rate that is too low for what has to be copied: `needed` bytes per second, as `partitions` are written to just now."""

    broker: int
    config: str
    rate: int
    needed: int
    partitions: int

    def __str__(self) -> str:
        role = "leads" if self.config == LEADER_RATE else "catches up on"
        return (
            f"broker {self.broker}: {self.config} is {self.rate} bytes/s, but the partitions that it {role} ({self.partitions}) are written to at a rate "
            f"that takes {self.needed} bytes/s: they fall behind by {self.needed - self.rate} bytes each second and never get in sync; "
            f"raise the rate above {self.needed}, or move fewer partitions at a time"
        )


# --- what is to be throttled ---------------------------------------------------------------------------------------


def of_move(move: Moved, isr: Collection[int] | None, leader: int, live: Collection[int]) -> Copying:
    """Who copies a partition that is moved: also replicas that stay and have to catch up. `isr`: None where it is not known."""
    in_sync = set(move.current if isr is None else isr)
    replicas = [*move.current, *(broker for broker in move.target if broker not in move.current)]
    return Copying(
        tuple(broker for broker in move.current if broker in live),
        tuple(broker for broker in replicas if broker in live and broker not in in_sync),
        leader,
    )


def of_recovery(replicas: Iterable[int], isr: Collection[int], leader: int, live: Collection[int]) -> Copying:
    """Who copies a partition that nobody need have moved: replicas that came back, or were added by whomever, and are not in sync yet."""
    alive = [broker for broker in replicas if broker in live]
    return Copying(tuple(broker for broker in alive if broker in isr), tuple(broker for broker in alive if broker not in isr), leader)


def entries(copying: Mapping[TopicPartition, Copying]) -> dict[tuple[str, str], tuple[str, ...]]:
    """What the lists have to hold, by topic and config; no list without entries."""
    found: dict[tuple[str, str], list[str]] = {}
    for (topic, partition), copies in sorted(copying.items()):
        for config, brokers in ((LEADER_REPLICAS, copies.leaders), (FOLLOWER_REPLICAS, copies.followers)):
            found.setdefault((topic, config), []).extend(f"{partition}:{broker}" for broker in sorted(brokers))
    return {key: tuple(listed) for key, listed in found.items() if listed}


def brokers(copying: Mapping[TopicPartition, Copying]) -> set[int]:
    """Those that need rates."""
    return {broker for copies in copying.values() for broker in (*copies.leaders, *copies.followers)}


def listed(value: str | None) -> list[str]:
    """The entries of a list."""
    return [entry.strip() for entry in (value or "").split(",") if entry.strip()]


def partition_of(entry: str) -> int | None:
    """The partition that an entry names."""
    return whole_number(entry.partition(":")[0])


# --- setting -------------------------------------------------------------------------------------------------------


def to_set(wanted: Iterable[int], rates: Rates, present: Mapping[int, Settings]) -> list[SetRate]:
    """The rates to set on those of the `wanted` brokers whose `present` ones are known. A rate that is there already is left out."""
    found = []
    for broker in sorted(set(wanted) & present.keys()):
        for config in RATES:
            before, rate = own_value(present[broker], config), str(rates.of(broker, config))
            if before != rate:
                found.append(SetRate(broker, config, before, (rate,)))
    return found


def own_value(settings: Settings, config: str) -> str | None:
    """What is set on a broker itself; a rate for all brokers is not its own."""
    setting = settings.get(config)
    return setting.value if setting is not None and setting.source == OF_BROKER else None


def to_add(
    copying: Mapping[TopicPartition, Copying],
    present: Mapping[str, Settings],
    topic_ids: Mapping[str, str],
    whole: Iterable[tuple[str, str]] = (),
) -> list[AddedReplicas]:
    """The entries to add, per list: those that are not there, and none where the list is `*`. `whole`: the lists (topic, config) to be `*`.

    Of leaders only those that lead now, where the list would get too long with all that may. ThrottleError where it still is, and where a list
    to be `*` has entries.
    """
    leading = {key: copies._replace(leaders=(copies.leader,) if copies.leader in copies.leaders else ()) for key, copies in copying.items()}
    shortest = entries(leading)
    found = []
    for (topic, config), names in entries(copying).items():
        setting = present.get(topic, {}).get(config)
        there = listed(setting.value) if setting is not None else []
        if ALL_REPLICAS in there or topic not in topic_ids:
            continue
        if len(",".join(dict.fromkeys([*there, *names]))) > LONGEST_LIST:
            names = shortest.get((topic, config), ())  # noqa: PLW2901
            if len(",".join(dict.fromkeys([*there, *names]))) > LONGEST_LIST:
                raise ThrottleError(
                    f"{config} of topic {topic} would get longer than Kafka takes ({LONGEST_LIST} bytes); "
                    "move fewer of its partitions at a time (concurrent_moves)"
                )
        known = {*there}
        missing = tuple(name for name in names if name not in known)
        if missing:
            found.append(AddedReplicas(topic, topic_ids[topic], config, missing, setting is not None and not there))
    for topic, config in whole:
        setting = present.get(topic, {}).get(config)
        there = listed(setting.value) if setting is not None else []
        if ALL_REPLICAS not in there and topic in topic_ids:
            if there:
                raise ThrottleError(
                    f"{config} of topic {topic} names replicas ({', '.join(there[:3])}), and Kafka takes no {ALL_REPLICAS} beside them; "
                    "remove them first, or name replicas"
                )
            found.append(AddedReplicas(topic, topic_ids[topic], config, (ALL_REPLICAS,), setting is not None))
    return found


def setting(rates: Iterable[SetRate], added: Iterable[AddedReplicas]) -> list[Change]:
    """The changes that set them, rates first: a list throttles nothing without a rate, and is throttled at once with one."""
    return [
        *(Change(Resource(BROKER, str(rate.broker)), rate.config, SET, rate.values[-1]) for rate in rates),
        *(Change(Resource(TOPIC, row.topic), row.config, APPEND, ",".join(row.entries)) for row in added),
    ]


# --- taking out again ----------------------------------------------------------------------------------------------


def put_back(layers: Iterable[SetRate], present: str | None) -> tuple[bool, str | None]:
    """Whether a rate that is `present` is ours, and what then has to stand there again. `layers`: what we set, the last one first."""
    ours, value = False, present
    for layer in layers:
        if value in layer.values:
            ours, value = True, layer.before
    return ours, value


def restoring(broker: int, config: str, value: str | None) -> Change:
    """The change that puts a rate back."""
    return Change(Resource(BROKER, str(broker)), config, DELETE if value is None else SET, value)


def without(ours: AddedReplicas, present: str | None, staying: Collection[str] = ()) -> Change:
    """The change that takes our entries out of a list, and the list away where nothing else is in it. `staying`: other entries of ours.

    It also holds where a broker does not show our entries yet: taking out what is not there changes nothing.
    """
    resource = Resource(TOPIC, ours.topic)
    others = {*listed(present)} - {*ours.entries}
    if staying or (present is not None and (others or ours.was_empty)):
        return Change(resource, ours.config, SUBTRACT, ",".join(ours.entries))
    return Change(resource, ours.config, DELETE)


def united(layers: Iterable[AddedReplicas]) -> AddedReplicas:
    """What several layers added to one list of one topic, as one. The first one saw what others had set."""
    rows = list(layers)
    names = {entry: None for row in rows for entry in row.entries}
    return AddedReplicas(rows[0].topic, rows[0].topic_id, rows[0].config, tuple(names), any(row.was_empty for row in rows))


def others_set(
    broker_configs: Mapping[int, Settings],
    topic_configs: Mapping[str, Settings],
    rates: Iterable[SetRate],
    added: Iterable[AddedReplicas],
) -> list[dict[str, Any]]:
    """Throttles that are not ours: rows of `resource`, `name`, `config`, `value` and `source`; of a list only the entries of others."""
    own_rates = {(rate.broker, rate.config, value) for rate in rates for value in rate.values}
    own_entries: dict[tuple[str, str], set[str]] = {}
    for row in added:
        own_entries.setdefault((row.topic, row.config), set()).update(row.entries)
    found = [
        {"resource": BROKER, "name": str(broker), "config": config, "value": there.value, "source": there.source}
        for broker, settings in sorted(broker_configs.items())
        for config, there in sorted(settings.items())
        if (broker, config, there.value) not in own_rates
    ]
    for topic, settings in sorted(topic_configs.items()):
        for config, there in sorted(settings.items()):
            own = own_entries.get((topic, config), set())
            others = [entry for entry in listed(there.value) if entry not in own]
            if others or not own:
                found.append({"resource": TOPIC, "name": topic, "config": config, "value": ",".join(others), "source": there.source})
    return found


# --- is it enough? -------------------------------------------------------------------------------------------------


def shortfalls(copying: Mapping[TopicPartition, Copying], rates: Rates, inbound: Mapping[TopicPartition, float]) -> list[Shortfall]:
    """The rates that are too low to ever get in sync. `inbound`: bytes per second that each partition is written at; absent: not known.

    A follower has to fetch what is written to the partitions that it catches up on. A leader has to send what is written as often as the
    partition has followers, for those in sync count as well.
    """
    needs: dict[tuple[int, str], list[float]] = {}
    for key, copies in copying.items():
        if not copies.followers or key not in inbound:
            continue
        for broker in copies.followers:
            needs.setdefault((broker, FOLLOWER_RATE), []).append(inbound[key])
        receivers = {*copies.leaders, *copies.followers} - {copies.leader}
        if copies.leader in copies.leaders:
            needs.setdefault((copies.leader, LEADER_RATE), []).append(inbound[key] * len(receivers))
    return [
        Shortfall(broker, config, rates.of(broker, config), round(sum(each)), len(each))
        for (broker, config), each in sorted(needs.items())
        if sum(each) >= rates.of(broker, config) and sum(each) > 0
    ]
