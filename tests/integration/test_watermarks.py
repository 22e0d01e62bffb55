# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Snapshots of a cluster while it is healthy, and what they are worth when it is not any more."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from integration.support import Operator, TopicPartition, by_partition, play
from pyspark.sql import DataFrame

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.healthy_snapshot import time_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import landing_format
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history import healthy_rows, risk
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.session import session
from rig import NewTopic

# Replicas and number of records of each partition. `strict` needs two replicas in sync to be written.
PLACES: dict[str, list[list[int]]] = {"wide": [[1, 2, 3], [2, 3, 1]], "pair": [[1, 2], [2, 1]], "single": [[1], [3]], "strict": [[1, 2, 3]]}
RECORDS = {("wide", 0): 30, ("wide", 1): 7, ("pair", 0): 20, ("pair", 1): 1, ("single", 0): 10, ("single", 1): 5}


def take(west: Operator, run_id: str, check: bool = False, **params: Any) -> tuple[dict[str, Any], dict[TopicPartition, dict[str, Any]]]:
    """Take a snapshot; return what the module says and the rows of the partitions."""
    answer = west.ask("kafka_watermark_info", check=check, **west.files(run_id), **params)
    path = Path(answer["path"])
    assert landing_format.check(path)["cluster_id"] == west.cluster.cluster_id
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return answer, by_partition(row for row in rows if row["kind"] == "watermark")


def on_spark(west: Operator, run_id: str, ask: Callable[[DataFrame, DataFrame], DataFrame]) -> dict[TopicPartition, dict[str, Any]]:
    """Ask `risk` about a snapshot."""
    files = [str(west.workdir / "healthy" / west.name / f"{run_id}.jsonl")]
    with session(None, west.spark_remote, {}, 0) as spark:
        return by_partition(
            row.asDict() for row in ask(healthy_rows.watermarks(spark, files), healthy_rows.brokers(spark, files)).collect()
        )


def test_the_playbook_takes_snapshots_of_all_clusters_that_can_be_asked(west: Operator) -> None:
    west.cluster.create_topics([NewTopic("orders", [[1, 2, 3]])])
    inventory = west.inventory(south={"kafka_bootstrap_servers": "127.0.0.1:1", "kafka_request_timeout": "2"})
    # Without a run id, as a timer does.
    played = play("streamops.kafka_recovery.snapshot", inventory, variables={"kafka_recovery_workdir": str(west.workdir)})
    failed = {host: counters["failed"] for host, counters in played.recap.items()}
    assert (played.returncode, failed) == (2, {"localhost": 0, "south": 1, "west": 0}), str(played)
    assert "127.0.0.1:1" in played.said
    taken = list((west.workdir / "healthy").rglob("*.jsonl"))
    assert [path.parent.name for path in taken] == ["west"]
    assert time_of(taken[0].name) is not None


