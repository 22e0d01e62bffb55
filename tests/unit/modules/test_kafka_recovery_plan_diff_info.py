# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which plans the module compares."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from module_processes import run_module
from plan_samples import content

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import plan_file


def write(workdir: Path, run: str, at: int, **values: Any) -> Path:
    """Write a plan of a run that was changed `at`, in seconds."""
    path = workdir / "plans" / run / "east.json"
    path.parent.mkdir(parents=True)
    made = {**content(), "run_id": run, **values}
    path.write_text(json.dumps({**made, "sha256": plan_file.sha256(made)}))
    os.utime(path, (at, at))
    return path


def compare(workdir: Path, run: str, **options: Any) -> dict[str, Any]:
    return run_module("kafka_recovery_plan_diff_info", {"workdir": str(workdir), "cluster": "east", "run_id": run, **options})


def test_a_plan_is_compared_with_the_newest_one_before_or_the_one_that_is_named(tmp_path: Path) -> None:
    write(tmp_path, "z-oldest", 100, held=[])
    write(tmp_path, "a-newest", 200)
    write(tmp_path, "now", 300)
    write(tmp_path, "later", 400, held=[])
    result = compare(tmp_path, "now")
    assert (result["changed"], result["compared_with"], result["changed_partitions"]) == (False, "a-newest", 0)
    result = compare(tmp_path, "now", compare_with="z-oldest")
    assert (result["compared_with"], result["changed_partitions"]) == ("z-oldest", 1)
    assert result["lines"] == ["Compared with the plan z-oldest: 1 partition changed", "not in the plan -> held (forked), 1: orders-1"]
    first = compare(tmp_path, "z-oldest")
    assert first["compared_with"] is None and first["changes"] == []
    assert sorted(path.name for path in (tmp_path / "plans").iterdir()) == ["a-newest", "later", "now", "z-oldest"]


def test_plans_of_another_cluster_and_names_that_lead_elsewhere_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "other", 100, cluster_id="def")
    write(tmp_path, "now", 200)
    assert "plan of another cluster" in compare(tmp_path, "now")["msg"]
    assert "compare_with" in compare(tmp_path, "now", compare_with="../now")["msg"]
    assert "cannot be read" in compare(tmp_path, "now", compare_with="missing")["msg"]
    link = tmp_path / "plans" / "link"
    link.symlink_to(tmp_path / "plans" / "other")
    assert "link" in compare(tmp_path, "now", compare_with="link")["msg"]
