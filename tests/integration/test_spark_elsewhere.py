# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wherever Spark runs (embedded, behind Spark Connect, on a standalone cluster), the same landing files give the same plans."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from integration.support import failure, run_module
from unit.situations import RUN, broker_rows, land, random_situations

from rig.ports import PortBlock
from rig.process import Processes

VOLATILE = ("plan_id", "created_at", "sha256")
START_SECONDS = 120
# What a server has by itself: generated code, and planning anew between stages.
USUAL = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK", "spark.sql.adaptive.enabled": "true"}


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    """Landing files of two clusters, 200 partitions each in all kinds of situations."""
    for seed, cluster in enumerate(("east", "west")):
        situations = random_situations(random.Random(seed), 200)
        land(tmp_path, cluster, [*broker_rows(6, {1: 3.5}), *(row for case in situations for row in case.rows())])
    return tmp_path


@pytest.fixture
def spark_master(tmp_path: Path) -> Iterator[str]:
    """A standalone cluster on loopback, one worker with two cores; it dies with its owner."""
    spec = find_spec("pyspark")
    assert spec is not None and spec.origin is not None
    spark_class, ports, log = str(Path(spec.origin).parent / "bin" / "spark-class"), PortBlock(), tmp_path / "spark.log"
    master = f"spark://127.0.0.1:{ports.take()}"
    node = ["--host", "127.0.0.1", "--webui-port", "0"]
    processes = Processes(keep_open=[ports.lock_fd])
    try:
        processes.start("master", [spark_class, "org.apache.spark.deploy.master.Master", *node, "--port", master.rpartition(":")[2]], log)
        limits = ["--cores", "2", "--memory", "1g", "--work-dir", str(tmp_path / "work")]
        processes.start("worker", [spark_class, "org.apache.spark.deploy.worker.Worker", *node, *limits, master], log)
        deadline = time.monotonic() + START_SECONDS
        while "registered with master" not in log.read_text():
            assert processes.returncode("worker") is None and time.monotonic() < deadline, log.read_text()[-2000:]
            time.sleep(0.2)
        yield master
    finally:
        processes.close()
        ports.release()


def planned(workdir: Path, **options: Any) -> dict[str, Any]:
    """The plans without what differs from run to run, and the summary."""
    answer = run_module("kafka_recovery_plan", {"workdir": str(workdir), "run_id": RUN, "strategy": "aggressive", **options})
    assert answer.returncode == 0, answer
    plans = {plan["cluster"]: json.loads(Path(plan["path"]).read_text()) for plan in answer.result["plans"]}
    return {
        **{name: {key: value for key, value in plan.items() if key not in VOLATILE} for name, plan in plans.items()},
        "summary": answer.result["summary"],
    }


def test_embedded_connect_and_standalone_agree(workdir: Path, spark_remote: str, spark_master: str) -> None:
    embedded = planned(workdir)
    assert embedded["summary"]["clusters"] == 2 and embedded["summary"]["elect"] > 100
    assert planned(workdir, spark_remote=spark_remote) == embedded
    assert planned(workdir, spark_remote=spark_remote, spark_conf=USUAL) == embedded
    assert planned(workdir, spark_master=spark_master, spark_conf={"spark.executor.memory": "512m"}) == embedded


def test_a_server_that_cannot_see_the_workdir_is_told(workdir: Path, spark_remote: str) -> None:
    """As from another host: the landing files are gone from where Spark looks for them once the module has checked them."""
    landing = workdir / "landing" / RUN
    before = f"""
from pathlib import Path
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline import plans
write_plans = plans.write_plans
def elsewhere(*given):
    Path({str(landing)!r}).rename({str(landing.with_name("elsewhere"))!r})
    return write_plans(*given)
plans.write_plans = elsewhere
"""
    options = {"workdir": str(workdir), "run_id": RUN, "spark_remote": spark_remote}
    assert "the workdir must be readable under the same path on every Spark host" in failure("kafka_recovery_plan", options, before=before)
    assert not list((workdir / "plans" / RUN).iterdir())
