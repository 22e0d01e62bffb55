# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated brokers throttle a client that reads more than its quota for as long as Kafka does."""

from __future__ import annotations

from typing import Any

import pytest
from kafka.protocol.consumer.fetch import FetchRequest

from simulation.client_quotas import ROW_BYTES
from simulation.cluster import SimulatedCluster
from simulation.kraft import Key
from simulation.transport import Connections, EventLoop
from simulation.world import World

KEY: Key = ("orders", 0)
RATE, BURST_SECONDS = 100, 10.0


def cluster_with(batches: int, size: int) -> SimulatedCluster:
    """Return a cluster whose control nodes may read RATE bytes per second. `size`: bytes of the record of a batch."""
    cluster = SimulatedCluster(World(1), 1, {"orders": [[1]]}, {"orders": 1}, elr=True)
    for number in range(batches):
        cluster.write(KEY, f"{number}", 1, size=size)
    cluster.client_quotas.rate = RATE
    return cluster


def read_request() -> FetchRequest:
    """Build a request for the whole log, as of a replica."""
    topic = FetchRequest.FetchTopic
    partition = topic.FetchPartition(partition=0, fetch_offset=0, last_fetched_epoch=-1, partition_max_bytes=1 << 20)
    topics = [topic(topic="orders", partitions=[partition])]
    return FetchRequest(replica_id=-3, max_bytes=1 << 20, isolation_level=0, topics=topics, max_version=12)


def read(cluster: SimulatedCluster) -> tuple[float, int]:
    """Read the log from its start. Return the seconds for which the broker throttles, and the bytes of records."""
    answer = cluster.brokers[1].answer(read_request())
    return answer.throttle_time_ms / 1000, sum(len(row.records or b"") for topic in answer.responses for row in topic.partitions)


def test_a_client_is_throttled_until_its_rate_is_kept_however_long_that_takes() -> None:
    cluster = cluster_with(1, 600)
    _, size = read(cluster)
    seconds, records = read(cluster)
    assert (seconds, records) == (pytest.approx(2 * (size + ROW_BYTES) / RATE - BURST_SECONDS, abs=0.01), 0)
    assert seconds > 1  # quota.window.size.seconds, which limits what is throttled by request_percentage alone
    cluster.world.wait(BURST_SECONDS + 1)  # then what was read before counts no more
    assert read(cluster) == (0, size)


def test_an_answer_has_no_more_than_may_ever_be_sent() -> None:
    cluster = cluster_with(20, 100)
    seconds, _ = read(cluster)
    cluster.world.wait(seconds)
    _, size = read(cluster)
    assert 0 < size <= RATE * BURST_SECONDS


def test_a_batch_that_is_larger_is_never_sent() -> None:
    cluster = cluster_with(1, 2000)
    for _ in range(3):
        seconds, records = read(cluster)
        assert seconds > BURST_SECONDS and records == 0
        cluster.world.wait(seconds)


def test_a_broker_reads_no_other_request_of_a_client_that_it_throttles() -> None:
    cluster = cluster_with(1, 600)
    read(cluster)
    world = cluster.world
    answered: list[tuple[float, float]] = []

    async def send_two() -> None:
        sent = [connections.send(read_request(), "bootstrap-0", 60_000) for _ in range(2)]
        for one in sent:
            answer: Any = await connections.wait_for(one, 60_000)
            answered.append((world.now, answer.throttle_time_ms / 1000))

    net = EventLoop(world)
    connections = Connections(world, cluster, net, cluster.servers)
    net.run(send_two)
    (first, seconds), (second, _) = answered
    assert second - first >= seconds > 1
