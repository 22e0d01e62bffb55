# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated cluster decides as a real one: both get the same steps, and must show the same states, log ends and errors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from integration.breaking import delete_topics
from simulation.real_twin import BROKERS, Twins

from rig import KafkaCluster

STEPS = 10
MANY, FIRST = int(os.environ.get("TWIN_SCRIPTS", "10")), int(os.environ.get("TWIN_FIRST", "0"))
OLDEST = "3.9"  # gets fewer scripts
KINDS: dict[str, dict[str, Any]] = {"elr": {"elr": True}, "without-elr": {"elr": False}, OLDEST: {"version": "3.9.1"}}
SCRIPTS = [(kind, seed) for kind in KINDS for seed in range(FIRST, FIRST + (MANY if kind != OLDEST else -(-MANY // 4)))]
# In `make test`: these three take as many different steps as they can.
SHORT_STEPS, SHORT_SEEDS = 6, (1, 2, 3)


@pytest.fixture(scope="module")
def twin(request: pytest.FixtureRequest) -> Iterator[tuple[KafkaCluster, bool]]:
    """A real cluster, and whether it has eligible leader replicas."""
    settings = KINDS[request.param]
    with KafkaCluster("twin", brokers=BROKERS, session_timeout=3, heap="200m", **settings) as cluster:
        yield cluster, settings.get("elr", False)


@pytest.mark.long
@pytest.mark.parametrize(("twin", "seed"), SCRIPTS, indirect=["twin"])
def test_simulated_and_real_clusters_agree_after_each_step(twin: tuple[KafkaCluster, bool], seed: int) -> None:
    compare(*twin, seed, STEPS)


@pytest.mark.parametrize("seed", SHORT_SEEDS)
def test_simulated_and_real_clusters_agree_in_short_scripts(small: KafkaCluster, seed: int) -> None:
    compare(small, True, seed, SHORT_STEPS)


def compare(cluster: KafkaCluster, elr: bool, seed: int, steps: int) -> None:
    """Play a script on a cluster without topics of earlier ones, all of its brokers alive."""
    cluster.heal()
    delete_topics(cluster, {state.topic for state in cluster.describe()})
    twins = Twins(cluster, f"script-{seed}", elr, seed)
    differences = twins.play(steps)
    print(*twins.story, sep="\n")
    assert not differences, "\n".join(differences)
