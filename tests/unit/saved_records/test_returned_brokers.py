# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Warnings about brokers that are alive before their disks were saved."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import disk_verdict, returned_brokers

UNSAFE = {"safe_to_start": False, "reasons": ["not saved"], "counts": {}, "path": None, "partitions": None}


class Brokers:
    """A cluster with these brokers alive, and how often it was asked."""

    cluster_id = "id"

    def __init__(self, *alive: int) -> None:
        self.alive, self.requests = {*alive}, 0

    def unfenced(self) -> set[int]:
        self.requests += 1
        return self.alive


def judge(workdir: Path, broker_id: int, cluster_id: str = "id", safe: bool = False) -> None:
    result = {**UNSAFE, "broker_id": broker_id, "safe_to_start": safe}
    disk_verdict.write(disk_verdict.path_of(workdir, "east", broker_id), cluster_id, "1", result)


def test_each_broker_that_is_alive_and_was_not_safe_to_start_is_named(tmp_path: Path) -> None:
    for broker_id in (1, 2, 3, 4):
        judge(tmp_path, broker_id, safe=broker_id == 2, cluster_id="other" if broker_id == 3 else "id")
    found = returned_brokers.warnings(Brokers(1, 2, 3), tmp_path, "east")
    assert len(found) == 1 and found[0].startswith("broker 1 is alive") and "not saved" in found[0]
    assert returned_brokers.warnings(Brokers(2, 3), tmp_path, "east") == []


@pytest.mark.parametrize("safe", [True, None], ids=["safe", "no verdict"])
def test_the_cluster_is_not_asked_if_no_broker_was_unsafe(safe: bool | None, tmp_path: Path) -> None:
    if safe:
        judge(tmp_path, 1, safe=True)
    cluster = Brokers(1)
    assert returned_brokers.warnings(cluster, tmp_path, "east") == []
    assert cluster.requests == 0


def test_a_verdict_that_cannot_be_read_is_a_warning(tmp_path: Path) -> None:
    judge(tmp_path, 1)
    path = disk_verdict.path_of(tmp_path, "east", 1)
    path.write_text("{")
    assert str(path) in returned_brokers.warnings(Brokers(1), tmp_path, "east")[0]
