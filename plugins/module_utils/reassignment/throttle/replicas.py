# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replicas that an operator has named to be throttled (KIP-179, ThrottledReplicas), and rates of brokers, checked against the cluster. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.model import (
    FOLLOWER_REPLICAS,
    LEADER_REPLICAS,
    Copying,
    Rate,
    Rates,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.validate import Brokers

ENTRY = re.compile(r"([0-9]{1,9}):([0-9]{1,9})")
Entries = tuple[tuple[int, int], ...]  # partition and broker


class ThrottledReplicas(NamedTuple):
    """The replicas of one topic that are throttled as `leaders` and as `followers`; None: all of them, which Kafka writes as `*`."""

    topic: str
    leaders: Entries | None
    followers: Entries | None

    def copying(self, states: Iterable[PartitionState], live: Collection[int]) -> dict[TopicPartition, Copying]:
        """Return the named live replicas, by partition. `states`: of the topic's partitions; `live`: ids of unfenced brokers."""
        leader = {state.partition: state.leader for state in states if state.topic == self.topic}
        named = {
            partition: tuple(
                tuple(broker for number, broker in side or () if number == partition and broker in live)
                for side in (self.leaders, self.followers)
            )
            for partition, _broker in (*(self.leaders or ()), *(self.followers or ()))
        }
        return {
            (self.topic, partition): Copying(leaders, followers, leader.get(partition, -1))
            for partition, (leaders, followers) in named.items()
        }

    def whole(self, states: Iterable[PartitionState], live: Collection[int]) -> dict[tuple[str, str], set[int]]:
        """Return the lists (topic, config) to set to `*`, with the ids of the live brokers that have replicas of the topic."""
        brokers = {broker for state in states if state.topic == self.topic for broker in state.replicas if broker in live}
        sides = ((LEADER_REPLICAS, self.leaders), (FOLLOWER_REPLICAS, self.followers))
        return {(self.topic, config): brokers for config, side in sides if side is None}


def read_replicas(rows: Sequence[Mapping[str, Any]] | None) -> list[ThrottledReplicas] | None:
    """Return the option `throttled_replicas`, None if it is not set.

    Raises RecoveryError if it is empty, for a topic that is named twice, and for an entry that is not `partition:broker`.
    """
    if rows is None:
        return None
    if not rows:
        raise RecoveryError("throttled_replicas is empty; name topics, or leave it out to throttle replicas that are out of sync")
    _refuse_twice("throttled_replicas", "topic", [row["topic"] for row in rows])
    return [ThrottledReplicas(row["topic"], _entries(row, "leader_replicas"), _entries(row, "follower_replicas")) for row in rows]


def _entries(row: Mapping[str, Any], name: str) -> Entries | None:
    if row[name] is None:
        return None
    fits = [ENTRY.fullmatch(text) for text in row[name]]
    wrong = [text for text, fit in zip(row[name], fits, strict=True) if fit is None]
    if wrong:
        raise RecoveryError(
            f"throttled_replicas: {name} of {row['topic']} has {wrong[0]!r:.60}; write partition:broker, like 0:1, or leave {name} out for all"
        )
    return tuple(dict.fromkeys((int(fit[1]), int(fit[2])) for fit in fits if fit))


def read_rates(params: Mapping[str, Any]) -> Rates:
    """Return the options `rate`, `leader_rate`, `follower_rate` and `broker_rates`, all in bytes per second.

    Raises RecoveryError if one is missing or not valid (KIP-179: INVALID_THROTTLE), or if a broker is named twice.
    """
    each = _rate(params, None, "state present needs rate, or both leader_rate and follower_rate")
    rows = params["broker_rates"]
    _refuse_twice("broker_rates", "broker", [row["broker_id"] for row in rows])
    return Rates(each, {row["broker_id"]: _rate(row, each, f"broker_rates names no rate of broker {row['broker_id']}") for row in rows})


def _rate(row: Mapping[str, Any], each: Rate | None, problem: str) -> Rate:
    sides = [row["rate"] if row[name] is None else row[name] for name in ("leader_rate", "follower_rate")]
    if sides == [None, None] or (each is None and None in sides):
        raise RecoveryError(problem)
    leader, follower = sides
    return Rate(each.leader if leader is None and each else leader, each.follower if follower is None and each else follower)


def _refuse_twice(option: str, kind: str, names: Sequence[Any]) -> None:
    twice = [name for number, name in enumerate(names) if name in names[:number]]
    if twice:
        raise RecoveryError(f"{option} names {kind} {twice[0]} more than once; name each {kind} once")


def check_brokers(brokers: Brokers, states: Sequence[PartitionState], rates: Rates, replicas: Sequence[ThrottledReplicas]) -> None:
    """Raise RecoveryError if `rates` or `replicas` name a broker, topic or partition that the cluster does not have.

    `states`: of all partitions that the cluster has, at least those of the named topics.
    """
    # If the cluster does not list fenced brokers, a broker with replicas counts as registered.
    known = brokers.registered if brokers.complete else brokers.registered.union(*(state.replicas for state in states))
    partitions = {state.key for state in states}
    topics = {topic for topic, _partition in partitions}
    for broker in rates.of_broker:
        if broker not in known:
            raise RecoveryError(f"broker_rates names broker {broker}, which is not registered in this cluster; {_correct(known)}")
    for row in replicas:
        if row.topic not in topics:
            raise RecoveryError(f"throttled_replicas: there is no topic {row.topic} (or no DESCRIBE permission on it); correct the name")
        for partition, broker in (*(row.leaders or ()), *(row.followers or ())):
            where = f"throttled_replicas: {partition}:{broker} of topic {row.topic}"
            if (row.topic, partition) not in partitions:
                raise RecoveryError(f"{where}: there is no partition {partition}; correct the number")
            if broker not in known:
                raise RecoveryError(f"{where}: broker {broker} is not registered in this cluster; {_correct(known)}")


def _correct(known: Collection[int]) -> str:
    names = sorted(known)
    return f"correct the id: {', '.join(map(str, names[:20]))}{', …' if len(names) > 20 else ''} are"
