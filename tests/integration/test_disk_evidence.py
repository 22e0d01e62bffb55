# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The disk of the last member of the ISR is read while its broker is lost: the plan knows the loss, and the election accepts the same evidence."""

from __future__ import annotations

from typing import Any

import pytest
from integration.support import Operator, by_partition, failure, run_module

from rig import NewTopic

MODULE = "kafka_disk_evidence"
LOST, SURVIVOR = 1, 2
TOPIC, LEVEL = "only-on-disk", "level-with-disk"
ALL = {"whole_logs": True, "crc_bytes": 1 << 40}


@pytest.mark.long
def test_the_disk_of_the_last_isr_member_makes_the_loss_exact(west: Operator) -> None:
    cluster = west.cluster
    config = {"min.insync.replicas": "1"}
    cluster.create_topics([NewTopic(topic, [[LOST, SURVIVOR]], config) for topic in (TOPIC, LEVEL)])
    for topic in (TOPIC, LEVEL):
        cluster.produce(topic, 0, [f"both {number}" for number in range(20)])
    cluster.kill(SURVIVOR)
    cluster.wait_fenced([SURVIVOR])
    cluster.wait_for_partitions([TOPIC, LEVEL], lambda state: list(state.isr) == [LOST], "alone in the ISR")
    cluster.produce(TOPIC, 0, [f"alone {number}" for number in range(30)])
    # It checkpoints its high watermarks when it stops.
    cluster.terminate(LOST)
    cluster.start_node(SURVIVOR)
    cluster.wait_unfenced([SURVIVOR])
    cluster.wait_fenced([LOST])
    cluster.wait_for_partitions([TOPIC, LEVEL], lambda state: state.leader < 0, "offline")

    read = run_module("kafka_log_dir_info", {"log_dirs": [str(cluster.brokers[LOST].data_dir)], "cluster_id": cluster.cluster_id, **ALL})
    assert read.returncode == 0, read
    options: dict[str, Any] = {"cluster": west.files("1")["cluster"], "workdir": str(west.workdir)}
    before = planned(west, "without")
    assert before["loss"]["upper_bound"] is None or before["loss"]["lower_bound"] != before["loss"]["upper_bound"]

    dry_run = west.ask(MODULE, check=True, **options, disk=read.result)
    assert dry_run["changed"] and not (west.workdir / "disks").exists()
    kept = west.ask(MODULE, **options, disk=read.result)
    assert kept["changed"] and kept["counts"]["used"] >= 2
    assert not west.ask(MODULE, **options, disk=read.result)["changed"]

    held = planned(west, "balanced")
    assert held["reason_code"] == "fenced_broker_holds_more"
    assert (held["loss"]["lower_bound"], held["loss"]["upper_bound"]) == (30, 30)
    document = by_partition(west.documents("balanced"))[TOPIC, 0]
    disk = next(log for log in document["logs"] if log["broker_id"] == LOST)
    assert (disk["log_end_offset"], disk["high_watermark"], disk["broker_state"]) == (50, 50, "fenced") and disk["read_from_disk_at"]
    assert [(pair["relation"], pair["shorter"], pair["common_offset"]) for pair in document["pairs"]] == [("prefix", SURVIVOR, 20)]

    # Nothing more is on the disk: the election goes on, and its guards read the same evidence.
    result = west.recover("level", [LEVEL])
    assert result[LEVEL, 0]["outcome"] == "elected"
    result = west.recover("forced", [TOPIC], strategy="aggressive")
    assert result[TOPIC, 0]["outcome"] == "elected", result
    assert west.ask(MODULE, **options, broker_id=LOST, state="absent")["changed"]
    assert not west.ask(MODULE, **options, broker_id=LOST, state="absent")["changed"]
    cluster.start_node(LOST)
    cluster.wait_unfenced([LOST])
    assert "runs, or is coming back" in failure(MODULE, {**west.connection, **options, "disk": read.result})


def planned(operator: Operator, run_id: str) -> dict[str, Any]:
    """Return what the plan has of the topic."""
    plan = operator.snapshot_and_plan(run_id, [TOPIC])
    return by_partition([*plan["partitions"], *plan["held"]])[TOPIC, 0]


def test_a_result_that_is_not_of_this_cluster_is_refused(west: Operator) -> None:
    options: dict[str, Any] = {**west.connection, "cluster": west.files("1")["cluster"], "workdir": str(west.workdir)}
    other = {"broker_id": 1, "log_dirs": [{"cluster_id": "other", "node_id": 1}], "partitions": []}
    assert "is of the cluster other" in failure(MODULE, {**options, "disk": other})
    assert "not a result of kafka_log_dir_info" in failure(MODULE, {**options, "disk": {"broker_id": "1"}})
    alive = {**other, "log_dirs": [{"cluster_id": west.cluster.cluster_id, "node_id": 1}]}
    assert "runs, or is coming back" in failure(MODULE, {**options, "disk": alive})
