# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module as Ansible starts it: one JSON object on stdout, whatever Spark says."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from missing_library import without
from module_processes import run_module
from partition_situations import FENCED, RUN, Log, Situation, broker_rows, land
from shared_session import run_here, share

from ansible_collections.streamops.kafka_recovery.plugins.modules import kafka_recovery_plan

ROWS = [*broker_rows(2, {1: 2.0}), *Situation("orders", {1: FENCED, 2: Log.of((5, 0))}).rows()]


def run(tmp_path: Path, environment: dict[str, str] | None = None, **options: Any) -> dict[str, Any]:
    """Return the result of the module for the run of this workdir."""
    return run_module("kafka_recovery_plan", {"workdir": str(tmp_path), "run_id": RUN, **options}, environment)


@pytest.mark.slow
def test_it_writes_plans_in_check_mode_too_and_changes_nothing(tmp_path: Path) -> None:
    land(tmp_path, "east", ROWS)
    result = run(tmp_path, _ansible_check_mode=True, clusters=["east", "west"], spark_conf={"spark.sql.shuffle.partitions": 2})
    assert result["changed"] is False
    path = tmp_path / "plans" / RUN / "east.json"
    counts = {"elect": 1, "held": 0, "online": 0, "truncated_replicas": 0, "truncated_offsets": 0}
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    (plan,) = result["plans"]
    (election,) = plan.pop("elections")
    assert plan == {"cluster": "east", "path": str(path), "file_sha256": digest, **counts, "in_sync_on_return": [], "held_reasons": []}
    assert (election["leader"], election["ranges"], election["loss"]["partitions"]) == (2, "orders-0", 1)
    assert json.loads(path.read_text())["partitions"][0]["designatedLeader"] == 2
    west = str(tmp_path / "landing" / RUN / "west.jsonl")
    assert result["quarantine"] == [{"path": west, "reason": "there is no landing file"}]
    assert "west.jsonl: there is no landing file" in json.dumps(result["warnings"])


def test_without_any_usable_file_it_fails_and_writes_nothing(tmp_path: Path) -> None:
    land(tmp_path, "east", ROWS).write_text("{}")
    result = run(tmp_path)
    assert "no landing file of run run-1 can be used" in result["msg"]
    assert "does not begin with the header" in result["quarantine"][0]["reason"]
    assert not (tmp_path / "plans").exists()


def test_a_library_that_is_missing_is_named(tmp_path: Path) -> None:
    assert "pyspark[connect]" in run(tmp_path, without("pyspark", tmp_path))["msg"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"spark_master": "local", "spark_remote": "sc://host"}, "mutually exclusive"),
        ({"strategy": "bold"}, "value of strategy must be one of: none, balanced, kip966_balanced, aggressive"),
        (
            {"topic_strategies": {"orders": "bold"}},
            "topic_strategies: orders has the strategy 'bold'; it must be one of none, balanced, kip966_balanced",
        ),
        ({"topic_strategies": {"two parts": "none"}}, "topic_strategies: 'two parts' is not a name of a topic"),
        ({"ranking": "longest"}, "value of ranking must be one of"),
        ({"run_id": "../etc"}, "run_id '../etc' cannot be a file name"),
        ({"run_id": "run-9"}, "collect the evidence of run run-9 first"),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], message: str) -> None:
    land(tmp_path, "east", ROWS)
    share(None, monkeypatch, kafka_recovery_plan)
    given = {"workdir": str(tmp_path), "run_id": RUN, **options}
    assert message in run_here("kafka_recovery_plan", given)["msg"]
    assert not (tmp_path / "plans").exists()
