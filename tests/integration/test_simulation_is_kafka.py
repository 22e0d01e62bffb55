# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated cluster decides as a real one: both get the same steps, and must show the same states, log ends and errors."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from simulation.real_twin import BROKERS, Twins

from rig import KafkaCluster

STEPS = 6
MANY = int(os.environ.get("TWIN_SCRIPTS", "10"))


@pytest.fixture(scope="module", params=[True, False], ids=["elr", "no elr"])
def twin(request: pytest.FixtureRequest) -> Iterator[tuple[KafkaCluster, bool]]:
    """A real cluster, with or without eligible leader replicas."""
    with KafkaCluster("twin", brokers=BROKERS, session_timeout=3, heap="200m", elr=request.param) as cluster:
        yield cluster, request.param


@pytest.mark.long
@pytest.mark.parametrize("seed", range(MANY))
def test_simulated_and_real_clusters_agree_after_each_step(twin: tuple[KafkaCluster, bool], seed: int) -> None:
    cluster, elr = twin
    cluster.heal()
    differences = Twins(cluster, f"script-{seed}", elr, seed).play(STEPS)
    assert not differences, "\n".join(differences)
