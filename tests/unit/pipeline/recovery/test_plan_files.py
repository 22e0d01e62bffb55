# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From landing files to plan files: what is read, what is quarantined, and that the same input gives the same plan."""

from __future__ import annotations

import random
import re
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest
from partition_situations import FENCED, RUN, Log, Situation, broker_rows, land
from pyspark.sql import SparkSession

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.entry import HELD, ONLINE, PARTITIONS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import plan_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.recovery import landing_lines, plan_files, worker
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails import tails_of_plan
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import cluster_batches
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.columns import in_plan_order

LONG = Log.of((120, 0), high_watermark=80)
ROWS = [
    *broker_rows(3, {1: 2.0}),
    *Situation("elected", {1: FENCED, 2: LONG}).rows(),
    *Situation("elected", {1: FENCED, 2: LONG, 3: LONG}, 1).rows(),
    *Situation("held", {1: FENCED, 2: LONG, 3: Log.of((80, 0), (9, 1))}).rows(),
    *Situation("online", {1: FENCED, 2: LONG}, state={"leader": 2}).rows(),
]


def written(spark: SparkSession, workdir: Path, clusters: list[str] | None = None) -> dict[str, Any]:
    return plan_files.write_plans(spark, plan_files.find_landing_files(workdir, RUN, clusters), workdir, "balanced", "last_written_epoch")


def test_a_plan_has_and_counts_what_survivors_and_fenced_brokers_that_answer_would_lose(spark: SparkSession, tmp_path: Path) -> None:
    shorter = Log.of((80, 0), (9, 1))
    cut_off = Log.of((110, 0), (7, 2), fenced=True)
    land(tmp_path, "east", [*broker_rows(3), *Situation("orders", {1: cut_off, 2: LONG, 3: shorter}).rows()])
    files = plan_files.find_landing_files(tmp_path, RUN, ["east"])
    (row,) = plan_files.write_plans(spark, files, tmp_path, "aggressive", "kip1275")["plans"]
    (entry,) = plan_file.load(row["path"], row["file_sha256"])["partitions"]
    assert [lost["broker_id"] for lost in entry["fenced_truncated"]] == [1]
    tails = list(tails_of_plan({"plan_id": "", "partitions": [entry]}))
    assert {tail.broker_id: tail.end for tail in tails}.items() >= {1: 117}.items()
    assert (row["truncated_replicas"], row["truncated_offsets"]) == (len(tails), sum(tail.end - (tail.start or 0) for tail in tails))


