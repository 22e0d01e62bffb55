# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replication throttles (KIP-73): the four configs, computed from the partitions that move and a rate. Pure: no I/O, no Kafka client.

A broker has two rates, in bytes per second. They apply to the replicas that a topic's two lists name as `partition:broker`: the leader rate to what
the broker sends of partitions that it leads, the follower rate to what it fetches. Replicas in sync are never delayed, but their fetches count
towards the leader's rate.

Lists are changed entry by entry (APPEND and SUBTRACT), so that concurrent changes of the same list by others are not lost.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numbers import MOST_INT64, whole_number
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import (
    APPEND,
    BROKER,
    DELETE,
    OF_BROKER,
    SET,
    SUBTRACT,
    TOPIC,
    ConfigOperation,
    Resource,
    Settings,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.throttle_rate import LEAST_RATE

LEADER_RATE, FOLLOWER_RATE = "leader.replication.throttled.rate", "follower.replication.throttled.rate"
LEADER_REPLICAS, FOLLOWER_REPLICAS = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"
RATES, LISTS = (LEADER_RATE, FOLLOWER_RATE), (LEADER_REPLICAS, FOLLOWER_REPLICAS)
ALL_REPLICAS = "*"
MAX_LIST_BYTES = 32_767  # bytes of a config's value that a request can hold


class Moved(Protocol):
    """A partition that is moved from its `current` brokers to its `target` brokers."""

    @property
    def current(self) -> tuple[int, ...]: ...
    @property
    def target(self) -> tuple[int, ...]: ...


class Copying(NamedTuple):
    """The live replicas of one partition: `leaders` may lead it meanwhile, `followers` are not in sync and copy it. `leader`: its id, -1 for none."""

    leaders: tuple[int, ...]
    followers: tuple[int, ...]
    leader: int = -1


def rate_problem(name: str, rate: int) -> str | None:
    """Return why a rate (bytes per second) is not valid, None if it is (KIP-179: INVALID_THROTTLE). `name`: of the option, for the text."""
    return (
        None if LEAST_RATE <= rate <= MOST_INT64 else f"{name} is {rate}: it is bytes per second, at least {LEAST_RATE} (INVALID_THROTTLE)"
    )


class Rate(NamedTuple):
    """Bytes per second of one broker: what it sends as a `leader` of throttled replicas, and fetches as a `follower` (KIP-179, ThrottledRate)."""

    leader: int
    follower: int

    def of(self, config: str) -> int:
        """Return the rate (bytes per second) for one of RATES."""
        return self.leader if config == LEADER_RATE else self.follower


@dataclass(frozen=True)
class Rates:
    """The rate of `each` broker, and exceptions by broker id (`of_broker`). Raises RecoveryError for a rate that is not valid (KIP-179)."""

    each: Rate
    of_broker: Mapping[int, Rate] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for suffix, rate in [("", self.each), *((f" of broker {broker} in broker_rates", rate) for broker, rate in self.of_broker.items())]:
            same = rate.leader == rate.follower
            for name, value in [("rate", rate.leader)] if same else [("leader_rate", rate.leader), ("follower_rate", rate.follower)]:
                if problem := rate_problem(name + suffix, value):
                    raise RecoveryError(problem)

    @classmethod
    def same(cls, each: int, of_broker: Mapping[int, int] | None = None) -> Rates:
        """Return rates that are the same for leaders and followers: bytes per second of `each` broker, and exceptions by broker id.

        Raises RecoveryError for a rate that is not valid.
        """
        return cls(Rate(each, each), {broker: Rate(rate, rate) for broker, rate in (of_broker or {}).items()})

    def of(self, broker: int, config: str) -> int:
        """Return the rate (bytes per second) of one broker, for one of RATES."""
        return self.of_broker.get(broker, self.each).of(config)


@dataclass(frozen=True)
class SetRate:
    """A rate of one broker that this collection sets: the value `before` (None: not set), and its own `values`, oldest first."""

    broker: int
    config: str
    before: str | None
    values: tuple[str, ...]


@dataclass(frozen=True)
class AddedReplicas:
    """The `entries` that this collection added to one list of one topic. `was_empty`: whether the list was set before, to an empty value."""

    topic: str
    topic_id: str
    config: str
    entries: tuple[str, ...]
    was_empty: bool = False


class Shortfall(NamedTuple):
    """A rate that is too low: `needed` bytes per second, at the rate at which producers write to so many `partitions` now."""

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


# --- replicas to throttle ------------------------------------------------------------------------------------------


def copying_during_move(move: Moved, isr: Collection[int] | None, leader: int, live: Collection[int]) -> Copying:
    """Return the replicas that copy a partition while it is moved, including replicas that stay and must catch up.

    `isr`: None if unknown, then all present replicas count as in sync. `leader`: broker id, -1 for none. `live`: ids of unfenced brokers.
    """
    in_sync = set(move.current if isr is None else isr)
    replicas = [*move.current, *(broker for broker in move.target if broker not in move.current)]
    return Copying(
        tuple(broker for broker in move.current if broker in live),
        tuple(broker for broker in replicas if broker in live and broker not in in_sync),
        leader,
    )


def copying_after_recovery(replicas: Iterable[int], isr: Collection[int], leader: int, live: Collection[int]) -> Copying:
    """Return the replicas that copy a partition that is not moved: those that came back or were added, and are not in sync yet.

    `leader`: broker id, -1 for none. `live`: ids of unfenced brokers.
    """
    alive = [broker for broker in replicas if broker in live]
    return Copying(tuple(broker for broker in alive if broker in isr), tuple(broker for broker in alive if broker not in isr), leader)


def list_entries(copying: Mapping[TopicPartition, Copying]) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the entries (`partition:broker`) that the lists must have, by topic and config. Lists without entries are absent."""
    found: dict[tuple[str, str], list[str]] = {}
    for (topic, partition), copies in sorted(copying.items()):
        for config, brokers in ((LEADER_REPLICAS, copies.leaders), (FOLLOWER_REPLICAS, copies.followers)):
            found.setdefault((topic, config), []).extend(f"{partition}:{broker}" for broker in sorted(brokers))
    return {key: tuple(listed) for key, listed in found.items() if listed}


def brokers_to_throttle(copying: Mapping[TopicPartition, Copying]) -> set[int]:
    """Return the ids of the brokers that need rates."""
    return {broker for copies in copying.values() for broker in (*copies.leaders, *copies.followers)}


def parse_list(value: str | None) -> list[str]:
    """Return the entries of a list config, without spaces and empty entries; none if `value` is None."""
    return [entry.strip() for entry in (value or "").split(",") if entry.strip()]


def partition_of(entry: str) -> int | None:
    """Return the partition that an entry (`partition:broker`) names, None if it names none, as `*` does."""
    return whole_number(entry.partition(":")[0])


# --- setting -------------------------------------------------------------------------------------------------------


def rates_to_set(wanted: Iterable[int], rates: Rates, present: Mapping[int, Settings]) -> list[SetRate]:
    """Return the rates to set on the brokers `wanted` (ids), without rates that are set already.

    `present`: dynamic configs by broker id. A broker whose configs are not known gets no rate.
    """
    found = []
    for broker in sorted(set(wanted) & present.keys()):
        for config in RATES:
            before, rate = own_value(present[broker], config), str(rates.of(broker, config))
            if before != rate:
                found.append(SetRate(broker, config, before, (rate,)))
    return found


def own_value(settings: Settings, config: str) -> str | None:
    """Return the value that is set on a broker itself, None if it has none or only a cluster-wide default."""
    setting = settings.get(config)
    return setting.value if setting is not None and setting.source == OF_BROKER else None


def replicas_to_add(
    copying: Mapping[TopicPartition, Copying],
    present: Mapping[str, Settings],
    topic_ids: Mapping[str, str],
    whole: Iterable[tuple[str, str]] = (),
) -> list[AddedReplicas]:
    """Return the entries to add to each list, without entries that it has already, and none if it is `*`. `present`: topic configs.

    `whole`: the lists (topic, config) to set to `*`. If a list of leaders would be too long, it gets only the present leaders. Raises
    RecoveryError if it is still too long, or if a list to set to `*` has entries.
    """
    leading = {key: copies._replace(leaders=(copies.leader,) if copies.leader in copies.leaders else ()) for key, copies in copying.items()}
    shortest = list_entries(leading)
    found = []
    for (topic, config), names in list_entries(copying).items():
        setting = present.get(topic, {}).get(config)
        there = parse_list(setting.value) if setting is not None else []
        if ALL_REPLICAS in there or topic not in topic_ids:
            continue
        if len(",".join(dict.fromkeys([*there, *names]))) > MAX_LIST_BYTES:
            names = shortest.get((topic, config), ())  # noqa: PLW2901
            if len(",".join(dict.fromkeys([*there, *names]))) > MAX_LIST_BYTES:
                raise RecoveryError(
                    f"{config} of topic {topic} would be longer than Kafka accepts ({MAX_LIST_BYTES} bytes); "
                    "move fewer of its partitions at a time (concurrent_moves)"
                )
        known = {*there}
        missing = tuple(name for name in names if name not in known)
        if missing:
            found.append(AddedReplicas(topic, topic_ids[topic], config, missing, setting is not None and not there))
    for topic, config in whole:
        setting = present.get(topic, {}).get(config)
        there = parse_list(setting.value) if setting is not None else []
        if ALL_REPLICAS not in there and topic in topic_ids:
            if there:
                raise RecoveryError(
                    f"{config} of topic {topic} names replicas ({', '.join(there[:3])}), and Kafka does not accept {ALL_REPLICAS} together with them; "
                    "remove them first, or name replicas"
                )
            found.append(AddedReplicas(topic, topic_ids[topic], config, (ALL_REPLICAS,), setting is not None))
    return found


def changes_to_set(rates: Iterable[SetRate], added: Iterable[AddedReplicas]) -> list[ConfigOperation]:
    """Return the changes that set rates and lists, rates first: a list without a rate throttles nothing."""
    return [
        *(ConfigOperation(Resource(BROKER, str(rate.broker)), rate.config, SET, rate.values[-1]) for rate in rates),
        *(ConfigOperation(Resource(TOPIC, row.topic), row.config, APPEND, ",".join(row.entries)) for row in added),
    ]


# --- removing -----------------------------------------------------------------------------------------------------


def restored_value(layers: Iterable[SetRate], present: str | None) -> tuple[bool, str | None]:
    """Return whether this collection set the `present` rate, and the value to restore. `layers`: the rates that it set, the last one first."""
    own, value = False, present
    for layer in layers:
        if value in layer.values:
            own, value = True, layer.before
    return own, value


def restore_change(broker: int, config: str, value: str | None) -> ConfigOperation:
    """Return the change that restores a rate. `value`: None to delete the config."""
    return ConfigOperation(Resource(BROKER, str(broker)), config, DELETE if value is None else SET, value)


def subtraction(own: AddedReplicas) -> ConfigOperation:
    """Return the change that removes entries that this collection added from a list.

    Others may add to the list at any moment, so it is not deleted before brokers show that it is empty (`deletion`). The change is also right if
    a broker does not show the entries yet: removing a missing entry changes nothing but that a list which is not set becomes empty.
    """
    return ConfigOperation(Resource(TOPIC, own.topic), own.config, SUBTRACT, ",".join(own.entries))


def deletion(own: AddedReplicas, present: str | None) -> ConfigOperation | None:
    """Return the change that deletes a list whose own entries are removed, None if it stays: others have entries in it, or it was empty before.

    `present`: the list's value, None if it is not set, or if a broker does not show yet that it is empty.
    """
    if own.was_empty or parse_list(present):
        return None
    return ConfigOperation(Resource(TOPIC, own.topic), own.config, DELETE)


def merge_layers(layers: Iterable[AddedReplicas]) -> AddedReplicas:
    """Return the entries that several layers added to one list of one topic, as one row. The first layer knows whether the list was empty."""
    rows = list(layers)
    names = {entry: None for row in rows for entry in row.entries}
    return AddedReplicas(rows[0].topic, rows[0].topic_id, rows[0].config, tuple(names), any(row.was_empty for row in rows))


def throttles_of_others(
    broker_configs: Mapping[int, Settings],
    topic_configs: Mapping[str, Settings],
    rates: Iterable[SetRate],
    added: Iterable[AddedReplicas],
) -> list[dict[str, Any]]:
    """Return the throttles that this collection did not set, as rows with `resource`, `name`, `config`, `value` and `source` (KIP-226).

    `rates`, `added`: what the journal has. The value of a list has only the entries of others. A rate that others have set to the same value
    counts as set by this collection.
    """
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
            others = [entry for entry in parse_list(there.value) if entry not in own]
            if others or not own:
                found.append({"resource": TOPIC, "name": topic, "config": config, "value": ",".join(others), "source": there.source})
    return found


# --- rates that are too low --------------------------------------------------------------------------------------------------


def shortfalls(copying: Mapping[TopicPartition, Copying], rates: Rates, inbound: Mapping[TopicPartition, float]) -> list[Shortfall]:
    """Return the rates with which replicas never get in sync.

    `inbound`: bytes per second that producers write to each partition; partitions that are not known are absent. A follower must fetch what
    is written to the partitions that it catches up on. A leader must send it once for each follower, including those in sync.
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
