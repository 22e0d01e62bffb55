# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A broker that hangs with a request for a replica order, and carries it out when all others believe that the order is restored."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from integration.support import Operator

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import replica_orders
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import ChangedOrder, Journal
from rig import NewTopic

KEY = ("orders", 0)
ORIGINAL, CHANGED = (1, 2, 3), (3, 1, 2)
LATE_SECONDS = 30.0


def opened(west: Operator) -> Cluster:
    return Cluster(Connection(tuple(west.connection["bootstrap_servers"]), request_timeout=2.0))


def order(west: Operator) -> tuple[int, ...]:
    (state,) = west.cluster.describe(KEY[0])
    return tuple(state.replicas)


def repair(west: Operator, path: Path) -> None:
    """Do what the next run does first."""
    with opened(west) as cluster, Journal(path, cluster.cluster_id) as journal:
        replica_orders.repair(cluster, journal)


@pytest.mark.long
def test_an_order_that_a_hanging_broker_sets_late_is_restored(west: Operator, tmp_path: Path) -> None:
    west.cluster.create_topics([NewTopic(KEY[0], [list(ORIGINAL)])])
    path = tmp_path / "journal.jsonl"
    for broker in sorted(west.cluster.brokers):
        with opened(west) as cluster, Journal(path, cluster.cluster_id) as journal:
            one = ChangedOrder(*KEY, cluster.partitions({KEY})[KEY].topic_id, ORIGINAL, CHANGED)
            cluster.reorder({KEY: ORIGINAL})  # its connection is established then
            identifier = journal.intend([one], [])
            west.cluster.pause(broker)
            try:
                assert not replica_orders.change(cluster, {KEY: CHANGED})
                assert not replica_orders.change(cluster, {KEY: ORIGINAL})
                if not cluster.in_doubt:
                    journal.close(identifier)
                    continue  # another broker got the request
                assert cluster.in_doubt == {KEY: {broker}}
                journal.expect(identifier, [], cluster.in_doubt[KEY])
            finally:
                if not cluster.in_doubt:
                    west.cluster.resume(broker)
        break
    else:
        pytest.fail("no broker got the request")
    try:
        repair(west, path)
        assert order(west) == ORIGINAL
        with Journal(path, west.cluster.cluster_id, read_only=True) as journal:
            assert journal.unanswered_by() == {KEY: {broker}}
    finally:
        west.cluster.resume(broker)
    end = time.monotonic() + LATE_SECONDS
    while order(west) == ORIGINAL and time.monotonic() < end:
        time.sleep(0.1)
    assert order(west) == CHANGED, "Kafka carries out what a broker got while it hung"
    repair(west, path)
    assert order(west) == ORIGINAL
    with Journal(path, west.cluster.cluster_id, read_only=True) as journal:
        assert not journal.left_behind()
