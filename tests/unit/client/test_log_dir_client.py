# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Log directories of made-up brokers: one that describes them, one that refuses to, and one that hangs up."""

from __future__ import annotations

from typing import Any

from fake_brokers import API_VERSIONS, VERSIONS, Broker, api_versions, brokers, options
from kafka.protocol.admin import DescribeLogDirsResponse

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.log_dirs import FailedLogDirs
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection

DESCRIBE_LOG_DIRS = 35
KEY, OTHER = ("t", 0), ("t", 1)


def offers(broker: Broker) -> None:
    broker.answers[API_VERSIONS] = lambda _request: api_versions({**VERSIONS, DESCRIBE_LOG_DIRS: (1, 4)})


def described() -> Any:
    kind = DescribeLogDirsResponse.DescribeLogDirsResult
    topic = kind.DescribeLogDirsTopic
    row = topic.DescribeLogDirsPartition(partition_index=1, partition_size=5, offset_lag=0, is_future_key=False)
    dirs = [
        kind(error_code=0, log_dir="/data/1", topics=[topic(name="t", partitions=[row])], total_bytes=10, usable_bytes=5),
        kind(error_code=56, log_dir="/data/2", topics=[], total_bytes=-1, usable_bytes=-1),
    ]
    return DescribeLogDirsResponse(throttle_time_ms=0, error_code=0, results=dirs)


def test_a_broker_that_refuses_is_noted_and_one_that_hangs_up_is_not_unreachable_for_it() -> None:
    with brokers(3) as (good, forbidding, bad):
        nodes = [(number, "127.0.0.1", broker.port) for number, broker in enumerate((good, forbidding, bad), start=1)]
        for broker in (good, forbidding, bad):
            broker.names(nodes)
            offers(broker)
        good.answers[DESCRIBE_LOG_DIRS] = lambda _request: described()
        forbidding.answers[DESCRIBE_LOG_DIRS] = lambda _request: DescribeLogDirsResponse(throttle_time_ms=0, error_code=31, results=[])
        with Cluster(Connection.from_params(options([good.server], request_timeout=3.0))) as cluster:
            found = cluster.failed_log_dirs({1: [KEY, OTHER], 2: [KEY], 3: [KEY]})
            assert found == {1: FailedLogDirs(None, ("/data/2",), frozenset({OTHER}), complete=True)}
            assert cluster.undescribed == {2: "CLUSTER_AUTHORIZATION_FAILED"}
            assert cluster.unreachable == {}
