# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Moves of many clusters: in batches with one first, shown while they last, and cancelled."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from integration.held import wait_until
from integration.listeners import closed_port
from integration.requestlog import RequestLog
from integration.support import Operator, Played
from integration.throttle_leaks import clear, throttles, wait_for_throttles

from rig import NewTopic, stock
from rig.fleet import host_vars, inventory, write_inventory

MODULE = "kafka_partition_reassignment"
HUNDRED = [f"cluster-{number:03}" for number in range(100)]
CRAWL = 2000  # bytes per second


@pytest.fixture
def operator(west: Operator) -> Iterator[Operator]:
    """An operator who works on a cluster without any throttle."""
    clear(west.cluster)
    yield west
    clear(west.cluster)


def failed(played: Played) -> set[str]:
    return {host for host, counters in played.recap.items() if counters["failed"] + counters["unreachable"]}


@pytest.mark.long
def test_one_of_a_hundred_clusters_fails_and_those_of_later_batches_are_not_touched(operator: Operator, tmp_path: Path) -> None:
    """The clusters are names for one: each has a topic there, and files of its own."""
    cluster, folder, broken = operator.cluster, tmp_path / "moves", HUNDRED[4]
    cluster.create_topics([NewTopic(name, [[1, 2]]) for name in HUNDRED])
    folder.mkdir(mode=0o700)

    def plan(name: str, *replicas: int) -> None:
        rows = [{"topic": name, "partition": 0, "replicas": replicas}]
        (folder / f"{name}.json").write_text(json.dumps({"version": 1, "partitions": rows}))

    def moved() -> set[str]:
        return {name for (name, _partition), state in operator.states(*HUNDRED).items() if list(state.replicas) != [1, 2]}

    for name in HUNDRED:
        plan(name, 3, 2)
    plan(broken, 9, 2)
    order = tmp_path / "inventory.yml"
    write_inventory(order, inventory({name: host_vars(cluster) for name in HUNDRED}))
    options: dict[str, Any] = {"allow_data_loss": True, "reassignment_dir": str(folder), "serial": "1,9,30%", "throttle": 50_000_000}

    # One cluster has one run at a time.
    played = operator.play("reassign", "1", "--forks", "1", inventory_file=order, **options)
    assert played.returncode != 0 and "broker 9 of [9, 2] is not registered" in played.said, played
    assert "cluster-010, cluster-011" in played.said and "and all later batches do not start" in played.said, played
    assert failed(played) == {broken, "cluster-010"} and set(played.recap) == {"localhost", *HUNDRED[:11]}, (
        "the first of a batch fails for it"
    )
    assert moved() == {*HUNDRED[:10]} - {broken}
    assert {path.name.partition(".")[0] for path in operator.workdir.glob("reassignments/1/*")} == moved()
    wait_for_throttles(cluster)

    # The file is mended, and the same command goes on: what was done is not done again.
    plan(broken, 3, 2)
    log = RequestLog(cluster)
    played = operator.play("reassign", "2", "--forks", "1", "--limit", ",".join(HUNDRED[:10]), inventory_file=order, **options)
    assert played.returncode == 0 and {name for name, counters in played.recap.items() if counters["changed"]} == {broken}, played
    assert log.written().keys() and moved() == {*HUNDRED[:10]}
    wait_for_throttles(cluster)


@pytest.mark.long
def test_moves_of_a_fleet_are_shown_and_cancelled_on_request(operator: Operator) -> None:
    cluster = operator.cluster
    cluster.create_topics([NewTopic("orders", [[1, 2], [2, 1]])])
    for number in range(2):
        cluster.produce("orders", number, ["x" * 100_000] * 200)
    targets = [{"topic": "orders", "partition": 0, "replicas": [3, 2]}, {"topic": "orders", "partition": 1, "replicas": [2, 3]}]
    begun = operator.ask(MODULE, **operator.files("1"), partitions=targets, throttle=CRAWL, wait=False, on_interrupt="leave")
    assert begun["summary"]["moving"] == 2
    throttled, log = throttles(cluster), RequestLog(cluster)

    with closed_port() as address:
        # One more name for the cluster, and a cluster that does not answer.
        others = {"again": host_vars(cluster), "down": {"kafka_bootstrap_servers": address, "kafka_request_timeout": "2"}}
        shown = operator.play("moves", "2", inventory_file=operator.inventory(**others))
        assert failed(shown) == {"down"} and "0 of 2 partitions in sync, " in shown.said, shown
        assert "2 of 2 clusters with moves in progress: 0 of 4 partitions in sync, " in shown.said, shown
        assert "broker 3: 2 partitions to copy, " in shown.said and "The throttle of a run that has ended is still set" in shown.said, shown
    for check in ((), ("--check",)):
        dry = operator.play("cancel_moves", "3", *check, allow_cancellation=bool(check))
        assert dry.returncode == 0 and "Dry run, nothing was cancelled. It would be: 2 cancelled" in dry.said, dry
        assert "broker 3: 2 partitions to copy, " in dry.said and dry.recap[operator.name]["changed"] == len(check), dry
    assert "streamops.kafka_recovery.cancel_moves" in operator.play("cancel_moves", "3").said
    assert log.written() == {} and throttles(cluster) == throttled

    one = operator.play("cancel_moves", "4", allow_cancellation=True, partitions=[{"topic": "orders", "partition": 1}])
    assert one.returncode == 0 and "1 cancelled" in one.said and throttles(cluster), one
    listed = stock.reassign_partitions(cluster, "--list").stdout
    assert "orders-0" in listed and "orders-1" not in listed
    done = operator.play("cancel_moves", "5", allow_cancellation=True)
    assert done.returncode == 0 and "The throttle of an earlier run was removed: 3 rates" in done.said, done
    assert "orders" not in stock.reassign_partitions(cluster, "--list").stdout
    wait_for_throttles(cluster)
    wait_until(lambda: operator.orders("orders") == {("orders", 0): (1, 2), ("orders", 1): (2, 1)}, "the orders of before")
    again = operator.play("cancel_moves", "6", allow_cancellation=True)
    assert again.returncode == 0 and "no partition is moving" in again.said and again.recap[operator.name]["changed"] == 0, again
