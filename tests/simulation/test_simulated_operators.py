# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections import Counter

from simulation.cluster import SimulatedCluster
from simulation.events import Events
from simulation.group_log import GROUP_LOG
from simulation.groups import NAMES
from simulation.kraft import NO_LEADER
from simulation.world import World

KEY = ("orders", 0)


def cluster_with_groups() -> tuple[SimulatedCluster, Events]:
    cluster = SimulatedCluster(World(1), 3, {KEY[0]: [[1, 2, 3]], GROUP_LOG[0]: [[1, 2, 3]]}, {KEY[0]: 1, GROUP_LOG[0]: 1}, elr=False)
    return cluster, Events(cluster, Counter())


def test_committed_offsets_are_those_that_the_log_has() -> None:
    cluster, events = cluster_with_groups()
    events.write((0, 0, 0, 0))
    events.catch_up((0,))
    events.commit_offset((0, 0))
    events.catch_up((1,))
    events.write((0, 0, 0, 0))
    events.catch_up((0,))
    events.commit_offset((0, 0))  # no follower has this one
    leader, follower = (cluster.brokers[one].logs[GROUP_LOG] for one in (1, 2))
    assert cluster.groups.log.positions(leader)[NAMES[0]][KEY].offset == 2
    assert cluster.groups.log.positions(follower)[NAMES[0]][KEY].offset == 1


def test_another_tool_changes_orders_and_moves_in_its_own_name() -> None:
    cluster, events = cluster_with_groups()
    acted: list[tuple[str, bool]] = []
    cluster.before_change = lambda what, _key, _order: acted.append((what, events.acts_for_others))
    events.other_tools.reorder_elsewhere((0, 0))
    assert cluster.controller.partitions[KEY].replicas == (2, 3, 1)
    events.other_tools.move_elsewhere((0, 0))
    assert {*cluster.controller.partitions[KEY].assignment.target} == {3, 1}
    assert acted == [("reorder", True), ("move", True)] and not events.acts_for_others


def test_a_broker_is_unregistered_only_if_it_is_fenced_and_registers_again() -> None:
    cluster, events = cluster_with_groups()
    cluster.crash(3)
    events.other_tools.unregister((0,))
    assert 3 in cluster.controller.brokers
    cluster.world.wait(20)
    events.other_tools.unregister((0,))
    assert 3 not in cluster.controller.brokers and cluster.reassign(KEY, (3, 2, 1)) == "INVALID_REPLICA_ASSIGNMENT"
    events.other_tools.tidy_up()
    assert 3 in cluster.controller.brokers


def test_a_move_of_a_partition_without_a_leader_is_ended() -> None:
    cluster, events = cluster_with_groups()
    events.alone((0,))
    cluster.crash(1)
    cluster.world.wait(20)
    events.other_tools.move_elsewhere((0, 0))
    state = cluster.controller.partitions[KEY]
    assert state.leader == NO_LEADER and state.assignment.is_moving
    events.other_tools.tidy_up()
    assert not cluster.controller.partitions[KEY].assignment.is_moving


def test_another_tool_acts_once_at_a_request() -> None:
    cluster, events = cluster_with_groups()
    events.other_tools.act_at("ElectLeadersRequest", 1, "reorder_elsewhere", (0, 0, 1, 0))
    for _ in range(3):
        cluster.before_request("ElectLeadersRequest", 1)
    assert cluster.controller.partitions[KEY].replicas == (2, 3, 1)
