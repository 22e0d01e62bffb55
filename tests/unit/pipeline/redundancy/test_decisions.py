# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""After brokers were lost: what is replaced by whom, what stays, what is held and why. The oracle is in `cluster_layouts`."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from cluster_layouts import Oracle, Row, broker, lists, partition, plan_all, random_layout, shuffled
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.redundancy import placement

ORDERS = [partition("orders", number, [number % 3 + 1, (number + 1) % 3 + 1, (number + 2) % 3 + 1]) for number in range(12)]


def without(lost: int, rows: list[Row]) -> list[Row]:
    """The same partitions after a broker was lost: it leads nothing and is in no ISR."""
    return [
        partition(row["topic"], row["partition"], row["replicas"], [one for one in row["replicas"] if one != lost], dict(row["sizes"])[2])
        for row in rows
    ]


def fleet(count: int, racks: str = "abc") -> list[Row]:
    """Brokers 1 to `count`, the first lost, racks in turn."""
    return [
        broker(number, "fenced" if number == 1 else "unfenced", racks[(number - 1) % len(racks)] if racks else None)
        for number in range(1, count + 1)
    ]


def large() -> list[Row]:
    """12 brokers in 3 racks, 1,200 partitions, sizes from 0 to some hundred megabytes; one broker is lost and a new one has come."""
    rng = random.Random(1)
    rows = [broker(number, "fenced" if number == 1 else "unfenced", "abc"[number % 3]) for number in range(1, 14)]
    for number in range(1200):
        first = number % 12
        replicas = [(first + shift) % 12 + 1 for shift in (0, 1, 2)]
        size = int(rng.lognormvariate(17, 1))
        rows.append(partition("orders", number, replicas, [one for one in replicas if one != 1], size))
    return rows


CLUSTERS: dict[str, list[Row]] = {
    "rack": [*fleet(5), *without(1, ORDERS)],
    "no-racks": [*fleet(5, ""), *without(1, ORDERS)],
    "one-rack-unknown": [*fleet(4), broker(5, rack=None), *without(1, ORDERS)],
    "positions": [
        *fleet(4, ""),
        partition("middle", 0, [2, 1, 3], [2, 3]),
        partition("last", 0, [3, 2, 1], [3, 2]),
        partition("untouched", 0, [4, 3, 2]),
    ],
    "first-places": [
        *fleet(4, ""),
        *(partition("settled", number, [2, 3, 4]) for number in range(10)),
        *(partition("open", number, [1, 2, 3], [2, 3]) for number in range(10)),
    ],
    "sizes": [
        *fleet(6, ""),
        *(partition("logs", number, [1, 2], [2], size) for number, size in enumerate([700, 500, 400, 300, 300, 200, 100, 100, 0, 0])),
    ],
    "empty-ones": [*fleet(6, ""), *(partition("empty", number, [1, 2], [2], 0) for number in range(40))],
    "two-sizes-of-disks": [
        broker(1, "fenced"),
        broker(2, usable=10**9, total=10**9),
        broker(3, usable=10**9, total=10**9),
        broker(4, usable=2 * 10**9, total=2 * 10**9),
        *(partition("logs", number, [1, 2], [2], 1000) for number in range(30)),
    ],
    "full": [
        broker(1, "fenced"),
        broker(2, usable=10**6, total=10**6),
        broker(3, usable=100_500, total=10**6),
        broker(4, usable=100_200, total=10**6),
        partition("large", 0, [1, 2], [2], 600),
        *(partition("fits", number, [1, 2], [2], 200) for number in range(3)),
    ],
    "held": [
        broker(1, "fenced"),
        broker(2),
        broker(3),
        broker(4, "coming_back"),
        partition("offline", 0, [1], []),
        partition("moving", 0, [1, 2], [2], reassigning=True),
        partition("stranger", 0, [1, 2, 9], [2]),
        partition("wide", 0, [1, 2, 3], [2, 3]),
        partition("waits", 0, [4, 2], [2]),
        partition("planned", 0, [1, 2], [2]),
        partition("planned-beside-one-that-waits", 0, [1, 2, 4], [2]),
    ],
    "unknown-size": [*fleet(3, ""), partition("logs", 0, [1, 2], [2], None)],
    "internal": [*fleet(3, ""), *(partition(topic, 0, [1, 2], [2]) for topic in ("a", "__consumer_offsets", "__transaction_state"))],
    "nothing-lost": [broker(2), broker(3), partition("orders", 0, [2, 3])],
    "no-partitions": [*fleet(3)],
    "random": random_layout(random.Random(7)),
    "large": large(),
}
# Broker 4 is given up, and broker 1 is not.
NAMED = [broker(1, "fenced"), broker(2), broker(3), broker(4, "coming_back"), broker(5)]
NAMED += [partition("a", 0, [4, 2], [2]), partition("b", 0, [1, 2], [2])]


