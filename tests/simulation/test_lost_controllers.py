# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A controller that dies is down, and another one takes over."""

from __future__ import annotations

from simulation.cluster import SimulatedCluster
from simulation.versions import NEWEST
from simulation.world import World


def test_a_controller_that_dies_answers_nothing_until_it_starts_again() -> None:
    cluster = SimulatedCluster(World(1), 2, {"orders": [[1, 2]]}, {"orders": 1}, elr=False, release=NEWEST)
    before = cluster.controllers[cluster.controller_id]
    incarnation = before.incarnation
    cluster.lose_controller(3.0)
    cluster.world.wait(2.9)
    assert not before.running and not cluster.has_controller
    cluster.world.wait(0.2)
    assert cluster.has_controller and cluster.controller_id != before.node_id
    assert before.running and before.incarnation == incarnation + 1, "connections to the process that died are closed"


def test_a_controller_that_hangs_for_long_is_replaced_and_still_runs() -> None:
    cluster = SimulatedCluster(World(1), 2, {"orders": [[1, 2]]}, {"orders": 1}, elr=False, release=NEWEST)
    before = cluster.controllers[cluster.controller_id]
    cluster.hang_controller(30.0)
    cluster.world.wait(20.0)
    assert before.running and cluster.has_controller and cluster.controller_id != before.node_id
