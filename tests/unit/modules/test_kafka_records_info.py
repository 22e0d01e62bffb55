# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module as Ansible starts it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from missing_library import without
from module_processes import run_module
from record_batches import batch
from saved_folders import save


@pytest.mark.slow
def test_it_exports_once_and_needs_no_cluster(tmp_path: Path) -> None:
    work, path = tmp_path / "work", tmp_path / "records.jsonl"
    save(work, {("t", 0, 2, 0): batch(0, 3)})
    options = {"workdir": str(work), "run_id": "1", "cluster": "east", "export": str(path)}
    result = run_module("kafka_records_info", options, without("kafka", tmp_path))
    assert result["changed"] and [json.loads(line)["offset"] for line in path.read_text().splitlines()] == [0, 1, 2]
    assert not run_module("kafka_records_info", options)["changed"]
    assert "exists with other content" in run_module("kafka_records_info", {**options, "run_id": "2"})["msg"]
    named = {"topics": ["t"], "partitions": [{"topic": "t", "partition": 0}]}
    assert "mutually exclusive" in run_module("kafka_records_info", {**options, **named})["msg"]


def test_a_library_that_is_missing_is_named(tmp_path: Path) -> None:
    options = {"workdir": str(tmp_path), "run_id": "1", "cluster": "east"}
    assert "pyarrow" in run_module("kafka_records_info", options, without("pyarrow", tmp_path))["msg"]
