# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the present state of everything that the guards of elections check."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import backend_selection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import deadline
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import NO_ANSWER
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Entry, Live
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import (
    Left,
    to_restore,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.replica_orders import (
    Reordering,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.replica_logs import LogSource, read_logs
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    TopicPartition,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.leader_eligibility import keeps_elr

# For everything that the guards of a batch read, and for its logs. Brokers have answered for them a moment before. A broker that hangs must leave
# time for the requests that follow the logs.
LOOK_SECONDS, LOG_SECONDS = 60.0, 30.0


class ElectionCluster(LogSource, Reordering, Protocol):
    """The methods of a cluster that elections use. `backend`: see `backend_selection`."""

    backend: str

    def feature_level(self, feature: str) -> int | None: ...
    def operations(self) -> frozenset[str] | None: ...
    def elect_unclean(self, keys: Collection[TopicPartition], written_by: float) -> dict[TopicPartition, Refusal | None]: ...
    def elect_designated(self, leaders: Mapping[TopicPartition, int], written_by: float) -> dict[TopicPartition, Refusal | None]: ...


def look(cluster: ElectionCluster, entries: Sequence[Entry], known: Left, ask_second: bool = True, before: Live | None = None) -> Live:
    """Return the present state of everything that the guards of `entries` check. `known`: orders that this workdir's runs have changed.

    `ask_second`: whether a second broker is asked for the replicas, too. Only an order that is set after this needs that.
    `before`: what was seen a moment ago, if this must not take long: replicas that did not answer then are not asked again.
    Raises ClusterError if the cluster does not answer within LOOK_SECONDS.
    """
    with deadline.until(time.monotonic() + LOOK_SECONDS):
        return _live(cluster, entries, known, ask_second, before)


def _live(cluster: ElectionCluster, entries: Sequence[Entry], known: Left, ask_second: bool, before: Live | None) -> Live:
    read_at = time.monotonic()
    keys, unfenced = {entry.key for entry in entries}, cluster.unfenced()
    # Also replicas that are alive but not survivors of the plan: they may answer now, and then an operator must decide. If the partition has other
    # replicas by now, no log of it matters: it is refused.
    wanted = [(entry.key, broker) for entry in entries for broker in entry.replicas if broker in unfenced]
    # Such a broker may still take records.
    saved = [(entry.key, broker) for entry in entries for broker in entry.saved_fenced if broker not in unfenced]
    known_silent = before.silent if before else {}
    with deadline.until(time.monotonic() + LOG_SECONDS):
        logs = read_logs(cluster, [replica for replica in (*wanted, *saved) if replica not in known_silent], duration=0.0)
    logs |= {replica: known_silent[replica] for replica in (*wanted, *saved) if replica in known_silent}
    silent = {replica: log for replica, log in logs.items() if log.error == NO_ANSWER}
    fenced_ends = {replica: log.log_end_offset or 0 for replica in saved if (log := logs.pop(replica)).error is None}
    # Reading logs takes time, and a leader or a broker may have come meanwhile, so these are read last.
    mentioned = {broker for entry in entries for broker in entry.replicas}
    broker_states = {row["broker_id"]: row["broker_state"] for row in cluster.broker_states(mentioned)}
    states_at = time.monotonic()
    states = cluster.partitions(keys)
    ours = {key: {order.changed for order in orders if order.is_another} for key, orders in known.items()}
    elr = keeps_elr(cluster, states.values())
    reassigning = cluster.reassigning()
    originals = {key: order for key, order in to_restore(known, states).items() if key not in reassigning}
    # Only the compat backend elects by the order of replicas, and changes it.
    reorders = cluster.backend != backend_selection.NATIVE
    offline = [states[entry.key] for entry in entries if entry.key in states and states[entry.key].leader not in unfenced]
    second = cluster.second_replicas(offline) if reorders and ask_second else None
    live = Live(states, broker_states, logs, reassigning, ours, elr, frozenset(cluster.cut_off), originals, reorders, second, fenced_ends)
    return replace(live, silent=silent, read_at=read_at, states_at=states_at)
