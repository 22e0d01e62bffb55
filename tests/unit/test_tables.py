# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Schemas of the history tables: what the previous version wrote is read together with what is written today."""

from __future__ import annotations

import shutil
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline import local, tables
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.catalog import CatalogError, DataFile
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.compaction import compact
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.store import Store

# Written by the collection as it was. Version 1 of recovery_audit had no remarks, version 2 no impact; nor was there a table of that name.
FORMER = [Path(__file__).parent / name for name in ("tables_v1", "tables_v2")]
DAY = date(2026, 11, 19)


def private_copy(tmp_path: Path, former: Path = FORMER[-1]) -> Path:
    """A checkout has the modes that Git gives its files."""
    root = tmp_path / "history"
    shutil.copytree(former, root)
    for path in (root, *root.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return root


@pytest.mark.parametrize("former", FORMER, ids=lambda path: path.name)
def test_rows_of_former_versions_are_read_with_todays(spark: SparkSession, tmp_path: Path, former: Path) -> None:
    store = Store(spark, private_copy(tmp_path, former))
    number = int(former.name.removeprefix("tables_v"))
    assert {file.version for file in store.catalog.files() if file.table == "recovery_audit"} == {number}
    assert number < tables.version("recovery_audit") == 4
    old = {row.run_id: row for row in store.read("recovery_audit").collect()}
    assert old["run-0"].remarks == [] and old["run-0"].outcomes == {"elected": 1, "held": 1} and old["run-0"].date == DAY
    assert old["run-0"].impact is old["run-0"].impact_at is old["run-0"].impact_sha256 is None and store.read("impact").count() == 0
    assert old["run-0"].collected_at.replace(tzinfo=UTC) == datetime(2026, 11, 19, 4, tzinfo=UTC)
    told = {**old["run-0"].asDict(), "run_id": "run-1", "remarks": ["a clock went backwards"], "impact": {"groups": 3}}
    schema = f"{tables.SCHEMAS['recovery_audit']}, {tables.PARTITIONED_BY}"
    with store.publishing() as publication:
        publication.write("recovery_audit", local.frame(spark, [told], schema))
    both = {row.run_id: row.asDict() for row in store.read("recovery_audit").collect()}
    assert both["run-1"] == told and both["run-0"] == old["run-0"].asDict() and len(both) == 3
    # Files of two versions of one day stay two.
    assert compact(store.catalog, date(2026, 12, 1)) == 0
    held = store.read("result").where("outcome = 'held'").first()
    assert held is not None and held.reason_code is None, "results of before had none"
    assert store.read("recovery_audit", clusters=["west"]).count() == 0 == store.read("recovery_audit", since=date(2026, 11, 20)).count()


def test_a_newer_version_is_refused_in_one_line(spark: SparkSession, tmp_path: Path) -> None:
    store = Store(spark, private_copy(tmp_path))
    with store.catalog.writing() as change:
        staged = change.folder / "newer"
        shutil.copy(store.catalog.root / change.current[0].path, staged)
        change.added[DataFile.new("recovery_audit", "east", DAY, 5)] = staged
    with pytest.raises(
        CatalogError, match=r"recovery_audit has files of version 5, and 4 is the newest known here: .*newer version of the collection"
    ):
        store.read("recovery_audit")
    assert store.read("result").count() == 2


def test_every_former_schema_has_an_upgrade() -> None:
    former = {(table, version) for table in tables.SCHEMAS for version in range(1, tables.version(table))}
    assert tables.FORMER.keys() == former == tables.UPGRADES.keys()
    assert {table for names in tables.WRITTEN_BY.values() for table in names} == tables.SCHEMAS.keys()
