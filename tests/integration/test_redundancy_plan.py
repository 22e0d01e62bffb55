# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan for a real cluster that lost a broker, beside what Kafka's own tool proposes for the same damage; and Kafka's tool carries ours out."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from integration.support import Operator, run_module

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.redundancy.reassignment_files import skew_percent
from rig import KafkaCluster, NewTopic, TopicPartition, stock

pytestmark = pytest.mark.long
RACKS = {1: "a", 2: "b", 3: "a", 4: "b", 5: "a", 6: "b"}
LOST, LIVE = 1, [2, 3, 4, 5, 6]
TOPIC, PARTITIONS, RUN = "orders", 36, "1"

Lists = dict[TopicPartition, list[int]]


@dataclass(frozen=True)
class Measured:
    """What a proposal costs and leaves behind: bytes to copy, skews as `redundancy_plans.skew_percent`, partitions with two replicas in one rack."""

    bytes: int
    leader_skew: int
    replica_skew: int
    rack_violations: int


@pytest.fixture(scope="module")
def hurt() -> Iterator[KafkaCluster]:
    """Six brokers in two racks, partitions of all sizes with a replica in each rack; then broker 1 dies."""
    with KafkaCluster("hurt", brokers=len(RACKS), racks=list(RACKS.values())) as cluster:
        rng = random.Random(1)
        cluster.create_topics([NewTopic(TOPIC, [[number % 6 + 1, (number + 1) % 6 + 1] for number in range(PARTITIONS)])])
        for number in range(PARTITIONS):
            cluster.produce(TOPIC, number, ["x" * 1000] * rng.choice([1, 10, 50, 200]))
        cluster.kill(LOST)
        cluster.wait_fenced([LOST])
        yield cluster


@pytest.fixture(scope="module")
def operator(hurt: KafkaCluster, spark_remote: str, tmp_path_factory: pytest.TempPathFactory) -> Operator:
    """An operator who has its layout collected, and a plan made."""
    planner = Operator(hurt, tmp_path_factory.mktemp("redundancy"), spark_remote)
    planner.ask("kafka_partition_reassignment_info", **planner.files(RUN), layout=True)
    options = {"workdir": str(planner.workdir), "run_id": RUN, "clusters": [planner.name], "spark_remote": spark_remote}
    answer = run_module("kafka_redundancy_plan", options)
    assert answer.returncode == 0 and not answer.result["quarantine"] and not answer.result.get("warnings"), answer
    return planner


@pytest.fixture(scope="module")
def layout(operator: Operator) -> list[dict[str, Any]]:
    lines = (operator.workdir / "layout" / RUN / f"{operator.name}.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def lists(document: Mapping[str, Any]) -> Lists:
    return {(row["topic"], row["partition"]): row["replicas"] for row in document["partitions"]}


def proposed(cluster: KafkaCluster, scratch: Path) -> Lists:
    """What `--generate` proposes for the brokers that live."""
    topics = scratch / "topics.json"
    topics.write_text(json.dumps({"version": 1, "topics": [{"topic": TOPIC}]}))
    brokers = ",".join(map(str, LIVE))
    said = stock.reassign_partitions(cluster, "--generate", "--topics-to-move-json-file", str(topics), "--broker-list", brokers).stdout
    documents = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    return lists(documents[-1])


def measured(before: Lists, new: Lists, sizes: Mapping[TopicPartition, int]) -> Measured:
    after = {**before, **new}
    added = sum(sizes[key] * len(set(replicas) - set(before[key])) for key, replicas in new.items())
    leaders, replicas = Counter(brokers[0] for brokers in after.values()), Counter(one for brokers in after.values() for one in brokers)
    return Measured(
        added,
        skew_percent(leaders[one] for one in LIVE) or 0,
        skew_percent(replicas[one] for one in LIVE) or 0,
        sum(len({RACKS[one] for one in brokers}) < 2 for brokers in after.values()),
    )


def test_the_layout_describes_the_cluster(hurt: KafkaCluster, layout: list[dict[str, Any]]) -> None:
    brokers = {row["broker_id"]: row for row in layout if row["kind"] == "broker"}
    assert {one: row["rack"] for one, row in brokers.items() if one != LOST} == {one: RACKS[one] for one in LIVE}
    assert {one for one, row in brokers.items() if row["broker_state"] == "unfenced"} == set(LIVE)
    assert all(0 < brokers[one]["usable_bytes"] <= brokers[one]["total_bytes"] for one in LIVE)
    rows = {row["partition"]: row for row in layout if row["kind"] == "partition" and row["topic"] == TOPIC}
    for state in hurt.describe(TOPIC):
        row = rows[state.partition]
        assert (row["leader"], row["replicas"], sorted(row["isr"])) == (state.leader, list(state.replicas), sorted(state.isr))
        assert [broker for broker, _ in row["sizes"]] == sorted(set(state.replicas) - {LOST})
        assert all(size > 1000 for _, size in row["sizes"])


def test_less_is_copied_than_kafkas_tool_proposes(
    hurt: KafkaCluster, operator: Operator, layout: list[dict[str, Any]], tmp_path: Path
) -> None:
    rows = [row for row in layout if row["kind"] == "partition" and row["topic"] == TOPIC]
    before: Lists = {(TOPIC, row["partition"]): row["replicas"] for row in rows}
    sizes = {(TOPIC, row["partition"]): dict(row["sizes"])[row["leader"]] for row in rows}
    plan = operator.read("reassignments", RUN)
    new = {key: replicas for key, replicas in lists(plan).items() if key[0] == TOPIC}
    ours, theirs = measured(before, new, sizes), measured(before, proposed(hurt, tmp_path), sizes)
    lost = sum(sizes[key] for key, replicas in before.items() if LOST in replicas)
    assert ours.bytes == lost < theirs.bytes, (ours, theirs)
    assert ours.rack_violations == 0, (ours, theirs)
    # 36 leaders on 5 brokers: one has 8 in any plan. What Kafka's tool proposes is another thing each time (11 to 150 percent were seen).
    # Rack a has two brokers left for a replica of each of the 36: an even share is 25 percent above the mean already, and bytes count as well.
    assert ours.leader_skew <= 25 and ours.replica_skew <= 38, (ours, theirs)
    filled = {row["broker_id"]: row["bytes"] for row in plan["brokers"]}
    assert abs(filled[3] - filled[5]) <= 2 * max(sizes.values()), "the two that are left in the rack share what it lost"


def test_kafkas_tool_takes_the_file_and_carries_it_out(hurt: KafkaCluster, operator: Operator) -> None:
    """The fields beside those that it knows do not disturb it. Afterwards nothing is left to plan."""
    file = operator.workdir / "reassignments" / RUN / f"{operator.name}.json"
    new = lists(operator.read("reassignments", RUN))
    said = stock.reassign_partitions(hurt, "--execute", "--reassignment-json-file", str(file)).stdout
    assert "Successfully started partition reassignments" in said
    hurt.wait_for_partitions(
        {topic for topic, _ in new},
        lambda state: (
            (state.topic, state.partition) not in new
            or (list(state.replicas) == new[state.topic, state.partition] and set(state.isr) == set(state.replicas))
        ),
        "as planned and in sync",
    )
    operator.ask("kafka_partition_reassignment_info", **operator.files("2"), layout=True)
    answer = run_module("kafka_redundancy_plan", {"workdir": str(operator.workdir), "run_id": "2", "spark_remote": operator.spark_remote})
    assert answer.result["summary"]["planned"] == answer.result["summary"]["held"] == 0, answer
