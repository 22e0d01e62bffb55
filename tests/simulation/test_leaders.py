# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""It is known who has led a partition, and when, as exactly as the controller knows it."""

from __future__ import annotations

import math

from simulation.cluster import SESSION_SECONDS, SimulatedCluster
from simulation.kraft import Key
from simulation.leaders import Leaders
from simulation.world import BEGIN, World

KEY: Key = ("orders", 0)


def test_a_leader_that_follows_another_one_at_once_is_no_break() -> None:
    cluster = SimulatedCluster(World(1), 2, {"orders": [[1, 2]]}, {"orders": 1}, elr=False)
    leaders = Leaders(cluster)
    assert (leaders.had_since(KEY), leaders.lost_at(KEY), leaders.changed_at(KEY)) == (BEGIN, -math.inf, -math.inf)
    cluster.crash(1)
    cluster.world.wait(SESSION_SECONDS + 1)
    second = BEGIN + SESSION_SECONDS
    assert (leaders.had_since(KEY), leaders.lost_at(KEY), leaders.changed_at(KEY)) == (BEGIN, -math.inf, second)
    assert (leaders.led_until(KEY, 1), leaders.led_until(KEY, 2)) == (second, -math.inf)
    cluster.crash(2)
    cluster.world.wait(SESSION_SECONDS + 1)
    lost = second + 1 + SESSION_SECONDS
    assert (leaders.had_since(KEY), leaders.lost_at(KEY), leaders.changed_at(KEY)) == (None, lost, lost)
    assert leaders.led_until(KEY, 2) == lost


def test_a_topic_that_is_created_again_has_its_leader_since_then() -> None:
    cluster = SimulatedCluster(World(1), 2, {"orders": [[1, 2]]}, {"orders": 1}, elr=False)
    leaders = Leaders(cluster)
    cluster.world.wait(5.0)
    cluster.controller.create_again(KEY, 7, [1, 2])
    assert (leaders.had_since(KEY), leaders.changed_at(KEY), leaders.lost_at(KEY)) == (BEGIN + 5.0, BEGIN + 5.0, -math.inf)
