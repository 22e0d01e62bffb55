# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""For how long a run need not know a leader or a replica that came: as long as its guards may be old, and a request on the way."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest

from simulation.cluster import SESSION_SECONDS
from simulation.kraft import NO_LEADER
from simulation.runs import LATE_SECONDS
from simulation.test_simulated_judges import KEY, Incident

CUT_OFF_SECONDS = 20.0


@pytest.mark.parametrize(
    ("seconds", "slowed", "late", "is_judged"),
    [
        (1.5, False, False, False),
        (3.0, False, False, True),
        (5.0, True, False, False),
        (8.0, True, False, True),
        (LATE_SECONDS - 1, False, True, False),
        (LATE_SECONDS + 1, False, True, True),
    ],
)
def test_how_long_a_leader_need_not_be_known(tmp_path: Path, seconds: float, slowed: bool, late: bool, is_judged: bool) -> None:
    incident = Incident(tmp_path)
    incident.elect()
    incident.judges.watch()
    incident.events.slowed = slowed
    incident.cluster.world.wait(seconds)
    incident.cluster.world.late = late
    incident.cluster.elect(KEY, unclean=True)
    assert any("which has had a leader for" in one for one in incident.judges.violations) == is_judged


@pytest.mark.parametrize(
    ("seconds", "is_unfenced", "slowed", "is_judged"),
    [
        (1.5, False, False, False),
        (3.0, False, False, True),
        (0.1, True, False, False),
        (1.5, True, False, True),  # the run has asked right before its election which brokers are unfenced
        (1.5, True, True, False),
    ],
)
def test_how_long_a_replica_that_returns_need_not_be_known(
    tmp_path: Path, seconds: float, is_unfenced: bool, slowed: bool, is_judged: bool
) -> None:
    incident = Incident(tmp_path, gives_up=False)
    cluster = incident.cluster
    cluster.crash(2)
    cluster.world.wait(SESSION_SECONDS + 1)
    cluster.start(2, clean=False)
    if is_unfenced:
        while not cluster.controller.alive(2):
            cluster.world.wait(0.01)
    else:
        cluster.cut_off(2, CUT_OFF_SECONDS)  # it is not unfenced before
    cluster.world.wait(seconds)
    incident.events.slowed = slowed
    incident.elect()
    cluster.world.wait(CUT_OFF_SECONDS)
    assert any("truncated tail" in one for one in incident.truncate()) == is_judged


@pytest.mark.parametrize(
    ("late", "requested", "is_judged"), [(True, "while it led", False), (True, "after that", True), (False, "while it led", True)]
)
def test_an_election_that_was_requested_before_the_partition_had_a_leader_that_it_has_lost(
    tmp_path: Path, late: bool, requested: str, is_judged: bool
) -> None:
    """A broker that hangs carries it out, and takes the first live replica."""
    incident = Incident(tmp_path)
    cluster, controller = incident.cluster, incident.cluster.controller
    controller._put(KEY, controller.partitions[KEY]._replace(leader=3))
    requested_at = cluster.world.now + (0.5 if requested == "while it led" else 2.0)
    cluster.world.wait(1.0)
    controller._put(KEY, controller.partitions[KEY]._replace(leader=NO_LEADER))
    cluster.world.wait(5.0)
    with cluster.world.happening_late(requested_at) if late else nullcontext():
        incident.elect()
    assert any("truncated tail" in one for one in incident.truncate()) == is_judged


@pytest.mark.parametrize("is_there", [False, True], ids=["requested before", "requested after"])
def test_a_replica_that_came_back_after_an_election_was_requested_that_is_carried_out_late(tmp_path: Path, is_there: bool) -> None:
    """The run could not read its log. What was there when it was requested must still be kept."""
    incident = Incident(tmp_path)
    cluster = incident.cluster
    cluster.crash(2)
    cluster.world.wait(SESSION_SECONDS + 1)
    requested_at = cluster.world.now
    cluster.world.wait(0.1)
    cluster.start(2, clean=False)
    while not cluster.controller.alive(2):
        cluster.world.wait(0.01)
    cluster.world.wait(5.0)
    with cluster.world.happening_late(cluster.world.now if is_there else requested_at):
        incident.elect()
    assert any("truncated tail" in one for one in incident.truncate()) == is_there
