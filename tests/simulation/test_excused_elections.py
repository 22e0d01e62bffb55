# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wrong answers and leaders that an operator names excuse the elections of the runs that they concern, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulation.cluster import SESSION_SECONDS
from simulation.metadata_answers import quorum
from simulation.runs import AFTER_RUN_SECONDS, LATE_SECONDS
from simulation.test_simulated_judges import KEY, Incident

ABOUT_LOGS, ABOUT_OTHERS = "ListOffsetsRequest", "DescribeQuorumRequest"


@pytest.fixture
def incident(tmp_path: Path) -> Incident:
    return Incident(tmp_path, commits=True)


def lost(incident: Incident) -> bool:
    """Return whether the judges find that the election has lost a committed record, which a survivor had."""
    incident.judges.judge_calm({"results": []})
    return any("tail was committed and held by a survivor" in one for one in incident.judges.violations)


@pytest.mark.parametrize(("broker", "request_name", "is_judged"), [(1, ABOUT_LOGS, False), (2, ABOUT_LOGS, False), (1, ABOUT_OTHERS, True)])
def test_an_election_is_excused_if_the_leader_or_the_loser_answered_wrongly_about_its_logs(
    incident: Incident, broker: int, request_name: str, is_judged: bool
) -> None:
    with incident.judges.runs.working():
        incident.judges.runs.note_wrong_answer(broker, request_name)
        incident.elect()
    assert lost(incident) == is_judged
    assert incident.judges.misled_elections == 1


def test_a_wrong_answer_excuses_no_later_run(incident: Incident) -> None:
    with incident.judges.runs.working():
        incident.judges.runs.note_wrong_answer(1, ABOUT_LOGS)
    incident.cluster.world.wait(AFTER_RUN_SECONDS + 1)
    with incident.judges.runs.working():
        incident.elect()
    assert lost(incident)


def test_a_wrong_answer_excuses_what_is_carried_out_late(incident: Incident) -> None:
    with incident.judges.runs.working():
        incident.judges.runs.note_wrong_answer(1, ABOUT_LOGS)
    incident.cluster.world.wait(LATE_SECONDS - 1)
    incident.cluster.world.late = True
    incident.elect()
    assert not lost(incident)


def test_a_leader_that_is_named_excuses_the_election_of_its_run_alone(incident: Incident) -> None:
    with incident.judges.runs.working():
        incident.judges.runs.name({KEY})
        incident.elect()
    assert not lost(incident)


def test_a_leader_that_was_named_excuses_no_later_run(incident: Incident) -> None:
    with incident.judges.runs.working():
        incident.judges.runs.name({KEY})
    incident.cluster.world.wait(AFTER_RUN_SECONDS + 1)
    with incident.judges.runs.working():
        incident.elect()
    assert lost(incident)


@pytest.mark.parametrize(("survivors", "is_reached", "is_judged"), [((1,), False, False), ((1, 2), False, True), ((1,), True, True)])
def test_what_a_broker_holds_that_was_never_reached_is_given_up(
    incident: Incident, survivors: tuple[int, ...], is_reached: bool, is_judged: bool
) -> None:
    """The plan knew the logs of these survivors."""
    if not is_reached:
        incident.cluster.hide(2, 30)
    row = {
        "topic": "orders",
        "partition": 0,
        "designatedLeader": 1,
        "evidence": "weak",
        "loss": {"lower_bound": None, "upper_bound": None, "upper_bound_from": "unknown"},
    }
    row["guards"] = {"survivors": [{"broker_id": one} for one in survivors]}
    incident.judges.judge_plan({"partitions": [row], "held": [], "brokers": []})
    incident.elect()
    assert lost(incident) == is_judged


@pytest.mark.parametrize(("seconds", "is_judged"), [(0.05, False), (60, True)])
def test_what_the_leader_has_lost_since_it_was_read_is_not_lost_by_the_election(
    incident: Incident, seconds: float, is_judged: bool
) -> None:
    """It crashed right before the election."""
    incident.cluster.brokers[1].logs[KEY].append(incident.tail)
    incident.cluster.crash(1)
    incident.cluster.start(1, clean=False, lost_batches=1)
    incident.cluster.world.wait(seconds)
    incident.elect()
    assert lost(incident) == is_judged


@pytest.mark.parametrize(("quota", "is_judged"), [(50, False), (None, True)])
def test_what_a_fenced_broker_holds_that_throttles_its_clients_is_given_up(incident: Incident, quota: int | None, is_judged: bool) -> None:
    incident.cluster.client_quotas.rate = quota
    incident.cluster.cut_off(2, SESSION_SECONDS + 1)
    incident.cluster.world.wait(SESSION_SECONDS + 0.5)
    incident.elect()
    incident.cluster.world.wait(SESSION_SECONDS)
    assert bool(incident.truncate()) == is_judged


@pytest.mark.parametrize("is_known", [True, False])
def test_an_election_is_judged_if_its_run_could_know_that_a_clean_leader_is_coming_back(tmp_path: Path, is_known: bool) -> None:
    """It reads that of the quorum, right before it sets the order."""
    incident = Incident(tmp_path, gives_up=False)
    quorum(incident.cluster)
    incident.cluster.start(3, clean=True)
    while not incident.cluster.brokers[3].is_registering:
        incident.cluster.world.wait(0.01)
    if is_known:
        quorum(incident.cluster)
    incident.elect()
    assert any("a clean leader, is coming back" in one for one in incident.judges.violations) == is_known
