# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Partitions whose only replicas are on lost brokers get an empty leader on live ones."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient
from integration.stepping import Job, run_all
from integration.support import Operator, by_partition, run_module

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.blast_radius import SILENCE_SECONDS
from rig import KafkaCluster, NewTopic

MODULE = "kafka_partition_revival"
LOST, LIVE = 1, [2, 3]
GONE, PARTIAL, ALONE = "gone", "partial", "alone"
RECORDS, STEPS = 20, 150
CONFIG = {"min.insync.replicas": "1"}


def wanted(operator: Operator, *partitions: tuple[str, int], **options: Any) -> dict[str, Any]:
    """Options that revive these partitions on the two live brokers."""
    named = [{"topic": topic, "partition": number, "replicas": LIVE} for topic, number in partitions]
    return {
        **operator.files("1"),
        "partitions": named,
        "lost_brokers": [LOST],
        "allow_data_loss": True,
        "allow_replication_factor_change": True,
        **options,
    }


def commit(cluster: KafkaCluster, group: str, topic: str, offset: int) -> None:
    """A consumer that joins the group, commits, and leaves."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": group, "enable.auto.commit": False, "log_level": 2})
    consumer.subscribe([topic])
    while not consumer.assignment():
        consumer.poll(0.2)
    consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
    consumer.close()


def committed(cluster: KafkaCluster, group: str, topic: str) -> int:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 2})
    request = [ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0)])]
    (future,) = admin.list_consumer_group_offsets(request).values()
    return int(future.result().topic_partitions[0].offset)


def lose(cluster: KafkaCluster, *topics: str, partitions: int = 1) -> None:
    """Topics with records on broker 1 alone, which is killed."""
    cluster.create_topics([NewTopic(topic, [[LOST]] * partitions, CONFIG) for topic in topics])
    keys = [(topic, number) for topic in topics for number in range(partitions)]
    cluster.writer.write({key: [f"record {number}" for number in range(RECORDS)] for key in keys})


def wait_silent(cluster: KafkaCluster, broker: int) -> None:
    """Wait until the broker has been silent for so long that it counts as lost."""

    def speaks() -> str:
        times = cluster.observer_fetch_times()
        return str(broker) if max(times.values()) - times[broker] <= (SILENCE_SECONDS + 1) * 1000 else ""

    cluster.wait_until(speaks, "not silent for long enough", 60)


def gone(cluster: KafkaCluster, *topics: str) -> None:
    cluster.kill(LOST)
    cluster.wait_fenced([LOST])
    wait_silent(cluster, LOST)
    cluster.wait_for_partitions(topics, lambda state: state.leader < 0, "without a leader")


def test_a_partition_without_a_survivor_gets_an_empty_leader(west: Operator) -> None:
    cluster = west.cluster
    lose(cluster, GONE, ALONE)
    cluster.create_topics([NewTopic(PARTIAL, [[LOST, 2]], CONFIG)])
    commit(cluster, "idle", GONE, RECORDS)
    gone(cluster, GONE, ALONE)
    assert committed(cluster, "idle", GONE) == RECORDS
    before = west.states(GONE)

    held = west.ask(MODULE, **{**wanted(west, (GONE, 0)), "allow_data_loss": False})
    assert (held["summary"]["held"], held["changed"]) == (1, False), held
    assert by_partition(held["results"])[GONE, 0]["reason_code"] == "data_loss_not_allowed"
    seen = west.ask(MODULE, check=True, diff=True, **wanted(west, (GONE, 0)))
    assert (seen["summary"]["revived"], seen["changed"], seen["save_disks_of"]) == (1, True, [LOST]), seen
    assert seen["diff"]["before"] != seen["diff"]["after"]
    assert west.states(GONE) == before

    done = west.ask(MODULE, **wanted(west, (GONE, 0), (PARTIAL, 0), reset_groups=True))
    row = by_partition(done["results"])[GONE, 0]
    assert (row["outcome"], row["leader"], sorted(row["isr"]), row["replicas"]) == ("revived", 2, LIVE, LIVE), done
    assert (row["log_start_offset"], row["log_end_offset"], row["lost_replicas"]) == (0, 0, [LOST]), done
    assert by_partition(done["results"])[PARTIAL, 0]["outcome"] == "already_online"
    assert [(one["group"], one["committed_offset"], one["reset"]) for one in done["groups"]] == [("idle", RECORDS, True)], done
    assert committed(cluster, "idle", GONE) == 0
    cluster.produce(GONE, 0, ["new"])
    assert cluster.read(GONE, 0) == [(0, "new")]

    again = west.ask(MODULE, **wanted(west, (GONE, 0), reset_groups=True))
    assert (again["changed"], again["summary"]["already_online"], again["groups"]) == (False, 1, []), again

    # No follower joins the ISR, which is when Kafka completes a reassignment.
    single = west.ask(MODULE, **{**wanted(west), "partitions": [{"topic": ALONE, "partition": 0, "replicas": [3]}]})
    row = by_partition(single["results"])[ALONE, 0]
    assert (row["outcome"], row["leader"], row["isr"], row["replicas"]) == ("revived", 3, [3], [3]), single


@pytest.mark.long
def test_a_partition_that_may_have_its_records_back_is_held(west: Operator) -> None:
    cluster = west.cluster
    lose(cluster, GONE)
    cluster.create_topics([NewTopic(PARTIAL, [[LOST, 2]], CONFIG)])
    gone(cluster, GONE)
    before = west.states(GONE, PARTIAL)

    def codes(**options: Any) -> tuple[int, list[Any]]:
        answer = run_module(MODULE, {**west.connection, **wanted(west, (GONE, 0), **options)})
        return answer.returncode, [row["reason_code"] for row in answer.result.get("results", [])]

    assert codes(lost_brokers=[]) == (1, ["replica_not_lost"])
    assert codes(lost_brokers=[2])[0] == 1, "a broker that lives is not lost"
    assert codes(partitions=[{"topic": GONE, "partition": 0, "replicas": [LOST, 2]}]) == (1, ["unusable_replicas"])
    assert codes(partitions=[{"topic": "absent", "partition": 0, "replicas": LIVE}]) == (1, ["unknown_topic_or_partition"])
    assert west.states(GONE, PARTIAL) == before
    cluster.heal()
    assert len(cluster.read(GONE, 0)) == RECORDS, "nothing is lost"


@pytest.mark.long
def test_killed_at_every_step(west: Operator, tmp_path: Path) -> None:
    cluster = west.cluster
    lose(cluster, GONE, partitions=STEPS)
    gone(cluster, GONE)
    taken = iter(range(STEPS))

    def job(stop_at: int | None = None, number: int = signal.SIGKILL) -> Job:
        unit = next(taken)
        folder = tmp_path / str(unit)
        options = {**wanted(west, (GONE, unit)), "cluster": f"unit-{unit}", "workdir": str(folder / "work")}
        return Job(MODULE, {**west.connection, **options}, str(folder), str(folder / "work"), stop_at, number)

    (whole,) = run_all([job()])
    assert whole.returncode == 0, whole
    # Nothing is written before the verdict on the lost broker's disk.
    begin = whole.steps.index("fsync")
    jobs = [job(step) for step in range(begin + 1, len(whole.steps) + 1)]
    runs = run_all(jobs)
    assert any(run.returncode == -signal.SIGKILL for run in runs)
    again = run_all(replace(one, stop_at=None) for one in jobs)
    for one, run in zip(jobs, again, strict=True):
        where = (whole.steps[(one.stop_at or 0) - 1], run)
        assert run.returncode == 0, where
        (row,) = run.result["results"]
        assert row["outcome"] in ("revived", "already_online"), where
        assert (row["leader"], sorted(row["replicas"]), sorted(row["isr"])) == (2, LIVE, LIVE), where
    third = run_all(replace(one, stop_at=None) for one in jobs)
    assert {(run.returncode, run.result["changed"], run.result["results"][0]["outcome"]) for run in third} == {(0, False, "already_online")}
