# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps the history tables small: merges the files of a day, and removes old days. Needs no Spark."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import groupby

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.catalog import Catalog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.manifest import DataFile, TableChange
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.parquet_rewrite import rewrite
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.schemas import AUDIT

# A change is committed when it has rewritten so many bytes. A killed run loses at most one change.
COMMIT_BYTES = 256 << 20


def compact(catalog: Catalog, today: date) -> int:
    """Merge the files of every table, cluster and day before `today` (UTC). Return by how many files the tables have shrunk. Rows do not change.

    Raises RecoveryError as `Catalog.change` does. A killed run loses at most the last COMMIT_BYTES.
    """
    fewer = 0
    while _mergeable(catalog.files(), today):
        fewer += catalog.change(lambda change: _merge(catalog, change, today))
    return fewer


def _mergeable(files: tuple[DataFile, ...], today: date) -> list[list[DataFile]]:
    """Return groups of files that can be merged: of one table, cluster and day."""
    past = [file for file in files if file.date < today]
    groups = (list(group) for _key, group in groupby(past, key=lambda file: (file.table, file.cluster, file.date)))
    return [group for group in groups if len(group) > 1]


def _merge(catalog: Catalog, change: TableChange, today: date) -> int:
    fewer = written = 0
    for group in _mergeable(change.current, today):
        merged = DataFile.new(group[0].table, group[0].cluster, group[0].date)
        target = change.folder / merged.path.replace("/", "_")
        rows = rewrite(catalog.local(group), target)
        change.replace(group, (merged, target) if rows else None)
        fewer += len(group) - (1 if rows else 0)
        written += target.stat().st_size if rows else 0
        if written >= COMMIT_BYTES:
            break
    return fewer


def expire(catalog: Catalog, today: date, days: int, audit_days: int | None = None) -> int:
    """Remove the days before `today` (UTC) minus `days`, of recovery_audit those before `today` minus `audit_days` (None: keep all).

    Returns how many files were removed. Raises RecoveryError if the audit would be kept for less time than the other tables, or if `days` is
    below 1, and RecoveryError as `Catalog.change` does.
    """
    if days < 1 or (audit_days is not None and audit_days < days):
        raise RecoveryError(
            f"history for {days} days and its audit for {audit_days} cannot be kept: give at least 1 day, and for the audit no less than for the rest"
        )
    first = {True: date.min if audit_days is None else day_before(today, audit_days), False: day_before(today, days)}

    def too_old(files: tuple[DataFile, ...]) -> list[DataFile]:
        return [file for file in files if file.date < first[file.table == AUDIT]]

    def remove(change: TableChange) -> int:
        gone = too_old(change.current)
        change.replace(gone, None)
        return len(gone)

    return catalog.change(remove) if too_old(catalog.files()) else 0


def day_before(today: date, days: int) -> date:
    """Return the day `days` before `today`, at the earliest date.min."""
    return today - timedelta(days=min(days, (today - date.min).days))
