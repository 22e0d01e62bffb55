# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Spark on a cluster that shares no folder with this machine: it reads and writes the workdir in an object store by itself."""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from integration.spark import Standalone, WorkerSpec, standalone
from integration.support import Answer, run_module
from unit.partition_situations import RUN, broker_rows, land, random_situations

from rig import s3a_jars
from rig.object_store import SECRET, USER, ObjectStore

VOLATILE = ("plan_id", "created_at", "sha256")
pytestmark = [pytest.mark.long, pytest.mark.skipif(os.geteuid() != 0, reason="only root can start workers as other users")]
S3A_SECRETS = {"spark.hadoop.fs.s3a.access.key": USER, "spark.hadoop.fs.s3a.secret.key": SECRET}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    """Two workers, each of a user and a folder of its own."""
    workers = [WorkerSpec(1, "nobody"), WorkerSpec(1, "daemon")]
    with standalone(tmp_path_factory.mktemp("standalone"), workers) as running:
        yield running


@pytest.fixture
def workdir(object_store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of a workdir with the landing files of two clusters, below a folder of a bucket. The server is in the environment."""
    for name, value in {**object_store.environment(), "PYSPARK_PYTHON": sys.executable}.items():
        monkeypatch.setenv(name, value)
    bucket = object_store.bucket()
    for seed, name in enumerate(("east", "west")):
        situations = random_situations(random.Random(seed), 200)
        land(
            object_store.directory / bucket / "fleet",
            name,
            [*broker_rows(7, {7: 3.5}), *(row for case in situations for row in case.rows())],
        )
    return f"s3://{bucket}/fleet"


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
    assert answer.returncode == 0, answer
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