def test_good_clusters_are_planned_and_others_quarantined_with_reasons(spark: SparkSession, tmp_path: Path) -> None:
    land(tmp_path, "east", ROWS)
    land(tmp_path, "quiet", broker_rows(3))
    land(tmp_path, "nothing", [])
    land(tmp_path, "stranger", ROWS)
    land(tmp_path, "other-run", ROWS, run_id="run-0")
    folder = tmp_path / "landing" / RUN
    shutil.move(tmp_path / "landing" / "run-0" / "other-run.jsonl", folder)
    shutil.copy(folder / "east.jsonl", folder / "copied.jsonl")
    (folder / "cut.jsonl").write_bytes((folder / "east.jsonl").read_bytes()[:-200])
    (folder / "no file of ours").write_text("not read")
    result = written(spark, tmp_path, ["east", "quiet", "nothing", "other-run", "copied", "cut", "unreached"])
    assert [(plan["cluster"], plan["elect"], plan["held"], plan["online"]) for plan in result["plans"]] == [
        ("east", 2, 1, 1),
        ("nothing", 0, 0, 0),
        ("quiet", 0, 0, 0),
    ]
    held = {plan["cluster"]: plan["held_reasons"] for plan in result["plans"]}
    assert held == {
        "east": [{"reason_code": "forked", "count": 1, "ranges": "held-0", "partitions": [{"topic": "held", "partition": 0}]}],
        "nothing": [],
        "quiet": [],
    }
    reasons = {Path(row["path"]).stem: row["reason"] for row in result["quarantine"]}
    expected = {
        "copied": "collected from cluster east",
        "cut": "no seal at its end",
        "other-run": "it belongs to run run-0",
        "stranger": "not among the expected",
        "unreached": "there is no landing file",
    }
    assert reasons.keys() == expected.keys()
    assert all(text in reasons[name] for name, text in expected.items())
    assert result["summary"] == {
        "clusters": 3,
        "quarantined": 5,
        "elect": 2,
        "elect_by_evidence": {"prefix": 2},
        "held": 1,
        "held_by_reason": {"forked": 1},
        "online": 1,
    }
    files = sorted((tmp_path / "plans" / RUN).iterdir())
    assert [file.name for file in files] == ["east.json", "nothing.json", "quiet.json"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    plan = plan_file.load(files[0])
    assert plan["topic_strategies"] == []
    assert (plan["cluster"], plan["cluster_id"], plan["run_id"], plan["strategy"]) == ("east", "id-of-east", RUN, "balanced")


@pytest.mark.slow
def test_the_same_snapshot_gives_the_same_bytes_but_for_ids_and_times(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many clusters are planned together."""
    land(tmp_path, "east", ROWS)
    land(tmp_path, "west", ROWS)
    volatile = re.compile(rb'^"(plan_id|created_at|sha256)": .*$', re.MULTILINE)
    paths = [Path(plan["path"]) for plan in written(spark, tmp_path)["plans"]]
    first = [path.read_bytes() for path in paths]
    monkeypatch.setattr(cluster_batches, "BATCH_BYTES", 1)
    monkeypatch.setattr(cluster_batches, "FETCHED_BYTES", 1)
    assert [plan["cluster"] for plan in written(spark, tmp_path)["plans"]] == ["east", "west"]
    for path, before in zip(paths, first, strict=True):
        assert path.read_bytes() != before
        assert volatile.sub(b"", path.read_bytes()) == volatile.sub(b"", before)
    # Also a single file is counted and sorted by Spark if it is too large to be fetched.
    (tmp_path / "landing" / RUN / "west.jsonl").unlink()
    assert [plan["cluster"] for plan in written(spark, tmp_path)["plans"]] == ["east"]
    assert volatile.sub(b"", paths[0].read_bytes()) == volatile.sub(b"", first[0])


def test_a_cluster_that_is_split_over_tasks_has_the_same_plan(spark: SparkSession, tmp_path: Path) -> None:
    """Most tasks do not see the header of the file."""
    file = land(tmp_path, "east", ROWS)
    (whole,) = written(spark, tmp_path)["plans"]
    volatile = re.compile(rb'^"(plan_id|created_at|sha256)": .*$', re.MULTILINE)
    before = volatile.sub(b"", Path(whole["path"]).read_bytes())
    own = spark.newSession()
    for name in ("maxPartitionBytes", "openCostInBytes"):
        own.conf.set(f"spark.sql.files.{name}", "500")
    assert landing_lines.lines_by_cluster(own, [str(file)]).rdd.getNumPartitions() > 3
    (split,) = written(own, tmp_path)["plans"]
    assert volatile.sub(b"", Path(split["path"]).read_bytes()) == before
    assert {**split, "file_sha256": ""} == {**whole, "file_sha256": ""}


TOPICS = [
    "__transaction_state",
    "__consumer_offsets",
    "__consumer",
    "_a",
    "A",
    "Z-1",
    "a",
    "a-1",
    "a.1",
    "a1",
    "b",
    "orders",
    "orders.eu",
    "orders_eu",
]


def test_spark_and_python_put_the_rows_of_a_plan_in_the_same_order(spark: SparkSession) -> None:
    """Which of them does it depends on the size of the fleet alone."""
    partitions = [(section, topic, number) for section in (PARTITIONS, HELD, ONLINE) for topic in TOPICS for number in (0, 2, 10)]
    frame = [(section, None, None) for section in (worker.FRAME, worker.FRAME, worker.QUARANTINE)]
    rows: list[Any] = [
        (cluster, section, None, *key, [], None, None) for cluster in ("west", "east", "East-2") for section, *key in [*partitions, *frame]
    ]
    random.Random(7).shuffle(rows)
    expected = plan_files.sort_and_seat({}, rows)
    ordered = [tuple(row) for row in in_plan_order(spark.createDataFrame(rows, worker.PLAN_ROWS), plan_files.SECTIONS).collect()]
    for cluster in ("west", "east", "East-2"):
        own = [row for row in expected if row[0] == cluster]
        assert [row for row in ordered if row[0] == cluster] == own
        first = next(place for place, row in enumerate(ordered) if row[0] == cluster)
        assert ordered[first : first + len(own)] == own, "a cluster stands in one piece"
    places = [(row[1], row[3], row[4]) for row in expected if row[0] == "east" and row[3]]
    assert places[:3] == [(PARTITIONS, "__transaction_state", number) for number in (0, 2, 10)]


@pytest.mark.slow
def test_what_fits_into_memory_takes_one_job_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    land(tmp_path, "east", ROWS)
    land(tmp_path, "west", ROWS)
    spark.sparkContext.setJobGroup("one", "plans that are counted")
    try:
        assert len(written(spark, tmp_path)["plans"]) == 2
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]
    assert len(spark.sparkContext.statusTracker().getJobIdsForGroup("one")) == 1


def test_small_files_share_tasks(spark: SparkSession, tmp_path: Path) -> None:
    for number in range(60):
        land(tmp_path, f"cluster-{number}", ROWS)
    found, own = plan_files.find_landing_files(tmp_path, RUN, None), spark.newSession()
    for name, value in found.settings().items():
        own.conf.set(name, value)
    lines = landing_lines.lines_by_cluster(own, [str(file) for file in found.files.values()])
    assert lines.rdd.getNumPartitions() <= spark.sparkContext.defaultParallelism


def test_a_batch_is_as_large_as_allowed_or_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, rows in (("a", 10), ("b", 10), ("c", 200), ("d", 10)):
        land(tmp_path, name, broker_rows(rows))
    found = plan_files.find_landing_files(tmp_path, RUN, None)
    size = {name: path.stat().st_size for name, path in found.files.items()}
    monkeypatch.setattr(cluster_batches, "BATCH_BYTES", size["a"] + size["b"])
    assert [[path.stem for path in batch] for batch in found.batches()] == [["a", "b"], ["c"], ["d"]]
    assert found.bytes == sum(size.values()) and found.settings()["spark.sql.shuffle.partitions"] == "1"
    found.sizes["c"] = 20 << 20
    assert found.settings()["spark.sql.shuffle.partitions"] == "3"
    assert (
        list(cluster_batches.RunFiles(RUN).batches()) == []
        and cluster_batches.RunFiles(RUN).settings()["spark.sql.shuffle.partitions"] == "1"
    )


def test_a_run_without_a_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecoveryError, match="collect the evidence of run run-9 first"):
        plan_files.find_landing_files(tmp_path, "run-9", None)


@pytest.mark.parametrize(
    "absent", [None, {}, [{"topic": "gone"}], [{"topic": "gone", "partition": -1}], [{"topic": "a/b", "partition": 0}], ["gone"]]
)
def test_absent_partitions_that_cannot_be_read_quarantine_the_file(tmp_path: Path, absent: Any) -> None:
    land(tmp_path, "east", ROWS, absent=absent)
    found = plan_files.find_landing_files(tmp_path, RUN, None)
    assert not found.files and "the header, absent" in found.quarantine[0]["reason"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("collected_at", "yesterday"),
        ("collected_at", 7),
        ("approved", True),
        ("options", {"strategy": "none"}),
        ("eligible_leader_replicas_version", "1"),
    ],
)
def test_a_header_that_cannot_be_read_quarantines_the_file(tmp_path: Path, field: str, value: Any) -> None:
    land(tmp_path, "east", ROWS, **{field: value})
    found = plan_files.find_landing_files(tmp_path, RUN, None)
    (refused,) = found.quarantine
    assert not found.files and "the header, " in refused["reason"] and field in refused["reason"]


@pytest.mark.slow
def test_a_partition_that_is_absent_and_has_evidence_breaks_the_file(spark: SparkSession, tmp_path: Path) -> None:
    land(tmp_path, "east", ROWS, absent=[{"topic": "held", "partition": 0}])
    (refused,) = written(spark, tmp_path)["quarantine"]
    assert "two documents of held-0" in refused["reason"]


@pytest.mark.parametrize(("run_id", "clusters"), [("../etc", None), (RUN, ["../east"]), (RUN, [".."]), (RUN, [""])])
def test_names_that_leave_the_directory_are_refused(tmp_path: Path, run_id: str, clusters: list[str] | None) -> None:
    land(tmp_path, "east", ROWS)
    with pytest.raises(FileError, match="cannot be a file name"):
        plan_files.find_landing_files(tmp_path, run_id, clusters)


def test_a_plan_that_cannot_be_written_fails_before_spark_reads(spark: SparkSession, tmp_path: Path) -> None:
    land(tmp_path, "east", ROWS)
    (tmp_path / "plans").write_text("in the way")
    with pytest.raises(FileError, match=re.escape(str(tmp_path / "plans"))):
        written(spark, tmp_path)


def test_the_files_of_clusters_that_another_batch_plans_are_left_alone(tmp_path: Path) -> None:
    for cluster in ("east", "west", "stranger"):
        land(tmp_path, cluster, ROWS)
    found = plan_files.find_landing_files(tmp_path, RUN, ["west"], ["east", "not yet collected"])
    assert set(found.files) == {"west"}
    assert [Path(row["path"]).stem for row in found.quarantine] == ["stranger"]


def test_a_file_that_is_emptied_after_it_was_checked_is_refused_alone(spark: SparkSession, tmp_path: Path) -> None:
    land(tmp_path, "east", ROWS)
    land(tmp_path, "west", ROWS)
    found = plan_files.find_landing_files(tmp_path, RUN, None)
    found.files["east"].write_bytes(b"")
    result = plan_files.write_plans(spark, found, tmp_path, "balanced", "last_written_epoch")
    assert [plan["cluster"] for plan in result["plans"]] == ["west"]
    assert [(Path(row["path"]).stem, row["reason"]) for row in result["quarantine"]] == [("east", "a header or a seal in the middle of it")]
