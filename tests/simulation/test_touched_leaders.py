# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run may touch a partition with a leader only for as long as its guards may be old, and a request on the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulation.runs import LATE_SECONDS
from simulation.test_simulated_judges import KEY, Incident


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
