# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The judges see throttles that are faster than was asked for, or that no journal has."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from simulation.cluster import SimulatedCluster
from simulation.dynamic_configs import BROKER, DELETE, SET, TOPIC, Operation
from simulation.events import Events
from simulation.model_judge import ModelJudge
from simulation.move_judges import MoveJudges
from simulation.move_script import PLAIN_MOVES, MoveScript
from simulation.quotas import FOLLOWER, LEADER, RATE, REPLICAS
from simulation.world import World


def move_judges(cluster: SimulatedCluster, workdir: Path, events: Events | None = None) -> MoveJudges:
    """Return the judges of a move of the only partition, with a throttle of 2,000 bytes per second."""
    moves = MoveScript((("orders", 0, (1, 3)),), 2000, PLAIN_MOVES, None, None, (), "move", "move")
    model = ModelJudge(cluster, True, False, False)
    return MoveJudges(cluster, workdir, events or Events(cluster, Counter()), model, gives_up=True, script=moves, is_calm=True)


def write_throttles(workdir: Path, entry: Mapping[str, Any]) -> None:
    """Write the journal of throttles."""
    journal = workdir / "throttles" / "simulated.jsonl"
    journal.parent.mkdir()
    journal.write_text(json.dumps(entry) + "\n")


@pytest.mark.parametrize(("rate", "later", "is_found"), [(2000, None, False), (2001, None, True), (2001, 2001, False), (2001, 1024, True)])
def test_a_throttle_of_moves_may_not_be_faster_than_was_asked_for(tmp_path: Path, rate: int, later: int | None, is_found: bool) -> None:
    """A later run may ask for another rate while they are under way. `later`: that rate."""
    cluster = SimulatedCluster(World(1), 3, {"orders": [[1, 2]]}, {"orders": 1}, elr=False)
    judges = move_judges(cluster, tmp_path)
    if later is not None:
        judges.ask_for(later)
    config = RATE.format(LEADER)
    entry = {"kind": "set", "owner": "run", "rates": [{"broker": 1, "config": config, "value": str(rate), "before": None}]}
    write_throttles(tmp_path, entry)
    cluster.alter_configs((BROKER, "1"), [Operation(config, SET, str(rate))])
    assert judges.violations == ([f"{config} of 1 becomes {rate}, and 2000 was asked for"] if is_found else [])


@pytest.mark.parametrize(("recorded", "is_found"), [(REPLICAS.format(LEADER), False), (REPLICAS.format(FOLLOWER), True)])
def test_a_list_may_stay_empty_while_entries_of_another_owner_are_recorded_for_it(tmp_path: Path, recorded: str, is_found: bool) -> None:
    cluster = SimulatedCluster(World(1), 3, {"orders": [[1, 2]]}, {"orders": 1}, elr=False)
    judges = move_judges(cluster, tmp_path)
    entry = {"kind": "set", "owner": "standing", "replicas": [{"topic": "orders", "config": recorded, "entries": ["0:1"]}]}
    write_throttles(tmp_path, entry)
    cluster.alter_configs((TOPIC, "orders"), [Operation(REPLICAS.format(LEADER), SET, "")])
    judges.judge_moved({"warnings": []}, alone=True)
    assert bool(judges.violations) == is_found


@pytest.mark.parametrize(("requested_at", "is_found"), [(1.0, False), (3.0, True), (None, True)])
def test_only_a_broker_that_hung_may_delete_what_others_have_set_since(tmp_path: Path, requested_at: float | None, is_found: bool) -> None:
    """Others set theirs at 2 s. `requested_at`: when the deletion was, which is carried out late; None: it is carried out at once."""
    world = World(1)
    cluster = SimulatedCluster(world, 3, {"orders": [[1, 2]]}, {"orders": 1}, elr=False)
    events = Events(cluster, Counter())
    judges = move_judges(cluster, tmp_path, events)
    world.now = began = world.now + 2.0
    events.throttle_topic(("orders", 0), 90)
    config, late = REPLICAS.format(LEADER), nullcontext() if requested_at is None else world.happening_late(began - 2.0 + requested_at)
    with late:
        cluster.alter_configs((TOPIC, "orders"), [Operation(config, DELETE, "")])
    assert judges.violations == ([f"{config} of orders loses what others have set: 0:90"] if is_found else [])
