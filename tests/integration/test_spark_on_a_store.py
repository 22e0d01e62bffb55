# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Spark on a cluster that shares no folder with this machine: it reads and writes the workdir in an object store by itself."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from integration.spark import Standalone, WorkerSpec, standalone
from integration.support import Answer, failure, run_module
from unit.partition_situations import RUN, broker_rows, land, random_situations

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.manifest import DataFile
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.client import Client
from rig import s3a_jars
from rig.object_store import SECRET, USER, ObjectStore

VOLATILE = ("plan_id", "created_at", "sha256")
pytestmark = [pytest.mark.long, pytest.mark.skipif(os.geteuid() != 0, reason="only root can start workers as other users")]
S3A_SECRETS = {"spark.hadoop.fs.s3a.access.key": USER, "spark.hadoop.fs.s3a.secret.key": SECRET}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    """Two workers, each of a user and a folder of its own."""
    workers = [WorkerSpec(1, "nobody"), WorkerSpec(1, "daemon")]
    with standalone(tmp_path_factory.mktemp("standalone"), workers) as running, pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYSPARK_PYTHON", running.python)
        yield running


@pytest.fixture
def workdir(object_store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of a workdir with the landing files of two clusters, below a folder of a bucket. The server is in the environment."""
    for name, value in object_store.environment().items():
        monkeypatch.setenv(name, value)
    url = f"s3://{object_store.bucket()}/fleet"
    for seed, name in enumerate(("east", "west")):
        situations = random_situations(random.Random(seed), 200)
        land(tmp_path, name, [*broker_rows(7, {7: 3.5}), *(row for case in situations for row in case.rows())])
    put(url, tmp_path)
    return url


def put(url: str, folder: Path) -> None:
    """Put the files of a folder into the store. The server has no ETag for files that were not put."""
    client = Client(url)
    for path in folder.rglob("*.json*"):
        client.put(path.relative_to(folder).as_posix(), path)


def on(cluster: Standalone, **conf: str) -> dict[str, Any]:
    """The options of a module that uses the cluster."""
    return {
        "spark_master": cluster.master,
        "spark_conf": {**cluster.conf, "spark.jars": ",".join(map(str, s3a_jars.s3a())), **conf},
        "spark_secret_conf": {**cluster.secret_conf, **S3A_SECRETS},
    }


def executor_logs(cluster: Standalone) -> dict[int, str]:
    """What the executors of the last application have logged, by the uid of their worker."""
    logs = {}
    for work in cluster.works:
        newest = max(work.glob("app-*"), key=lambda path: path.stat().st_mtime)
        logs[work.stat().st_uid] = "".join(path.read_text() for path in newest.glob("*/stderr"))
    return logs


def files(store: ObjectStore, workdir: str, pattern: str) -> dict[str, Any]:
    """JSON files of the workdir, as they are in the store."""
    top = store.directory / workdir.removeprefix("s3://")
    return {path.stem: json.loads(path.read_text()) for path in sorted(top.glob(pattern))}


def done(answer: Answer) -> dict[str, Any]:
    assert answer.returncode == 0, answer.msg
    assert answer.stderr == "", "Spark's own noise"
    return answer.result


def test_plans_are_those_of_an_embedded_spark(cluster: Standalone, workdir: str, object_store: ObjectStore) -> None:
    options = {"workdir": workdir, "run_id": RUN, "strategy": "balanced"}
    plans = []
    for more in ({}, on(cluster)):
        result = done(run_module("kafka_recovery_plan", {**options, **more}))
        assert [plan["path"] for plan in result["plans"]] == [f"{workdir}/plans/{RUN}/{name}.json" for name in ("east", "west")]
        made = files(object_store, workdir, f"plans/{RUN}/*.json")
        plans.append({name: {key: value for key, value in plan.items() if key not in VOLATILE} for name, plan in made.items()})
    assert plans[0] == plans[1] and len(plans[0]["east"]["partitions"]) > 50
    logs = executor_logs(cluster)
    assert len(logs) == 2 and all("Running task" in log for log in logs.values()), logs.keys()


def tables(store: ObjectStore, workdir: str) -> dict[str, list[str]]:
    """All rows of the history, by table, as any reader of Parquet finds them."""
    root = store.directory / workdir.removeprefix("s3://") / "history"
    found: dict[str, list[str]] = {}
    for name in json.loads((root / "manifest.json").read_text())["files"]:
        file = DataFile.parse(name)
        rows = pq.ParquetFile(root / name).read().to_pylist()
        found.setdefault(file.table, []).extend(repr((file.cluster, file.date, _ordered(row))) for row in rows)
    return {table: sorted(rows) for table, rows in found.items()}


def _ordered(row: dict[str, Any]) -> list[tuple[str, Any]]:
    """The columns of a row by name. The entries of a map, which Parquet has in any order, are sorted, too."""
    is_map = {name: isinstance(value, list) and value and all(isinstance(entry, tuple) for entry in value) for name, value in row.items()}
    return sorted((name, sorted(value) if is_map[name] else value) for name, value in row.items())


def test_a_history_is_written_by_the_cluster_as_by_an_embedded_spark(cluster: Standalone, workdir: str, object_store: ObjectStore) -> None:
    done(run_module("kafka_recovery_plan", {"workdir": workdir, "run_id": RUN, "strategy": "balanced"}))
    top = object_store.directory / workdir.removeprefix("s3://")
    Client(workdir).put("landing/damaged/east.jsonl", b"{}\n")
    copy = f"{workdir.rpartition('/')[0]}/copy"
    put(copy, top)
    options = {"workdir": workdir, "run_id": "report"}
    first = done(run_module("kafka_recovery_report", {**options, **on(cluster)}))
    assert first["summary"]["ingested"] == 3 and len(first["quarantine"]) == 1, first
    assert first["quarantine"][0]["path"] == f"{workdir}/landing/damaged/east.jsonl"
    assert all("Running task" in log for log in executor_logs(cluster).values())
    embedded = done(run_module("kafka_recovery_report", {**options, "workdir": copy}))
    assert embedded["summary"] == first["summary"]
    ours, theirs = (tables(object_store, url) for url in (workdir, copy))
    # With the time and the path of the refusal.
    assert {name: rows for name, rows in ours.items() if name != "quarantine"} == {
        name: rows for name, rows in theirs.items() if name != "quarantine"
    }
    assert ours["plan"] and ours["loss"] and ours["replica_log"] and ours["candidates"] and len(ours["recovery_audit"]) == 3
    # The other Spark reads what the first one has written, finds nothing new, and leaves nothing behind.
    again = done(run_module("kafka_recovery_report", {**options, "run_id": "again"}))
    assert again["summary"] == {**first["summary"], "ingested": 0} and tables(object_store, workdir) == ours
    named = {path.relative_to(top / "history").as_posix() for path in (top / "history").rglob("*") if path.is_file()}
    assert named == {"manifest.json", *json.loads((top / "history" / "manifest.json").read_text())["files"]}


def test_what_a_cluster_cannot_read_is_one_line(cluster: Standalone, workdir: str) -> None:
    options = {"workdir": workdir, "run_id": RUN, "strategy": "balanced"}
    without = {"spark_conf": cluster.conf}
    assert "Spark has no file system for s3a://" in failure("kafka_recovery_plan", {**options, **on(cluster), **without})
    wrong = {**cluster.secret_conf, **S3A_SECRETS, "spark.hadoop.fs.s3a.secret.key": "guessed"}
    said = failure("kafka_recovery_plan", {**options, **on(cluster), "spark_secret_conf": wrong})
    assert "may not read or write the workdir" in said and "guessed" not in said
