# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clocks of control nodes are virtual and may differ from those of controllers, which may hang."""

from __future__ import annotations

import os
import sys
import time
import uuid
from pathlib import Path

import pytest

from ansible_collections.streamops.kafka_recovery.plugins import module_utils as product
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.save import TailSaver
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.save_limits import Limits
from simulation.cluster import QUORUM_SECONDS, SimulatedCluster
from simulation.operator import simulated
from simulation.world import BEGIN, EPOCH, World


def cluster_of(world: World) -> SimulatedCluster:
    return SimulatedCluster(world, 3, {"orders": [[1, 2, 3]]}, {"orders": 1}, elr=False)


def test_all_clocks_are_virtual() -> None:
    world = World(1)
    with world.clock():
        world.wait(7)
        assert time.time() == EPOCH + 7
        assert time.time_ns() == int((EPOCH + 7) * 1e9)


def test_clocks_of_machines_differ() -> None:
    world = World(1)
    world.drift = 5.0
    clocks = [world.wall_clock(one) for one in ("first", "second", "controller 101")]
    world.wait(1000)
    later = [world.wall_clock(one) for one in ("first", "second", "controller 101")]
    assert len({*clocks}) == 3 and all(abs(one - EPOCH) <= 5 for one in clocks)
    assert len({after - before for before, after in zip(clocks, later, strict=True)}) == 3


@pytest.mark.parametrize(("seconds", "is_replaced"), [(0.5, False), (15.0, True)])
def test_a_controller_that_hangs_for_long_is_replaced(seconds: float, is_replaced: bool) -> None:
    world = World(1)
    cluster = cluster_of(world)
    before = cluster.controller_id
    cluster.hang_controller(seconds)
    assert not cluster.has_controller
    world.wait(QUORUM_SECONDS + 1)
    assert cluster.has_controller
    assert (cluster.controller_id != before) == is_replaced
    assert cluster.controllers[before].hangs == is_replaced
    world.wait(seconds)
    assert not cluster.controllers[before].hangs


def test_no_parameter_of_the_product_has_a_real_clock_as_its_default() -> None:
    """It would make histories wait in real time, while no virtual time passes."""
    world, real = World(1), (time.sleep, time.monotonic, time.time)
    with simulated(cluster_of(world)):
        for name, module in [*sys.modules.items()]:
            for owner in vars(module).values() if name.startswith(product.__name__) else ():
                defaults = getattr(getattr(owner, "__init__", None) if isinstance(owner, type) else owner, "__defaults__", None) or ()
                assert not any(one is clock for one in defaults for clock in real), owner
        paused = TailSaver(None, Path(), {"cluster": "east", "run_id": "1"}, Limits())._pause  # type: ignore[arg-type]
        world.run({"saves": lambda: paused(600.0)})
    assert world.now >= BEGIN + 600


def test_what_is_random_in_files_is_the_same_each_time() -> None:
    """Histories damage files at places that their seeds choose."""
    found = []
    for seed in (1, 1, 2):
        with simulated(cluster_of(World(seed))):
            found.append((uuid.uuid4(), uuid.uuid4(), os.getpid()))
    assert found[0] == found[1] != found[2]
    assert found[0][0] != found[0][1]
