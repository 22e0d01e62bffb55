# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tiered storage (KIP-405) of real brokers: remote storage has committed records that no survivor has, and a leader without them does not find them there.

Broker 1 leads everything and copies to remote storage, which is a folder. Broker 2 follows, leaves, and comes back when broker 1 is lost.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from integration.support import Operator, by_partition, run_module

from rig import KafkaCluster, NewTopic

pytestmark = pytest.mark.long

LOST, SURVIVOR = 1, 2
WAVE, SHARED, ALONE = 10, 3, 3  # records of a segment, segments that both have, and those that only broker 1 has
SHARED_END, END = WAVE * SHARED, WAVE * (SHARED + ALONE)
# Each wave of records begins a segment, and what is in remote storage is deleted from local disks at once.
SEGMENTS = {"segment.ms": "1", "local.retention.bytes": "1"}
TIERED = {"remote.storage.enable": "true", **SEGMENTS}
# behind: broker 2 lacks what remote storage has. complete: broker 2 lacks nothing. strict: the ISR history proves that.
TOPICS = {
    "behind": {**TIERED, "min.insync.replicas": "1"},
    "complete": {**TIERED, "min.insync.replicas": "1"},
    "strict": {**TIERED, "min.insync.replicas": "2"},
    "plain": {"segment.ms": "1", "min.insync.replicas": "1"},
}
BEHIND = ("behind", "plain")


def segments(cluster: KafkaCluster, topic: str) -> list[int]:
    """The first offsets of a topic's segments in remote storage."""
    return sorted(int(file.stem[:20]) for file in cluster.remote.glob(f"*/{topic}-0-*/*.log"))


def local_start(cluster: KafkaCluster, broker: int, topic: str) -> int:
    """Where the log of a topic starts on the disk of a broker."""
    return min(int(file.stem) for file in (cluster.brokers[broker].data_dir / f"{topic}-0").glob("*.log"))


def write(cluster: KafkaCluster, topics: tuple[str, ...], first: int, waves: int) -> None:
    for wave in range(first, first + waves):
        values = {(topic, 0): [f"{topic} {wave * WAVE + number}" for number in range(WAVE)] for topic in topics}
        cluster.writer.write(values, acks="all")
        time.sleep(0.2)


def wait_copied(cluster: KafkaCluster, topics: tuple[str, ...], end: int, brokers: tuple[int, ...]) -> None:
    """Wait until all but the last segment is in remote storage, and only the last one on local disks."""

    def missing() -> str:
        copied = {topic: segments(cluster, topic) for topic in topics}
        starts = {(topic, broker): local_start(cluster, broker, topic) for topic in topics for broker in brokers}
        done = all(offsets and offsets[-1] == end - 2 * WAVE for offsets in copied.values()) and {*starts.values()} == {end - WAVE}
        return "" if done else f"{copied}, local logs start at {starts}"

    cluster.wait_until(missing, f"not copied to remote storage up to offset {end - WAVE}", 90)


@dataclass
class Lost:
    """The cluster without broker 1. `held` and `elected`: by the kind of evidence, reason codes and leaders by topic."""

    operator: Operator
    held: dict[str, dict[str, str]]
    elected: dict[str, dict[str, dict[str, Any]]]

    def plan(self, run: str, *topics: str, **options: Any) -> None:
        self.operator.snapshot(run, topics, **options)
        self.operator.plan(run, strategy="balanced")
        plan = self.operator.read("plans", run)
        self.held[run] = {row["topic"]: row["reason_code"] for row in plan["held"]}
        self.elected[run] = {row["topic"]: row for row in plan["partitions"]}


# Eligible leader replicas are off, and Kafka 3.9 has none: else the survivor of "strict" would be an eligible leader.
@pytest.fixture(scope="module", params=[("4.3.1", False), ("3.9.1", None)], ids=lambda param: param[0])
def lost(request: pytest.FixtureRequest, spark_remote: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lost]:
    """Plans without more evidence, with the ISR history, and with the disk of broker 1."""
    version, elr = request.param
    # Brokers 3 and 4 keep account of what remote storage has.
    with KafkaCluster("tiered", brokers=4, tiered=True, version=version, elr=elr) as cluster:
        cluster.create_topics([NewTopic(name, [[LOST, SURVIVOR]], config) for name, config in TOPICS.items()])
        write(cluster, tuple(TOPICS), 0, SHARED)
        tiered = tuple(topic for topic in TOPICS if topic != "plain")
        wait_copied(cluster, tiered, SHARED_END, (LOST, SURVIVOR))
        cluster.kill(SURVIVOR)
        cluster.wait_for_partitions(TOPICS, lambda state: set(state.isr) == {LOST}, "left by broker 2")
        write(cluster, BEHIND, SHARED, ALONE)
        wait_copied(cluster, ("behind",), END, (LOST,))
        assert len(cluster.read("behind", 0)) == END
        cluster.kill(LOST)
        cluster.wait_fenced([LOST])
        cluster.start_node(SURVIVOR)
        cluster.wait_unfenced([SURVIVOR])
        cluster.wait_for_partitions(TOPICS, lambda state: state.leader < 0, "without a leader")

        operator = Operator(cluster, tmp_path_factory.mktemp("tiered"), spark_remote)
        found = Lost(operator, {}, {})
        found.plan("logs", *TOPICS)
        found.plan("history", *TOPICS, controller_bootstrap_servers=cluster.controller_bootstrap_servers.split(","))
        disk = {"log_dirs": [str(cluster.brokers[LOST].data_dir)], "cluster_id": cluster.cluster_id, "broker_id": LOST}
        read = run_module("kafka_log_dir_info", {**disk, "whole_logs": True, "crc_bytes": 1 << 40})
        assert read.returncode == 0, read
        starts = {row["topic"]: row["log_start_offset"] for row in read.result["partitions"] if row["topic"] in TOPICS}
        assert (starts["behind"], starts["complete"]) == (END - WAVE, SHARED_END - WAVE), "what is in remote storage is not on the disk"
        options: dict[str, Any] = {"cluster": operator.name, "workdir": str(operator.workdir), "broker_id": LOST}
        operator.ask("kafka_disk_evidence", **options, disk=read.result)
        found.plan("disk", *TOPICS)
        yield found


