# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One of a broker's two disks has failed (KIP-858). The broker lives, its partitions there have no leader, and the controller elects no replica."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from integration.damaged import PROPERTIES
from integration.support import Operator, TopicPartition, by_partition, run_module

from rig import KafkaCluster, NewTopic

pytestmark = pytest.mark.long

# Half of each topic's partitions are on the disk of broker 1 that fails. Broker 3 leaves the ISR first, so broker 2 has the best log that is left.
# Kafka would elect broker 3 from the order of BEHIND and RESTARTED. Of SHUT_DOWN broker 2 is a member of the ELR, until its unclean shutdown is known.
BEHIND, SHUT_DOWN, ALONE, RESTARTED = "behind", "shut-down", "alone", "restarted"
ASSIGNMENTS = {BEHIND: [1, 3, 2], SHUT_DOWN: [1, 2, 3], ALONE: [1], RESTARTED: [1, 3, 2]}
PARTITIONS, RECORDS = 4, 10
DISK = "its disk on broker 1 has failed"


@dataclass(frozen=True)
class FailedDisk:
    """A cluster whose broker 1 has lost a disk, with the partitions that it had there."""

    cluster: KafkaCluster
    elr: bool
    partitions: set[TopicPartition]

    @property
    def path(self) -> str:
        """The log directory that has failed."""
        return str(self.cluster.brokers[1].log_dirs[1])

    def of(self, *topics: str) -> set[TopicPartition]:
        return {key for key in self.partitions if key[0] in topics}

    def kept_by_controller(self, topic: str) -> set[tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
        """Leader, ISR, ELR and last known leader of the topic's partitions on the disk."""
        return {
            (state.leader, state.isr, state.eligible_leader_replicas, state.last_known_elr)
            for state in self.cluster.describe(topic)
            if (topic, state.partition) in self.partitions
        }


@pytest.fixture(scope="module", params=[True, False], ids=["elr", "without-elr"])
def failed(request: pytest.FixtureRequest) -> Iterator[FailedDisk]:
    settings: dict[str, Any] = {"brokers": 3, "session_timeout": 5, "heap": "200m", "properties": PROPERTIES, "second_log_dir": True}
    with KafkaCluster("disk", elr=request.param, **settings) as cluster:
        # One after the other: a broker puts each new partition where it has fewest.
        for topic, replicas in ASSIGNMENTS.items():
            min_isr = "2" if topic == SHUT_DOWN else "1"
            cluster.create_topics([NewTopic(topic, [replicas] * PARTITIONS, {"min.insync.replicas": min_isr})])
        keys = [(topic, partition) for topic in ASSIGNMENTS for partition in range(PARTITIONS)]
        cluster.writer.write({key: [f"by all {number}" for number in range(RECORDS)] for key in keys}, acks="all")
        second = cluster.brokers[1].log_dirs[1]
        disk = FailedDisk(cluster, request.param, {key for key in keys if (second / f"{key[0]}-{key[1]}").exists()})
        for leaving, acks in ((3, "all"), (2, "1")):
            cluster.kill(leaving)
            cluster.wait_fenced([leaving])
            cluster.wait_for_partitions(ASSIGNMENTS, lambda state, gone=leaving: gone not in state.isr, "without it")  # type: ignore[misc]
            cluster.writer.write({key: [f"without {leaving}, {number}" for number in range(RECORDS)] for key in keys}, acks=acks)
        cluster.fail_second_log_dir(1)
        offline = disk.partitions
        cluster.wait_for_partitions(ASSIGNMENTS, lambda state: (state.leader < 0) == ((state.topic, state.partition) in offline), "offline")
        cluster.start_node(2, 3)
        cluster.wait_unfenced([2, 3])
        cluster.wait_for_partitions(
            ASSIGNMENTS, lambda state: (state.topic, state.partition) in offline or {*state.isr} == {*state.replicas}, "in sync"
        )
        yield disk


def test_a_snapshot_and_a_loss_of_brokers_name_the_disk(failed: FailedDisk, spark_remote: str, tmp_path: Path) -> None:
    operator = Operator(failed.cluster, tmp_path, spark_remote)
    operator.ask("kafka_watermark_info", **operator.files("healthy"))
    reported = run_module(
        "kafka_recovery_report", {"workdir": str(tmp_path), "run_id": "1", "spark_remote": spark_remote, "what_if_brokers": [2]}
    )
    assert reported.returncode == 0, reported
    document = json.loads(Path(reported.result["json_path"]).read_text())
    assert {key for key, row in by_partition(document["risk"]["partitions"]).items() if row["failed_disks"] == [1]} == failed.partitions
    named = {key for key, row in by_partition(document["what_if"]["partitions"]).items() if row["reason"] and DISK in row["reason"]}
    assert named == failed.of(BEHIND, SHUT_DOWN, RESTARTED)
    assert DISK in Path(reported.result["html_path"]).read_text()


def test_a_survivor_is_elected_although_the_broker_of_the_failed_disk_lives(failed: FailedDisk, spark_remote: str, tmp_path: Path) -> None:
    cluster, operator, topics = failed.cluster, Operator(failed.cluster, tmp_path, spark_remote), (BEHIND, SHUT_DOWN, ALONE)
    assert {len(failed.of(topic)) for topic in ASSIGNMENTS} == {PARTITIONS // 2}
    assert 1 in cluster.unfenced()
    for topic in topics:
        assert failed.kept_by_controller(topic) == {(-1, (), (1,), (1,)) if failed.elr else (-1, (1,), (), ())}
    before = operator.states(*topics)
    rows = by_partition(operator.ask("kafka_partition_info", state="offline")["partitions"])
    waited_for = {key: (rows[key]["offline_replicas"], rows[key]["elected_on_return"]) for key in failed.of(*topics)}
    assert waited_for == dict.fromkeys(failed.of(*topics), ([1], [])), rows

    plan = operator.snapshot_and_plan("1", topics)
    answers = {
        (document["topic"], document["partition"]): (log["broker_state"], log["error"], log["failed_log_dirs"])
        for document in operator.documents("1")
        for log in document["logs"]
        if log["broker_id"] == 1
    }
    assert answers == dict.fromkeys(failed.of(*topics), ("unfenced", "DISK_FAILED", [failed.path]))
    electable = failed.of(BEHIND, SHUT_DOWN)
    planned = by_partition(plan["partitions"])
    assert {key: (row["designatedLeader"], row["evidence"]) for key, row in planned.items()} == dict.fromkeys(electable, (2, "prefix")), (
        plan
    )
    assert {key: row["reason_code"] for key, row in by_partition(plan["held"]).items()} == dict.fromkeys(failed.of(ALONE), "no_survivor"), (
        plan
    )
    assert all(f"its disk {failed.path} on broker 1 has failed" in row["explanation"] for row in [*planned.values(), *plan["held"]]), plan

    applied = operator.apply("1")
    elected = {key: row["leader"] for key, row in by_partition(applied["results"]).items() if row["outcome"] == "elected"}
    assert elected == dict.fromkeys(electable, 2), applied
    after = operator.in_order_again(before)
    assert {after[key].leader for key in electable} == {2}
    assert {key: state for key, state in after.items() if key not in electable} == {
        key: state for key, state in before.items() if key not in electable
    }
    assert {state.leader for key, state in after.items() if key not in failed.partitions} == {1}
    cluster.wait_for_partitions(topics, lambda state: (state.topic, state.partition) not in electable or {*state.isr} == {2, 3}, "in sync")
    for records in cluster.read_many(electable).values():
        assert len(records) == 2 * RECORDS, "what broker 1 wrote alone is lost, and no more"

    assert not operator.apply("1", "2")["changed"]
    assert not operator.snapshot_and_plan("3", topics)["partitions"]
    assert not operator.apply("3")["changed"]
    assert {key: state.leader_epoch for key, state in operator.states(*topics).items()} == {
        key: state.leader_epoch for key, state in after.items()
    }


def test_a_survivor_is_elected_when_the_broker_has_started_without_the_disk(failed: FailedDisk, spark_remote: str, tmp_path: Path) -> None:
    cluster, operator = failed.cluster, Operator(failed.cluster, tmp_path, spark_remote)
    cluster.kill(1)
    cluster.wait_fenced([1])
    cluster.start_node(1)
    cluster.wait_unfenced([1])
    assert failed.kept_by_controller(RESTARTED) == {(-1, (), (), (1,)) if failed.elr else (-1, (1,), (), ())}
    before = operator.states(RESTARTED)

    operator.snapshot("1", [RESTARTED], duration=2)
    operator.plan("1")
    plan = operator.read("plans", "1")
    planned = by_partition(plan["partitions"])
    assert {key: (row["designatedLeader"], row["evidence"]) for key, row in planned.items()} == dict.fromkeys(
        failed.of(RESTARTED), (2, "prefix")
    ), plan
    assert all(f"its disk {failed.path} on broker 1 has failed" in row["explanation"] for row in planned.values()), plan
    applied = operator.apply("1")
    assert (applied["summary"]["elected"], applied["summary"]["already_online"]) == (PARTITIONS // 2, PARTITIONS // 2), applied
    after = operator.in_order_again(before)
    assert {after[key].leader for key in failed.of(RESTARTED)} == {2}
