# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A disk of a live broker has failed (KIP-858): the plan, the history and every section of the report name it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import healthy_files
import pytest
from partition_situations import RUN, Log, Situation, broker_rows, plan_all
from pyspark.sql import SparkSession
from shared_session import share

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.ingest import HISTORY
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.store import Store
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report import run

pytestmark = pytest.mark.slow

DISK = "its disk /data/2 on broker 1 has failed"


def rows_of(topic: str, brokers: dict[int, Log | str]) -> list[dict[str, Any]]:
    """The rows of a partition whose replica on broker 1 was on /data/2."""
    rows = Situation(topic, brokers, state={"isr": [1]}).rows()
    return [row | ({"failed_log_dirs": ["/data/2"]} if row.get("error") == "DISK_FAILED" else {}) for row in rows]


def test_the_plan_the_history_and_the_report_name_the_disk(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    share(spark, monkeypatch, run)
    workdir = tmp_path / "work"
    workdir.mkdir(mode=0o700)
    survivor, alone = rows_of("orders", {1: "DISK_FAILED", 2: Log.of((5, 3))}), rows_of("alone", {1: "DISK_FAILED"})
    plan = plan_all(workdir, {"east": [*broker_rows(3), *survivor, *alone]}, "balanced")["east"]
    assert all(DISK in entry["explanation"] for entry in (*plan["partitions"], *plan["held"])), plan
    snapshot = [
        *map(healthy_files.broker, (1, 2, 3)),
        healthy_files.mark("orders", isr=[2, 3], leader=2, offline_replicas=[1], replica_ends=[[2, 100]]),
    ]
    healthy_files.write(workdir, "2026-11-21T05-00-00Z", snapshot, cluster_id="id-of-east")
    params: dict[str, Any] = {
        **{"workdir": str(workdir), "run_id": "disks", "run_ids": [RUN], "clusters": None, "what_if_brokers": [2], "ingest": True},
        **{"textfile": None, "retention_days": None, "page_files": None, "inventory": [], "run_options": [], "require_commit": False},
    }
    result = run.report(params, {})

    found = strict_json.parse(Path(result["json_path"]).read_bytes())
    assert {row["topic"] for row in found["partitions"] if DISK in row["detail"]} == {"orders", "alone"}
    steps = {row["reason_code"]: row["next_step"] for row in found["held"]}
    assert "bring back the failed disk" in steps["no_survivor"]
    assert [row["failed_disks"] for row in found["risk"]["partitions"]] == [[1]]
    assert [row["reason"] for row in found["what_if"]["partitions"]] == ["its disk on broker 1 has failed"]
    page = Path(result["html_path"]).read_text(encoding="utf-8")
    assert DISK in page and "under replicated; its disk on broker 1 has failed" in page
    logs = Store(spark, workdir / HISTORY).read("replica_log").collect()
    errors = {(row["origin"], row["topic"], row["broker_id"]): row["error"] for row in logs}
    assert errors == {
        ("recovery", "orders", 1): "DISK_FAILED", ("recovery", "orders", 2): None, ("recovery", "alone", 1): "DISK_FAILED",
        ("healthy", "orders", 1): "DISK_FAILED", ("healthy", "orders", 2): None, ("healthy", "orders", 3): None,
    }  # fmt: skip
