# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The course of events on one cluster: damage, a look at it, recovery through the modules, twice, and what is left; in the end every broker is back."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from integration.damaged import PROPERTIES
from integration.support import Operator, TopicPartition, by_partition
from matrix import offers
from matrix.cells import PARTITIONS, ROLES, Cell

from rig import Damage, KafkaCluster, Kept, PartitionState

SETTINGS: dict[str, Any] = {"brokers": 4, "session_timeout": 6.0, "heap": "256m", "properties": PROPERTIES}
RETURNING, LAGGING, DEAD = "clean_returning", "lagging", "no_survivor"
LOST = ROLES.lost[0]


@dataclass(frozen=True)
class Recovery:
    """A run of the modules: its plan, what kafka_designated_election returned, and how the partitions stood afterwards."""

    plan: dict[str, Any]
    elected: dict[str, Any]
    after: dict[TopicPartition, PartitionState]

    @property
    def results(self) -> dict[TopicPartition, dict[str, Any]]:
        return by_partition(self.elected["results"])


@dataclass(frozen=True)
class Course:
    """Everything that was seen on the cluster of one cell."""

    cell: Cell
    damage: Damage
    offers: offers.Offers
    before: dict[TopicPartition, PartitionState]
    quorum: dict[str, Any]
    partitions: dict[str, Any]
    history: dict[str, Any]
    first: Recovery
    second: Recovery
    aggressive: Recovery  # the partitions whose logs fork, under that strategy
    returned: dict[TopicPartition, PartitionState]  # those that wait for a clean leader, when its broker is back
    read: dict[TopicPartition, int]  # records that can be read then
    kept: dict[str, Kept]
    preferred: list[dict[str, Any]]  # preferred elections, when the lost broker is back after all: two runs
    healed: dict[TopicPartition, PartitionState]  # what those elections were about, and who had no survivor
    kept_healed: dict[str, Kept]
    seconds: float

    def of(self, topic: str) -> Iterable[TopicPartition]:
        """The partitions of a topic."""
        return [key for key in self.before if key[0] == topic]

    def expected_end(self, key: TopicPartition, leader: int) -> int:
        """Where the log of this leader ended before it was elected."""
        return self.damage.plots([key[0]])[key].log_end_offsets(ROLES)[leader]


def follow(cell: Cell, cluster: KafkaCluster, workdir: Path, spark_remote: str) -> Course:
    """Live through it. The cluster is as new."""
    began = time.monotonic()
    damage = Damage(cluster, ROLES)
    for topic, scenario in cell.scenarios().items():
        config = {"min.insync.replicas": "2"} if topic == "resolved" else None
        damage.add(scenario, PARTITIONS, topic, config=config)
    damage.inflict()
    topics = damage.topics()
    operator = Operator(cluster, workdir, spark_remote)
    controllers = cluster.controller_bootstrap_servers.split(",")
    before = operator.states(*topics)
    quorum = operator.ask("kafka_quorum_info", controller_bootstrap_servers=controllers)
    partitions = operator.ask("kafka_partition_info")
    offered = offers.of(cluster, ROLES.ahead)

    def recover(run_id: str, chosen: Iterable[str], strategy: str) -> tuple[Recovery, dict[str, Any]]:
        snapshot = operator.snapshot(run_id, chosen, controller_bootstrap_servers=controllers)
        operator.plan(run_id, strategy=strategy)
        # The election reads the evidence again, the history of ISRs included: without the controllers a plan that stands on it is stale.
        elected = operator.apply(run_id, controller_bootstrap_servers=controllers)
        return Recovery(operator.read("plans", run_id), elected, operator.states(*chosen)), snapshot["history"]

    first, history = recover("1", topics, "balanced")
    second, _ = recover("2", topics, "balanced")
    aggressive, _ = recover("3", cell.held_forks, "aggressive")
    cluster.release(ROLES.returning or 0)
    cluster.wait_for_partitions([RETURNING], lambda state: state.leader == ROLES.returning, f"led by broker {ROLES.returning}")
    online = [key for key, state in operator.states(*topics).items() if state.leader >= 0]
    read = {key: len(records) for key, records in cluster.read_many(online).items()}
    kept, returned = damage.kept(topics), operator.states(RETURNING)
    cluster.heal()
    cluster.wait_for_partitions([LAGGING], lambda state: LOST in state.isr, f"followed by broker {LOST}")
    cluster.wait_for_partitions([DEAD], lambda state: state.leader == LOST, f"led by broker {LOST}")
    wanted = [{"topic": topic, "partition": partition} for topic, partition in operator.keys([LAGGING])]
    preferred = [operator.ask("kafka_leader_election", election_type="preferred", partitions=wanted) for _ in range(2)]
    return Course(
        cell=cell,
        damage=damage,
        offers=offered,
        before=before,
        quorum=quorum,
        partitions=partitions,
        history=history,
        first=first,
        second=second,
        aggressive=aggressive,
        returned=returned,
        read=read,
        kept=kept,
        preferred=preferred,
        healed=operator.states(LAGGING, DEAD),
        kept_healed=damage.kept([LAGGING, DEAD]),
        seconds=time.monotonic() - began,
    )
