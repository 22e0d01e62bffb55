# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""KIP-1275's elections, of which the controller leaves some over: what was checked before the first page holds for no later one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import backend_selection, cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.kip1275_cluster import NativeCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import kip1275
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError

KEYS = [("t", partition) for partition in range(3)]


class Slow(NativeCluster):
    """The controller elects one partition of each request, and takes `seconds` for it. `dead_after`: requests after which no broker accepts connections."""

    def __init__(self, seconds: float = 0.0, dead_after: int = 99) -> None:
        super().__init__(Connection(("127.0.0.1:1",), request_timeout=5.0))
        self.backend, self._numbers = backend_selection.NATIVE, backend_selection.Numbers(93)
        self.seconds, self.dead_after, self.sent = seconds, dead_after, list[Any]()

    def _send_write(self, make: Callable[[], Any], not_answered: Any = None, once: bool = False) -> Any:
        assert once
        if len(self.sent) == self.dead_after:
            raise ClusterError("connection refused")
        asked = [number for topic in make().topic_partitions for number in topic.partitions]
        self.sent.append(asked)
        time.sleep(self.seconds)
        kind = kip1275.ElectDesignatedResponse.ReplicaElectionResult
        rows = [
            kind.PartitionResult(partition_id=number, error_code=0 if place == 0 else kip1275.REQUEST_LIMIT_REACHED, error_message=None)
            for place, number in enumerate(asked)
        ]
        return kip1275.ElectDesignatedResponse(
            throttle_time_ms=0, error_code=0, replica_election_results=[kind(topic="t", partition_result=rows)]
        )


@pytest.fixture
def slow() -> Iterator[Callable[..., Slow]]:
    made: list[Slow] = []

    def make(**given: Any) -> Slow:
        made.append(Slow(**given))
        made[-1]._net.start()
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_what_is_left_over_is_sent_again(slow: Callable[..., Slow]) -> None:
    one = slow()
    assert set(one.elect_designated(dict.fromkeys(KEYS, 1)).values()) == {None}
    assert one.sent == [[0, 1, 2], [1, 2], [2]]


def test_what_is_left_over_is_not_sent_when_its_guards_are_old(slow: Callable[..., Slow], monkeypatch: pytest.MonkeyPatch) -> None:
    """The next attempt reads them again."""
    monkeypatch.setattr(cluster, "ONCE_SECONDS", 0.1)
    one = slow(seconds=0.3)
    answers = one.elect_designated(dict.fromkeys(KEYS, 1))
    assert one.sent == [[0, 1, 2]]
    assert answers[KEYS[0]] is None


def test_what_is_elected_is_known_although_no_broker_takes_the_next_request(slow: Callable[..., Slow]) -> None:
    """Else the partition counts as one that another tool has elected, and its lost replicas still as safe to start."""
    one = slow(dead_after=1)
    try:
        known = one.elect_designated(dict.fromkeys(KEYS, 1)).get(KEYS[0], "left out") is None
    except ClusterError:
        known = KEYS[0] in one.elections_in_doubt
    assert known
