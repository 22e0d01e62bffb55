# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The store of the workdir fails in the middle of a recovery: nothing is elected without a durable journal, and a later run finishes."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from integration.requestlog import RequestLog
from integration.store_clients import Bucket
from integration.support import Operator, Played, run_module

from rig.object_gate import Request

MINUTE = 60.0


class Outage:
    """A rule that refuses every request of a bucket, from the write number `at` of a file on. `keys`: what the names of these files contain.

    `seconds`: how long, None for ever. `began`: whether it has begun.
    """

    def __init__(self, status: int, keys: str, at: int = 1, seconds: float | None = None) -> None:
        self._status, self._keys, self._left, self._seconds = status, keys, at, seconds
        self._end: float | None = None
        self._lock = threading.Lock()
        self.refused: set[str] = set()

    @property
    def began(self) -> bool:
        return self._end is not None

    def __call__(self, request: Request) -> int | None:
        with self._lock:
            if self._end is None and request.method in ("PUT", "POST") and self._keys in request.key and "lease" not in request.key:
                self._left -= 1
                if not self._left:
                    self._end = time.monotonic() + (self._seconds if self._seconds is not None else float("inf"))
            if self._end is None or time.monotonic() > self._end:
                return None
            self.refused.add(request.method)
            return self._status


def recover(east: Operator, bucket: Bucket, topic: str, run_id: str) -> Played:
    named = [{"topic": topic, "partition": partition} for topic, partition in east.keys([topic])]
    return east.play("recover", run_id, partitions=named, allow_data_loss=True, workdir=bucket.url, spark_remote="")


def is_elected(east: Operator, topic: str) -> bool:
    return all(state.leader >= 0 for state in east.states(topic).values())


@pytest.mark.long
def test_a_store_that_fails_for_a_minute_delays_a_recovery(east: Operator, bucket: Bucket) -> None:
    """From the first evidence on, and from the first entry of the journal on."""
    topic, before = "store.slow", east.states("store.slow")
    first, second = Outage(503, "landing/", seconds=MINUTE), Outage(503, "journal/", seconds=MINUTE)
    with bucket.gate.ruled(bucket.name, lambda request: first(request) or second(request)):
        done = recover(east, bucket, topic, "1")
    assert first.began and second.began and {*first.refused, *second.refused} >= {"PUT"}
    assert done.returncode == 0 and is_elected(east, topic), done
    east.in_order_again(before)


@pytest.mark.long
@pytest.mark.parametrize(("topic", "status"), [("store.refused", 403), ("store.silent", 503)])
def test_nothing_is_elected_if_the_journal_cannot_be_written(east: Operator, bucket: Bucket, topic: str, status: int) -> None:
    """Credentials that are lost end the run at once, a store that cannot answer when the time of its requests is over."""
    before, log, outage = east.states(topic), RequestLog(east.cluster), Outage(status, "journal/")
    with bucket.gate.ruled(bucket.name, outage):
        failed = recover(east, bucket, topic, "1")
    assert outage.began and failed.returncode != 0 and bucket.url in failed.said, failed
    assert log.written() == {} and east.states(topic) == before
    again = recover(east, bucket, topic, "2")
    assert again.returncode == 0 and is_elected(east, topic), again
    east.in_order_again(before)


@pytest.mark.long
def test_credentials_that_are_lost_when_orders_are_changed_leave_nothing_that_the_next_run_does_not_repair(
    east: Operator, bucket: Bucket
) -> None:
    topic = "store.late"
    before, outage = east.states(topic), Outage(403, "journal/", at=2)
    with bucket.gate.ruled(bucket.name, outage):
        failed = recover(east, bucket, topic, "1")
    assert outage.began and failed.returncode != 0 and bucket.url in failed.said, failed
    again = recover(east, bucket, topic, "2")
    assert again.returncode == 0 and is_elected(east, topic), again
    east.in_order_again(before)


@pytest.mark.long
def test_a_second_fleet_with_the_same_names_is_refused(east: Operator, small: Any, bucket: Bucket) -> None:
    """Someone has copied the inventory and its workdir for another cluster."""
    files = {**east.files("1"), "workdir": bucket.url}
    mine = run_module("kafka_replica_log_info", {**east.connection, **files})
    assert mine.returncode == 0, mine
    contents, log = bucket.contents(), RequestLog(small)
    other = {**Operator(small, east.workdir).connection, **files}
    for module, options in {
        "kafka_replica_log_info": {},
        "kafka_partition_reassignment": {"partitions": [{"topic": "any", "partition": 0, "replicas": [1]}]},
        "kafka_recovery_leftovers": {},
    }.items():
        refused = run_module(module, {**other, **options, "run_id": "2"})
        assert refused.returncode != 0 and small.cluster_id in refused.result["msg"], refused
        assert "clusters/east.json" in refused.result["msg"], refused
    assert log.written() == {} and bucket.contents() == contents
