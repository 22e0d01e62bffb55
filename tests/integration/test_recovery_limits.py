# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Blast radius on real clusters: limits that only a number lifts, and brokers that are not as lost as their operator says."""

from __future__ import annotations

import time
from typing import Any

import pytest
from integration.support import Operator, failure, outcomes

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.blast_radius import SILENCE_SECONDS
from rig import KafkaCluster

TOPIC = "reach"
# In the cluster east broker 1 is dead and broker 4 is held on its way back: it fetches the metadata log.
DEAD, HELD = 1, 4
GIVE_UP_SECONDS = 60


def test_limits_are_lifted_by_the_number_that_the_error_names(east: Operator) -> None:
    before = east.states(TOPIC)
    east.snapshot_and_plan("1", [TOPIC])
    options = {**east.connection, **east.files("1"), "plan": str(east.path("plans", "1")), "allow_data_loss": True}
    for check in (True, False):
        msg = failure("kafka_designated_election", {**options, "max_partitions": 3}, check=check)
        assert "--limit east -e kafka_recovery_max_partitions=4" in msg
    msg = failure("kafka_designated_election", {**options, "max_offline_brokers": 1})
    assert "(1, 4)" in msg
    assert "--limit east -e kafka_recovery_max_offline_brokers=2" in msg
    msg = failure("kafka_designated_election", {**options, "lost_brokers": [DEAD, HELD]})
    assert f"broker {HELD} " in msg and "lost_brokers" in msg
    assert f"broker {DEAD} is" not in msg
    seen = east.ask("kafka_quorum_info")
    earlier = {"leader_id": seen["leader_id"], "leader_epoch": seen["leader_epoch"] - 1, "looked_at": seen["looked_at"]}
    msg = failure("kafka_designated_election", {**options, "quorum_before": earlier})
    assert "(churning)" in msg
    assert east.states(TOPIC) == before
    assert not east.path("results", "1").exists()

    done = east.apply("1", max_partitions=4, max_offline_brokers=2, lost_brokers=[DEAD])
    assert outcomes(done["results"]) == {TOPIC: {"elected"}}
    # What is online already is no reach at all.
    again = east.apply("1", max_partitions=0, max_offline_brokers=0)
    assert outcomes(again["results"]) == {TOPIC: {"already_online"}}


@pytest.mark.parametrize(
    ("playbook", "limits", "shown"),
    [
        ("recover", {"max_partitions": 3, "allow_data_loss": True}, ["-e kafka_recovery_max_partitions=4"]),
        pytest.param(
            "recover",
            {"max_offline_brokers": 1, "allow_data_loss": True},
            ["-e kafka_recovery_max_offline_brokers=2"],
            marks=pytest.mark.long,
        ),
        pytest.param(
            "plan",
            {"max_partitions": 3, "max_offline_brokers": 1, "lost_brokers": [DEAD, HELD]},
            [f"broker {HELD} ", "lost_brokers"],
            marks=pytest.mark.long,
        ),
    ],
    ids=["partitions", "brokers", "lost brokers"],
)
def test_preflight_stops_before_anything_is_read(east: Operator, playbook: str, limits: dict[str, Any], shown: list[str]) -> None:
    """Its partitions have been recovered by no test: they are looked at only."""
    named = [{"topic": "no_survivor.balanced", "partition": partition} for partition in range(4)]
    played = east.play(playbook, "1", partitions=named, **limits)
    assert played.returncode != 0 and all(text in played.said for text in shown), played
    assert not (east.workdir / "landing").exists()


def test_a_broker_that_hangs_is_not_lost_and_a_dead_one_is(west: Operator) -> None:
    hanging, dead = 2, 3
    west.cluster.pause(hanging)
    try:
        west.cluster.kill(dead)
        west.cluster.wait_fenced([hanging, dead])
        wait_silent(west.cluster, hanging, dead)
        found = west.ask("kafka_lost_broker_info", lost_brokers=[hanging, dead, 8])
        alone = west.ask("kafka_lost_broker_info", lost_brokers=[dead])
    finally:
        west.cluster.resume(hanging)
    address = west.cluster.brokers[hanging].address
    assert found["objections"] == [
        f"broker {hanging} is named in lost_brokers, but its port {address} accepts connections",
        "broker 8 is named in lost_brokers, but it is not a broker of this cluster: neither registered nor in a replica set",
    ]
    assert alone["objections"] == []
    assert alone["brokers"][0]["silent_seconds"] > SILENCE_SECONDS and alone["brokers"][0]["signs_of_life"] == []


def wait_silent(cluster: KafkaCluster, *brokers: int) -> None:
    """Wait until the quorum has not heard of these brokers for longer than a broker that is only slow would take."""

    def heard() -> str:
        times = cluster.observer_fetch_times()
        now = max(*times.values(), int(time.time() * 1000))
        return ", ".join(str(broker) for broker in brokers if now - times[broker] <= SILENCE_SECONDS * 1000)

    cluster.wait_until(heard, "brokers that were heard of lately", GIVE_UP_SECONDS)
