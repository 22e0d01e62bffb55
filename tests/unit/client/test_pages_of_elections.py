# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""KIP-1275's elections, of which the controller leaves some over: what was checked before the first page holds for no later one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import backend_selection, change_client
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.kip1275_cluster import LIMIT_REACHED, NativeCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import kip1275
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError

KEYS = [("t", partition) for partition in range(3)]


class Slow(NativeCluster):
    """The controller elects one partition of each request, and takes `seconds` for it. `dead_after`: requests after which no broker answers.

    `is_got`: whether one gets the next request.
    """

    def __init__(self, seconds: float = 0.0, dead_after: int = 99, is_got: bool = False) -> None:
        super().__init__(Connection(("127.0.0.1:1",), request_timeout=5.0))
        self.backend, self._numbers = backend_selection.NATIVE, backend_selection.Numbers(95)
        self.seconds, self.dead_after, self.is_got = seconds, dead_after, is_got
        self.sent, self.written_by = list[Any](), set[float]()

    def _send_write(self, make: Callable[[], Any], not_answered: Any = None, once: bool = False, written_by: float | None = None) -> Any:
        assert once and written_by
        self.written_by.add(written_by)
        if len(self.sent) == self.dead_after:
            if self.is_got:
                not_answered({1})
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
    assert len(one.written_by) == 1


def test_what_is_left_over_is_not_sent_when_its_guards_are_old(slow: Callable[..., Slow], monkeypatch: pytest.MonkeyPatch) -> None:
    """The next attempt reads them again."""
    monkeypatch.setattr(change_client, "ONCE_SECONDS", 0.1)
    one = slow(seconds=0.3)
    answers = one.elect_designated(dict.fromkeys(KEYS, 1))
    assert one.sent == [[0, 1, 2]]
    assert answers[KEYS[0]] is None


def test_all_requests_have_the_time_of_the_guards(slow: Callable[..., Slow]) -> None:
    one, until = slow(), time.monotonic() + 1.0
    one.elect_designated(dict.fromkeys(KEYS, 1), until)
    assert (len(one.sent), one.written_by) == (3, {until})


@pytest.mark.parametrize("is_got", [False, True])
def test_what_is_elected_is_known_although_no_broker_answers_the_next_request(slow: Callable[..., Slow], is_got: bool) -> None:
    """Else the partition counts as one that another tool has elected, and its lost replicas still as safe to start."""
    one = slow(dead_after=1, is_got=is_got)
    answers = one.elect_designated(dict.fromkeys(KEYS, 1))
    assert [refused and refused.error for refused in answers.values()] == [None, LIMIT_REACHED, LIMIT_REACHED]
    assert one.elections_in_doubt == ({*KEYS[1:]} if is_got else set())
    with pytest.raises(ClusterError):
        slow(dead_after=0).elect_designated(dict.fromkeys(KEYS, 1))
