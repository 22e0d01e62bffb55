# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replication throttles that nothing uses: those in the journal of this workdir, and those that it does not know.

A throttle is in use while a move of its topic, or one that its broker takes part in, is under way. The journal must be open.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers.model import (
    EXPIRED,
    KEPT,
    KILLED_RUN,
    REMOVABLE,
    STANDING,
    THROTTLE,
    UNKNOWN,
    Leftover,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import (
    ALL_BROKERS,
    BROKER,
    DELETE,
    OF_BROKER,
    SUBTRACT,
    TOPIC,
    ConfigOperation,
    Resource,
    Settings,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reassignment import OngoingReassignment
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle import journal_entries, model
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.diff import (
    RateRestore,
    ThrottleCluster,
    place,
    plan_removal,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal import ThrottleJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.model import LISTS, RATES

ALL = "all"  # names every throttle that the journal does not have


@dataclass(frozen=True)
class Configs:
    """The throttle configs that are set: by `brokers` that answer, for `every` broker at once, and by `topics`."""

    brokers: Mapping[int, Settings]
    every: Settings
    topics: Mapping[str, Settings]


# --- of the journal ---------------------------------------------------------------------------------------------------


def removable_owners(journal: ThrottleJournal, run_is_active: bool, moving: Collection[TopicPartition]) -> list[str]:
    """Return the owners of the journal whose throttles may be removed now.

    moving  partitions under way whose copies the throttle of a run limits, as `executor.throttled_moves` returns them

    They keep the throttle of a killed run, without which they would continue at full speed. An expired throttle below it stays, too: its rates are what the
    other one restores.
    """
    return [] if run_is_active or moving else journal.left_over()


def own_rows(
    cluster: ThrottleCluster, journal: ThrottleJournal, configs: Configs, run_is_active: bool, moving: Collection[TopicPartition]
) -> list[Leftover]:
    """Return one row per config of the journal that is still set, but none of a run that is active. `moving`: as for `removable_owners`."""
    owners = removable_owners(journal, run_is_active, moving)
    found = list(_rows(cluster, journal, configs, owners, REMOVABLE, None))
    topic, partition = min(moving, default=("", 0))
    under_way = f"({len(moving)}, {topic}-{partition} first)"
    expired = journal.expiry is not None and journal.expiry.is_over
    for owner in (owner for owner in journal_entries.LAYERS if owner not in owners):
        if owner == journal_entries.RUN and run_is_active:
            continue
        if owner == journal_entries.RUN:
            reason = (
                f"moves that it slows down are under way {under_way}, and would continue at full speed: run them again "
                "(playbook reassign), which takes both over, or cancel them (kafka_recovery_cancel_moves)"
            )
        elif run_is_active and expired:
            reason = "it has expired, and the run that is in progress removes it when it ends"
        elif expired:
            reason = f"it has expired, and is removed with the throttle of a killed run, whose moves are under way {under_way}"
        else:
            until = f"{journal.expiry.at}, or until " if journal.expiry else ""
            reason = f"an operator has set it, and it stands until {until}kafka_replication_throttle removes it (state: absent)"
        found += _rows(cluster, journal, configs, [owner], KEPT, reason)
    return found


def _rows(
    cluster: ThrottleCluster, journal: ThrottleJournal, configs: Configs, owners: Collection[str], outcome: str, reason: str | None
) -> Iterator[Leftover]:
    what = plan_removal(cluster, journal, owners)
    of_run, run = journal.rates([journal_entries.RUN]), journal.run_lock.last_run()

    def row(owner: str, **values: str | int | None) -> Leftover:
        if owner == journal_entries.RUN:
            run_id, since = run or (None, None)
            return Leftover(THROTTLE, KILLED_RUN, outcome, reason, run_id=run_id, since=since, **values)  # type: ignore[arg-type]
        is_over = journal.expiry is not None and journal.expiry.is_over
        return Leftover(THROTTLE, EXPIRED if is_over else STANDING, outcome, reason, **values)  # type: ignore[arg-type]

    for rate in what.rates:
        first = rate.layers[0]
        if rate.change is not None:
            owner = (
                journal_entries.RUN
                if (first.broker, first.config) in of_run and journal_entries.RUN in owners
                else journal_entries.STANDING
            )
            yield row(owner, broker_id=first.broker, config=first.config, present=_present(rate), original=rate.after)
    for owner, added in what.added.items():
        # A topic that was deleted, and maybe created again, has lost the entries.
        for entries in (entries for entries in added if place(entries) in what.lists):
            setting = configs.topics.get(entries.topic, {}).get(entries.config)
            there = {*model.parse_list(setting.value if setting else None)}
            if set_still := [entry for entry in entries.entries if entry in there]:
                yield row(owner, topic=entries.topic, config=entries.config, present=",".join(set_still), original=None)


def _present(rate: RateRestore) -> str:
    return rate.layers[0].values[-1] if rate.present is None else rate.present


# --- that the journal does not know --------------------------------------------------------------------------------------


def unknown_rows(
    configs: Configs,
    journal: ThrottleJournal,
    ongoing: Mapping[TopicPartition, OngoingReassignment],
    states: Mapping[TopicPartition, PartitionState],
) -> list[Leftover]:
    """Return one row per throttle config that the journal does not have and that no move uses."""
    rates = [layer for layers in journal.rates().values() for layer in layers]
    added = [row for rows in journal.replicas().values() for row in rows]
    others = model.throttles_of_others(configs.brokers, configs.topics, rates, added)
    moving_topics = {topic for topic, _partition in ongoing}
    moving_brokers = {broker for one in ongoing.values() for broker in one.replicas}
    behind = _behind(states, configs.brokers.keys())
    found = []
    for other in others:
        if other["resource"] == TOPIC and other["name"] not in moving_topics:
            found.append(_unknown(other["config"], other["value"], behind.get(other["name"], 0), topic=other["name"]))
        elif other["resource"] == BROKER and other["source"] == OF_BROKER and int(other["name"]) not in moving_brokers:
            found.append(_unknown(other["config"], other["value"], 0, broker=int(other["name"])))
    if not ongoing:
        found += [_unknown(config, setting.value, 0) for config, setting in sorted(configs.every.items())]
    return found


def _behind(states: Mapping[TopicPartition, PartitionState], live: Collection[int]) -> dict[str, int]:
    """Return the number of partitions by topic that have a leader and a live replica that is out of sync."""
    found: dict[str, int] = {}
    for state in states.values():
        if state.leader >= 0 and ({*state.replicas} & {*live}) - {*state.isr}:
            found[state.topic] = found.get(state.topic, 0) + 1
    return found


def _unknown(config: str, value: str, behind: int, topic: str | None = None, broker: int | None = None) -> Leftover:
    row = Leftover(THROTTLE, UNKNOWN, KEPT, topic=topic, broker_id=broker, config=config, present=value)
    slows = f"it slows down {behind} partitions that have a replica out of sync; " if behind else ""
    why = (
        f"no run of this workdir has set it: Kafka's tool, an operator or a run with another workdir has; {slows}if it is not needed, name it in "
        f"foreign_throttles (kafka_recovery_remove_foreign_throttles): '{row.resource}'"
    )
    return row.became(KEPT, why)


def named(row: Leftover, names: Collection[str]) -> bool:
    """Return whether an operator has named a throttle that the journal does not know."""
    return row.kind == THROTTLE and row.owner == UNKNOWN and (ALL in names or row.resource in names)


def removal(row: Leftover, journal: ThrottleJournal) -> ConfigOperation:
    """Return the change that removes a throttle of `unknown_rows`, and nothing that the journal has."""
    assert row.config in (*LISTS, *RATES)
    if row.topic is None:
        return ConfigOperation(Resource(BROKER, ALL_BROKERS if row.broker_id is None else str(row.broker_id)), row.config, DELETE)
    ours = any(row.topic == own.topic and row.config == own.config for owned in journal.replicas().values() for own in owned)
    resource = Resource(TOPIC, row.topic)
    return ConfigOperation(resource, row.config, SUBTRACT, row.present) if ours else ConfigOperation(resource, row.config, DELETE)
