# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What would change: throttles to be set, and ours to be taken out, from what stands on the cluster and in the journal. Changes nothing.

Check mode, diff and the real run all stand on it. The journal has to be open.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils import throttles
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.config_changes import Change, Refusal, Resource, Settings
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.partitions import PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.throttle_journal import LAYERS, RUN, ThrottleJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.throttles import (
    LISTS,
    RATES,
    AddedReplicas,
    Copying,
    Rates,
    SetRate,
    own_value,
)

Place = tuple[str, str, str]  # topic, topic id, config


class Throttled(Protocol):
    """What is needed of a cluster."""

    def unfenced(self) -> set[int]: ...
    def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]: ...
    def broker_configs(self, ids: Collection[int], names: Collection[str]) -> dict[int, Settings]: ...
    def topic_configs_of(self, topics: Collection[str], names: Collection[str]) -> dict[str, Settings]: ...
    def alter_configs(self, changes: Iterable[Change]) -> dict[Resource, Refusal | None]: ...


@dataclass(frozen=True)
class ToSet:
    """What is to be set, and whose it will be (`owner`)."""

    owner: str
    rates: Sequence[SetRate] = ()
    added: Sequence[AddedReplicas] = ()


@dataclass(frozen=True)
class ToPutBack:
    """A rate of ours: what is `present` (None: nothing, or not known of a broker that is not `live`), and what has to stand there `after`."""

    layers: tuple[SetRate, ...]
    present: str | None
    after: str | None
    live: bool

    @property
    def change(self) -> Change | None:
        """None where the rate is not ours any more, or was never set."""
        first = self.layers[0]
        return None if self.live and self.present == self.after else throttles.restoring(first.broker, first.config, self.after)


@dataclass(frozen=True)
class ToRemove:
    """What is to be taken out, of these owners. `added`: entries by owner; `lists`: the change of each list, None where the topic is no more."""

    rates: Sequence[ToPutBack] = ()
    added: Mapping[str, Sequence[AddedReplicas]] = field(default_factory=dict)
    lists: Mapping[Place, Change | None] = field(default_factory=dict)


def to_set(
    cluster: Throttled,
    journal: ThrottleJournal,
    owner: str,
    copying: Mapping[TopicPartition, Copying],
    rates: Rates,
    topic_ids: Mapping[str, str],
) -> ToSet:
    """What has to be set for these replicas. Brokers that do not answer get no rate."""
    own = journal.rates([RUN]) if owner == RUN else {}
    brokers = throttles.brokers(copying)
    lacking = throttles.to_set(brokers, rates, cluster.broker_configs(brokers, RATES))
    present = cluster.topic_configs_of({topic for topic, _partition in copying}, LISTS)
    # A run's rate may have been changed while it runs: it is not set again, unless somebody has removed it (`--verify` of Kafka's tool does).
    lacking = [rate for rate in lacking if rate.before is None or (rate.broker, rate.config) not in own]
    return ToSet(owner, lacking, throttles.to_add(copying, present, topic_ids))


def to_change(cluster: Throttled, journal: ThrottleJournal, owner: str, rates: Rates) -> ToSet:
    """What has to be set for another rate on the brokers that have one of ours now. What others have set there since stays."""
    own = {key: layers[0] for key, layers in journal.rates([owner]).items()}
    brokers = {broker for broker, _name in own} & cluster.unfenced()
    lacking = throttles.to_set(brokers, rates, cluster.broker_configs(brokers, RATES))
    return ToSet(owner, [rate for rate in lacking if (key := (rate.broker, rate.config)) in own and rate.before in own[key].values])


def to_remove(
    cluster: Throttled, journal: ThrottleJournal, owners: Collection[str] = LAYERS, keys: Collection[TopicPartition] | None = None
) -> ToRemove:
    """What of ours has to be taken out: all that these owners have set, or (`keys`) the entries of these partitions alone."""
    rates = journal.rates(owners) if keys is None else {}
    added = {owner: rows for owner, rows in journal.replicas(owners, None if keys is None else set(keys)).items() if rows}
    lists: dict[Place, list[AddedReplicas]] = {}
    for rows in added.values():
        for row in rows:
            lists.setdefault(place(row), []).append(row)
    ours: dict[Place, list[str]] = {}
    for rows in journal.replicas().values():
        for row in rows:
            ours.setdefault(place(row), []).extend(row.entries)
    brokers = {broker for broker, _name in rates}
    told = cluster.broker_configs(brokers & cluster.unfenced(), RATES) if brokers else {}
    topics = {topic for topic, _name, _value in lists}
    there = cluster.topic_configs_of(topics, LISTS) if topics else {}
    states = cluster.partitions({(topic, 0) for topic in there}) if there else {}

    def list_change(row: AddedReplicas) -> Change | None:
        state = states.get((row.topic, 0))
        if row.topic not in there or (state is not None and state.topic_id != row.topic_id):
            return None  # deleted since, maybe created again: what we had added went with it
        present = there[row.topic].get(row.config)
        staying = {*ours[place(row)]} - {*row.entries}
        return throttles.without(row, None if present is None else present.value, staying)

    return ToRemove(
        [_to_put_back(layers, told.get(broker), config) for (broker, config), layers in rates.items()],
        added,
        {where: list_change(throttles.united(rows)) for where, rows in lists.items()},
    )


def _to_put_back(layers: Sequence[SetRate], told: Settings | None, config: str) -> ToPutBack:
    if told is None:
        return ToPutBack(tuple(layers), None, layers[-1].before, live=False)
    present = own_value(told, config)
    _before, after = throttles.put_back(layers, present)
    return ToPutBack(tuple(layers), present, after, live=True)


def place(row: AddedReplicas) -> Place:
    """The list that entries were added to."""
    return row.topic, row.topic_id, row.config
