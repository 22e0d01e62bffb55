# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the runs that are to be ingested into the history tables, and checks their files. Needs no Spark."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any

with suppress(ImportError):  # common.optional_imports names what is missing
    import pyarrow.parquet as pq

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import timestamps
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError, printable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.comparison import Ranking
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.healthy_snapshot import time_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats.impact_file import COUNTS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.catalog import Catalog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.compaction import day_before
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.file_rows import Strategies
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.input_files import (
    IMPACT,
    LANDING,
    PLAN,
    RESULT,
    Source,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.manifest import DataFile
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.schemas import AUDIT, HEALTHY, WRITTEN_BY
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.store import PublishedRun

Row = dict[str, Any]
Files = Mapping[PublishedRun, Mapping[str, Source]]

# The column of recovery_audit with the digest of a file of each kind, and the tables that have rows from it.
DIGEST = {
    LANDING: "landing_sha256",
    HEALTHY: "landing_sha256",
    PLAN: "plan_sha256",
    RESULT: "result_sha256",
    IMPACT: "impact_sha256",
}
TABLES = {
    LANDING: ("replica_log", "candidates"),
    PLAN: ("plan", "loss"),
    RESULT: ("result",),
    IMPACT: ("impact",),
    HEALTHY: ("replica_log", "risk"),
}
# The field of a file's header with its time, and the column that keeps it.
TIMES = {
    LANDING: ("collected_at", "collected_at"),
    HEALTHY: ("collected_at", "collected_at"),
    PLAN: ("created_at", "planned_at"),
    RESULT: ("finished_at", "finished_at"),
    IMPACT: ("observed_at", "impact_at"),
}
DIGESTS = ("landing_sha256", "plan_sha256", "result_sha256", "impact_sha256")
# Further columns of an audit row, by the kind of file that they come from.
DECIDED = ("plan_id", "strategy", "ranking", "dry_run")
FOUND = ("impact",)
ENDED = ("data_loss_allowed", "other_offline")
COLUMNS_BY_KIND = {PLAN: DECIDED, IMPACT: FOUND, RESULT: ENDED}
KNOWN = (
    "run_id",
    "origin",
    "cluster_id",
    "collected_at",
    "planned_at",
    "finished_at",
    "strategy",
    "ranking",
    "backend",
    "impact_at",
    "dry_run",
    *ENDED,
    *FOUND,
    *DIGESTS,
    "outcomes",
    "table_rows",
)
QUARANTINE = "quarantine"


def read_audit(catalog: Catalog, files: Iterable[DataFile]) -> dict[PublishedRun, Row]:
    """Return the audit rows of the runs in the tables: the columns of KNOWN, and `date`. `files`: of all tables."""
    found, audits = {}, [file for file in files if file.table == AUDIT]
    for file, path in zip(audits, catalog.local(audits), strict=True):
        with pq.ParquetFile(path) as stream:
            for row in stream.read(columns=list(KNOWN)).to_pylist(maps_as_pydicts="strict"):
                found[PublishedRun(row["origin"], file.cluster, row["run_id"])] = {**row, "date": file.date}
    return found


def thin_out(files: Files) -> dict[PublishedRun, Mapping[str, Source]]:
    """Return `files` without healthy snapshots that are neither the first of their hour nor the newest of their cluster.

    Snapshots whose run id is not a time are all kept.
    """
    kept: dict[PublishedRun, Mapping[str, Source]] = {}
    hours: set[tuple[str, datetime]] = set()
    newest: dict[str, PublishedRun] = {}
    for run in sorted(files):
        time = time_of(f"{run.run_id}.jsonl") if run.origin == HEALTHY else None
        if time is None:
            kept[run] = files[run]
            continue
        newest[run.cluster] = run
        hour = (run.cluster, time.replace(minute=0, second=0))
        if hour not in hours:
            hours.add(hour)
            kept[run] = files[run]
    return {**kept, **{run: files[run] for run in newest.values()}}


def leave_out_old(files: Files, days: int, now: datetime, audit: Collection[PublishedRun]) -> dict[PublishedRun, Mapping[str, Source]]:
    """Return `files` without runs that are older than `days` and not in the tables (`audit`), from which they would be removed again.

    The age of a run is that of its run id if this is a time, else that of its last changed file. `now`: in UTC.
    """
    first = day_before(now.date(), days)

    def written(run: PublishedRun) -> date:
        named = time_of(f"{run.run_id}.jsonl")
        return (named or datetime.fromtimestamp(max(source.changed_at for source in files[run].values()) / 1e9, UTC)).date()

    return {run: sources for run, sources in files.items() if run in audit or written(run) >= first}


class Changes:
    """Finds runs with new or changed files. The digest of each file is computed once, before the file is read."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._digests: dict[Source, str] = {}

    def of(self, audit: Mapping[PublishedRun, Row]) -> list[PublishedRun]:
        """Return the runs whose files differ from those in the tables, the oldest files first."""
        changed = [run for run in self._files if run not in audit or self.kinds(run, audit[run])]
        return sorted(changed, key=lambda run: (min(source.changed_at for source in self._files[run].values()), run))

    def kinds(self, run: PublishedRun, row: Row) -> list[str]:
        """Return the kinds of files of a run that differ from the digests in its audit row (`row`)."""
        return [kind for kind, source in self._files[run].items() if not self._same(source, row[DIGEST[kind]])]

    def digest(self, source: Source) -> str:
        """Return the digest of a file, computed at the first call."""
        if source not in self._digests:
            self._digests[source] = source.digest()
        return self._digests[source]

    def _same(self, source: Source, digest: str | None) -> bool:
        """Return whether `digest` is that of this file, or of its content, which the tables have for a refused file."""
        return digest is not None and (digest == self.digest(source) or digest == source.content_digest())


@dataclass
class RunBatch:
    """Runs that are being ingested. `audit`: audit rows of the tables; `headers`, `refused`: by run and kind, of usable and of refused files."""

    files: Files
    audit: Mapping[PublishedRun, Row]
    changes: Changes
    headers: dict[PublishedRun, dict[str, Row]] = field(default_factory=dict)
    refused: dict[PublishedRun, dict[str, str]] = field(default_factory=dict)

    def check(self, run: PublishedRun) -> None:
        """Check the files of a run and add it to the batch. Raises nothing for a file that cannot be used: it is `refused` with the reason."""
        headers: dict[str, Row] = {}
        refused: dict[str, str] = {}
        for kind, source in self.files[run].items():
            try:
                headers[kind] = _header(source, next(iter(headers.values()), self.audit.get(run)))
            except RecoveryError as error:
                refused[kind] = str(error)
        self.headers[run], self.refused[run] = headers, refused

    def refuse(self, run: PublishedRun, kind: str, reason: str) -> None:
        """Refuse a file that has passed `check`: `usable` no longer returns it. `reason`: a sentence for the quarantine."""
        self.refused[run][kind] = reason
        del self.headers[run][kind]

    def usable(self, kind: str) -> list[Source]:
        """Return the files of a kind (LANDING, PLAN, RESULT, IMPACT, HEALTHY) that have passed the checks."""
        return [self.files[run][kind] for run in self.headers if kind in self.headers[run]]

    def strategies(self, run: PublishedRun) -> Strategies:
        """Return the strategies of the plan of a run, which must be usable."""
        header = self.headers[run][PLAN]
        return Strategies(header["strategy"], {row["topic"]: row["strategy"] for row in header["topic_strategies"]})

    def replaced(self) -> dict[PublishedRun, set[str]]:
        """Return the runs of the batch that are in the tables, and the tables from which their rows must be removed."""
        return {run: set(WRITTEN_BY[run.origin]) - self._kept_tables(run) for run in self.headers if run in self.audit}

    def rows(self, now: datetime) -> list[Row]:
        """Return one row per run with the columns of `observed_rows.RUNS`. `now`: dates runs whose files have no time."""
        last = _last(self.audit)
        return [self._row(run, last, now) for run in self.headers]

    def quarantine(self, now: datetime) -> list[Row]:
        """Return one row per refused file, for `decision_rows.quarantine`. `now`: the time of the refusal."""
        return [
            {"origin": run.origin, "cluster": run.cluster, "run_id": run.run_id, "refused_at": now, "kind": kind,
             "path": printable(str(self.files[run][kind].path)), "reason": printable(reason)}
            for run, reasons in self.refused.items()
            for kind, reason in sorted(reasons.items())
        ]  # fmt: skip

    def _kept(self, run: PublishedRun) -> set[str]:
        """Return the kinds of files of which the tables have rows, but which are gone or unusable now. Their rows are kept."""
        before = self.audit.get(run, {})
        return {kind for kind in TABLES if (kind == HEALTHY) == (run.origin == HEALTHY) and before.get(DIGEST[kind])} - self.headers[
            run
        ].keys()

    def _kept_tables(self, run: PublishedRun) -> set[str]:
        return {table for kind in self._kept(run) for table in TABLES[kind]}

    def _row(self, run: PublishedRun, last: dict[tuple[str, str], Row], now: datetime) -> Row:
        headers, before, kept = self.headers[run], self.audit.get(run, {}), self._kept(run)
        time_columns = tuple(dict.fromkeys(name for _table, name in TIMES.values()))
        row: Row = dict.fromkeys(("cluster_id", "backend", *time_columns, *DECIDED, *FOUND, *ENDED, *DIGESTS))
        for kind in kept:
            names = ("cluster_id", "backend", TIMES[kind][1], DIGEST[kind], *COLUMNS_BY_KIND.get(kind, ()))
            row |= {name: before[name] for name in names if before.get(name) is not None}
        for kind, header in headers.items():
            written, name = TIMES[kind]
            row |= {"cluster_id": header["cluster_id"], "backend": header["backend"] or row["backend"], name: header[written]}
            row |= {name: header[name] for name in COLUMNS_BY_KIND.get(kind, ())}
        for kind, source in self.files[run].items():
            row[DIGEST[kind]] = source.content_digest() if kind in self.refused[run] else self.changes.digest(source)
        times = [row[name] for name in time_columns if row[name]]
        tables_kept = self._kept_tables(run)
        row |= {
            "key": "/".join(run[1:] if run.origin == HEALTHY else (run.run_id, run.cluster)),
            "run_id": run.run_id,
            "origin": run.origin,
            "cluster": run.cluster,
            "date": (times[0] if times else now).astimezone(UTC).date(),
            "kept_rows": {table: count for table, count in (before.get("table_rows") or {}).items() if table in tables_kept},
            "kept_outcomes": before.get("outcomes") if RESULT in kept else None,
            "remarks": self._remarks(run, row, last.get((run.origin, run.cluster))),
        }
        if row["collected_at"]:
            before_it = last.get((run.origin, run.cluster))
            if before_it is None or row["collected_at"] >= before_it["collected_at"]:
                last[run.origin, run.cluster] = row
        return row

    def _remarks(self, run: PublishedRun, row: Row, last: Row | None) -> list[str]:
        found = [f"its {kind} file was refused: {reason}" for kind, reason in sorted(self.refused[run].items())]
        if run in self.audit:
            changed = self.changes.kinds(run, self.audit[run])
            for kind in changed:
                if self.audit[run][DIGEST[kind]] and not (kind in self.headers[run] and _changed_by_impact(kind, changed)):
                    rows = "the rows are those of the former one" if kind in self.refused[run] else "its rows were replaced"
                    found.append(f"its {kind} file has changed since it was ingested: {rows}")
        elif last and row["collected_at"] and row["collected_at"] < last["collected_at"]:
            found.append(
                f"collected at {row['collected_at']:{timestamps.FORMAT}}, before run {last['run_id']} ({last['collected_at']:{timestamps.FORMAT}}), "
                "which was written earlier: a clock went backwards"
            )
        if last and row["cluster_id"] and last["cluster_id"] and row["cluster_id"] != last["cluster_id"]:
            found.append(
                f"its cluster id is {row['cluster_id']}, and that of run {last['run_id']} {last['cluster_id']}: another cluster under the same name"
            )
        if row["planned_at"] and row["collected_at"] and row["planned_at"] < row["collected_at"]:
            found.append("its plan is older than its evidence: the evidence was collected again, or a clock went backwards")
        return [printable(text) for text in found]


def _last(audit: Mapping[PublishedRun, Row]) -> dict[tuple[str, str], Row]:
    """Return the audit row of the last run with a time, by origin and cluster."""
    timed = sorted((row["collected_at"], run) for run, row in audit.items() if row["collected_at"])
    return {(run.origin, run.cluster): audit[run] for _time, run in timed}


def _changed_by_impact(kind: str, changed: Collection[str]) -> bool:
    """Return whether a file has changed because the impact was read again, which also changes the results."""
    return kind == IMPACT or (kind == RESULT and IMPACT in changed)


def _header(source: Source, other: Row | None) -> Row:
    """Return the header of a valid file, with its time as datetime. Raises RecoveryError if the file is not valid, or if it is a plan, a results or an
    impact file of another cluster id than `other`, the known facts of its run."""
    header = source.check()
    if other and other["cluster_id"] not in (None, header["cluster_id"]) and source.kind in (PLAN, RESULT, IMPACT):
        raise RecoveryError(f"its cluster id is {header['cluster_id']}, and that of the run {other['cluster_id']}")
    if source.kind == PLAN and header["ranking"] not in list(Ranking):
        raise RecoveryError(f"its ranking {header['ranking']} is not one of {', '.join(Ranking)}")
    name = TIMES[source.kind][0]
    try:
        time = timestamps.read(header[name])
    except ValueError as error:
        raise RecoveryError(f"its {name} {header[name]} is not a time such as 2026-01-31T03:00:00Z") from error
    impact = {count: header["summary"][count] for count in COUNTS} if source.kind == IMPACT else None
    known = {key: header.get(key) for key in ("cluster_id", "backend", "data_loss_allowed", "topic_strategies", *DECIDED)}
    return {**known, "other_offline": header.get("other_offline_partitions"), "impact": impact, name: time}
