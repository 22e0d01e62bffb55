# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ingests new and changed files of the workdir into the history tables: each run as a whole, exactly once.

A file that cannot be used is quarantined with the reason, and all others are ingested. Files can be ingested at any later time.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from typing import Any

with suppress(ImportError):  # common.optional_imports names what is missing
    from pyspark.sql import DataFrame, SparkSession

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.comparison import Ranking
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import landing_format
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history import (
    decision_rows,
    healthy_rows,
    observed_rows,
    risk,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.input_files import (
    IMPACT,
    LANDING,
    PLAN,
    RESULT,
    Source,
    find,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.pending_runs import (
    QUARANTINE,
    Changes,
    RunBatch,
    leave_out_old,
    read_audit,
    thin_out,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.schemas import HEALTHY, RECOVERY
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.store import Publication, PublishedRun, Store
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.recovery import landing_lines, worker
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import local_frame

HISTORY = "history"
# Bytes of files that are published together. A killed run loses at most one publication.
BATCH_BYTES = 4 << 30
REFUSED = "origin string, cluster string, run_id string, refused_at timestamp, kind string, path string, reason string"


@dataclass
class Summary:
    """Counts of runs.

    ingested    runs that were ingested
    replaced    of these, the runs that had rows in the tables before
    unchanged   runs without a change
    left_out    runs that were left out because of thinning or age
    quarantine  rows (path, reason) of files that were refused now
    remarks     rows (cluster, run_id, remark) of anomalies
    """

    ingested: int = 0
    replaced: int = 0
    unchanged: int = 0
    left_out: int = 0
    quarantine: list[dict[str, str]] = field(default_factory=list)
    remarks: list[dict[str, str]] = field(default_factory=list)

    def add(self, other: Summary) -> None:
        """Add the counts and rows of `other`."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


def ingest(spark: SparkSession, workdir: Path, keep_days: int | None = None, now: datetime | None = None) -> Summary:
    """Ingest new and changed files below `workdir` into the tables in `<workdir>/history`.

    `keep_days`: leave out older runs, which `compaction.expire` would remove. Of healthy snapshots whose run id is a time, only the first of each hour
    and the newest are ingested. `now`: in UTC. Raises RecoveryError if the disk is full or another run writes for too long, FileError for unsafe folders.
    """
    now = now or datetime.now(UTC)
    store, found = Store(spark, workdir / HISTORY), find(workdir)
    files = thin_out(found)
    if keep_days is not None:
        files = leave_out_old(files, keep_days, now, read_audit(store.catalog, store.catalog.files()))
    summary, changes, done = Summary(left_out=len(found) - len(files)), Changes(files), set[PublishedRun]()
    while set(changes.of(read_audit(store.catalog, store.catalog.files()))) - done:
        batch, some = store.publish(lambda publication: _next_batch(spark, publication, RunBatch(files, {}, changes), done, now))
        summary.add(some)
        done.update(batch.headers)
    summary.unchanged = len(files) - len(done)
    return summary


def _next_batch(
    spark: SparkSession, publication: Publication, batch: RunBatch, done: Collection[PublishedRun], now: datetime
) -> tuple[RunBatch, Summary]:
    """Stage the rows of the next runs that are not `done`. Return them and their counts. `batch`: empty."""
    # Read again, because another run may have ingested some of the files meanwhile.
    batch.audit = read_audit(publication.catalog, publication.change.current)
    size = 0
    for run in batch.changes.of(batch.audit):
        if run in done:
            continue
        batch.check(run)
        size += sum(source.bytes for source in batch.files[run].values())
        if size >= BATCH_BYTES:
            break
    publication.change.clusters.update(run.cluster for run in batch.headers)
    return batch, _stage(spark, publication, batch, now)


def _stage(spark: SparkSession, publication: Publication, batch: RunBatch, now: datetime) -> Summary:
    """Stage the rows of a batch for all tables, recovery_audit last, because it counts the others."""
    worker.register_for_workers()
    _refuse_broken(spark, batch)
    rows, refused = batch.rows(now), batch.quarantine(now)
    if not rows:
        return Summary()
    runs = local_frame.frame(spark, rows, observed_rows.RUNS)
    for table, frame in _frames(spark, batch, runs, rows).items():
        publication.write(table, frame)
    if refused:
        publication.write(QUARANTINE, decision_rows.quarantine(runs, local_frame.frame(spark, refused, REFUSED)))
    publication.write("recovery_audit", decision_rows.recovery_audit(runs, publication.staged_tables()))
    publication.replaced.update(batch.replaced())
    return Summary(
        ingested=len(rows),
        replaced=len(publication.replaced),
        quarantine=[{"path": row["path"], "reason": row["reason"]} for row in refused],
        remarks=[{"cluster": row["cluster"], "run_id": row["run_id"], "remark": text} for row in rows for text in row["remarks"]],
    )


def _refuse_broken(spark: SparkSession, batch: RunBatch) -> None:
    """Refuse files with a valid seal that have lines without a valid partition, because it is not known which partitions are missing."""
    landing, snapshots = _paths(batch.usable(LANDING)), _paths(batch.usable(HEALTHY))
    for key, reason in observed_rows.faults(spark, landing).items() if landing else ():
        run_id, _slash, cluster = key.partition("/")
        batch.refuse(PublishedRun(RECOVERY, cluster, run_id), LANDING, reason)
    if snapshots:
        for row in healthy_rows.broken_files(spark, snapshots).collect():
            batch.refuse(PublishedRun(HEALTHY, row.cluster, row.run_id), HEALTHY, row.reason)


def _frames(spark: SparkSession, batch: RunBatch, runs: DataFrame, rows: list[dict[str, Any]]) -> dict[str, DataFrame]:
    """Return the new rows by table."""
    frames: dict[str, list[DataFrame]] = {}
    landing, snapshots, plans, results, looks = (batch.usable(kind) for kind in (LANDING, HEALTHY, PLAN, RESULT, IMPACT))
    recoveries, watched = (runs.where(runs["origin"] == origin) for origin in (RECOVERY, HEALTHY))
    if landing:
        clusters = {
            f"{source.run.run_id}/{source.run.cluster}": landing_lines.read_cluster(landing_format.header_of(source.path))
            for source in landing
        }
        frames["replica_log"] = [observed_rows.replica_log(spark, _paths(landing), clusters, recoveries)]
        rankings = {
            PublishedRun(row["origin"], row["cluster"], row["run_id"]): row["ranking"] or Ranking.LAST_WRITTEN_EPOCH for row in rows
        }
        for ranking in sorted({rankings[source.run] for source in landing}):
            ranked = [source for source in landing if rankings[source.run] == ranking]
            found = observed_rows.candidates(spark, _paths(ranked), recoveries, ranking)
            frames.setdefault("candidates", []).append(found)
    if snapshots:
        watermarks, brokers = healthy_rows.watermarks(spark, _paths(snapshots)), healthy_rows.brokers(spark, _paths(snapshots))
        frames.setdefault("replica_log", []).append(observed_rows.healthy_replica_log(watermarks, brokers, watched))
        frames["risk"] = [decision_rows.risk(risk.risks(watermarks, brokers), watched)]
    if plans:
        strategies = {f"{source.run.run_id}/{source.run.cluster}": batch.strategies(source.run) for source in plans}
        frames["plan"] = [decision_rows.plan(spark, _paths(plans), strategies, recoveries)]
        frames["loss"] = [decision_rows.loss(spark, _paths(plans), recoveries)]
    if results:
        frames["result"] = [decision_rows.result(spark, _paths(results), recoveries)]
    if looks:
        frames["impact"] = [decision_rows.impact(decision_rows.impact_documents(spark, _paths(looks)), recoveries)]
    return {table: reduce(DataFrame.unionByName, parts) for table, parts in frames.items()}


def _paths(sources: list[Source]) -> list[str]:
    return [str(source.path) for source in sources]
