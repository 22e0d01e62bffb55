# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module as Ansible starts it: what is wrong with its options is said before Spark is started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from missing_library import without
from module_processes import run_module


def refused(tmp_path: Path, environment: dict[str, str] | None = None, **options: Any) -> str:
    """Run the module without any Java, and return its error."""
    options = {"workdir": str(tmp_path / "work"), "run_id": "1", **options}
    result = run_module("kafka_recovery_report", options, {"JAVA_HOME": "/nonexistent", **(environment or {})})
    assert result["failed"] and not list(tmp_path.glob("work/reports/*/report.*"))
    return str(result["msg"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"run_id": "../etc"}, "run_id '../etc' cannot be a file name"),
        ({"textfile": "/tmp/metrics.txt"}, "must end with .prom"),
        ({"retention_days": 0}, "retention_days is 0: it must be 1 or more"),
        ({}, "JAVA_HOME is /nonexistent"),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    assert message in refused(tmp_path, **options)


def test_a_library_that_is_missing_is_named(tmp_path: Path) -> None:
    assert "pygal" in refused(tmp_path, without("pygal", tmp_path))
