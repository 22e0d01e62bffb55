# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Small files become one per cluster and day, and old days go. That a kill does no harm is tested with the manifest."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest
from history_tables import DAY, found, publish

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history import compaction
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.catalog import Catalog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.schemas import HEALTHY
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.store import PublishedRun

TODAY = DAY + timedelta(days=2)


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """Four snapshots of two clusters on each of three days, published hour by hour."""
    catalog = Catalog(tmp_path / "history")
    for days in range(3):
        for hour in range(4):
            runs = {
                PublishedRun(HEALTHY, cluster, f"{days}-{hour:02}"): (
                    DAY + timedelta(days=days),
                    {"risk": [hour, hour + 1], "replica_log": range(hour), "recovery_audit": [hour]},
                )
                for cluster in ("east", "west")
            }
            publish(catalog, runs, {})
    return catalog


def test_past_days_become_one_file_each_and_every_row_stays(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    before, files = found(catalog), len(catalog.files())
    # So small that several commits are needed.
    monkeypatch.setattr(compaction, "COMMIT_BYTES", 2000)
    fewer = compaction.compact(catalog, TODAY)
    assert found(catalog) == before and len(catalog.files()) == files - fewer
    per_day: dict[date, int] = {}
    for file in catalog.files():
        per_day[file.date] = per_day.get(file.date, 0) + 1
    # Three tables of two clusters; today is left as it is: the first snapshot has no replicas.
    assert per_day == {DAY: 6, DAY + timedelta(days=1): 6, TODAY: 2 * (4 + 3 + 4)}
    assert compaction.compact(catalog, TODAY) == 0
    # A run in a file with others is still replaced alone.
    run = PublishedRun(HEALTHY, "east", "0-02")
    publish(catalog, {run: (DAY, {"risk": [99]})}, {run: ("risk",)})
    wanted = {row: number for row, number in before.items() if row[:2] != ("risk", "east") or row[3] != "0-02"}
    assert found(catalog) == {**wanted, ("risk", "east", DAY, "0-02", 99): 1}


def test_old_days_go_and_their_audit_stays_longer(catalog: Catalog) -> None:
    assert compaction.expire(catalog, TODAY, 1) > 0
    assert {(file.table, file.date) for file in catalog.files() if file.date == DAY} == {("recovery_audit", DAY)}
    assert {file.table for file in catalog.files() if file.date == DAY + timedelta(days=1)} == {"risk", "replica_log", "recovery_audit"}
    compaction.expire(catalog, TODAY, 1, audit_days=1)
    assert {file.date for file in catalog.files()} == {DAY + timedelta(days=1), TODAY}
    assert compaction.expire(catalog, TODAY, 1, audit_days=1) == 0


@pytest.mark.parametrize(("days", "audit_days"), [(0, None), (-1, None), (30, 7)])
def test_days_that_cannot_be_meant(tmp_path: Path, days: int, audit_days: int | None) -> None:
    catalog = Catalog(tmp_path / "history")
    with pytest.raises(RecoveryError, match="at least 1 day, and for the audit no less"):
        compaction.expire(catalog, TODAY, days, audit_days)


def test_more_days_than_there_ever_were_keep_everything(catalog: Catalog) -> None:
    assert compaction.expire(catalog, TODAY, 10**9, 10**12) == 0
