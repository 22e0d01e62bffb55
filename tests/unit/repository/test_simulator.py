# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fleet simulator of the benchmarks: from a seed, and such as a collection could have written it."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench import plain
from bench.simulator import MIXTURE, Fleet, write_fleet, write_history
from pyspark.sql import SparkSession

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import landing_format, plan_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.recovery import plan_files

FLEET = Fleet(clusters=2, partitions=600)


def files(workdir: Path) -> dict[str, bytes]:
    return {str(path.relative_to(workdir)): path.read_bytes() for path in workdir.rglob("*.jsonl")}


def test_one_seed_gives_one_fleet(tmp_path: Path) -> None:
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        write_fleet(Fleet(2, 50, seed=seed), tmp_path / name, "run", processes=1)
        write_history(Fleet(2, 50, seed=seed), tmp_path / name, days=2, processes=1)
    assert files(tmp_path / "one") == files(tmp_path / "again")
    assert len(files(tmp_path / "one")) == 2 + 2 * 2
    assert all(content != files(tmp_path / "one")[name] for name, content in files(tmp_path / "other").items())


def test_every_file_is_sealed(tmp_path: Path) -> None:
    write_history(Fleet(1, 50), tmp_path, days=3, processes=1)
    headers = [landing_format.check(path) for path in sorted(tmp_path.rglob("*.jsonl"))]
    assert [header["run_id"] for header in headers] == ["2026-01-31T03-00-00Z", "2026-02-01T03-00-00Z", "2026-02-02T03-00-00Z"]


@pytest.mark.slow
def test_every_kind_of_damage_is_planned_and_no_row_is_unsound(spark: SparkSession, tmp_path: Path) -> None:
    write_fleet(FLEET, tmp_path, "run", processes=1)
    done = plan_files.write_plans(spark, plan_files.find_landing_files(tmp_path, "run", None), tmp_path, "balanced", "last_written_epoch")
    assert done["quarantine"] == []
    rows = [row for plan in done["plans"] for section in ("partitions", "held") for row in plan_file.load(plan["path"])[section]]
    assert not [row for row in rows if "cannot be trusted" in row["explanation"]]
    held = set(done["summary"]["held_by_reason"])
    assert held >= {"forked", "incomplete", "no_survivor", "below_high_watermark", "wait_for_clean_leader"}
    assert len(rows) + done["summary"]["online"] == FLEET.clusters * FLEET.partitions
    assert done["summary"]["online"] > 0 and set(MIXTURE) >= {"online", "same", "prefix"}
    assert plain.plan(tmp_path, "run") == {key: done["summary"][key] for key in ("elect", "held", "online")}
