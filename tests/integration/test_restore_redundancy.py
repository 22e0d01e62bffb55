# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook reassign, and recover that goes on with it: as redundant as before, leaders where they belong, no throttle left."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from integration.requestlog import RequestLog
from integration.support import Operator, outcomes
from integration.throttle_leaks import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    ThrottleConfig,
    clear,
    wait_for_throttles,
)

from rig import NewTopic, PartitionState

LOST = 3


@pytest.fixture
def operator(west: Operator) -> Iterator[Operator]:
    """An operator who works on a cluster without any throttle."""
    clear(west.cluster)
    yield west
    west.cluster.heal()
    clear(west.cluster)


def lose_a_broker(operator: Operator) -> None:
    operator.cluster.kill(LOST)
    operator.cluster.wait_fenced([LOST])


def whole(state: PartitionState) -> bool:
    """Two replicas, both in sync and none of them lost, the first one leads."""
    return LOST not in state.replicas and len(state.replicas) == 2 == len(state.isr) and state.leader == state.replicas[0]


@pytest.mark.long
def test_what_a_lost_broker_had_comes_back_elsewhere_and_a_second_run_changes_nothing(operator: Operator) -> None:
    cluster = operator.cluster
    cluster.create_topics([NewTopic("orders", [[3, 1], [1, 3], [2, 3], [1, 2]])])
    for number in range(4):
        cluster.produce("orders", number, ["x" * 1000] * 50)
    lose_a_broker(operator)
    before = operator.states("orders")
    standing: dict[str, Any] = {"cluster": operator.name, "workdir": str(operator.workdir)}
    kept = [{"topic": "orders", "leader_replicas": ["3:1"], "follower_replicas": ["3:2"]}]
    operator.ask("kafka_replication_throttle", **standing, rate=200_000_000, throttled_replicas=kept)

    log = RequestLog(cluster)
    for number, options in enumerate(((), ("--check",))):
        dry = operator.play("reassign", f"dry-{number}", *options, allow_data_loss=bool(options))
        assert dry.returncode == 0, str(dry)
        assert "3 reassigned" in dry.said, str(dry)
        assert dry.recap[operator.name]["changed"] == len(options), "only in check mode it shows what would change"
    assert log.written() == {} and operator.states("orders") == before

    done = operator.play("reassign", "1", allow_data_loss=True, throttle=100_000_000)
    assert done.returncode == 0 and "3 reassigned" in done.said and "before.json" in done.said, str(done)
    states = operator.states("orders")
    assert all(whole(state) for state in states.values()), states
    assert {key: state.replicas for key, state in states.items() if key[1] == 3} == {("orders", 3): before["orders", 3].replicas}

    log = RequestLog(cluster)
    again = operator.play("reassign", "2", allow_data_loss=True, throttle=100_000_000)
    assert again.returncode == 0, str(again)
    assert again.recap[operator.name]["changed"] == 0 and log.written() == {}
    cluster.heal()  # a dead broker reports no throttle
    # The throttle that an operator has set stands until he removes it.
    lists = {ThrottleConfig("topic orders", LEADER_REPLICAS, "3:1"), ThrottleConfig("topic orders", FOLLOWER_REPLICAS, "3:2")}
    rates = {ThrottleConfig(f"broker {broker}", rate, "200000000") for broker in (1, 2) for rate in (LEADER_RATE, FOLLOWER_RATE)}
    wait_for_throttles(cluster, lists | rates)
    operator.ask("kafka_replication_throttle", **standing, state="absent")
    wait_for_throttles(cluster)


def test_a_plan_that_was_read_and_changed_is_what_is_done(operator: Operator) -> None:
    cluster = operator.cluster
    cluster.create_topics([NewTopic("orders", [[1, 3], [2, 3]])])
    lose_a_broker(operator)
    assert operator.play("reassign", "planned").returncode == 0
    path = operator.path("reassignments", "planned")
    document = json.loads(path.read_text())
    document["partitions"] = [row for row in document["partitions"] if row["partition"] == 1]
    path.write_text(json.dumps(document))
    done = operator.play("reassign", "1", allow_data_loss=True, reassignment_dir=str(path.parent))
    assert done.returncode == 0 and "1 reassigned" in done.said, str(done)
    states = operator.states("orders")
    assert whole(states["orders", 1]) and list(states["orders", 0].replicas) == [1, 3]


def test_recover_goes_on_until_replicas_are_back_and_what_has_no_leader_is_held(operator: Operator) -> None:
    cluster = operator.cluster
    cluster.create_topics([NewTopic("behind", [[3, 1], [3, 2]]), NewTopic("alone", [[3]])])
    for broker in (1, 2):
        cluster.terminate(broker)
    cluster.wait_fenced([1, 2])
    for number in range(2):
        cluster.produce("behind", number, ["gone"] * 5)
    cluster.kill(LOST)
    for broker in (1, 2):
        cluster.start_node(broker)
    cluster.wait_unfenced([1, 2])
    cluster.wait_fenced([LOST])
    cluster.wait_for_partitions(["behind", "alone"], lambda state: state.leader < 0, "without a leader")

    named = [{"topic": "behind", "partition": number} for number in range(2)]
    done = operator.play(
        "recover", "1", partitions=named, allow_data_loss=True, strategy="aggressive", restore_redundancy=True, throttle=100_000_000
    )
    assert outcomes(operator.read("results", "1")["partitions"]) == {"behind": {"elected"}}, str(done)
    assert all(whole(state) for state in operator.states("behind").values()), str(done)
    # All that can be restored was; what still has no leader says so, and fails the run.
    assert done.returncode != 0 and "held, no_leader" in done.said, str(done)
    cluster.heal()
    wait_for_throttles(cluster)
