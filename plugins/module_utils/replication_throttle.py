# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One cluster's throttle of replication, as it is asked for: present at a rate, or absent; and what the module tells of it.

`throttle_plans` computes what would change; check mode, diff and the real run all stand on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils import throttle_plans, throttles, throttling
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.config_changes import DELETE, SUBTRACT
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.measuring import HasLogDirs, inbound
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.partitions import PartitionState, TopicPartition, only_known
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.throttle_journal import LAYERS, RUN, STANDING, ThrottleJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.throttles import LISTS, RATES, Copying, Rates

ADDED, REMOVED = "added", "removed"


class Cluster(throttle_plans.Throttled, HasLogDirs, Protocol):
    """What is needed of a cluster."""

    def unreachable_rows(self) -> list[dict[str, Any]]: ...


@dataclass
class Changed:
    """What is, or would be, another one: rows of rates (`broker_id`, `config`, `before`, `after`) and of lists (`topic`, `config`, `change`, `entries`)."""

    rates: list[dict[str, Any]] = field(default_factory=list)
    replicas: list[dict[str, Any]] = field(default_factory=list)

    def take_set(self, what: throttle_plans.ToSet) -> None:
        """What is set."""
        self.rates += [_rate(rate.broker, rate.config, rate.before, rate.values[-1]) for rate in what.rates]
        self.replicas += [_list(row, ADDED) for row in what.added]

    def take_removed(self, what: throttle_plans.ToRemove) -> None:
        """What is taken out. Of a broker that is not there the present rate is not known: it is told as the one that was set last."""
        for row in what.rates:
            if row.change is not None:
                first = row.layers[0]
                self.rates.append(_rate(first.broker, first.config, row.present if row.live else first.values[-1], row.after))
        for rows in what.added.values():
            found = [(row, what.lists[throttle_plans.place(row)]) for row in rows]
            self.replicas += [_list(row, REMOVED) for row, change in found if change is not None and change.operation in (DELETE, SUBTRACT)]


class ReplicationThrottle:
    """The throttle of one cluster. `measured`: seconds over which it is measured how fast partitions are written to (0: not at all)."""

    def __init__(self, cluster: Cluster, journal: ThrottleJournal, check_mode: bool, measured: float) -> None:
        self._cluster = cluster
        self._journal = journal
        self._check_mode = check_mode
        self._measured = measured
        self._changed = Changed()
        self._covered: Mapping[TopicPartition, Copying] = {}
        self._run_lives = journal.run_lives()
        self._left: list[str] = []
        self.warnings: list[str] = []

    def present(self, rates: Rates, keys: Sequence[TopicPartition] | None) -> None:
        """Throttle what copies these partitions (None: all with a live replica that is out of sync). While a run lives, only its rate is changed."""
        with self._journal as journal:
            if self._run_lives:
                self._set(journal, throttle_plans.to_change(self._cluster, journal, RUN, rates))
                return
            leftover = throttle_plans.to_remove(self._cluster, journal, [RUN])
            self._remove(journal, leftover)
            states = self._states(keys)
            live = self._cluster.unfenced()
            copying = {
                state.key: throttles.of_recovery(state.replicas, state.isr, state.leader, live) for state in states if state.leader >= 0
            }
            self._covered = {key: copies for key, copies in copying.items() if keys is not None or copies.followers}
            topic_ids = {state.topic: state.topic_id for state in states}
            lacking = throttle_plans.to_set(self._cluster, journal, STANDING, self._covered, rates, topic_ids)
            # Brokers that are done keep the rate until it is removed, but not another one.
            other = throttle_plans.to_change(self._cluster, journal, STANDING, rates)
            self._set(journal, replace(lacking, rates=list(dict.fromkeys([*lacking.rates, *other.rates]))))
        if self._measured and any(copies.followers for copies in self._covered.values()):
            written = inbound(self._cluster, self._covered.keys(), {state.key: state for state in states}, self._measured)
            self.warnings += map(str, throttles.shortfalls(self._covered, rates, written))

    def absent(self) -> None:
        """Take out all that is ours, also what a run that lives has set."""
        with self._journal as journal:
            self._remove(journal, throttle_plans.to_remove(self._cluster, journal, LAYERS))

    def _states(self, keys: Sequence[TopicPartition] | None) -> list[PartitionState]:
        found = self._cluster.partitions(keys)
        return list(found.values()) if keys is None else only_known(keys, found)

    def _set(self, journal: ThrottleJournal, what: throttle_plans.ToSet) -> None:
        self._changed.take_set(what)
        if not self._check_mode and (what.rates or what.added):
            self.warnings += throttling.set_throttle(self._cluster, journal, what)

    def _remove(self, journal: ThrottleJournal, what: throttle_plans.ToRemove) -> None:
        self._changed.take_removed(what)
        if not self._check_mode and (what.rates or what.added):
            self._left += throttling.remove(self._cluster, journal, what)

    def report(self, preview: int, with_diff: bool) -> dict[str, Any]:
        """What the module returns: `failed` where something of ours could not be taken out."""
        changed = self._changed
        with self._journal as journal:
            rates = [layer for layers in journal.rates().values() for layer in layers]
            added = [row for rows in journal.replicas().values() for row in rows]
        others = throttles.others_set(
            self._cluster.broker_configs(self._cluster.unfenced(), RATES),
            self._cluster.topic_configs_of({topic for topic, _partition in self._cluster.partitions(None)}, LISTS),
            rates,
            added,
        )
        report: dict[str, Any] = {
            "changed": bool(changed.rates or changed.replicas),
            "run_in_progress": self._run_lives,
            "summary": {
                "brokers": len({row["broker_id"] for row in changed.rates}),
                "topics": len({row["topic"] for row in changed.replicas}),
                "replicas": sum(len(row["entries"]) for row in changed.replicas),
                "others": len(others),
            },
            "rates": changed.rates[:preview],
            "replicas": changed.replicas[:preview],
            "others": others[:preview],
            "unreachable_brokers": self._cluster.unreachable_rows(),
        }
        if self._left:
            report |= {"failed": True, "msg": "; ".join(self._left)}
        if with_diff:
            report["diff"] = {"before": _shown(changed, "before", REMOVED), "after": _shown(changed, "after", ADDED)}
        return report


def _rate(broker: int, config: str, before: str | None, after: str | None) -> dict[str, Any]:
    numbers = {name: None if value is None else int(value) for name, value in (("before", before), ("after", after))}
    return {"broker_id": broker, "config": config, **numbers}


def _list(row: throttles.AddedReplicas, change: str) -> dict[str, Any]:
    return {"topic": row.topic, "config": row.config, "change": change, "entries": list(row.entries)}


def _shown(changed: Changed, side: str, change: str) -> str:
    lines: Iterable[str] = (
        *(f"broker {row['broker_id']}: {row['config']}={row[side]}\n" for row in changed.rates if row[side] is not None),
        *(f"topic {row['topic']}: {row['config']}={','.join(row['entries'])}\n" for row in changed.replicas if row["change"] == change),
    )
    return "".join(lines)
