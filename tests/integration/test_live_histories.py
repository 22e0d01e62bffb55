# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two histories in which simple rules destroy committed records, lived through by real brokers, and what each rule really elects.

In both of them broker 3 wrote records that no follower copied, and died; brokers 2 and 1 went on and committed others; 1 left, and 2 is lost.

- fork: broker 3 wrote more. The longest log is the wrong one (KIP-1275 ranks by length, all its leader epochs being the same).
- figure.8: what was committed later had been written before, in an older epoch (Raft's figure 8). The latest epoch is the wrong one.

Either way the first live replica, which stock Kafka takes, is broker 3.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka import TopicPartition as Committed
from confluent_kafka.admin import AdminClient
from integration.breaking import delete_topics
from integration.support import Operator, by_partition, run_module

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import INTERNAL_TOPICS
from rig import KafkaCluster, NewTopic, elect_unclean
from rig.damage import FETCHES_OVER_SECONDS

pytestmark = pytest.mark.long

HISTORIES = ("fork", "figure.8")
# The same history for each rule, so that each can really elect.
RULES = ("stock", "kip1275", "epoch", "ours", "disk")
FORKS = [f"fork.{rule}" for rule in (*RULES, "proven")]
FIGURES = [f"figure.8.{rule}" for rule in (*RULES, "proven")]
# "disk" has min.insync.replicas 1, with which the ISR history alone proves nothing: `ours` with the log on the disk of broker 2, the last one in the ISR.
RIGHT, LOST, WRONG = 1, 2, 3
# Seconds. Broker 2 hangs from the middle of broker 1's last session on until broker 3 is dead: it is not to be fenced for that.
SESSION = 10.0
EVERYWHERE, OLDER, NEVER_COPIED, NEWER = 10, 5, {"fork": 80, "figure.8": 3}, 20
# What a consumer had read, and can read no longer once a rule has elected: (leader, lost records).
OUTCOMES = {
    ("fork", "stock"): (WRONG, NEWER),
    ("fork", "kip1275"): (WRONG, NEWER),
    ("fork", "epoch"): (RIGHT, 0),
    ("fork", "ours"): (RIGHT, 0),
    ("figure.8", "stock"): (WRONG, OLDER),
    ("figure.8", "kip1275"): (RIGHT, 0),
    ("figure.8", "epoch"): (WRONG, OLDER),
    ("figure.8", "ours"): (RIGHT, 0),
    ("fork", "disk"): (RIGHT, 0),
    ("figure.8", "disk"): (RIGHT, 0),
}


@dataclass
class Lived:
    """The cluster after both histories. `read`: what a consumer had read of each topic. `evidence`: of what our plan elected. `held_without_disk`: why it
    held what it elected with the disk."""

    operator: Operator
    read: dict[str, list[str]]
    evidence: dict[str, str] = field(default_factory=dict)
    held_without_disk: dict[str, str] = field(default_factory=dict)


def _wait_read(cluster: KafkaCluster, key: tuple[str, int], records: int) -> None:
    cluster.wait_until(lambda: "" if len(cluster.read(*key)) == records else f"not up to {records}", "read to the end", 60)


def live_through(cluster: KafkaCluster) -> dict[str, list[str]]:
    """Make both histories for all topics in one course of events; returns what a consumer read of each before the end."""
    config = {name: {"min.insync.replicas": "1" if name.endswith(".disk") else "2"} for name in (*FORKS, *FIGURES)}
    cluster.create_topics(
        [NewTopic(name, [[1, 3, 2]], config[name]) for name in FIGURES] + [NewTopic(name, [[3, 1, 2]], config[name]) for name in FORKS]
    )
    cluster.reorder_replicas({(name, 0): [3, 1, 2] for name in FIGURES})
    _write(cluster, {*FORKS, *FIGURES}, "everywhere", EVERYWHERE, "1")
    for name in (*FORKS, *FIGURES):
        _wait_read(cluster, (name, 0), EVERYWHERE)
    usual = cluster.session_timeout
    cluster.set_session_timeout(SESSION)

    # figure.8: broker 1 leads. Broker 2 copies what it writes, broker 3 does not. Broker 1 dies.
    cluster.pause(3)
    time.sleep(FETCHES_OVER_SECONDS)
    _write(cluster, FIGURES, "older", OLDER, "1")
    ends = {(name, 0): EVERYWHERE + OLDER for name in FIGURES}
    cluster.wait_until(lambda: "" if cluster.log_end_offsets(2, ends) == ends else "not yet", "copied by broker 2", 60)
    cluster.kill(1)
    cluster.resume(3)

    # Broker 3 leads while broker 2 hangs, writes what no follower copies, and dies.
    time.sleep(SESSION / 2)
    cluster.pause(2)
    cluster.wait_for_partitions([*FORKS, *FIGURES], lambda state: state.leader == 3 and set(state.isr) == {2, 3}, "led by broker 3")
    time.sleep(FETCHES_OVER_SECONDS)
    _write(cluster, FIGURES, "never copied", NEVER_COPIED["figure.8"], "1")
    _write(cluster, FORKS, "never copied", NEVER_COPIED["fork"], "1")
    cluster.kill(3)
    cluster.resume(2)

    # Broker 2 leads and broker 1 joins it: what it wrote at first is committed now, and so is what fork gets. A consumer reads it.
    cluster.wait_for_partitions([*FORKS, *FIGURES], lambda state: state.leader == 2, "led by broker 2")
    cluster.start_node(1)
    cluster.wait_for_partitions([*FORKS, *FIGURES], lambda state: set(state.isr) == {1, 2}, "in sync on brokers 1 and 2")
    _write(cluster, FORKS, "newer", NEWER, "all")
    ends = {(name, 0): EVERYWHERE + (NEWER if name in FORKS else OLDER) for name in (*FORKS, *FIGURES)}
    cluster.wait_until(
        lambda: "" if {key: len(rows) for key, rows in cluster.read_many(ends).items()} == ends else "not yet", "read by a consumer", 60
    )
    read = {topic: [value for _, value in rows] for (topic, _), rows in cluster.read_many(ends).items()}

    # Broker 1 leaves, broker 2 dies, brokers 1 and 3 come back.
    cluster.set_session_timeout(usual)
    cluster.kill(1)
    cluster.wait_fenced([1])
    cluster.kill(2)
    cluster.start_node(1, 3)
    cluster.wait_fenced([2])
    cluster.wait_unfenced([1, 3])
    cluster.wait_for_partitions([*FORKS, *FIGURES], lambda state: state.leader < 0, "without a leader")
    return read


def _write(cluster: KafkaCluster, topics: set[str] | list[str], what: str, count: int, acks: str) -> None:
    cluster.writer.write({(name, 0): [f"{name}: {what} {number}" for number in range(count)] for name in sorted(topics)}, acks=acks)


def settled(cluster: KafkaCluster, topics: Sequence[str]) -> None:
    """Wait until everything that the elected leaders hold can be read: below min.insync.replicas the high watermark stands still."""
    cluster.wait_for_partitions(topics, lambda state: set(state.isr) == {RIGHT, WRONG}, "in sync again")
    for state in cluster.describe(*topics):
        key = (state.topic, 0)
        end = cluster.log_end_offsets(state.leader, [key])[key]
        _wait_read(cluster, key, end)


@pytest.fixture(scope="module")
def lived(small: KafkaCluster, spark_remote: str, tmp_path_factory: pytest.TempPathFactory) -> Lived:
    """Both histories lived through, and each rule's topics elected by that rule. No consumer group has ever committed anything."""
    small.heal()
    delete_topics(small, {state.topic for state in small.describe()})
    lived = Lived(Operator(small, tmp_path_factory.mktemp("lived"), spark_remote), live_through(small))
    operator = lived.operator

    done = elect_unclean(small, [(f"{history}.stock", 0) for history in HISTORIES])
    assert done.returncode == 0, done
    controllers = small.controller_bootstrap_servers.split(",")
    operator.snapshot("kip1275", [f"{history}.kip1275" for history in HISTORIES], controller_bootstrap_servers=controllers)
    operator.plan("kip1275", strategy="aggressive", ranking="kip1275")
    operator.apply("kip1275")

    snapshot = operator.snapshot("epoch", [f"{history}.epoch" for history in HISTORIES])
    best: dict[str, tuple[int, int, int]] = {}
    for row in snapshot["preview"]:
        best[row["topic"]] = max(best.get(row["topic"], (-1, -1, -1)), (row["last_written_epoch"], row["log_end_offset"], row["broker_id"]))
    file = operator.workdir / "epoch.json"
    named = [{"topic": topic, "partition": 0, "designatedLeader": broker} for topic, (_, _, broker) in best.items()]
    file.write_text(json.dumps({"partitions": named}))
    bare: dict[str, Any] = {"plan": str(file), "allowed_strategies": ["aggressive"]}
    operator.ask("kafka_designated_election", **operator.files("epoch"), **bare, allow_data_loss=True)

    # Other tests of this cluster have made __consumer_offsets. While a partition of it is offline, no fork is decided without what its groups have read.
    if internal := {state.topic for state in small.describe() if state.topic in INTERNAL_TOPICS}:
        operator.recover("internal", internal, strategy="aggressive")
    found = operator.snapshot("ours", [f"{history}.ours" for history in HISTORIES], controller_bootstrap_servers=controllers)
    assert found["history"]["doubt"] is None
    operator.plan("ours", strategy="balanced")
    lived.evidence = {row["topic"]: row["evidence"] for row in operator.apply("ours", controller_bootstrap_servers=controllers)["results"]}
    elect_by_disk(lived, controllers)
    settled(small, [f"{history}.{rule}" for history, rule in OUTCOMES])
    return lived


def elect_by_disk(lived: Lived, controllers: list[str]) -> None:
    """Plan without the disk of the lost broker, then with it, and elect."""
    operator, topics = lived.operator, [f"{history}.disk" for history in HISTORIES]
    operator.snapshot("without.disk", topics, controller_bootstrap_servers=controllers)
    operator.plan("without.disk", strategy="balanced")
    lived.held_without_disk = {row["topic"]: row["reason_code"] for row in operator.read("plans", "without.disk")["held"]}
    cluster = operator.cluster
    disk = {"log_dirs": [str(cluster.brokers[LOST].data_dir)], "cluster_id": cluster.cluster_id, "broker_id": LOST}
    read = run_module("kafka_log_dir_info", {**disk, "whole_logs": True, "crc_bytes": 1 << 40})
    assert read.returncode == 0, read
    options: dict[str, Any] = {"cluster": operator.files("disk")["cluster"], "workdir": str(operator.workdir), "broker_id": LOST}
    operator.ask("kafka_disk_evidence", **options, disk=read.result)
    operator.snapshot("disk", topics, controller_bootstrap_servers=controllers)
    operator.plan("disk", strategy="balanced")
    results = operator.apply("disk", controller_bootstrap_servers=controllers)["results"]
    lived.evidence |= {row["topic"]: row["evidence"] for row in results}
    operator.ask("kafka_disk_evidence", **options, state="absent")


@pytest.mark.parametrize(("history", "rule"), OUTCOMES)
def test_what_each_rule_elects_and_destroys(lived: Lived, history: str, rule: str) -> None:
    topic = f"{history}.{rule}"
    (state,) = lived.operator.cluster.describe(topic)
    left = {value for _, value in lived.operator.cluster.read(topic, 0)}
    lost = [value for value in lived.read[topic] if value not in left]
    assert (state.leader, len(lost)) == OUTCOMES[history, rule]


@pytest.mark.parametrize("history", HISTORIES)
def test_the_isr_history_resolves_the_fork_and_balanced_elects(lived: Lived, history: str) -> None:
    topic = f"{history}.ours"
    assert lived.evidence[topic] == "forked_resolved"
    (entry,) = (row for row in lived.operator.read("plans", "ours")["partitions"] if row["topic"] == topic)
    assert [row["broker_id"] for row in entry["truncated"]] == [WRONG]
    assert (entry["designatedLeader"], entry["loss"]["upper_bound_from"]) == (RIGHT, "isr_history")


@pytest.mark.parametrize("history", HISTORIES)
def test_the_disk_of_the_last_isr_member_resolves_the_fork_and_balanced_elects(lived: Lived, history: str) -> None:
    topic = f"{history}.disk"
    # Proven, if broker 1 wrote its high watermark to its disk before it was killed.
    assert lived.held_without_disk[topic] in ("forked", "forked_proven")
    assert lived.evidence[topic] == "forked_resolved"


@pytest.mark.parametrize("rule", ["kip1275", "ours"])
def test_what_is_really_lost_is_what_the_isr_history_allows_at_most(lived: Lived, rule: str) -> None:
    entries = {row["topic"]: row for row in lived.operator.read("plans", rule)["partitions"]}
    for history in HISTORIES:
        loss = entries[f"{history}.{rule}"]["loss"]
        assert (loss["upper_bound"], loss["upper_bound_from"]) == (OUTCOMES[history, rule][1], "isr_history"), "to the record"
        assert loss["lower_bound"] <= loss["upper_bound"]
        assert (loss["estimate"], loss["gaps"]) == (None, [])


def test_without_controllers_a_consumer_group_proves_one_branch_and_balanced_holds(lived: Lived) -> None:
    operator, cluster, topics = lived.operator, lived.operator.cluster, [f"{history}.proven" for history in HISTORIES]
    snapshot = operator.snapshot("forked", topics)
    logs = {(row["topic"], row["broker_id"]): (row["last_written_epoch"], row["log_end_offset"]) for row in snapshot["preview"]}
    assert logs["fork.proven", RIGHT] > logs["fork.proven", WRONG]
    assert logs["figure.8.proven", RIGHT] < logs["figure.8.proven", WRONG], "ahead by (last-written epoch, log end offset)"
    assert snapshot["counts"]["forked"] == 2
    assert "history" not in snapshot
    operator.plan("forked", strategy="balanced")
    held = operator.read("plans", "forked")["held"]
    assert {row["reason_code"] for row in held} <= {"forked", "forked_proven"}
    assert {row["offset"] for entry in held for row in entry["truncated"]} == {EVERYWHERE}, "where the logs part"

    delete_topics(cluster, {"__consumer_offsets"} & {state.topic for state in cluster.describe()})
    cluster.create_topics([NewTopic("__consumer_offsets", [[1]], {"cleanup.policy": "compact"})])
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 2})
    offsets = [Committed(topic, 0, logs[topic, RIGHT][1], leader_epoch=logs[topic, RIGHT][0]) for topic in topics]
    admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions("reader", offsets)])["reader"].result()

    assert "warnings" not in operator.snapshot("proven", topics), "all that the group committed is listed"
    operator.plan("proven", strategy="aggressive")
    results = by_partition(operator.apply("proven")["results"])
    assert {(row["outcome"], row["leader"], row["evidence"]) for row in results.values()} == {("elected", RIGHT, "forked_proven")}
    settled(cluster, topics)
    assert all({value for _, value in cluster.read(topic, 0)} >= set(lived.read[topic]) for topic in topics)
