# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Six real clusters, each in a state of its own: one first, then batches, and what fails stops the next batch or does not, as the operator wants."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from integration.support import Played, outcomes, play

from rig import Damage, KafkaCluster, NewTopic, Roles
from rig.fleet import host_vars, inventory, write_inventory
from rig.pair import SURVIVOR, lose_leaders
from rig.secured import Sasl

pytestmark = pytest.mark.long

USER, PASSWORD = "recovery", "scram-Qe8bd3"
COMMON: dict[str, Any] = {"heap": "160m", "session_timeout": 8, "properties": {"offsets.topic.num.partitions": 1}}
CLUSTERS: dict[str, dict[str, Any]] = {
    "lagging": {"brokers": 2},
    "forked": {"brokers": 3},
    "healthy": {"brokers": 2},
    "partly": {"brokers": 2},
    "dead": {"brokers": 1},
    "locked": {"brokers": 2, "listeners": {"BARE": Sasl()}, "scram": {USER: PASSWORD}},
}


def damage(clusters: Mapping[str, KafkaCluster]) -> None:
    """Every cluster loses what its name says."""
    clusters["healthy"].create_topics([NewTopic("orders", [[1, 2]])])
    clusters["partly"].create_topics([NewTopic("gone", [[1]])])
    for name in ("lagging", "partly", "locked"):
        lose_leaders(clusters[name], ["orders"])
    forked = Damage(clusters["forked"], Roles(returning=None))
    forked.add("forked", 2, "orders")
    forked.inflict()
    clusters["dead"].kill(*clusters["dead"].nodes)


@pytest.fixture(scope="module")
def fleet() -> Iterator[dict[str, KafkaCluster]]:
    """The clusters by name, damaged."""
    clusters = {name: KafkaCluster(name, **COMMON, **settings) for name, settings in CLUSTERS.items()}
    with ExitStack() as stack:
        for cluster in clusters.values():
            stack.callback(cluster.stop)
        with ThreadPoolExecutor(max_workers=2) as pool:  # so that none takes longer than the rig waits
            list(pool.map(KafkaCluster.start, clusters.values()))
        damage(clusters)
        yield clusters


def written(path: Path, fleet: Mapping[str, KafkaCluster], first: Sequence[str]) -> Path:
    """An inventory with these clusters first."""
    hosts = {name: host_vars(fleet[name]) for name in (*first, *(name for name in CLUSTERS if name not in first))}
    hosts["dead"]["kafka_request_timeout"] = "3"
    login = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "SCRAM-SHA-512", "sasl_username": USER, "sasl_password": "wrong"}
    hosts["locked"] = {"bootstrap_servers": fleet["locked"].servers("BARE"), **login}
    hosts["locked"] = {f"kafka_{option}": value for option, value in hosts["locked"].items()}
    write_inventory(path, inventory(hosts))
    return path


def states(fleet: Mapping[str, KafkaCluster]) -> dict[str, list[tuple[str, int, int, int]]]:
    """What the live clusters say themselves: topic, partition, leader, leader epoch."""
    return {
        name: [(state.topic, state.partition, state.leader, state.leader_epoch) for state in cluster.describe()]
        for name, cluster in fleet.items()
        if name != "dead"
    }


def failed(played: Played) -> set[str]:
    return {host for host, counters in played.recap.items() if counters["failed"] + counters["unreachable"]}


def begun(workdir: Path) -> set[str]:
    """The clusters of which evidence was collected."""
    return {path.stem for path in workdir.glob("landing/*/*.jsonl")}


