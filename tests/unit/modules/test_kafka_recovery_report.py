# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with the options of the module is said before Spark is started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from missing_library import without
from module_processes import run_module
from shared_session import run_here

MODULE = "kafka_recovery_report"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"run_id": "../etc"}, "run_id '../etc' cannot be a file name"),
        ({"textfile": "/tmp/metrics.txt"}, "must end with .prom"),
        ({"retention_days": 0}, "retention_days is 0: it must be 1 or more"),
        ({}, "JAVA_HOME is /nonexistent"),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], message: str) -> None:
    """There is no Java."""
    monkeypatch.setenv("JAVA_HOME", "/nonexistent")
    result = run_here(MODULE, {"workdir": str(tmp_path / "work"), "run_id": "1", **options})
    assert result["failed"] and message in result["msg"]
    assert not list(tmp_path.glob("work/reports/*/report.*"))


def test_a_library_that_is_missing_is_named(tmp_path: Path) -> None:
    result = run_module(MODULE, {"workdir": str(tmp_path / "work"), "run_id": "1"}, without("pygal", tmp_path))
    assert "pygal" in result["msg"]
