# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated fault lasts as long as its story says, also if the same fault has struck before."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from simulation.cluster import METADATA_SECONDS, SESSION_SECONDS, SimulatedCluster
from simulation.world import World

LONG, SHORT = 20.0, 5.0
Strike = Callable[[SimulatedCluster, float], None]
IsStruck = Callable[[SimulatedCluster], bool]

OVERLAPPING: dict[str, tuple[Strike, IsStruck]] = {
    "hang": (lambda cluster, seconds: cluster.hang(2, seconds), lambda cluster: cluster.brokers[2].hangs),
    "cut_off": (lambda cluster, seconds: cluster.cut_off(2, seconds), lambda cluster: cluster.brokers[2].cut_off),
    "hide": (lambda cluster, seconds: cluster.hide(2, seconds), lambda cluster: cluster.brokers[2].unreachable),
    "make_busy": (SimulatedCluster.make_busy, lambda cluster: cluster.metadata_seconds != METADATA_SECONDS),
    "deny": (SimulatedCluster.deny, lambda cluster: cluster.is_denied),
    "fill_disk": (SimulatedCluster.fill_disk, lambda cluster: cluster.disk_is_full),
}


@pytest.fixture
def cluster() -> SimulatedCluster:
    return SimulatedCluster(World(1), 3, {"orders": [[1, 2, 3]]}, {"orders": 1}, elr=False)


@pytest.mark.parametrize("fault", OVERLAPPING)
@pytest.mark.parametrize(("first", "second"), [(SHORT, LONG), (LONG, SHORT)])
def test_a_fault_that_strikes_again_while_it_lasts_ends_with_the_later_end(
    cluster: SimulatedCluster, fault: str, first: float, second: float
) -> None:
    strike, is_struck = OVERLAPPING[fault]
    strike(cluster, first)
    cluster.world.wait(1.0)
    strike(cluster, second)
    cluster.world.wait(max(first - 1, second) - 0.5)
    assert is_struck(cluster)
    cluster.world.wait(1.0)
    assert not is_struck(cluster)


def test_a_fault_strikes_again_after_its_end(cluster: SimulatedCluster) -> None:
    for _ in range(2):
        cluster.fill_disk(SHORT)
        assert cluster.disk_is_full
        cluster.world.wait(SHORT + 1)
        assert not cluster.disk_is_full


def test_a_broker_that_has_started_again_hangs_for_its_own_seconds(cluster: SimulatedCluster) -> None:
    cluster.hang(2, LONG)
    cluster.crash(2)
    cluster.world.wait(1.0)
    cluster.start(2, clean=False)
    assert not cluster.brokers[2].hangs
    cluster.world.wait(LONG - 3)
    cluster.hang(2, SHORT)
    cluster.world.wait(SHORT - 0.5)  # the process from before would have gone on
    assert cluster.brokers[2].hangs
    cluster.world.wait(1.0)
    assert not cluster.brokers[2].hangs


def test_a_broker_that_starts_while_its_machine_is_cut_off_stays_fenced_until_that_ends(cluster: SimulatedCluster) -> None:
    cluster.cut_off(2, LONG)
    cluster.crash(2)
    cluster.start(2, clean=False)
    cluster.world.wait(LONG - 1)
    assert cluster.brokers[2].cut_off and not cluster.controller.alive(2)
    cluster.world.wait(1 + SESSION_SECONDS)
    assert not cluster.brokers[2].cut_off and cluster.controller.alive(2)
