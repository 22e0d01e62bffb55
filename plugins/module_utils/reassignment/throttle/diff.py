# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans changes: throttles to set, and throttles of this collection to remove, from the cluster's configs and the journal. Changes nothing.

Check mode, diff and the real run all use these plans. The journal must be open.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import gone_partitions
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import printable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numbers import MOST_INT64, whole_number
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import (
    ConfigOperation,
    Refusal,
    Resource,
    Settings,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionSource,
    PartitionState,
    TopicPartition,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import Reason, ReasonCode
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reassignment import OngoingReassignment
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


class ThrottleCluster(PartitionSource, gone_partitions.SecondSource, Protocol):
    """The parts of a cluster that throttles use. `configs_in_doubt`: see `ConfigAdmin`."""

    configs_in_doubt: dict[Resource, set[int]]
    lists_fenced: bool

    def listed(self) -> set[int]: ...
    def silent(self, wanted: Collection[int] | None = None, listed: Collection[int] = ()) -> set[int]: ...
    def unfenced(self) -> set[int]: ...
    def broker_configs(self, ids: Collection[int], names: Collection[str]) -> dict[int, Settings]: ...
    def topic_configs_of(self, topics: Collection[str], names: Collection[str]) -> dict[str, Settings]: ...
    def alter_configs(self, changes: Iterable[ConfigOperation], validate_only: bool = False) -> dict[Resource, Refusal | None]: ...
    def reassignments(self) -> dict[TopicPartition, OngoingReassignment]: ...


@dataclass(frozen=True)
class ThrottleToSet:
    """Rates and entries of lists to set, and the `owner` to record in the journal. `silent`: brokers that need rates and did not answer."""

    owner: str
    rates: Sequence[SetRate] = ()
    added: Sequence[AddedReplicas] = ()
    silent: Collection[int] = ()


@dataclass(frozen=True)
class RateRestore:
    """A rate that the journal has, and the value to restore.

    layers   the rates of all owners for this broker and config, the last one first
    present  the value that is set, None if there is none, or if the broker is not `live`
    after    the value to restore, None for none
    """

    layers: tuple[SetRate, ...]
    present: str | None
    after: str | None
    live: bool

    @property
    def change(self) -> ConfigOperation | None:
        """Return the change that restores the rate, None if others have changed the rate since.

        It is also made if the broker shows the rate from before: a broker that is behind does not show what was set.
        """
        first = self.layers[0]
        if self.is_restored and self.present != self.layers[-1].before:
            return None
        return model.restore_change(first.broker, first.config, self.after)

    @property
    def is_restored(self) -> bool:
        """Return whether the broker shows the value to restore."""
        return self.live and self.present == self.after


@dataclass(frozen=True)
class ThrottleToRemove:
    """Throttles of these `owners` to remove.

    added  entries by owner
    lists  the entries to remove from each list; a topic that was deleted since has none
    whole  those lists of which no entry of this collection stays
    kept   lists whose topics seem to be gone, but not by the word of two brokers, with the reason: their entries stay in the journal
    """

    owners: Collection[str]
    rates: Sequence[RateRestore] = ()
    added: Mapping[str, Sequence[AddedReplicas]] = field(default_factory=dict)
    lists: Mapping[Place, AddedReplicas] = field(default_factory=dict)
    whole: Collection[Place] = ()
    kept: Mapping[Place, Reason] = field(default_factory=dict)


def plan_throttle(
    cluster: ThrottleCluster,
    journal: ThrottleJournal,
    owner: str,
    copying: Mapping[TopicPartition, Copying],
    rates: Rates,
    topic_ids: Mapping[str, str],
    whole: Mapping[tuple[str, str], Collection[int]] | None = None,
) -> ThrottleToSet:
    """Return what must be set to throttle these replicas, without what is set already. Brokers that do not answer get no rate.

    copying    replicas to throttle, by partition; `topic_ids`: by name of these topics
    whole      lists (topic, config) to set to `*`, with the ids of the brokers that need rates for them
    Raises RecoveryError if a list would be too long, or would have `*` together with entries (see `model.replicas_to_add`).
    """
    whole = whole or {}
    own = journal.rates([RUN]) if owner == RUN else {}
    brokers = model.brokers_to_throttle(copying).union(*whole.values())
    configs = cluster.broker_configs(brokers, RATES)
    lacking = model.rates_to_set(brokers, rates, configs)
    present = cluster.topic_configs_of({topic for topic, _other in [*copying, *whole]}, LISTS)
    # A run's rate may have been changed while it runs: it is set again only if it was removed, as `--verify` of Kafka's tool does.
    lacking = [rate for rate in lacking if rate.before is None or (rate.broker, rate.config) not in own]
    return ThrottleToSet(owner, lacking, model.replicas_to_add(copying, present, topic_ids, whole), brokers - configs.keys())


def plan_rate_change(cluster: ThrottleCluster, journal: ThrottleJournal, owner: str, rates: Rates) -> ThrottleToSet:
    """Return what must be set for other `rates` on the brokers that have a rate of `owner`, without rates that are set already.

    Rates that others have set since stay. A broker that does not answer gets no new rate.
    """
    own = {key: layers[0] for key, layers in journal.rates([owner]).items()}
    brokers = {broker for broker, _name in own} & cluster.unfenced()
    lacking = model.rates_to_set(brokers, rates, cluster.broker_configs(brokers, RATES))
    return ThrottleToSet(owner, [rate for rate in lacking if (key := (rate.broker, rate.config)) in own and rate.before in own[key].values])


def plan_removal(
    cluster: ThrottleCluster, journal: ThrottleJournal, owners: Collection[str] = LAYERS, keys: Collection[TopicPartition] | None = None
) -> ThrottleToRemove:
    """Return what must be removed: everything that these owners have set, or with `keys` only the list entries of these partitions.

    Values that others have set since are not touched, and neither are topics that were deleted, even if they were created again.
    """
    rates = journal.rates(owners) if keys is None else {}
    added = {owner: rows for owner, rows in journal.replicas(owners, None if keys is None else set(keys)).items() if rows}
    lists: dict[Place, list[AddedReplicas]] = {}
    for rows in added.values():
        for row in rows:
            lists.setdefault(place(row), []).append(row)
    own_entries: dict[Place, list[str]] = {}
    for rows in journal.replicas().values():
        for row in rows:
            own_entries.setdefault(place(row), []).extend(row.entries)
    brokers = {broker for broker, _name in rates}
    configs = cluster.broker_configs(brokers & cluster.unfenced(), RATES) if brokers else {}
    topics = {topic for topic, _name, _value in lists}
    settings = cluster.topic_configs_of(topics, LISTS) if topics else {}
    states = cluster.partitions({(topic, 0) for topic in topics}) if topics else {}

    def is_there(row: AddedReplicas) -> bool:
        """Return whether the topic was not deleted since, and maybe created again: the entries were deleted with it."""
        state = states.get((row.topic, 0))
        return row.topic in settings if state is None else state.topic_id == row.topic_id

    merged = {where: model.merge_layers(rows) for where, rows in lists.items()}
    gone = {(row.topic, row.topic_id) for row in merged.values() if not is_there(row)}
    doubts = _doubts(cluster, gone, states)
    return ThrottleToRemove(
        owners,
        [_rate_restore(layers, configs.get(broker), config) for (broker, config), layers in rates.items()],
        added,
        {where: row for where, row in merged.items() if is_there(row)},
        {where for where, row in merged.items() if {*own_entries[where]} <= {*row.entries}},
        {where: why for where, row in merged.items() if (why := doubts.get((row.topic, row.topic_id))) is not None},
    )


def doubts_of_gone(cluster: ThrottleCluster, rows: Collection[AddedReplicas]) -> dict[Place, Reason]:
    """Return those of these lists whose topics are not gone by the word of two brokers, each with the reason. One broker does not know the topics.

    Raises ClusterError if the cluster does not answer.
    """
    states = cluster.partitions({(row.topic, 0) for row in rows})
    doubts = _doubts(cluster, {(row.topic, row.topic_id) for row in rows}, states)
    there = Reason(ReasonCode.BROKERS_DISAGREE, "a broker states that its topic does not exist, and another one that it does: run again")
    found: dict[Place, Reason] = {}
    for row in rows:
        state = states.get((row.topic, 0))
        is_there = state is not None and state.topic_id == row.topic_id
        if why := there if is_there else doubts.get((row.topic, row.topic_id)):
            found[place(row)] = why
    return found


def _doubts(
    cluster: ThrottleCluster, gone: Collection[tuple[str, str]], states: Mapping[TopicPartition, PartitionState]
) -> dict[tuple[str, str], Reason]:
    """Return those of these topics (name, id) that no second broker states to be gone, each with the reason. `states`: what one broker states."""
    found: dict[tuple[str, str], Reason] = {}
    left = {*gone}
    while left:  # mostly once: the journal seldom has two ids of one topic
        topic_ids = dict(left)
        left -= topic_ids.items()
        doubts = gone_partitions.doubts(cluster, {(topic, 0): {topic_id} for topic, topic_id in topic_ids.items()}, states)
        found |= {(topic, topic_ids[topic]): why for (topic, _partition), why in doubts.items()}
    return found


def _rate_restore(layers: Sequence[SetRate], settings: Settings | None, config: str) -> RateRestore:
    if settings is None:
        return RateRestore(tuple(layers), None, layers[-1].before, live=False)
    present = own_value(settings, config)
    _before, after = model.restored_value(layers, present)
    return RateRestore(tuple(layers), present, after, live=True)


def place(row: AddedReplicas) -> Place:
    """Return the key of the list that entries were added to: topic, topic id and config."""
    return row.topic, row.topic_id, row.config


# --- changes for the result ----------------------------------------------------------------------------------------------


@dataclass
class ThrottleChanges:
    """Changes that were or would be made: rows of rates (`broker_id`, `config`, `before`, `after`) and of lists (`topic`, `config`, `change`,
    `entries`)."""

    rates: list[dict[str, Any]] = field(default_factory=list)
    replicas: list[dict[str, Any]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.rates or self.replicas)

    def __iadd__(self, other: ThrottleChanges) -> Self:
        self.rates += other.rates
        self.replicas += other.replicas
        return self

    @property
    def summary(self) -> dict[str, int]:
        """Return the numbers of changed `brokers` (rates), `topics` (lists) and `replicas` (entries of lists)."""
        return {
            "brokers": len({row["broker_id"] for row in self.rates}),
            "topics": len({row["topic"] for row in self.replicas}),
            "replicas": sum(len(row["entries"]) for row in self.replicas),
        }

    def diff(self) -> dict[str, str]:
        """Return Ansible's diff: `before` has former rates and removed entries, `after` has new rates and added entries."""
        return {"before": self._shown("before", REMOVED), "after": self._shown("after", ADDED)}

    def _shown(self, side: str, change: str) -> str:
        lines: Iterable[str] = (
            *(f"broker {row['broker_id']}: {row['config']}={row[side]}" for row in self.rates if row[side] is not None),
            *(f"topic {row['topic']}: {row['config']}={','.join(row['entries'])}" for row in self.replicas if row["change"] == change),
        )
        return "".join(f"{printable(line)}\n" for line in lines)

    def without_those_in(self, journal: ThrottleJournal, owners: Collection[str]) -> ThrottleChanges:
        """Return the removals that were made: rates and entries that the journal still has for these owners could not be removed."""
        rates = journal.rates(owners)
        stay = {(row.topic, row.config, entry) for rows in journal.replicas(owners).values() for row in rows for entry in row.entries}
        lists = [
            {**row, "entries": [entry for entry in row["entries"] if (row["topic"], row["config"], entry) not in stay]}
            for row in self.replicas
        ]
        return ThrottleChanges(
            [row for row in self.rates if (row["broker_id"], row["config"]) not in rates], [row for row in lists if row["entries"]]
        )

    def add_set(self, what: ThrottleToSet) -> None:
        """Add the changes that set these throttles."""
        self.rates += [_rate(rate.broker, rate.config, rate.before, rate.values[-1]) for rate in what.rates]
        self.replicas += [_list(row, ADDED) for row in what.added]

    def add_removed(self, what: ThrottleToRemove) -> None:
        """Add the changes that remove these throttles. The present rate of a dead broker is not known; the row has the rate that was set last."""
        for row in what.rates:
            if not row.is_restored:
                first = row.layers[0]
                self.rates.append(_rate(first.broker, first.config, row.present if row.live else first.values[-1], row.after))
        for rows in what.added.values():
            self.replicas += [_list(row, REMOVED) for row in rows if place(row) in what.lists]


def _rate(broker: int, config: str, before: str | None, after: str | None) -> dict[str, Any]:
    numbers = {name: None if value is None else whole_number(value, MOST_INT64) for name, value in (("before", before), ("after", after))}
    return {"broker_id": broker, "config": config, **numbers}


def _list(row: AddedReplicas, change: str) -> dict[str, Any]:
    return {"topic": row.topic, "config": row.config, "change": change, "entries": list(row.entries)}
