# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated cluster decides as a real one: both get the same steps, and must show the same states, log ends and errors."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from integration.breaking import delete_topics
from simulation.real_twin import BROKERS, STEPS, STEPS_OF_DISKS, STEPS_OF_POWER_CUTS, Twins
from simulation.settings import UNCLEAN
from simulation.twin_settings import WEIGHTS

from rig import KafkaCluster

MANY_STEPS = 10
# 2 x 70 + 35 + 3 x 9 + 3 x 9 = 229 scripts.
MANY, FIRST = int(os.environ.get("TWIN_SCRIPTS", "70")), int(os.environ.get("TWIN_FIRST", "0"))
FEWER, FEW = -(-MANY // 2), -(-MANY // 8)
KINDS: dict[str, dict[str, Any]] = {"elr": {"elr": True}, "without-elr": {"elr": False}, "3.9": {"version": "3.9.1"}}
LOOKS, NEVER = "unclean.leader.election.interval.ms", 86_400_000
SETTINGS: dict[str, Any] = {"brokers": BROKERS, "session_timeout": 3, "heap": "200m", "properties": {LOOKS: NEVER}}
# A broker notices that a disk has failed when it writes a checkpoint there. Controllers look each second where they may elect uncleanly.
WITH_DISKS: dict[str, Any] = {
    **SETTINGS,
    "second_log_dir": True,
    "properties": {"replica.high.watermark.checkpoint.interval.ms": 500, LOOKS: 1000},
}
SHORT_STEPS, SHORT_SEEDS = 6, (0, 4, 7)  # in `make test`


@pytest.fixture(scope="module")
def twin(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    """A real cluster without eligible leader replicas, for many scripts.

    With them each script has a cluster of its own. If min.insync.replicas is changed, the controller of Kafka 4.3.1 clears the ELR of a partition, but never
    forgets whose brokers it had. After the topic is deleted, no broker of these can register again that was killed: "existed in isrMembers".
    """
    with KafkaCluster("twin", **SETTINGS, **KINDS[request.param]) as cluster:
        yield cluster


@pytest.mark.long
@pytest.mark.parametrize("seed", range(FIRST, FIRST + MANY))
@pytest.mark.parametrize("twin", ["without-elr"], indirect=True, scope="module")
def test_simulated_and_real_clusters_agree_after_each_step(twin: KafkaCluster, seed: int) -> None:
    compare(twin, False, seed, MANY_STEPS)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(FIRST, FIRST + MANY))
def test_simulated_and_real_clusters_with_eligible_leader_replicas_agree_after_each_step(seed: int) -> None:
    with KafkaCluster("twin", **SETTINGS, **KINDS["elr"]) as cluster:
        compare(cluster, True, seed, MANY_STEPS)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(FIRST, FIRST + FEWER))
@pytest.mark.parametrize("twin", ["3.9"], indirect=True, scope="module")
def test_simulated_and_oldest_clusters_agree_after_each_step(twin: KafkaCluster, seed: int) -> None:
    compare(twin, False, seed, MANY_STEPS)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(FIRST, FIRST + FEW))
@pytest.mark.parametrize("kind", KINDS)
def test_simulated_and_real_clusters_agree_on_disks_that_fail(kind: str, seed: int) -> None:
    """Each script has a cluster of its own. The controller of Kafka 4.3.1 never forgets on which log dir a deleted partition was that had no ISR (ELR on).

    When that log dir fails, its event fails with a RuntimeException ("existed in isrMembers, but not in the topics map"), and no partition is offline.
    """
    with KafkaCluster("disks", **WITH_DISKS, **KINDS[kind]) as cluster:
        compare(cluster, KINDS[kind].get("elr", False), seed, MANY_STEPS, STEPS_OF_DISKS, looks=1.0)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(FIRST, FIRST + FEW))
@pytest.mark.parametrize("kind", KINDS)
def test_simulated_and_real_clusters_agree_on_ends_of_logs_that_are_lost(kind: str, seed: int) -> None:
    with KafkaCluster("twin", **SETTINGS, **KINDS[kind]) as cluster:
        compare(cluster, KINDS[kind].get("elr", False), seed, MANY_STEPS, STEPS_OF_POWER_CUTS)


@pytest.mark.parametrize("seed", SHORT_SEEDS)
def test_simulated_and_real_clusters_agree_in_short_scripts(small: KafkaCluster, seed: int) -> None:
    """No script changes min.insync.replicas: the brokers of this cluster must still start after its topics are deleted (see `twin`)."""
    compare(small, True, seed, SHORT_STEPS, configs={UNCLEAN: 1})


def compare(
    cluster: KafkaCluster,
    elr: bool,
    seed: int,
    steps: int,
    kinds: Mapping[str, int] = STEPS,
    looks: float = math.inf,
    configs: Mapping[str, int] = WEIGHTS,
) -> None:
    """Play a script on a cluster without topics of earlier ones, all of its brokers alive. `kinds`, `configs`: how often each kind of step is drawn."""
    cluster.heal()
    delete_topics(cluster, {state.topic for state in cluster.describe()})
    twins = Twins(cluster, f"script-{seed}", elr, seed, looks, configs)
    differences = twins.play(steps, kinds)
    print(*twins.story, sep="\n")
    assert not differences, "\n".join(differences)