@pytest.fixture(scope="module")
def plans(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return plan_all(spark, tmp_path_factory.mktemp("redundancy"), {**CLUSTERS, "named": NAMED}, lost_brokers={"named": [4]})


@pytest.mark.parametrize("name", CLUSTERS)
def test_what_holds_for_any_plan(plans: dict[str, dict[str, Any]], name: str) -> None:
    Oracle(CLUSTERS[name]).check(plans[name])


def _replaced(plan: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {**plan, "partitions": [{**plan["partitions"][0], **fields}, *plan["partitions"][1:]]}


@pytest.mark.parametrize(
    "fields",
    [
        {"replicas": [4, 2], "bytes": 0},
        {"replicas": [4, 2, 2]},
        {"replicas": [1, 2, 3], "adding_replicas": [], "removing_replicas": [], "bytes": 0},
        {"replicas": [4, 2, 5], "adding_replicas": [4, 5], "removing_replicas": [1, 3], "bytes": 200},
        {"replicas": [5, 2, 3], "adding_replicas": [5]},
        {"replicas": [4, 3, 2]},
        {"bytes": 300},
    ],
)
def test_the_oracle_notices_what_is_wrong(plans: dict[str, dict[str, Any]], fields: dict[str, Any]) -> None:
    """Partition 0 of the cluster rack: [1, 2, 3] became [4, 2, 3]."""
    plan = plans["rack"]
    assert plan["partitions"][0]["replicas"] == [4, 2, 3]
    with pytest.raises(AssertionError):
        Oracle(CLUSTERS["rack"]).check(_replaced(plan, **fields))


def test_the_rack_of_the_lost_broker_is_used_again(plans: dict[str, dict[str, Any]]) -> None:
    """Broker 5 is in the rack of broker 2, which has a replica of all."""
    assert all(row["adding_replicas"] == [4] for row in plans["rack"]["partitions"])
    assert plans["rack"]["summary"]["rack_violations"] == 0


@pytest.mark.parametrize("name", ["no-racks", "one-rack-unknown"])
def test_racks_count_only_where_all_are_known(plans: dict[str, dict[str, Any]], name: str) -> None:
    assert Counter(row["adding_replicas"][0] for row in plans[name]["partitions"]) == {4: 6, 5: 6}
    assert plans[name]["summary"]["rack_violations"] == 0


def test_who_is_added_stands_where_the_lost_one_stood(plans: dict[str, dict[str, Any]]) -> None:
    assert lists(plans["positions"]) == {("middle", 0): [2, 4, 3], ("last", 0): [3, 2, 4]}


def test_first_places_go_to_the_broker_with_the_fewest(plans: dict[str, dict[str, Any]]) -> None:
    assert {row["broker_id"]: row["leaders"] for row in plans["first-places"]["brokers"]} == {1: None, 2: 10, 3: 5, 4: 5}


def test_disks_are_filled_evenly(plans: dict[str, dict[str, Any]]) -> None:
    """2,600 bytes on four brokers; each replica also counts as 260 for being there."""
    rows = [row for row in plans["sizes"]["brokers"] if row["broker_id"] > 2]
    assert sum(row["adding_bytes"] for row in rows) == 2600
    assert max(row["adding_bytes"] for row in rows) <= 800 and {row["adding_replicas"] for row in rows} == {2, 3}
    assert {row["adding_replicas"] for row in plans["empty-ones"]["brokers"] if row["broker_id"] > 2} == {10}


def test_a_disk_of_twice_the_size_gets_twice_as_much(plans: dict[str, dict[str, Any]]) -> None:
    added = {row["broker_id"]: row["adding_replicas"] for row in plans["two-sizes-of-disks"]["brokers"]}
    assert added == {1: None, 2: 0, 3: 10, 4: 20}


def test_no_disk_is_filled_beyond_its_limit(plans: dict[str, dict[str, Any]]) -> None:
    """A tenth of a disk stays free: 500 bytes on broker 3, and 200 on broker 4, which take two and one of 200."""
    assert sorted(row["adding_replicas"][0] for row in plans["full"]["partitions"]) == [3, 3, 4]
    (held,) = plans["full"]["held"]
    assert (held["topic"], held["reason_code"]) == ("large", "no_room")
    assert "room for its 600 bytes" in held["explanation"]


def test_what_is_held_says_why(plans: dict[str, dict[str, Any]]) -> None:
    plan = plans["held"]
    assert {row["topic"]: row["reason_code"] for row in plan["held"]} == {
        "offline": "no_leader",
        "moving": "reassignment_in_progress",
        "stranger": "incomplete",
        "wide": "too_few_brokers",
    }
    assert all(row["explanation"] for row in plan["held"])
    wide = next(row for row in plan["held"] if row["topic"] == "wide")
    assert wide["explanation"].startswith("it needs 3 brokers for its replicas, and 2 brokers are unfenced")
    assert plan["summary"]["held_by_reason"] == {"incomplete": 1, "no_leader": 1, "reassignment_in_progress": 1, "too_few_brokers": 1}
    assert lists(plan) == {("planned", 0): [2, 3], ("planned-beside-one-that-waits", 0): [3, 2, 4]}


def test_an_unknown_size_is_null(plans: dict[str, dict[str, Any]]) -> None:
    assert plans["unknown-size"]["partitions"][0]["bytes"] is None
    assert plans["unknown-size"]["summary"]["unknown_sizes"] == 1


def test_internal_topics_come_first(plans: dict[str, dict[str, Any]]) -> None:
    assert [row["topic"] for row in plans["internal"]["partitions"]] == ["__transaction_state", "__consumer_offsets", "a"]


def test_where_nothing_is_lost_nothing_is_planned(plans: dict[str, dict[str, Any]]) -> None:
    for name in ("nothing-lost", "no-partitions"):
        assert plans[name]["partitions"] == plans[name]["held"] == []
        assert [row["broker_id"] for row in plans[name]["brokers"]] == [
            row["broker_id"] for row in CLUSTERS[name] if row["kind"] == "broker"
        ]


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    return tmp_path


def test_a_broker_that_comes_back_is_given_up_where_it_is_named(plans: dict[str, dict[str, Any]]) -> None:
    """And then the fenced one is not."""
    plan = plans["named"]
    Oracle(NAMED, [4]).check(plan)
    assert lists(plan).keys() == {("a", 0)} and plan["options"]["lost_brokers"] == [4]


@pytest.mark.slow
def test_a_replication_factor_can_grow_and_shrink(spark: SparkSession, workdir: Path) -> None:
    """Who leads stays, then who is in sync, then who is in a rack of its own."""
    rows = [broker(1, rack="a"), broker(2, rack="a"), broker(3, rack="b"), broker(4, rack="c"), broker(5, "fenced", "c")]
    rows += [
        partition("grows", 0, [1, 3]),
        partition("grows-and-lost-one", 0, [5, 3], [3]),
        partition("as-wanted", 0, [1, 3, 4]),
        partition("shrinks", 0, [1, 2, 3, 4]),
        partition("shrinks-to-those-in-sync", 0, [1, 2, 3, 4], leader=2, isr=[1, 2, 3]),
        partition("shrinks-by-the-lost-one", 0, [1, 5, 3, 4], [1, 3, 4]),
        partition("must-not-shrink", 0, [1, 2, 3, 4], min_insync_replicas=4),
    ]
    plan = plan_all(spark, workdir, {"east": rows}, replication_factor=3)["east"]
    Oracle(rows, None, 3).check(plan)
    assert lists(plan) == {
        ("grows", 0): [1, 3, 4],
        ("grows-and-lost-one", 0): lists(plan)["grows-and-lost-one", 0],
        ("shrinks", 0): [1, 3, 4],
        ("shrinks-to-those-in-sync", 0): [1, 2, 3],
        ("shrinks-by-the-lost-one", 0): [1, 3, 4],
    }
    assert [row["reason_code"] for row in plan["held"]] == ["below_min_isr"]


@pytest.mark.slow
def test_only_the_named_topics_are_planned_and_the_others_weigh(spark: SparkSession, workdir: Path) -> None:
    rows = [*fleet(4, ""), partition("a", 0, [1, 2], [2]), partition("b", 0, [1, 2], [2]), partition("heavy", 0, [3], size=900)]
    plan = plan_all(spark, workdir, {"east": rows}, topics=["a"])["east"]
    assert lists(plan) == {("a", 0): [2, 4]}


def test_partitions_without_a_survivor_are_planned_alone_and_across_racks(spark: SparkSession, workdir: Path) -> None:
    rows = [*fleet(6, "abc"), partition("lost", 0, [1], [], None), partition("half", 0, [1, 2], [2])]
    rows += [broker(7, "fenced", "a"), partition("lost", 1, [1, 7], [], None), partition("held", 0, [1, 7], [], None, reassigning=True)]
    plan = plan_all(spark, workdir, {"east": rows}, lost_brokers=[1, 7], without_survivor=True)["east"]
    found = lists(plan)
    assert {key: len(replicas) for key, replicas in found.items()} == {("lost", 0): 1, ("lost", 1): 2}
    racks = {row["broker_id"]: row["rack"] for row in rows if row["kind"] == "broker"}
    assert len({racks[one] for one in found["lost", 1]}) == 2 and not {1, 7} & {*found["lost", 0], *found["lost", 1]}
    assert [(row["topic"], row["reason_code"]) for row in plan["held"]] == [("held", "reassignment_in_progress")]


@pytest.mark.slow
def test_pieces_do_not_show(plans: dict[str, dict[str, Any]], spark: SparkSession, workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However partitions are cut into pieces, the lists are the same."""
    monkeypatch.setattr(placement, "PIECE", 1)
    assert lists(plan_all(spark, workdir, {"east": CLUSTERS["random"]})["east"]) == lists(plans["random"])


@pytest.mark.slow
@settings(max_examples=2)
@given(seed=st.integers(0, 2**32), replication_factor=st.sampled_from([None, 1, 2, 3, 4]))
def test_random_layouts(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, seed: int, replication_factor: int | None) -> None:
    """The order of lines changes nothing, nor do other clusters that are planned in the same go."""
    rng = random.Random(seed)
    clusters = {f"cluster-{number}": random_layout(rng) for number in range(30)}
    options = {"replication_factor": replication_factor}
    found = plan_all(spark, tmp_path_factory.mktemp("random"), clusters, **options)
    for name, rows in clusters.items():
        Oracle(rows, None, replication_factor).check(found[name])
    again = {name: list(shuffled(rows, rng)) for name, rows in list(clusters.items())[::3]}
    for name, plan in plan_all(spark, tmp_path_factory.mktemp("again"), again, **options).items():
        assert [plan[section] for section in ("partitions", "held", "brokers")] == [
            found[name][section] for section in ("partitions", "held", "brokers")
        ]


def test_a_large_cluster_is_even(plans: dict[str, dict[str, Any]]) -> None:
    plan = plans["large"]
    assert len(plan["partitions"]) == 300 and plan["summary"]["rack_violations"] == 0
    lost = sum(row["sizes"][0][1] for row in CLUSTERS["large"] if row["kind"] == "partition" and 1 in row["replicas"])
    assert plan["summary"]["bytes"] == lost
