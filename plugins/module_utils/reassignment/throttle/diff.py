# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What would change: throttles to be set, and ours to be taken out, from what stands on the cluster and in the journal. Changes nothing.

Check mode, diff and the real run all stand on it. The journal has to be open.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import printable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numbers import MOST_INT64, whole_number
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import (
    DELETE,
    SUBTRACT,
    Change,
    Refusal,
    Resource,
    Settings,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle import model
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal import ThrottleJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal_entries import LAYERS, RUN
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.model import (
    LISTS,
    RATES,
    AddedReplicas,
    Copying,
    Rates,
    SetRate,
    own_value,
)

ADDED, REMOVED = "added", "removed"
Place = tuple[str, str, str]  # topic, topic id, config


class Throttled(Protocol):
    """What is needed of a cluster."""

    def unfenced(self) -> set[int]: ...
    def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]: ...
    def broker_configs(self, ids: Collection[int], names: Collection[str]) -> dict[int, Settings]: ...
    def topic_configs_of(self, topics: Collection[str], names: Collection[str]) -> dict[str, Settings]: ...
    def alter_configs(self, changes: Iterable[Change], validate_only: bool = False) -> dict[Resource, Refusal | None]: ...


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
        return None if self.live and self.present == self.after else model.restoring(first.broker, first.config, self.after)


@dataclass(frozen=True)
class ToRemove:
    """What is to be taken out, of these `owners`. `added`: entries by owner; `lists`: the change of each list, None where the topic is no more."""

    owners: Collection[str]
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
    whole: Mapping[tuple[str, str], Collection[int]] | None = None,
) -> ToSet:
    """What has to be set for these replicas, and for the lists (topic, config) to be `*`, with the brokers that they hold for (`whole`).

    Brokers that do not answer get no rate.
    """
    whole = whole or {}
    own = journal.rates([RUN]) if owner == RUN else {}
    brokers = model.brokers(copying).union(*whole.values())
    lacking = model.to_set(brokers, rates, cluster.broker_configs(brokers, RATES))
    present = cluster.topic_configs_of({topic for topic, _other in [*copying, *whole]}, LISTS)
    # A run's rate may have been changed while it runs: it is not set again, unless somebody has removed it (`--verify` of Kafka's tool does).
    lacking = [rate for rate in lacking if rate.before is None or (rate.broker, rate.config) not in own]
    return ToSet(owner, lacking, model.to_add(copying, present, topic_ids, whole))


def to_change(cluster: Throttled, journal: ThrottleJournal, owner: str, rates: Rates) -> ToSet:
    """What has to be set for another rate on the brokers that have one of ours now. What others have set there since stays."""
    own = {key: layers[0] for key, layers in journal.rates([owner]).items()}
    brokers = {broker for broker, _name in own} & cluster.unfenced()
    lacking = model.to_set(brokers, rates, cluster.broker_configs(brokers, RATES))
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
        return model.without(row, None if present is None else present.value, staying)

    return ToRemove(
        owners,
        [_to_put_back(layers, told.get(broker), config) for (broker, config), layers in rates.items()],
        added,
        {where: list_change(model.united(rows)) for where, rows in lists.items()},
    )


def _to_put_back(layers: Sequence[SetRate], told: Settings | None, config: str) -> ToPutBack:
    if told is None:
        return ToPutBack(tuple(layers), None, layers[-1].before, live=False)
    present = own_value(told, config)
    _before, after = model.put_back(layers, present)
    return ToPutBack(tuple(layers), present, after, live=True)


def place(row: AddedReplicas) -> Place:
    """The list that entries were added to."""
    return row.topic, row.topic_id, row.config


# --- what was changed ----------------------------------------------------------------------------------------------


@dataclass
class Changed:
    """What is, or would be, another one: rows of rates (`broker_id`, `config`, `before`, `after`) and of lists (`topic`, `config`, `change`, `entries`)."""

    rates: list[dict[str, Any]] = field(default_factory=list)
    replicas: list[dict[str, Any]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.rates or self.replicas)

    def __iadd__(self, other: Changed) -> Self:
        self.rates += other.rates
        self.replicas += other.replicas
        return self

    @property
    def summary(self) -> dict[str, int]:
        """How many brokers have other rates, how many topics other lists, and how many entries of these are others."""
        return {
            "brokers": len({row["broker_id"] for row in self.rates}),
            "topics": len({row["topic"] for row in self.replicas}),
            "replicas": sum(len(row["entries"]) for row in self.replicas),
        }

    def diff(self) -> dict[str, str]:
        """Rates before and after, and the entries that are removed and added."""
        return {"before": self._shown("before", REMOVED), "after": self._shown("after", ADDED)}

    def _shown(self, side: str, change: str) -> str:
        lines: Iterable[str] = (
            *(f"broker {row['broker_id']}: {row['config']}={row[side]}" for row in self.rates if row[side] is not None),
            *(f"topic {row['topic']}: {row['config']}={','.join(row['entries'])}" for row in self.replicas if row["change"] == change),
        )
        return "".join(f"{printable(line)}\n" for line in lines)

    def take_set(self, what: ToSet) -> None:
        """What is set."""
        self.rates += [_rate(rate.broker, rate.config, rate.before, rate.values[-1]) for rate in what.rates]
        self.replicas += [_list(row, ADDED) for row in what.added]

    def take_removed(self, what: ToRemove) -> None:
        """What is taken out. The present rate of a broker that is dead is not known: the one that was set last stands for it."""
        for row in what.rates:
            if row.change is not None:
                first = row.layers[0]
                self.rates.append(_rate(first.broker, first.config, row.present if row.live else first.values[-1], row.after))
        for rows in what.added.values():
            found = [(row, what.lists[place(row)]) for row in rows]
            self.replicas += [_list(row, REMOVED) for row, change in found if change is not None and change.operation in (DELETE, SUBTRACT)]


def _rate(broker: int, config: str, before: str | None, after: str | None) -> dict[str, Any]:
    numbers = {name: None if value is None else whole_number(value, MOST_INT64) for name, value in (("before", before), ("after", after))}
    return {"broker_id": broker, "config": config, **numbers}


def _list(row: AddedReplicas, change: str) -> dict[str, Any]:
    return {"topic": row.topic, "config": row.config, "change": change, "entries": list(row.entries)}