def test_one_first_then_batches_and_what_fails_stops_the_next_one(
    fleet: dict[str, KafkaCluster], spark_remote: str, tmp_path: Path
) -> None:
    variables = {"kafka_recovery_allow_data_loss": True, "kafka_recovery_spark_remote": spark_remote}
    before = states(fleet)

    # A canary cluster that refuses every login: nothing else is begun.
    workdir = tmp_path / "canary"
    order = written(tmp_path / "locked-first.yml", fleet, ["locked"])
    options = {**variables, "kafka_recovery_workdir": str(workdir), "kafka_recovery_serial": [1, "100%"]}
    played = play("streamops.kafka_recovery.recover", order, variables=options)
    assert played.returncode != 0 and "login was refused" in played.said, played
    assert "lagging, forked, healthy, partly, dead are not begun" in played.said, played
    assert set(played.recap) == {"localhost", "locked"}
    assert begun(workdir) == set()
    assert states(fleet) == before

    # The canary is recovered. The second batch has a cluster in which partitions are held: the third is not begun.
    workdir = tmp_path / "batches"
    order = written(tmp_path / "lagging-first.yml", fleet, ["lagging"])
    options = {**variables, "kafka_recovery_workdir": str(workdir), "kafka_recovery_serial": "1,2,100%"}
    played = play("streamops.kafka_recovery.recover", order, variables=options)
    assert played.returncode != 0 and "kafka_recovery_max_failed_clusters" in played.said, played
    # The first of the batch says it for all of them.
    assert failed(played) == {"forked", "partly"} and "partly, dead, locked and all later batches do not start" in played.said, played
    assert "dead" not in played.recap and "locked" not in played.recap, played
    assert begun(workdir) == {"lagging", "forked", "healthy"}
    after = states(fleet)
    assert [leader for _topic, _partition, leader, _epoch in after["lagging"]] == [SURVIVOR]
    assert {name: rows for name, rows in after.items() if name != "lagging"} == {
        name: rows for name, rows in before.items() if name != "lagging"
    }

    # Two clusters may fail: all others are recovered in one run, under one run id.
    workdir = tmp_path / "whole"
    options = {**options, "kafka_recovery_workdir": str(workdir), "kafka_recovery_max_failed_clusters": 1}
    played = play("streamops.kafka_recovery.recover", order, variables=options)
    assert played.returncode != 0, "four clusters are not as they should be"
    assert failed(played) == {"forked", "partly", "dead", "locked"}, played
    assert played.stdout.count("PLAY [Recover partitions without a live leader]") == 3
    assert {host: counters["changed"] for host, counters in played.recap.items() if counters["changed"]} == {"partly": 1}
    assert fleet["dead"].brokers[1].address in played.said and "login was refused" in played.said
    (run,) = (workdir / "results").iterdir()
    assert {path.stem for path in run.iterdir()} == {"lagging", "forked", "healthy", "partly"}
    assert not {path.name for path in (workdir / "plans" / run.name).iterdir()} - {f"{name}.json" for name in CLUSTERS}
    last = states(fleet)
    assert {topic: leader for topic, _partition, leader, _epoch in last["partly"]} == {"gone": -1, "orders": SURVIVOR}
    assert {name: rows for name, rows in last.items() if name != "partly"} == {
        name: rows for name, rows in after.items() if name != "partly"
    }

    # The operator decides about the fork. Another run of everything changes nothing.
    decided = {**options, "kafka_recovery_strategy": "aggressive"}
    played = play("streamops.kafka_recovery.recover", order, "--limit", "forked", variables=decided)
    assert played.returncode == 0, played
    assert {leader for _topic, _partition, leader, _epoch in states(fleet)["forked"]} == {2}
    settled = states(fleet)
    played = play("streamops.kafka_recovery.recover", order, variables={**options, "kafka_recovery_max_failed_clusters": 2})
    assert failed(played) == {"partly", "dead", "locked"}, played
    assert {counters["changed"] for counters in played.recap.values()} == {0}
    assert states(fleet) == settled


def test_plans_of_the_whole_fleet_are_applied_one_cluster_first(fleet: dict[str, KafkaCluster], spark_remote: str, tmp_path: Path) -> None:
    """After the first test: `partly` alone has a partition without a leader, and no replica to elect for it."""
    order = written(tmp_path / "inventory.yml", fleet, ["lagging", "partly"])
    workdir = tmp_path / "work"
    variables: dict[str, Any] = {
        "kafka_recovery_workdir": str(workdir),
        "kafka_recovery_spark_remote": spark_remote,
        "kafka_recovery_run_id": "planned",
        "kafka_recovery_serial": "1,2,100%",
    }
    answering = ("--limit", "lagging,forked,healthy,partly")
    planned = play("streamops.kafka_recovery.plan", order, *answering, variables=variables)
    assert planned.returncode == 0 and planned.stdout.count("PLAY [Plan the recovery") == 1, planned

    variables |= {"kafka_recovery_plan_dir": str(workdir / "plans/planned"), "kafka_recovery_allow_data_loss": True}
    variables |= {"kafka_recovery_run_id": "applied", "kafka_recovery_max_failed_clusters": 1}
    applied = play("streamops.kafka_recovery.apply", order, *answering, variables=variables)
    assert applied.stdout.count("PLAY [Apply plans]") == 3, applied
    assert failed(applied) == {"partly"}, applied
    assert applied.returncode != 0, "also where the last batch went well"
    results = json.loads((workdir / "results/applied/partly.json").read_text())["partitions"]
    assert outcomes(results) == {"gone": {"held"}} and results[0]["reason_code"] == "no_survivor", results
