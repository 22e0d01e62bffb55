# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A whole report: in check mode it leaves the history tables and the workdir as they are."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any, Self

import pytest
from partition_situations import RUN, Log, Situation, broker_rows, plan_all
from pyspark.sql import SparkSession
from shared_session import share

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report import run
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.lost_records import sums

pytestmark = pytest.mark.slow


class LaterClock(datetime):
    """Ten days after the recovery."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        return cls(2026, 12, 1, 12, tzinfo=UTC)


def content(folder: Path) -> dict[str, bytes]:
    """Every file and folder."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


def test_check_mode_removes_brings_in_and_writes_nothing(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    share(spark, monkeypatch, run)
    monkeypatch.setattr(run, "datetime", LaterClock)
    workdir = tmp_path / "work"
    workdir.mkdir(mode=0o700)
    offline = Situation("orders", {2: Log.of((5, 3)), 3: Log.of((4, 3))})
    plan_all(workdir, {"east": [*broker_rows(3, {1: 3.5}), *offline.rows()]}, "balanced")
    params: dict[str, Any] = {
        **{"workdir": str(workdir), "run_ids": None, "clusters": None, "what_if_brokers": None, "ingest": True},
        **{"textfile": None, "retention_days": None, "page_files": None, "inventory": [], "run_options": [], "require_commit": False},
    }
    before = content(workdir)
    checked = run.report({**params, "run_id": "checked", "textfile": str(tmp_path / "own.prom")}, {}, check_mode=True)
    assert content(workdir) == before and not (tmp_path / "own.prom").exists()
    assert checked["record_counts"] == sums([])
    assert checked["summary"]["ingested"] == 0 and checked["html_path"].endswith("reports/checked/report.html")

    assert run.report({**params, "run_id": "first"}, {})["summary"]["ingested"] == 1
    before = content(workdir)
    with monkeypatch.context() as shorter:
        shorter.setattr(run, "STEPS_SHOWN", 0)
        checked = run.report({**params, "run_id": "checked", "retention_days": 1}, {}, check_mode=True)
    assert content(workdir) == before and checked["run_ids"] == [RUN]
    assert (checked["next_steps"], checked["steps_left_out"]) == ([], 1)
    # Files of commands are part of what is shown, in check mode, too.
    quoted = run.report({**params, "run_id": "checked", "inventory": ["/it's/hosts.yml"]}, {}, check_mode=True)
    assert {path for path, data in content(workdir).items() if before.get(path) != data and not path.startswith("commands")} == set()
    (step,) = quoted["next_steps"]
    assert quoted["steps_left_out"] == 0
    assert "/it" in Path(step["command"].removeprefix("bash ")).read_text()
    run.report({**params, "run_id": "second", "retention_days": 1}, {})
    assert content(workdir / "history") != {
        path.removeprefix("history/"): data for path, data in before.items() if path.startswith("history/")
    }
