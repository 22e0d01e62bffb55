# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NativeCluster: pages, limits and answers that are not what was asked for. Made-up brokers, because no real one has these messages."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import backend_selection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.kip1275_cluster import NativeCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import kip1275, replica_log_fetch
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import deadline
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition

TOPIC_ID = "3rCxnsJbS1mYcVG5OAoIqQ"
EPOCH = 31
Row = tuple[int, int, int, int]  # partition, partition leader epoch, log end offset, error code
Broker = Callable[[list[int]], tuple[bool, list[Row]]]


def whole(asked: list[int]) -> tuple[bool, list[Row]]:
    return False, [(partition, 4, 100 + partition, 0) for partition in asked]


def pages_of(size: int) -> Broker:
    return lambda asked: (len(asked) > size, whole(asked[:size])[1])


class Cluster(NativeCluster):
    """Its brokers are functions from the partitions that were asked for to HasMoreData and rows."""

    def __init__(self, request_timeout: float = 10.0, **brokers: Broker) -> None:
        super().__init__(Connection(("127.0.0.1:1",), request_timeout=request_timeout))
        self.backend = backend_selection.NATIVE
        self._numbers = backend_selection.Numbers(95)
        self._topic_ids = {"t": TOPIC_ID}
        self.brokers = {int(name[1:]): answer for name, answer in brokers.items()}
        self.requests: list[tuple[int, int]] = []

    def _ask_each(self, work: Mapping[Any, Any], read: Any = None, kept: Any = None, row_bytes: Any = None) -> dict[Any, list[Any]]:
        return {node: [self._answer(node, request) for request in requests] for node, requests in work.items()}

    def _answer(self, node: int, request: Any) -> Any:
        asked = [partition for topic in request.topic_partitions for partition in topic.partitions]
        self.requests.append((node, len(asked)))
        more, rows = self.brokers[node](asked)
        kind = kip1275.log_info_messages(95)[1]
        info = kind.TopicPartitionLogInfo
        reported = [info.PartitionLogInfo(partition=p, partition_leader_epoch=e, log_end_offset=o, error_code=c) for p, e, o, c in rows]
        topics = [info(topic_id=request.topic_partitions[0].topic_id, partition_log_info=reported)]
        return kind(throttle_time_ms=0, broker_epoch=EPOCH, has_more_data=more, topic_partition_log_info_list=topics)


@pytest.fixture
def cluster() -> Iterator[Callable[..., Cluster]]:
    made: list[Cluster] = []

    def make(request_timeout: float = 10.0, **brokers: Broker) -> Cluster:
        made.append(Cluster(request_timeout, **brokers))
        made[-1]._net.start()
        return made[-1]

    yield make
    for one in made:
        one.close()


def keys(count: int) -> list[TopicPartition]:
    return [("t", partition) for partition in range(count)]


def test_every_replica_has_the_epoch_of_its_broker(cluster: Callable[..., Cluster]) -> None:
    assert cluster(_1=whole).log_ends({1: keys(2)}) == {
        1: {("t", 0): replica_log_fetch.LogEnd(None, 100, 4, EPOCH), ("t", 1): replica_log_fetch.LogEnd(None, 101, 4, EPOCH)}
    }


def test_brokers_get_no_request_about_a_topic_that_none_of_them_has_described(cluster: Callable[..., Cluster]) -> None:
    found = cluster(_1=whole, _2=whole).log_ends({1: [("deleted", 0), ("t", 0)], 2: [("deleted", 1)]})
    assert found == {1: {("t", 0): replica_log_fetch.LogEnd(None, 100, 4, EPOCH)}, 2: {}}


@pytest.mark.parametrize("size", [1, 7, 1000, 3000])
def test_pages_are_asked_for_until_nothing_more_comes(cluster: Callable[..., Cluster], size: int) -> None:
    one = cluster(_1=pages_of(size), _2=whole)
    count = 2 * size + 1
    found = one.log_ends({1: keys(count), 2: keys(3)})
    assert found[1].keys() == {*keys(count)}
    assert found[2].keys() == {*keys(3)}
    assert max(asked for _, asked in one.requests) <= 1000, "never more in a request than the KIP serves"


def test_what_a_broker_leaves_over_is_asked_again_as_long_as_it_takes_some(cluster: Callable[..., Cluster]) -> None:
    limit = kip1275.REQUEST_LIMIT_REACHED

    def slow(asked: list[int]) -> tuple[bool, list[Row]]:
        return False, [*whole(asked[:2])[1], *((partition, -1, -1, limit) for partition in asked[2:])]

    found = cluster(_1=slow).log_ends({1: keys(7)})
    assert {key: end.error for key, end in found[1].items()} == dict.fromkeys(keys(7))


def test_a_broker_that_takes_nothing_is_not_asked_for_ever(cluster: Callable[..., Cluster]) -> None:
    limit = kip1275.REQUEST_LIMIT_REACHED
    one = cluster(_1=lambda asked: (False, [(partition, -1, -1, limit) for partition in asked]))
    assert {end.error for end in one.log_ends({1: keys(3)})[1].values()} == {"REQUEST_LIMIT_REACHED"}
    assert len(one.requests) == 1


def dawdling(asked: list[int]) -> tuple[bool, list[Row]]:
    """One partition a page, each after a moment."""
    time.sleep(0.01)
    return pages_of(1)(asked)


def test_pages_end_with_the_callers_deadline(cluster: Callable[..., Cluster]) -> None:
    one = cluster(_1=dawdling)
    with deadline.until(time.monotonic() + 0.2):
        found = one.log_ends({1: keys(500)})
        assert not deadline.has_passed(), "they leave time for what follows"
    assert 0 < len(found[1]) < 20, "what is left has no answer"


def test_without_a_deadline_pages_take_no_longer_than_those_of_all_partitions_may(cluster: Callable[..., Cluster]) -> None:
    found = cluster(0.01, _1=dawdling).log_ends({1: keys(500)})
    assert 0 < len(found[1]) < 40


@pytest.mark.parametrize(
    ("broker", "said"),
    [
        (lambda asked: (False, whole(asked[1:])[1]), r"lacks 1 of 3 partitions \(t-0 first\)"),
        (lambda asked: (False, []), r"lacks 3 of 3 partitions"),
        (lambda asked: (False, whole([*asked, 9])[1]), "has 1 partitions that were not requested"),
        (lambda asked: (True, whole([8, 9])[1]), "has 2 partitions that were not requested"),
        (lambda asked: (False, whole([*asked, 0])[1]), "twice"),
        (lambda asked: (False, [(partition, 4, -1, 0) for partition in asked]), "log end offset -1"),
    ],
)
def test_an_answer_that_is_none_stops_everything(cluster: Callable[..., Cluster], broker: Broker, said: str) -> None:
    with pytest.raises(ClusterError, match=said) as error:
        cluster(_1=broker).log_ends({1: keys(3)})
    assert "broker 1 answers API key 95 with something else than KIP-1275's GetReplicaLogInfo v0" in str(error.value)
    assert "get_replica_log_info_api_key" in str(error.value)


def test_an_unreadable_broker_is_distinguished_from_a_silent_one(cluster: Callable[..., Cluster]) -> None:
    one = cluster(_1=whole)
    one.failures[1] = kip1275.MessageError("12 bytes are no GetReplicaLogInfoResponse v0")
    with pytest.raises(ClusterError, match="its answer cannot be read: 12 bytes are no GetReplicaLogInfoResponse v0"):
        one.log_ends({1: keys(1)})
