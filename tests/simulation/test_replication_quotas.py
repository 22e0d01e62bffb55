# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated replicas copy as fast as the configs of their brokers allow, and configs change as Kafka changes them."""

from __future__ import annotations

import pytest

from simulation.cluster import SimulatedCluster
from simulation.dynamic_configs import APPEND, BROKER, DELETE, SET, SUBTRACT, TOPIC, DynamicConfigs, Operation
from simulation.kraft import Key
from simulation.quotas import FOLLOWER, LEADER, RATE, REPLICAS
from simulation.world import World

KEY: Key = ("orders", 0)
TICK = 0.25


def copied_in(listed: str, rates: dict[str, str]) -> float:
    """Move a partition of about 10 kB to another broker. Return the seconds until that has ended."""
    world = World(1)
    cluster = SimulatedCluster(world, 3, {"orders": [[1, 2]]}, {"orders": 1}, elr=False)
    for number in range(20):
        cluster.write(KEY, f"{number}", 1, size=400)
    cluster.replicate(KEY, 2)
    for side in (LEADER, FOLLOWER):
        cluster.alter_configs((TOPIC, "orders"), [Operation(REPLICAS.format(side), APPEND, listed)])
    for broker, rate in rates.items():
        cluster.alter_configs((BROKER, broker), [Operation(RATE.format(side), SET, rate) for side in (LEADER, FOLLOWER)])
    cluster.reassign(KEY, (1, 3))
    began = world.now
    while cluster.controller.partitions[KEY].assignment.is_moving:
        world.wait(TICK)
        cluster.replicate(KEY, 3)
    return world.now - began


@pytest.mark.parametrize(
    ("listed", "rates"),
    [("", {}), ("0:1,0:3", {}), ("", {"1": "1024", "3": "1024"}), ("1:1,1:3", {"1": "1024", "3": "1024"}), ("0:3", {"1": "1024"})],
)
def test_without_a_rate_and_an_entry_a_replica_copies_at_once(listed: str, rates: dict[str, str]) -> None:
    assert copied_in(listed, rates) < 1


@pytest.mark.parametrize(("listed", "rates"), [("0:1", {"1": "1024"}), ("0:3", {"3": "1024"}), ("*", {"3": "1024"}), ("0:3", {"": "1024"})])
def test_a_replica_copies_at_its_rate(listed: str, rates: dict[str, str]) -> None:
    assert 7 < copied_in(listed, rates) < 12


def test_entries_of_a_list_are_added_once_and_removed_and_it_may_become_empty() -> None:
    configs, resource = DynamicConfigs(), (TOPIC, "orders")
    configs.alter(resource, [Operation("list", APPEND, "0:1,0:2")])
    configs.alter(resource, [Operation("list", APPEND, "0:2,0:3")])
    before, version = configs.values, configs.version
    assert configs.of(resource) == {"list": "0:1,0:2,0:3"}
    configs.alter(resource, [Operation("list", SUBTRACT, "0:9")])
    assert configs.version == version
    configs.alter(resource, [Operation("list", SUBTRACT, "0:3,0:1,0:2")])
    assert configs.of(resource) == {"list": ""} and before[resource] == {"list": "0:1,0:2,0:3"}
    configs.alter(resource, [Operation("list", DELETE, None)])
    assert configs.values == {}
