# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook revive chooses brokers and gives the partitions that are named an empty leader, and no others."""

from __future__ import annotations

import signal
from typing import Any

import pytest
from integration.stepping import Job, run_all
from integration.support import Operator, Played
from integration.test_revival import CONFIG, GONE, LIVE, LOST, MODULE, PARTIAL, RECORDS, commit, committed, gone, lose, wanted

from rig import NewTopic


def revive(west: Operator, run_id: str, *named: dict[str, Any], **variables: Any) -> Played:
    return west.play("revive", run_id, revive_empty=list(named), lost_brokers=[LOST], **variables)


def leaders(west: Operator) -> dict[int, int]:
    return {partition: state.leader for (_topic, partition), state in west.states(GONE).items()}


@pytest.mark.long
def test_without_leave_to_lose_data_it_shows_what_it_would_do(west: Operator) -> None:
    lose(west.cluster, GONE)
    commit(west.cluster, "idle", GONE, RECORDS)
    gone(west.cluster, GONE)
    dry = revive(west, "dry", {"topic": GONE, "partition": 0}, reset_groups=True)
    assert dry.returncode == 0 and dry.recap[west.name]["changed"] == 0, str(dry)
    assert "Dry run" in dry.said and "streamops.kafka_recovery.revive" in dry.said, str(dry)
    assert set(leaders(west).values()) == {-1} and committed(west.cluster, "idle", GONE) == RECORDS


@pytest.mark.long
def test_only_what_is_named_gets_an_empty_leader(west: Operator) -> None:
    cluster = west.cluster
    lose(cluster, GONE, partitions=3)
    cluster.create_topics([NewTopic(PARTIAL, [[LOST, 2]], CONFIG)])
    commit(cluster, "idle", GONE, RECORDS)
    gone(cluster, GONE)
    done = revive(west, "1", {"topic": GONE, "partition": 0}, reset_groups=True, allow_data_loss=True)
    assert done.returncode == 0 and "1 revived" in done.said, str(done)
    found = leaders(west)
    assert found.pop(0) in LIVE and set(found.values()) == {-1}, str(done)
    assert committed(cluster, "idle", GONE) == 0

    rest = revive(west, "2", {"topic": GONE}, {"topic": PARTIAL}, allow_data_loss=True)
    assert rest.returncode == 0 and "2 revived" in rest.said, str(rest)
    assert set(leaders(west).values()) <= {*LIVE}
    assert [state.replicas for state in west.states(PARTIAL).values()] == [(LOST, 2)]


@pytest.mark.long
def test_a_killed_run_is_continued_on_its_brokers(west: Operator, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("jobs")  # the workdir's files are steps, these are not
    lose(west.cluster, GONE, partitions=2)
    gone(west.cluster, GONE)

    def job(partition: int, stop_at: int | None = None) -> Job:
        named = [{"topic": GONE, "partition": partition, "replicas": [3]}]
        arguments = {**west.connection, **wanted(west, (GONE, partition)), "partitions": named}
        return Job(MODULE, arguments, str(folder / str(partition)), str(west.workdir), stop_at, signal.SIGKILL)

    (whole,) = run_all([job(1)])
    assert whole.returncode == 0, whole
    answered = next(number for number, step in enumerate(whole.steps, start=1) if step.startswith("answer to AlterPartitionReassignments"))
    (killed,) = run_all([job(0, answered)])
    assert killed.returncode == -signal.SIGKILL
    assert west.states(GONE)[GONE, 0].replicas == (3, LOST) and leaders(west)[0] == -1

    done = revive(west, "1", {"topic": GONE}, allow_data_loss=True)
    assert done.returncode == 0 and "1 revived" in done.said, str(done)
    assert leaders(west) == {0: 3, 1: 3} and west.states(GONE)[GONE, 0].replicas == (3,)
