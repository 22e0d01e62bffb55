# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds what runs have left on one cluster, and in the journals of this workdir. Changes nothing.

A run that is in progress is named, and nothing of it counts as left over.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.leftover_cluster import LeftoverCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.cluster_files import journal_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError, RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.journal_file import JournalBusy
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import reorder_journal, replica_orders
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import Journal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers import (
    model,
    moves,
    observed_file,
    orders,
    replays,
    revivals,
    throttles,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers.model import Leftover
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reassignment import OngoingReassignment
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.config_preview import Configurable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.executor import throttled_moves
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal import ThrottleJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.model import LISTS, RATES
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival import journal as revival_journal

NO_ORDERS = (
    "there is no journal of replica orders at {path}, so it is not known whether runs with another workdir, or one that is lost, have left orders changed "
    "(the partition has its replicas, but another preferred leader)"
)


class Leftovers:
    """What runs have left on one cluster.

    connection  the one of `cluster`, for the controllers
    name        the cluster's name in the inventory
    window      seconds for which reassignments under way are watched

    `find` sets `rows`, `moving` (number of reassignments that copy), `running` (sentences on runs in progress), `unknown` (what could not be looked at)
    and `problems` (journals that cannot be used).
    """

    def __init__(self, cluster: LeftoverCluster, connection: Connection, workdir: Path, name: str, window: float) -> None:
        self.cluster, self.workdir, self.name, self._connection, self._window = cluster, workdir, name, connection, window
        self.revival_is_active = False
        self.rows: list[Leftover] = []
        self.running: list[str] = []
        self.unknown: list[str] = []
        self.problems: list[str] = []
        self.moving = 0

    # --- finding --------------------------------------------------------------------------------------------------------

    def find(self) -> None:
        """Look at the cluster and at the journals of this workdir. Changes nothing. Raises ClusterError if the cluster does not answer."""
        cluster = self.cluster
        ongoing, states = cluster.reassignments(), cluster.partitions()
        revived = self._revivals(states)
        self._moves(ongoing, states, {row.key for row in revived})
        self.rows += revived
        self._orders(states)
        self._throttles(cluster.reassignments(), states)
        transactions, blind = cluster.open_transactions()
        self.rows += replays.rows(transactions)
        self.unknown += [f"transactions of replays: {sentence}" for sentence in blind]

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note in the block that a journal is in use, or that it cannot be used."""
        try:
            yield
        except JournalBusy as busy:
            self._note(self.running, str(busy))
        except RecoveryError as error:
            self._note(self.problems, str(error))

    @staticmethod
    def _note(sentences: list[str], one: str) -> None:
        if one not in sentences:
            sentences.append(one)

    def _revivals(self, states: Mapping[TopicPartition, PartitionState]) -> list[Leftover]:
        with self.noted():
            path = journal_file(self.workdir, revival_journal.FOLDER, self.cluster.cluster_id, make=False)
            self.revival_is_active = True  # until its journal is open
            with revival_journal.RevivalJournal(path, self.cluster.cluster_id, read_only=True) as journal:
                journal.fail_if_held()
                self.revival_is_active = False
            return revivals.rows(journal, states)
        return []

    def _moves(
        self,
        ongoing: Mapping[TopicPartition, OngoingReassignment],
        states: Mapping[TopicPartition, PartitionState],
        revived: Collection[tuple[str | None, int | None]],
    ) -> None:
        others = {key: one for key, one in ongoing.items() if key not in revived}
        motion = moves.watch(self.cluster, others, states, self._window)
        begun = moves.begun_by_runs(self.workdir, self.name, others)
        found = moves.rows(others, states, motion, begun, self.cluster.unfenced(), self._window)
        self.moving = len(motion) - len(found)
        self.rows += found

    def order_journal_path(self, make: bool) -> Path:
        """Return where the journal of replica orders is. `make`: whether its folder is created."""
        return journal_file(self.workdir, reorder_journal.FOLDER, self.cluster.cluster_id, make)

    def _orders(self, states: Mapping[TopicPartition, PartitionState]) -> None:
        with self.noted():
            path = self.order_journal_path(make=False)
            if not path.exists():
                self._orders_without_journal(path, states)
                return
            with Journal(path, self.cluster.cluster_id, read_only=True) as journal:
                journal.fail_if_held()
            # A run that begins now must not find it locked.
            self.rows += orders.rows(journal, replica_orders.plan_repair(self.cluster, journal))

    def _orders_without_journal(self, path: Path, states: Mapping[TopicPartition, PartitionState]) -> None:
        """Note what cannot be known, and what the metadata log shows in its place."""
        seen = "name controller_bootstrap_servers (kafka_controller_bootstrap_servers), so that the metadata log shows which orders were changed"
        if self._connection.controller_bootstrap_servers:
            # Few runs need the controllers.
            from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers import order_history

            try:
                rows, seen = order_history.read(self._connection, states)
                self.rows += rows
            except ClusterError as error:
                seen = str(error)
        self._note(self.unknown, f"{NO_ORDERS.format(path=path)}; {seen}")

    def throttle_journal(self, change: bool = False) -> ThrottleJournal:
        """Return the journal of throttles. With `change` it can be written, unless there is none: then this workdir has no throttles."""
        journal = ThrottleJournal(self.workdir, self.name, self.cluster.cluster_id, read_only=True)
        return ThrottleJournal(self.workdir, self.name, self.cluster.cluster_id) if change and journal.path.exists() else journal

    def _throttles(self, ongoing: Mapping[TopicPartition, OngoingReassignment], states: Mapping[TopicPartition, PartitionState]) -> None:
        with self.noted(), self.throttle_journal() as journal:
            self.rows += self.throttle_rows(self.cluster, journal, self.run_is_active(journal), ongoing, states)

    def throttle_rows(
        self,
        cluster: Configurable,
        journal: ThrottleJournal,
        is_active: bool,
        ongoing: Mapping[TopicPartition, OngoingReassignment],
        states: Mapping[TopicPartition, PartitionState],
    ) -> list[Leftover]:
        """Return what the journal, which is open, has set and not removed, and throttles that it does not have.

        `is_active`: whether a run moves replicas of the cluster. `ongoing`: moves that use throttles.
        """
        live = cluster.unfenced()
        configs = throttles.Configs(
            cluster.broker_configs(live, RATES),
            self.cluster.default_broker_configs(RATES),
            cluster.topic_configs_of({topic for topic, _partition in states}, LISTS),
        )
        known = {broker for state in states.values() for broker in state.replicas} | {node.broker_id for node in cluster.registered()}
        for broker in sorted(known - configs.brokers.keys()):
            self._note(self.unknown, f"broker {broker} does not answer, and no other broker says which replication rates it has")
        return [
            *throttles.own_rows(cluster, journal, configs, is_active, throttled_moves(cluster, journal, ongoing)),
            *throttles.unknown_rows(configs, journal, ongoing, states),
        ]

    def run_is_active(self, journal: ThrottleJournal) -> bool:
        """Return whether a run moves replicas of the cluster now, and note it."""
        try:
            journal.run_lock.fail_if_active("what it has set stays")
        except JournalBusy as busy:
            self._note(self.running, str(busy))
            return True
        return False

    # --- the result -------------------------------------------------------------------------------------------------------

    def report(self, preview: int) -> dict[str, Any]:
        """Return the result of the modules without `changed`. `preview`: maximum of rows."""
        return {
            "summary": {**model.counts(self.rows), "moving": self.moving},
            "remaining": model.remaining(self.rows),
            "leftovers": model.as_rows(self.rows)[:preview],
            "running": self.running,
            "unknown": self.unknown,
            "problems": self.problems,
            "unreachable_brokers": self.cluster.unreachable_rows(),
        }

    def write(self) -> None:
        """Write what remains to the workdir, for the report."""
        observed_file.write(self.workdir, self.name, model.remaining(self.rows))