def test_a_follower_answers_nothing_below_the_start_of_its_local_log_and_states_the_start_of_the_whole_one(lost: Lost) -> None:
    documents = {document["topic"]: document for document in lost.operator.documents("logs")}
    for topic in ("behind", "complete", "strict"):
        (log,) = (log for log in documents[topic]["logs"] if log["broker_id"] == SURVIVOR)
        assert (log["log_start_offset"], log["log_end_offset"]) == (0, SHARED_END)
        assert documents[topic]["remote_storage_enable"] is True
    assert "remote_storage_enable" not in documents["plain"]


def test_what_may_lack_records_of_remote_storage_is_held(lost: Lost) -> None:
    assert lost.held["logs"] == dict.fromkeys(("behind", "complete", "strict"), "tiered_storage")
    assert set(lost.elected["logs"]) == {"plain"}, "without tiered storage a survivor is elected that lacks the same"


def test_the_isr_history_shows_a_log_that_lacks_nothing(lost: Lost) -> None:
    assert lost.held["history"] == dict.fromkeys(("behind", "complete"), "tiered_storage"), "at min.insync.replicas 1 it shows nothing"
    assert "all of it stays readable" in lost.elected["history"]["strict"]["explanation"]


def test_the_disk_of_the_last_member_of_the_isr_shows_it_too(lost: Lost) -> None:
    assert {topic for topic, code in lost.held["disk"].items() if code == "tiered_storage"} == set()
    assert lost.held["disk"]["behind"] == "fenced_broker_holds_more"
    assert "all of it stays readable" in lost.elected["disk"]["complete"]["explanation"]


def test_an_election_of_the_first_live_replica_is_held_unless_records_are_given_up(lost: Lost) -> None:
    operator = lost.operator
    named = [{"topic": topic, "partition": 0} for topic in ("behind", "plain")]
    options: dict[str, Any] = {**operator.connection, "election_type": "unclean", "allow_data_loss": True, "partitions": named}
    asked = run_module("kafka_leader_election", options, check=True)
    rows = {row["topic"]: row for row in asked.result["results"]}
    assert (rows["behind"]["outcome"], rows["behind"]["reason_code"]) == ("held", "tiered_storage")
    assert "remote storage may have committed records that broker 2 lacks" in asked.result["msg"]
    assert rows["plain"]["outcome"] == "elected"
    given_up = run_module("kafka_leader_election", {**options, "hold_unsaved": False}, check=True).result
    assert {row["outcome"] for row in given_up["results"]} == {"elected"}


def test_what_is_elected_serves_remote_storage_and_by_force_loses_what_only_that_has(lost: Lost) -> None:
    operator, cluster = lost.operator, lost.operator.cluster
    results = by_partition(operator.apply("disk", run_id="elected")["results"])
    assert results["complete", 0]["outcome"] == "elected", results
    assert cluster.read("complete", 0) == [(number, f"complete {number}") for number in range(SHARED_END)]

    before = segments(cluster, "behind")
    assert before[-1] == END - 2 * WAVE >= SHARED_END, "remote storage has more than the survivor"
    operator.ask("kafka_disk_evidence", cluster=operator.name, workdir=str(operator.workdir), broker_id=LOST, state="absent")
    forced = operator.recover("forced", ["behind"], strategy="aggressive")
    assert forced["behind", 0]["outcome"] == "elected", forced
    (entry,) = operator.read("plans", "forced")["partitions"]
    assert f"readable no longer (from offset {SHARED_END} on" in entry["explanation"]
    assert [offset for offset, _ in cluster.read("behind", 0)] == [*range(SHARED_END)]
    assert segments(cluster, "behind") == before, "they are still there, and no consumer finds them"

    options: dict[str, Any] = {"log_dirs": [str(cluster.brokers[LOST].data_dir)], "broker_id": LOST}
    rescued = by_partition(operator.ask("kafka_lost_disk_records", **operator.files("rescue"), **options)["partitions"])
    (row, same) = (rescued[topic, 0] for topic in ("behind", "complete"))
    assert (row["relation"], row["start_offset"], row["end_offset"]) == ("only_on_disk", END - WAVE, END), (
        "the disk has the newest part only"
    )
    assert row["saved"] and same["relation"] == "in_cluster"
