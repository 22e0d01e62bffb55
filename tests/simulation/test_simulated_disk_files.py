# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The product reads from the log dirs of a simulated broker what its logs have."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.broker_disk import read_broker
from simulation.cluster import SimulatedCluster
from simulation.disk_files import write_log_dirs
from simulation.disk_script import CRC, CUT, ZEROS
from simulation.kraft import Key
from simulation.world import World

KEYS: tuple[Key, Key] = (("orders", 0), ("orders", 1))


@pytest.fixture
def cluster() -> SimulatedCluster:
    """Broker 1 has two logs of some batches, of which one starts later."""
    found = SimulatedCluster(World(1), 2, {"orders": [[1, 2], [1, 2]]}, {"orders": 1}, elr=False)
    for key in KEYS:
        found.shrink(key, 2)
        for number in range(4):
            found.write(key, str(number), 1 + number)
    found.brokers[1].logs[KEYS[1]].delete_before(3)
    found.crash(1)
    return found


def rows(cluster: SimulatedCluster, folder: Path, seed: int = 1, **options: Any) -> dict[Key, dict[str, Any]]:
    folder.mkdir(exist_ok=True)
    paths = write_log_dirs(folder, cluster.brokers[1], Random(seed), **options)
    params = {"log_dirs": paths, "cluster_id": cluster.cluster_id, "broker_id": 1, "partitions": None, "partitions_file": None}
    depth = {"whole_logs": True, "crc_bytes": 1 << 40, "last_batches": 0, "check_partitions": None}
    return {(row["topic"], row["partition"]): row for row in read_broker({**params, **depth})["partitions"]}


def test_a_whole_log(cluster: SimulatedCluster, tmp_path: Path) -> None:
    found = rows(cluster, tmp_path)
    assert [(row["log_start_offset"], row["log_end_offset"], row["kept_end_offset"]) for row in found.values()] == [
        (0, 10, 10),
        (3, 10, 10),
    ]
    for key, row in found.items():
        log = cluster.brokers[1].logs[key]
        assert (row["error"], row["doubts"], row["torn"], row["gaps"]) == (None, [], None, [])
        assert [(one["epoch"], one["start_offset"]) for one in row["epochs"]] == log.epochs
        assert (row["high_watermark"] or 0) <= log.high_watermark


@pytest.mark.parametrize(("torn", "why"), [(CUT, "cut"), (ZEROS, "zeroed"), (CRC, "crc")])
def test_a_torn_end(cluster: SimulatedCluster, tmp_path: Path, torn: str, why: str) -> None:
    found = [row for seed in range(5) for row in rows(cluster, tmp_path / str(seed), seed, torn=torn).values()]
    assert {row["torn"] and row["torn"]["why"] for row in found} == {None, why}
    assert all(row["kept_end_offset"] == row["log_end_offset"] == 10 for row in found)


def test_a_damaged_batch(cluster: SimulatedCluster, tmp_path: Path) -> None:
    row = rows(cluster, tmp_path, damaged=[KEYS[0]])[KEYS[0]]
    assert row["torn"]["why"] == "crc" and row["log_end_offset"] == cluster.brokers[1].logs[KEYS[0]].batches[1].base
