# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The limits of one recovery while it elects: which elections exceed them before they begin, and whether too many brokers are offline in a batch."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.kip1275_cluster import NativeCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import designated_election
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Entry, Live, Result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import Left
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import UNFENCED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import blast_radius


class Excess(NamedTuple):
    """`reasons`: a sentence for each limit that elections exceed. `not_counted`: results of entries that do not count because they would not be elected.

    These must not be elected later either: one broker alone may have stated a leader.
    """

    reasons: list[str]
    not_counted: list[Result]


class ElectionLimits:
    """The limits of the elections of one cluster. `name`: as it has in the inventory. `limits`: may be set until the elections begin."""

    def __init__(self, cluster: NativeCluster, name: str) -> None:
        self._cluster, self._name = cluster, name
        self.limits = blast_radius.BlastRadiusLimits()

    def excess(self, entries: Sequence[Entry], done: int, replicas: Collection[int], left: Left) -> Excess:
        """Return what these elections exceed together with those that the run has done.

        `done`: how many these are. `replicas`: ids of the brokers of the plan. `left`: orders that the journal has open. Raises ClusterError if the
        cluster does not answer.
        """
        not_counted: list[Result] = []

        def predicted() -> int:
            forecast = designated_election.predict(self._cluster, entries, left)
            not_counted.extend(result for result in forecast if not designated_election.may_be_elected(result))
            return done + len(entries) - len(not_counted)

        replicas = {*replicas}.union(*(entry.replicas for entry in entries))
        return Excess(
            blast_radius.find_violations(self._cluster, self._name, replicas, done + len(entries), predicted, self.limits), not_counted
        )

    def offline_brokers(self, live: Live) -> list[str]:
        """Return why nothing of a batch may be elected, empty if no more brokers are offline than the limit allows.

        They are counted in each batch, because one broker that lies could state fewer of them before. Kafka before 4.0 lists only those of the batch.
        """
        offline = [broker for broker, state in sorted(live.broker_states.items()) if state != UNFENCED]
        return blast_radius.limit_violations(1, offline, replace(self.limits, max_partitions=1), self._name)
