# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Warnings about brokers that are alive before their disks were saved."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import COMING_BACK, FENCED, UNFENCED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import disk_verdict, returned_brokers
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.disk_comparison import CLEAN_LEADER


def orders_0(leader_epoch: int) -> PartitionState:
    """Its replica on broker 1 is lost."""
    lists: Any = dict.fromkeys(("isr", "eligible_leader_replicas", "last_known_elr", "offline_replicas"), ())
    return PartitionState("orders", 0, "t", -1, leader_epoch, (1, 2), **lists)


UNSAFE = {"safe_to_start": False, "reasons": ["not saved"], "counts": {}, "path": None, "partitions": None}


class Brokers:
    """A cluster with these brokers alive, those that are `starting`, and how often it was asked. Its partition is in this leader epoch."""

    cluster_id = "id"

    def __init__(self, *alive: int, starting: Collection[int] = (), leader_epoch: int = 7) -> None:
        self.alive, self.starting, self.requests, self.leader_epoch = {*alive}, starting, 0, leader_epoch

    def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]:
        return {key: orders_0(self.leader_epoch) for key in keys or ()}

    def broker_states(self, mentioned: Collection[int] = ()) -> list[dict[str, Any]]:
        self.requests += 1
        states = dict.fromkeys(mentioned, FENCED) | dict.fromkeys(self.alive, UNFENCED) | dict.fromkeys(self.starting, COMING_BACK)
        return [{"broker_id": broker, "broker_state": state} for broker, state in states.items()]


def judge(workdir: Path, broker_id: int, cluster_id: str = "id", safe: bool = False) -> None:
    result = {**UNSAFE, "broker_id": broker_id, "safe_to_start": safe}
    disk_verdict.write(disk_verdict.path_of(workdir, "east", broker_id), cluster_id, "1", result)


def test_each_broker_that_is_alive_and_was_not_safe_to_start_is_named(tmp_path: Path) -> None:
    for broker_id in (1, 2, 3, 4):
        judge(tmp_path, broker_id, safe=broker_id == 2, cluster_id="other" if broker_id == 3 else "id")
    found = returned_brokers.warnings(Brokers(1, 2, 3), tmp_path, "east")
    assert len(found) == 1 and found[0].startswith("broker 1 is alive") and "not saved" in found[0]
    assert returned_brokers.warnings(Brokers(2, 3), tmp_path, "east") == []


def test_a_broker_that_is_coming_back_is_named_while_it_can_be_stopped(tmp_path: Path) -> None:
    for broker_id in (1, 2):
        judge(tmp_path, broker_id, safe=broker_id == 2)
    (found,) = returned_brokers.warnings(Brokers(starting=(1, 2)), tmp_path, "east")
    assert found.startswith("broker 1 is coming back") and "Stop it" in found and "rescue" in found


@pytest.mark.parametrize("safe", [True, None], ids=["safe", "no verdict"])
def test_the_cluster_is_not_asked_if_no_broker_was_unsafe(safe: bool | None, tmp_path: Path) -> None:
    if safe:
        judge(tmp_path, 1, safe=True)
    cluster = Brokers(1)
    assert returned_brokers.warnings(cluster, tmp_path, "east") == []
    assert cluster.requests == 0


def test_a_verdict_that_cannot_be_read_is_a_warning_and_hides_no_other_one(tmp_path: Path) -> None:
    for broker_id in (1, 2):
        judge(tmp_path, broker_id)
    path = disk_verdict.path_of(tmp_path, "east", 1)
    path.write_text("{")
    unread, other = returned_brokers.warnings(Brokers(1, 2), tmp_path, "east")
    assert str(path) in unread and other.startswith("broker 2 is alive")


@pytest.mark.parametrize(("epoch", "named"), [(7, False), (8, True)], ids=["not elected", "elected"])
def test_a_broker_whose_disk_was_never_read_is_named_once_its_partition_is_elected_without_it(
    tmp_path: Path, epoch: int, named: bool
) -> None:
    disk_verdict.expect_loss(tmp_path, "east", "id", "1", 1, [orders_0(7)])
    for cluster, word in ((Brokers(1, leader_epoch=epoch), "alive"), (Brokers(starting=(1,), leader_epoch=epoch), "coming back")):
        found = returned_brokers.warnings(cluster, tmp_path, "east")
        assert len(found) == named and all(f"broker 1 is {word}" in text and "was not read" in text for text in found)


def test_the_disk_of_a_broker_to_start_is_rescued_first_if_its_verdict_says_so(tmp_path: Path) -> None:
    """Broker 2 was safe to start, broker 3 has no verdict, broker 4 one of another cluster, and that of broker 5 cannot be read."""
    for broker_id in (1, 2, 4):
        judge(tmp_path, broker_id, safe=broker_id == 2, cluster_id="other" if broker_id == 4 else "id")
    disk_verdict.path_of(tmp_path, "east", 5).write_text("{")
    rows = [{"broker_id": broker_id, "count": 1} for broker_id in (1, 2, 3, 4, 5)]
    found = returned_brokers.with_safety(rows, tmp_path, "east", "id")
    assert found == [{**row, "save_first": row["broker_id"] in (1, 5)} for row in rows]


@pytest.mark.parametrize(("cluster", "save_first"), [(None, True), (Brokers(leader_epoch=7), False), (Brokers(leader_epoch=8), True)])
def test_a_disk_that_was_never_read_is_rescued_first_if_a_partition_was_elected_without_it(
    tmp_path: Path, cluster: Brokers | None, save_first: bool
) -> None:
    disk_verdict.expect_loss(tmp_path, "east", "id", "1", 1, [orders_0(7)])
    rows = returned_brokers.with_safety([{"broker_id": 1}], tmp_path, "east", "id", cluster)
    assert rows == [{"broker_id": 1, "save_first": save_first}]


@pytest.mark.parametrize(
    ("cluster", "save_first"),
    [
        (Brokers(leader_epoch=7), False),
        (Brokers(leader_epoch=8), True),  # elected since, with whatever tool
        (Brokers(2, leader_epoch=7), True),  # a replica is back that was not compared with the disk
        (None, False),
    ],
)
def test_a_disk_that_was_safe_is_rescued_again_if_its_verdict_is_out_of_date(
    tmp_path: Path, cluster: Brokers | None, save_first: bool
) -> None:
    row: dict[str, Any] = {"topic": "orders", "partition": 0, "topic_id": "t", "leader_epoch": 7, "relation": CLEAN_LEADER}
    row |= {"start_offset": None, "end_offset": None, "leader_epochs": [], "compared_replicas": [], "damage": None}
    result = {**UNSAFE, "broker_id": 1, "safe_to_start": True, "partitions": [row]}
    disk_verdict.write(disk_verdict.path_of(tmp_path, "east", 1), "id", "1", result)
    rows = returned_brokers.with_safety([{"broker_id": 1}], tmp_path, "east", "id", cluster)
    assert rows == [{"broker_id": 1, "save_first": save_first}]
