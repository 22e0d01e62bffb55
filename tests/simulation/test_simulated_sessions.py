# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sessions of brokers with the controllers: a broker that starts again waits for the end of the one before (DUPLICATE_BROKER_REGISTRATION)."""

from __future__ import annotations

import pytest

from simulation.cluster import REGISTER_SECONDS, SESSION_SECONDS, START_SECONDS, SimulatedCluster
from simulation.versions import NEWEST, OLDEST, Release
from simulation.world import World

KEY = "orders", 0


def made(release: Release = NEWEST) -> SimulatedCluster:
    return SimulatedCluster(World(1), 2, {"orders": [[1, 2]]}, {"orders": 1}, elr=False, release=release)


def registers_after(cluster: SimulatedCluster) -> float:
    """Return the seconds until the controller takes broker 1 for another process than before, which it fences at first."""
    began = cluster.world.now
    while not cluster.brokers[1].is_registered:
        cluster.world.wait(0.01)
    assert not cluster.controller.alive(1)
    cluster.world.wait(START_SECONDS[1])
    assert cluster.controller.alive(1)
    return cluster.world.now - began - START_SECONDS[1]


def test_a_broker_that_was_killed_registers_when_its_session_has_ended() -> None:
    cluster = made()
    cluster.crash(1)
    cluster.world.wait(1.0)
    cluster.start(1, clean=False)
    assert cluster.controller.alive(1) and cluster.controller.partitions[KEY].leader == 1, "as the process that was killed"
    assert cluster.write(KEY, "orders-0#1", 1) is None, "it does not lead before it is registered"
    assert SESSION_SECONDS - 1.1 < registers_after(cluster) < SESSION_SECONDS - 1 + REGISTER_SECONDS + 0.1
    assert cluster.controller.partitions[KEY].leader == 2


@pytest.mark.parametrize(("release", "seconds"), [(NEWEST, SESSION_SECONDS), (OLDEST, 0.0)], ids=lambda one: getattr(one, "name", ""))
def test_a_broker_that_was_shut_down_has_a_session_but_of_the_oldest_kafka(release: Release, seconds: float) -> None:
    cluster = made(release)
    cluster.shut_down(1)
    cluster.start(1, clean=True)
    assert seconds <= registers_after(cluster) < seconds + REGISTER_SECONDS + 0.1


def test_a_broker_that_was_silent_for_long_registers_at_once() -> None:
    cluster = made()
    cluster.hang(1, 60.0)
    cluster.world.wait(SESSION_SECONDS + 1)
    cluster.crash(1)
    cluster.start(1, clean=False)
    assert registers_after(cluster) == 0


def test_a_session_is_counted_from_the_last_heartbeat() -> None:
    cluster = made()
    cluster.hang(1, 1.0)
    cluster.world.wait(2.0)
    cluster.hang(1, 60.0)
    cluster.world.wait(SESSION_SECONDS - 1)
    assert cluster.controller.alive(1)
    cluster.world.wait(2.0)
    assert not cluster.controller.alive(1)


def test_a_broker_registers_once_it_reaches_a_controller() -> None:
    cluster = made()
    cluster.shut_down(1)
    cluster.world.wait(SESSION_SECONDS)
    cluster.lose_controller(5.0)
    cluster.start(1, clean=True)
    assert 4 < registers_after(cluster) < 5 + REGISTER_SECONDS + 0.1


def test_a_broker_registers_although_there_was_no_controller_when_its_session_ended() -> None:
    """The next controller waits for a heartbeat of the process that was killed, and none comes."""
    cluster = made()
    cluster.crash(1)
    cluster.world.wait(SESSION_SECONDS - 1)
    cluster.lose_controller(2.0)
    cluster.world.wait(2.0)
    cluster.start(1, clean=False)
    assert registers_after(cluster) < SESSION_SECONDS


def test_a_broker_that_is_killed_before_it_registers_is_fenced_and_does_not_register() -> None:
    cluster = made()
    cluster.crash(1)
    cluster.start(1, clean=False)
    cluster.world.wait(1.0)
    cluster.crash(1)
    cluster.world.wait(2 * SESSION_SECONDS + START_SECONDS[1])
    assert not cluster.controller.alive(1) and not cluster.brokers[1].is_registered
