# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Producers and a consumer that go on while a partition is lost and recovered: what they saw is a log that was cut where the plan said, and nowhere else."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest
from integration.support import Operator, by_partition
from witness import franz
from witness.history import Recorder, verdict

from rig import NewTopic

pytestmark = pytest.mark.skipif(not franz.PROGRAM.exists(), reason=franz.MISSING)
TOPIC = "history"


def append(call: int, offset: int, value: str, client: int = 0, lasting: int = 1) -> dict[str, Any]:
    return {"client": client, "kind": "append", "call": call, "return": call + lasting, "offset": offset, "value": value}


def read(call: int, *values: str) -> dict[str, Any]:
    records = [{"offset": offset, "value": value} for offset, value in enumerate(values)]
    return {"client": 8, "kind": "read", "call": call, "return": call + 1, "records": records}


def recover(call: int, end: int, most_lost: int | None = None) -> dict[str, Any]:
    return {"client": 9, "kind": "recover", "call": call, "return": call + 1, "offset": end, "most_lost": most_lost}


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        ([append(1, 1, "b", lasting=5), append(1, 0, "a", client=1, lasting=5), read(10, "a", "b")], "Ok"),
        ([append(1, 0, "a"), append(10, 1, "b"), read(20, "a")], "Illegal"),
        ([append(1, 0, "a"), append(10, 1, "b"), recover(15, 1), read(20, "a")], "Ok"),
        ([append(1, 0, "a"), append(10, 1, "b"), recover(15, 2), read(20, "a")], "Illegal"),
        ([append(1, 0, "a"), append(10, 1, "b"), recover(15, 1, most_lost=0), read(20, "a")], "Illegal"),
        ([append(1, 0, "a"), append(10, 1, "b"), recover(15, 1), append(17, 1, "c"), read(20, "a", "c")], "Ok"),
        ([append(1, 0, "a"), append(10, 1, "b"), recover(15, 1), append(17, 1, "c"), read(20, "a", "b")], "Illegal"),
        ([read(1, "never acknowledged"), read(10)], "Illegal"),
        ([append(10, 0, "a"), append(1, 1, "b")], "Illegal"),
    ],
)
def test_a_log_is_cut_by_its_recovery_alone(operations: Sequence[dict[str, Any]], expected: str) -> None:
    assert verdict(operations) == expected


def test_clients_that_go_on_see_one_cut(west: Operator) -> None:
    cluster = west.cluster
    cluster.create_topics([NewTopic(TOPIC, [[1, 3, 2]], {"unclean.leader.election.enable": "false"})])
    recorder = Recorder(cluster, TOPIC)
    try:
        recorder.wait_for("read", 2)
        for leaving in (3, 2):
            cluster.terminate(leaving)
            cluster.wait_fenced([leaving])
            recorder.wait_for("append", 5)
        recorder.wait_for("read", 1)
        cluster.kill(1)
        cluster.start_node(2, 3)
        cluster.wait_unfenced([2, 3])
        cluster.wait_for_partitions([TOPIC], lambda state: state.leader < 0, "without a leader")
        call = time.monotonic_ns()
        entry = by_partition(west.snapshot_and_plan("1", [TOPIC])["partitions"])[TOPIC, 0]
        assert west.apply("1")["summary"]["elected"] == 1
        end = {survivor["broker_id"]: survivor["log_end_offset"] for survivor in entry["guards"]["survivors"]}[entry["designatedLeader"]]
        recorder.recovered(end, entry["loss"]["upper_bound"], call)
        recorder.wait_for("append", 5)
        cluster.heal()
        recorder.wait_for("append", 5)
        recorder.wait_for("read", 2)
    finally:
        recorder.stop()
    assert verdict(recorder.operations) == "Ok"
    without = [row for row in recorder.operations if row["kind"] != "recover"]
    assert verdict(without) == "Illegal", "broker 1 had acknowledged records alone"
    cut_elsewhere = [{**row, "offset": end + 1} if row["kind"] == "recover" else row for row in recorder.operations]
    assert verdict(cut_elsewhere) == "Illegal", "the plan's end is where the log was cut"
