# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes of throttles that a broker got and never answered. If it hangs, it may carry them out later, after their removal.

Of this run they are in the cluster's `configs_in_doubt`, of runs before it in the journal.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import unanswered_requests
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import BROKER, TOPIC, Resource
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle import visible_configs
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.diff import ThrottleCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal import ThrottleJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.model import LISTS


def await_answers(cluster: ThrottleCluster, journal: ThrottleJournal) -> None:
    """Wait until brokers that answer again have carried out such changes. `configs_in_doubt` and the journal have only the other brokers then.

    Raises ClusterError if the cluster does not answer, FileError if the journal cannot be written.
    """
    unanswered = journal.unanswered()
    for resource, brokers in unanswered.items():
        if brokers:
            cluster.configs_in_doubt[resource] = {*cluster.configs_in_doubt.get(resource, ()), *brokers}
    of_any_broker = {resource for resource, brokers in unanswered.items() if brokers is None}
    wanted = {broker for brokers in cluster.configs_in_doubt.values() for broker in brokers}
    if not wanted and not of_any_broker:
        return
    silent = unanswered_requests.still_silent(cluster, None if of_any_broker else wanted, wanted | journal.listed())
    topics = {resource.name for resource in (*cluster.configs_in_doubt, *of_any_broker) if resource.kind == TOPIC}
    left = {resource: rest for resource, brokers in cluster.configs_in_doubt.items() if (rest := brokers & silent)}
    left |= {resource: {*left.get(resource, ()), *silent} for resource in of_any_broker if silent}
    cluster.configs_in_doubt = left
    follow_topics(cluster, journal, topics)
    journal.replace_unanswered(left)


def follow_topics(cluster: ThrottleCluster, journal: ThrottleJournal, topics: Collection[str]) -> None:
    """Record entries of the journal for topics that were created again with their names, if these show them: changes go by names, not by ids.

    Must be called before it is recorded that a change was answered. Raises ClusterError if the cluster does not answer, FileError if the journal cannot be
    written.
    """
    rows = [(owner, row) for owner, added in journal.replicas().items() for row in added if row.topic in topics]
    states = cluster.partitions({(row.topic, 0) for _owner, row in rows}) if rows else {}
    other = [(owner, row, state) for owner, row in rows if (state := states.get((row.topic, 0))) and state.topic_id != row.topic_id]
    settings = cluster.topic_configs_of({row.topic for _owner, row, _state in other}, LISTS) if other else {}
    for owner, row, state in other:
        shown = {*visible_configs.entries(settings.get(row.topic, {}), row.config)}
        if entries := tuple(entry for entry in row.entries if entry in shown):
            journal.record_intent(owner, (), [replace(row, topic_id=state.topic_id, entries=entries)])


def problems(cluster: ThrottleCluster, resources: Collection[Resource]) -> Iterator[str]:
    """Yield a sentence for each of these topics and brokers whose throttle a broker may still set."""
    for resource in sorted(cluster.configs_in_doubt.keys() & {*resources}):
        brokers = ", ".join(map(str, sorted(cluster.configs_in_doubt[resource])))
        what = "its replication rates" if resource.kind == BROKER else f"the throttled replicas of {resource}"
        yield (
            f"broker {brokers} got a change of {what} and never answered: if it hangs, it may still carry it out, so they stay recorded; run again "
            f"when {unanswered_requests.when_it_ends(cluster)}"
        )
