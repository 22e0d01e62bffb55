# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file still says that a lost broker is not safe to start, as long as its disk has records that the elected leader lacks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from simulation.cluster import SESSION_SECONDS
from simulation.test_damaged_files import lose_for_long
from simulation.test_simulated_judges import KEY, Incident

MISSING = "broker 3 alone has tail of orders-0, and no file says any more that it is not safe to start"


def starts_again(incident: Incident) -> None:
    incident.cluster.start(3, clean=True)
    incident.cluster.world.wait(1)
    incident.cluster.replicate(KEY, 3)


def leads_again(incident: Incident) -> None:
    """Broker 2, which has the record, too, is elected."""
    incident.cluster.crash(1)
    incident.cluster.world.wait(SESSION_SECONDS + 1)
    incident.cluster.elect(KEY, unclean=True)
    assert incident.cluster.controller.partitions[KEY].leader == 2


def is_created_again(incident: Incident) -> None:
    incident.cluster.controller.create_again(KEY, 7, [3, 1, 2])


@pytest.fixture
def incident(tmp_path: Path) -> Incident:
    """Broker 1 is elected, which lacks a record that brokers 2 and 3 have. A file says that broker 3 is not safe to start."""
    incident = Incident(tmp_path)
    incident.judges.files.verdict(3).parent.mkdir(parents=True)
    incident.judges.files.verdict(3).write_text('{"safe_to_start": false}')
    lose_for_long(incident)
    incident.elect()
    return incident


def violations(incident: Incident) -> list[str]:
    """Return what the judges find at the end of a run."""
    incident.judges.judge_end({"results": [], "repaired": [], "warnings": []})
    return incident.judges.violations


def test_a_verdict_may_not_go_before_the_broker_starts(incident: Incident) -> None:
    assert violations(incident) == []
    incident.judges.files.verdict(3).unlink()
    assert violations(incident) == [MISSING]


def test_a_verdict_that_is_damaged_is_not_judged(incident: Incident) -> None:
    incident.judges.files.verdict(3).unlink()
    incident.judges.files.damaged = incident.judges.files.verdict(3)
    assert violations(incident) == []


@pytest.mark.parametrize("happens", [starts_again, leads_again, is_created_again, Incident.save])
def test_a_verdict_may_go_when_the_records_are_not_on_that_disk_alone(incident: Incident, happens: Callable[[Incident], object]) -> None:
    incident.judges.files.verdict(3).unlink()
    happens(incident)
    assert violations(incident) == []
