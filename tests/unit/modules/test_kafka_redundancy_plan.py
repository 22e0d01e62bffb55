# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the module writes and refuses. test_kafka_recovery_plan.py has a Spark of its own in a module as Ansible starts it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cluster_layouts import RUN, broker, land, partition
from missing_library import without
from module_processes import run_module
from pyspark.sql import SparkSession
from shared_session import run_here, share

from ansible_collections.streamops.kafka_recovery.plugins.modules import kafka_redundancy_plan

ROWS = [broker(1, "fenced"), broker(2), broker(3), partition("orders", 0, [1, 2], [2]), partition("offline", 0, [1], [])]


@pytest.mark.slow
def test_it_writes_files_in_check_mode_too_and_changes_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    land(tmp_path, "east", ROWS)
    options = {"workdir": str(tmp_path), "run_id": RUN, "clusters": ["east", "west"], "lost_brokers": [1, 9]}
    share(spark, monkeypatch, kafka_redundancy_plan)
    result = run_here("kafka_redundancy_plan", options, check_mode=True)
    assert result["changed"] is False
    path = tmp_path / "reassignments" / RUN / "east.json"
    (plan,) = result["plans"]
    assert (plan["cluster"], plan["path"], plan["planned"], plan["held"], plan["bytes"]) == ("east", str(path), 1, 1, 100)
    assert json.loads(path.read_text())["partitions"][0]["replicas"] == [2, 3]
    west = str(tmp_path / "layout" / RUN / "west.jsonl")
    assert result["quarantine"] == [{"path": west, "reason": "there is no layout file"}]
    # Once a test has loaded Ansible's controller in this process, warnings are shown and not returned.
    warnings = " ".join([json.dumps(result.get("warnings")), *capsys.readouterr().err.split()])
    assert "west.jsonl: there is no layout file" in warnings and "lost_brokers names 9" in warnings


def test_without_any_usable_file_it_fails_and_writes_nothing(tmp_path: Path) -> None:
    land(tmp_path, "east", ROWS).write_text("{}")
    result = run_module("kafka_redundancy_plan", {"workdir": str(tmp_path), "run_id": RUN})
    assert f"no layout file of run {RUN} can be used" in result["msg"]
    assert "does not begin with the header" in result["quarantine"][0]["reason"]
    assert not (tmp_path / "reassignments").exists()


def test_a_library_that_is_missing_is_named(tmp_path: Path) -> None:
    result = run_module("kafka_redundancy_plan", {"workdir": str(tmp_path), "run_id": RUN}, without("pyspark", tmp_path))
    assert "pyspark[connect]" in result["msg"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"spark_master": "local", "spark_remote": "sc://host"}, "mutually exclusive"),
        ({"replication_factor": 0}, "replication_factor 0 is not between 1 and 32767"),
        ({"lost_brokers": [-3]}, "lost_brokers: -3 cannot be the id of a broker"),
        ({"lost_brokers": {"east": [-3]}}, "lost_brokers of east: -3 cannot be the id of a broker"),
        ({"lost_brokers": {"esst": [1]}}, "lost_brokers names an unknown cluster, esst: did you mean east?"),
        (
            {"lost_brokers": {"easst": [1]}, "clusters": ["east", "west"]},
            "lost_brokers names an unknown cluster, easst: did you mean east?",
        ),
        ({"topics": []}, "option topics is empty"),
        ({"max_disk_percent": 120}, "max_disk_percent 120 is not between 1 and 100"),
        ({"run_id": "../etc"}, "run_id '../etc' cannot be a file name"),
        ({"run_id": "run-9"}, "collect the layout of run run-9 first"),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], message: str) -> None:
    land(tmp_path, "east", ROWS)
    share(None, monkeypatch, kafka_redundancy_plan)
    given = {"workdir": str(tmp_path), "run_id": RUN, **options}
    assert message in run_here("kafka_redundancy_plan", given)["msg"]
    assert not (tmp_path / "reassignments").exists()
