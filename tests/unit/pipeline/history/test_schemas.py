# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Schemas of the history tables: what is written is read back, and tables of another version are refused."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history import schemas
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.ingest import ingest
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.store import Store
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import local_frame

DAY = date(2026, 11, 19)
AUDIT = {
    **dict.fromkeys(schemas.columns("recovery_audit")),
    **{"run_id": "run-1", "origin": schemas.RECOVERY, "cluster": "east", "date": DAY, "collected_at": datetime(2026, 11, 19, 4)},
    **{"outcomes": {"elected": 1}, "table_rows": {}, "remarks": ["a clock went backwards"], "impact": {"groups": 3}, "dry_run": False},
}
# A history as this project wrote it before all tables had one version.
FORMER = """{"version": 1, "replaced": [],
"files": ["recovery_audit/cluster=east/date=2026-11-19/befae74c768f45938a9e216f799fc924.v4.parquet"]}"""


@pytest.mark.slow
def test_rows_are_read_as_they_were_written(spark: SparkSession, tmp_path: Path) -> None:
    store = Store(spark, tmp_path / "history")
    schema = f"{schemas.SCHEMAS['recovery_audit']}, {schemas.PARTITIONED_BY}"
    store.publish(lambda publication: publication.write("recovery_audit", local_frame.frame(spark, [AUDIT], schema)))
    assert [row.asDict() for row in store.read("recovery_audit").collect()] == [AUDIT]
    assert store.read("recovery_audit", clusters=["west"]).count() == 0 == store.read("recovery_audit", since=date(2026, 11, 20)).count()
    assert store.read("impact").count() == 0


def test_tables_of_another_version_are_refused_in_one_line(spark: SparkSession, tmp_path: Path) -> None:
    manifest = tmp_path / "history" / "manifest.json"
    manifest.parent.mkdir(mode=0o700)
    manifest.write_text(FORMER)
    refusal = rf"^{manifest}: version 1 of the history tables is not {schemas.VERSION}; move {manifest.parent} away, and the tables are made again"
    for read in (lambda: Store(spark, manifest.parent).read("recovery_audit"), lambda: ingest(spark, tmp_path)):
        with pytest.raises(RecoveryError, match=refusal) as raised:
            read()
        assert "\n" not in str(raised.value)
    assert manifest.read_text() == FORMER
    # The remedy is one.
    manifest.parent.rename(tmp_path / "history-of-before")
    assert ingest(spark, tmp_path).ingested == 0


def test_every_table_is_written_by_an_origin() -> None:
    assert {table for names in schemas.WRITTEN_BY.values() for table in names} == schemas.SCHEMAS.keys()
