# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run has left whose machine is gone is found and removed from another machine, which has only the object store."""

from __future__ import annotations

from pathlib import Path

import pytest
from integration.breaking import delete_topics
from integration.store_clients import Bucket
from integration.support import Operator, run_module, running
from integration.test_leftovers import (
    CLEANUP,
    INFO,
    MOVED,
    MOVES,
    moves_by_kafkas_tool,
    start_a_slow_move,
    throttles_by_kafkas_tool,
    wait_for_the_move,
)
from integration.throttle_leaks import clear

from rig import KafkaCluster


@pytest.mark.long
def test_another_machine_removes_the_move_and_the_throttle_of_a_killed_run(small: KafkaCluster, bucket: Bucket, tmp_path: Path) -> None:
    small.heal()
    delete_topics(small, {state.topic for state in small.describe()})
    clear(small)
    operator, elsewhere = Operator(small, tmp_path), {name: str(tmp_path / name) for name in ("TMPDIR", "HOME")}
    for folder in elsewhere.values():
        Path(folder).mkdir()
    with running(tmp_path, MOVES, {**start_a_slow_move(operator), "workdir": bucket.url}) as process:
        wait_for_the_move(operator, process)
        process.kill()
        process.communicate()

    options = {**operator.connection, "cluster": operator.name, "workdir": bucket.url, "window": 0.5}
    found = run_module(INFO, options, environment=elsewhere)
    assert found.returncode == 0, found
    assert {(row["owner"], row["run_id"]) for row in found.result["leftovers"]} == {("killed_run", "1")}, found
    assert not found.result["problems"] and not found.result["running"], found

    named = {"run_id": "cleanup", "cancel_moves": [{"topic": MOVED}]}
    cleaned = run_module(CLEANUP, {**options, **named}, environment=elsewhere)
    assert cleaned.returncode == 0 and {row["outcome"] for row in cleaned.result["leftovers"]} == {"removed"}, cleaned
    assert throttles_by_kafkas_tool(small) == [] and "No partition reassignments found" in moves_by_kafkas_tool(small)