def test_a_snapshot_says_what_brokers_hold_and_foretells_what_their_loss_means(west: Operator) -> None:
    cluster = west.cluster
    cluster.create_topics(
        [NewTopic(topic, places, {"min.insync.replicas": "2" if topic == "strict" else "1"}) for topic, places in PLACES.items()]
    )
    for (topic, partition), count in RECORDS.items():
        cluster.produce(topic, partition, [str(number) for number in range(count)])
    states = west.states(*PLACES)

    answer, rows = take(west, "1", followers="all")
    assert answer["counts"] == {"partitions": len(rows), "without_leader": 0, "under_min_isr": 0, "unanswered": 0}
    for key, state in states.items():
        row, end = rows[key], RECORDS.get(key, 0)
        assert (row["log_end_offset"], row["high_watermark"], row["error"]) == (end, end, None)
        assert (row["leader"], row["leader_epoch"], row["replicas"]) == (state.leader, state.leader_epoch, list(state.replicas))
        assert (sorted(row["isr"]), sorted(row["replica_ends"])) == (
            sorted(state.replicas),
            sorted([broker, end] for broker in state.replicas),
        )
        assert (row["min_insync_replicas"], row["cleanup_policy"]) == (2 if key[0] == "strict" else 1, "delete")
    forecast = on_spark(west, "1", lambda marks, brokers: risk.what_if(marks, brokers, [1, 2]))

    # With one broker lost: old snapshots go, but not in check mode.
    cluster.kill(1)
    cluster.wait_fenced([1])
    folder = Path(answer["path"]).parent
    for name in ("2026-01-01T10-00-00Z.jsonl", "2026-01-01T10-59-00Z.jsonl", "by-hand.jsonl"):
        (folder / name).touch()
    checked = west.ask("kafka_watermark_info", check=True, **west.files("2"))
    assert checked["removed"] == 0 and not Path(checked["path"]).exists(), "check mode writes no snapshot either"
    answer, damaged = take(west, "2", keep_days=0)
    assert answer["removed"] == 1 and (folder / "2026-01-01T10-00-00Z.jsonl").exists() and (folder / "by-hand.jsonl").exists()
    assert answer["counts"]["without_leader"] == 1
    lost = damaged["single", 0]
    assert (lost["leader"], lost["log_end_offset"], lost["high_watermark"], lost["replica_ends"]) == (-1, None, None, [])
    assert damaged["pair", 0]["log_end_offset"] == 20
    at_risk = on_spark(west, "2", risk.risks)
    reported = {key: (row["risks"][0], row["depends_on"]) for key, row in at_risk.items()}
    assert reported == {
        ("single", 0): ("offline", []),
        ("single", 1): ("no_eligible_leader", [3]),
        ("pair", 0): ("no_eligible_leader", [2]),
        ("pair", 1): ("no_eligible_leader", [2]),
        ("wide", 0): ("under_replicated", []),
        ("wide", 1): ("under_replicated", []),
        ("strict", 0): ("under_replicated", []),
    }

    # Both of the forecast are lost.
    cluster.kill(2)
    cluster.wait_fenced([1, 2])
    offline = {key for key, state in west.states(*PLACES).items() if state.leader < 0}
    assert offline == {key for key, row in forecast.items() if row["outcome"] == "offline"} == {("single", 0), ("pair", 0), ("pair", 1)}
    for key in forecast.keys() - offline:
        state = west.states(*PLACES)[key]
        assert (forecast[key]["next_leader"], forecast[key]["lost_offsets"]) == (state.leader, 0)
        assert forecast[key]["writable"] == (len(state.isr) >= (2 if key[0] == "strict" else 1))
    assert ("single", 1) not in forecast, "nothing of it is on these brokers"

    west.snapshot("3", ["single", "pair"])
    remembered = {key: one["healthy"] for key, one in by_partition(west.documents("3")).items() if one["healthy"]}
    assert {key: (row["run_id"], row["log_end_offset"], row["high_watermark"]) for key, row in remembered.items()} == {
        ("single", 0): ("1", 10, 10),
        ("pair", 0): ("2", 20, 20),
        ("pair", 1): ("2", 1, 1),
    }


def test_the_high_watermark_of_a_snapshot_proves_a_branch(east: Operator) -> None:
    """No run took a snapshot of this cluster while it was healthy, so one is made up: of the moment at which broker 2 copied epoch 1 up to 120."""
    topic, ahead = "forked.none", 2
    states = east.states(topic)
    rows = [
        {
            "kind": "watermark", "topic": topic, "partition": state.partition, "topic_id": topic_id, "leader": 1, "leader_epoch": 1,
            "isr": [1, 2], "log_end_offset": 120, "high_watermark": 120,
        }
        for state in states.values()
        for topic_id in [described(east, state.topic, state.partition)["topic_id"]]
    ]  # fmt: skip
    taken = {"cluster": east.name, "cluster_id": east.cluster.cluster_id, "run_id": "noon", "backend": "compat"}
    folder = east.workdir / "healthy" / east.name
    for directory in (folder.parent, folder):
        directory.mkdir(mode=0o700)
    landing_format.write(folder / "noon.jsonl", {**taken, "collected_at": "2026-11-21T12:00:00Z"}, rows)
    east.snapshot("1", [topic])
    proofs = [(one["partition"], proof) for one in east.documents("1") for proof in one["proofs"]]
    assert {(row["source"], row["name"], row["offset"]) for _, row in proofs} == {("healthy_snapshot", "noon", 120)}
    assert {(partition, row["broker_id"]) for partition, row in proofs if row["held"]} == {(key[1], ahead) for key in states}
    east.plan("1", strategy="balanced")
    held = by_partition(east.read("plans", "1")["held"])
    assert {(row["reason_code"], row["candidate"]) for row in held.values()} == {("forked_proven", ahead)}
    assert all("noon" in row["explanation"] for row in held.values())


def described(east: Operator, topic: str, partition: int) -> dict[str, Any]:
    """A partition as kafka_partition_info shows it."""
    found = east.ask("kafka_partition_info", state="all", partitions=[{"topic": topic, "partition": partition}])
    row: dict[str, Any] = found["partitions"][0]
    return row
