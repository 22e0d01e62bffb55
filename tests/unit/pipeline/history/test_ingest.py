# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the files of a workdir to rows of the history tables, whatever state the files are in."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import healthy_files
import pyarrow.parquet as pq
import pytest
from impact_samples import impact, write
from partition_situations import FENCED, RUN, Log, Situation, broker_rows, land, plan_all
from pyspark.sql import SparkSession

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history import schemas
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.ingest import HISTORY, Summary, ingest
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.store import Store

LONG, SHORT = Log.of((5, 3), high_watermark=4), Log.of((3, 3), high_watermark=2)
PARTITIONS = (
    Situation("orders", {1: FENCED, 2: LONG, 3: SHORT}, 0),
    Situation("orders", {1: FENCED, 2: Log.of((2, 1), (3, 3)), 3: Log.of((4, 1))}, 1),
    Situation("orders", {1: FENCED, 2: Log.of((2, 1)), 3: FENCED}, 2, state={"leader": 2}),
)
pytestmark = pytest.mark.slow
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def rows(*partitions: Situation) -> list[dict[str, Any]]:
    return [*broker_rows(3, {1: 3.5}), *(row for partition in partitions for row in partition.rows())]


def results(workdir: Path, cluster: str = "east", run_id: str = RUN, outcome: str = "elected", **changes: Any) -> Path:
    """A results file as `RecoveryResults.write` writes it."""
    decision = {"leader": 2, "designated_leader": 2, "evidence": "prefix", "reason_code": None, "reason": None}
    partitions = [
        {"topic": "orders", "partition": 0, "outcome": outcome, **decision},
        {"topic": "orders", "partition": 1, "outcome": "held", **decision},
    ]
    document = {
        "cluster": cluster, "cluster_id": f"id-of-{cluster}", "run_id": run_id, "plan_id": None, "backend": "compat",
        "finished_at": "2026-11-21T04:05:00Z", "data_loss_allowed": True, "other_offline_partitions": 0, "summary": {}, "partitions": partitions, **changes,
    }  # fmt: skip
    path = workdir / "results" / run_id / f"{cluster}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    return path


class Tables:
    """The tables of a workdir, filled with Spark and read without, which is faster."""

    def __init__(self, spark: SparkSession, workdir: Path) -> None:
        self._spark = spark
        self._workdir = workdir
        self.store = Store(spark, workdir / HISTORY)

    def ingest(self) -> Summary:
        return ingest(self._spark, self._workdir, now=NOW)

    def rows(self, table: str, **wanted: Any) -> list[dict[str, Any]]:
        catalog, found = self.store.catalog, []
        for file in catalog.files():
            if file.table == table:
                rows = pq.ParquetFile(catalog.root / file.path).read().to_pylist(maps_as_pydicts="strict")
                found += [{**row, "cluster": file.cluster, "date": file.date} for row in rows]
        return [row for row in found if all(row[name] == value for name, value in wanted.items())]

    def all(self) -> dict[str, Counter[str]]:
        """Every row of every table."""
        return {table: Counter(repr(sorted(row.items(), key=str)) for row in self.rows(table)) for table in schemas.SCHEMAS}


def remarks(found: Iterable[Mapping[str, Any]]) -> str:
    return " | ".join(text for row in found for text in row["remarks"])


def sealed(path: Path, lines: Sequence[bytes]) -> None:
    """Write lines with a seal that fits them."""
    seal = {"kind": "seal", "rows": len(lines), "sha256": hashlib.sha256(b"".join(lines)).hexdigest()}
    path.write_bytes(b"".join(lines) + json.dumps(seal, separators=(",", ":")).encode() + b"\n")


def test_a_recovery_and_a_snapshot_whole(spark: SparkSession, tmp_path: Path) -> None:
    plan_all(tmp_path, {"east": rows(*PARTITIONS), "west": rows(PARTITIONS[0])}, "balanced")
    results(tmp_path)
    marks = [healthy_files.mark("orders"), healthy_files.mark("orders", 1, isr=[1], replica_ends=[[1, 100], [3, 40]])]
    healthy_files.write(tmp_path, "2026-11-20T23-59-00Z", [*map(healthy_files.broker, (1, 2, 3)), *marks], cluster_id="id-of-east")
    history = Tables(spark, tmp_path)
    done = history.ingest()
    assert (done.ingested, done.replaced, done.quarantine, done.remarks) == (3, 0, [], [])
    logs = {(row["origin"], row["cluster"], row["partition"], row["broker_id"]): row for row in history.rows("replica_log")}
    assert len(logs) == 9 + 3 + 6
    seen = logs["recovery", "east", 0, 2]
    assert (seen["log_end_offset"], seen["high_watermark"], seen["last_written_epoch"], seen["broker_state"]) == (5, 4, 3, "unfenced")
    assert seen["date"] == date(2026, 11, 21) and seen["observed_at"] == datetime(2026, 11, 21, 4, tzinfo=UTC)
    lags = {broker: logs["healthy", "east", 1, broker] for broker in (1, 2, 3)}
    assert [lags[broker]["log_end_offset"] for broker in (1, 2, 3)] == [100, None, 40]
    assert [lags[broker]["in_isr"] for broker in (1, 2, 3)] == [True, False, False] and lags[1]["date"] == date(2026, 11, 20)
    ranked = {(row["cluster"], row["partition"], row["place"]): row for row in history.rows("candidates")}
    assert ranked["east", 0, 1]["broker_id"] == 2 and ranked["east", 0, 2]["relation_to_winner"] == "prefix"
    assert ranked["east", 1, 1]["evidence"] == "forked" and ranked["east", 1, 2]["common_offset"] == 2 and len(ranked) == 6
    planned = {(row["cluster"], row["partition"]): row for row in history.rows("plan")}
    plan = json.loads((tmp_path / "plans" / RUN / "east.json").read_text())
    assert planned["east", 0]["section"] == "partitions" and planned["east", 0]["explanation"] == plan["partitions"][0]["explanation"]
    assert (
        planned["east", 1]["reason_code"] == plan["held"][0]["reason_code"]
        and planned["east", 2]["section"] == "online"
        and len(planned) == 4
    )
    lost = {(row["cluster"], row["partition"]): row for row in history.rows("loss")}
    for entry in (*plan["partitions"], *plan["held"]):
        row = lost["east", entry["partition"]]
        assert {key: row[key] for key in entry["loss"]} == entry["loss"]
    assert len(lost) == 3 and len(history.rows("result")) == 2
    assert [row["risks"][0] for row in history.rows("risk")] == ["no_eligible_leader"]
    audit = {(row["origin"], row["cluster"]): row for row in history.rows("recovery_audit")}
    assert audit["recovery", "east"]["outcomes"] == {"elected": 1, "held": 1} and audit["recovery", "east"]["partitions"] == 3
    assert audit["recovery", "east"]["table_rows"] == {"replica_log": 9, "candidates": 4, "plan": 3, "loss": 2, "result": 2}
    assert audit["healthy", "east"]["table_rows"] == {"replica_log": 6, "risk": 1} and audit["healthy", "east"]["partitions"] == 2

    # Again: nothing. With results that changed: only those rows, and the same ones otherwise.
    before = history.all()
    manifest = (tmp_path / HISTORY / "manifest.json").read_bytes()
    assert history.ingest() == Summary(unchanged=3) and (tmp_path / HISTORY / "manifest.json").read_bytes() == manifest
    results(tmp_path, outcome="failed")
    done = history.ingest()
    assert (done.ingested, done.replaced) == (1, 1) and "its result file has changed" in done.remarks[0]["remark"]
    after = history.all()
    changed = {table for table in schemas.SCHEMAS if after[table] != before[table]}
    assert changed == {"result", "recovery_audit"} and {row["outcome"] for row in history.rows("result")} == {"failed", "held"}
    # Files that are gone take no rows with them.
    (tmp_path / "landing" / RUN / "east.jsonl").unlink()
    results(tmp_path)
    history.ingest()
    assert {table: rows_ for table, rows_ in history.all().items() if table != "recovery_audit"} == {
        table: rows_ for table, rows_ in before.items() if table != "recovery_audit"
    }
    assert history.rows("recovery_audit", cluster="east", origin="recovery")[0]["table_rows"] == audit["recovery", "east"]["table_rows"]


def test_a_planned_partition_has_the_strategy_of_its_topic(spark: SparkSession, tmp_path: Path) -> None:
    other = Situation("payments", {1: FENCED, 2: LONG, 3: SHORT}, 0)
    plan_all(tmp_path, {"east": rows(*PARTITIONS, other), "west": rows(PARTITIONS[0])}, "aggressive", payments="kip966_balanced")
    history = Tables(spark, tmp_path)
    history.ingest()
    strategies = {(row["cluster"], row["topic"], row["section"]): row["strategy"] for row in history.rows("plan")}
    assert strategies == {
        ("east", "orders", "partitions"): "aggressive",
        ("east", "orders", "online"): "aggressive",
        ("east", "payments", "partitions"): "kip966_balanced",
        ("west", "orders", "partitions"): "aggressive",
    }
    assert {row["strategy"] for row in history.rows("recovery_audit")} == {"aggressive"}, "of the run"


def test_what_a_look_has_found_follows_its_run(spark: SparkSession, tmp_path: Path) -> None:
    results(tmp_path)
    results(tmp_path, "west")
    history = Tables(spark, tmp_path)
    history.ingest()
    before = history.all()
    path = write(tmp_path / "impact" / RUN / "east.json", impact(run_id=RUN))
    (path.parent / "east.reset-1.csv").write_text("orders,0,97\n")
    done = history.ingest()
    assert (done.ingested, done.replaced, done.unchanged, done.remarks) == (1, 1, 1, [])
    rows_ = {(row["kind"], row["partition"]): row for row in history.rows("impact")}
    assert rows_.keys() == {("group", None), ("transaction", 0), ("partition", 1), ("canary", 0), ("warning", None)}
    assert all(row["observed_at"] == datetime(2026, 11, 21, 4, 30, tzinfo=UTC) for row in rows_.values())
    found = impact()
    group, hanging = rows_["group", None], next(row for row in history.rows("impact") if row["state"] == "hanging")
    assert group["group_id"] == "billing" and {name: group[name] for name in found["groups"][0] if name != "group"} == {
        name: value for name, value in found["groups"][0].items() if name != "group"
    }
    assert {name: hanging[name] for name in found["transactions"][0]} == found["transactions"][0]
    assert {row["state"]: row["ends_in_seconds"] for row in history.rows("impact", kind="transaction")} == {"hanging": None, "open": 9.5}
    unusable = rows_["partition", 1]
    assert (unusable["leader"], unusable["readable"], unusable["writable"], unusable["explanation"]) == (None, False, False, "no leader")
    assert (rows_["canary", 0]["offset"], rows_["warning", None]["explanation"]) == (7, "broker 1 does not answer")
    (audit,) = history.rows("recovery_audit", cluster="east")
    assert audit["impact"] == found["summary"] and audit["table_rows"] == {"result": 2, "impact": 6}
    assert history.all()["result"] == before["result"] and history.ingest().ingested == 0

    # A second impact file replaces the first one, and an unreadable one does not.
    write(path, impact(run_id=RUN, groups=[], canaries=[], warnings=[], partitions=[], transactions=found["transactions"][:1]))
    assert history.ingest().replaced == 1 and [row["kind"] for row in history.rows("impact")] == ["transaction"]
    path.write_text("{")
    done = history.ingest()
    assert [row["path"] for row in done.quarantine] == [str(path)] and "is not valid JSON" in done.quarantine[0]["reason"]
    assert len(history.rows("impact")) == 1 and history.rows("quarantine")[0]["kind"] == "impact"
    assert history.rows("recovery_audit", cluster="east")[0]["impact"] == found["summary"]
    write(path, impact(run_id=RUN, groups=[], canaries=[], warnings=[], partitions=[], transactions=[]))
    history.ingest()
    assert history.rows("impact") == [] == history.rows("quarantine")


def test_files_that_cannot_be_used(spark: SparkSession, tmp_path: Path) -> None:
    """Each is quarantined with its reason and all others are ingested; no file is refused twice."""
    folder = land(tmp_path, "sound", rows(PARTITIONS[0])).parent
    whole = land(tmp_path, "truncated", rows(PARTITIONS[0]))
    whole.write_bytes(b"".join(whole.read_bytes().splitlines(keepends=True)[:-2]))
    shutil.copy(folder / "sound.jsonl", folder / "copied.jsonl")
    newer = land(tmp_path, "newer", rows(PARTITIONS[0]))
    newer.write_bytes(newer.read_bytes().replace(b'"schema":4', b'"schema":5', 1))
    (folder / "empty.jsonl").touch()
    (folder / "link.jsonl").symlink_to(folder / "sound.jsonl")
    (folder / "we ird.jsonl").write_text("x")
    land(tmp_path, "_hidden", rows(PARTITIONS[0]))
    twice = land(tmp_path, "twice", rows(PARTITIONS[0]))
    content = twice.read_bytes().splitlines(keepends=True)
    sealed(twice, [*content[:-1], content[1]])
    land(tmp_path, "strange", [*rows(PARTITIONS[0]), {"kind": "replica", "topic": None, "partition": 1}])
    results(tmp_path, "sound", cluster_id="another")
    results(tmp_path, "cut").write_text('{"cluster": "cut"')
    (tmp_path / "plans" / RUN).mkdir(parents=True)
    (tmp_path / "plans" / RUN / "sound.json").write_text('{"version": 99, "plan_id": "x", "sha256": ""}')
    run = "2026-11-20T10-00-00Z"
    healthy_files.write(tmp_path, run, [healthy_files.broker(1), healthy_files.mark("orders")], "well")
    broken = {key: value for key, value in healthy_files.mark("orders").items() if key != "replicas"}
    healthy_files.write(tmp_path, run, [healthy_files.broker(1), broken], "odd")
    history = Tables(spark, tmp_path)
    done = history.ingest()
    reasons = {Path(row["path"]).relative_to(tmp_path).as_posix(): row["reason"] for row in done.quarantine}
    wanted = {
        f"landing/{RUN}/truncated.jsonl": "no seal at its end",
        f"landing/{RUN}/copied.jsonl": "its cluster is sound, but its path has copied",
        f"landing/{RUN}/newer.jsonl": "schema 5 is not 4",
        f"landing/{RUN}/empty.jsonl": "does not begin with the header",
        f"landing/{RUN}/link.jsonl": "cannot be read",
        f"landing/{RUN}/we ird.jsonl": "its path is not that of a run",
        f"landing/{RUN}/_hidden.jsonl": "its path is not that of a run",
        f"landing/{RUN}/strange.jsonl": "without a valid topic and partition",
        f"landing/{RUN}/twice.jsonl": "two documents of one partition",
        f"results/{RUN}/sound.json": "its cluster id is another, and that of the run id-of-sound",
        f"results/{RUN}/cut.json": "is not valid JSON",
        f"plans/{RUN}/sound.json": "version 99",
        f"healthy/odd/{run}.jsonl": "rows that break the schema: 1",
    }
    assert reasons.keys() == wanted.keys()
    assert {path: reason for path, reason in wanted.items() if reason not in reasons[path]} == {}
    assert {row["cluster"] for row in history.rows("replica_log")} == {"sound", "well"}
    assert Counter(row["path"] for row in history.rows("quarantine")) == Counter(str(tmp_path / path) for path in wanted)
    assert "its landing file was refused: no seal" in remarks(history.rows("recovery_audit", cluster="truncated"))
    assert history.ingest() == Summary(unchanged=done.ingested)
    # Collected again, the run is complete: its row in quarantine goes. Another one's rows stay although its file is broken now.
    land(tmp_path, "truncated", rows(PARTITIONS[0]))
    (folder / "sound.jsonl").write_text("gone")
    again = history.ingest()
    assert (again.ingested, again.replaced) == (2, 2)
    assert {row["cluster"] for row in history.rows("replica_log")} == {"sound", "well", "truncated"}
    assert not history.rows("quarantine", cluster="truncated") and len(history.rows("quarantine", cluster="sound")) == 3
    assert "the rows are those of the former one" in remarks(history.rows("recovery_audit", cluster="sound"))
    assert history.ingest().ingested == 0


def test_what_is_odd_about_a_run_is_remarked(spark: SparkSession, tmp_path: Path) -> None:
    """Clocks that go backwards, another cluster under the same name, evidence collected again on another day with fewer rows."""
    land(tmp_path, "east", rows(*PARTITIONS))
    history = Tables(spark, tmp_path)
    history.ingest()
    later = land(tmp_path, "east", rows(PARTITIONS[0]), "run-2", collected_at="2026-11-21T03:00:00Z")
    os.utime(later, (2e9, 2e9))
    os.utime(land(tmp_path, "east", rows(PARTITIONS[0]), "run-3", cluster_id="another"), (2e9 + 1, 2e9 + 1))
    land(tmp_path, "east", rows(PARTITIONS[0]), collected_at="2026-11-22T05:00:00Z")
    done = history.ingest()
    assert (done.ingested, done.replaced) == (3, 1)
    found = {row["run_id"]: row for row in history.rows("recovery_audit")}
    assert "before run run-1" in remarks([found["run-2"]]) and "a clock went backwards" in remarks([found["run-2"]])
    assert "its cluster id is another, and that of run run-1 id-of-east" in remarks([found["run-3"]])
    assert "its landing file has changed since it was ingested: its rows were replaced" in remarks([found[RUN]])
    assert Counter((row["run_id"], str(row["date"])) for row in history.rows("replica_log")) == {
        (RUN, "2026-11-22"): 3, ("run-2", "2026-11-21"): 3, ("run-3", "2026-11-21"): 3,
    }  # fmt: skip


def test_no_room_is_reported_in_one_line_and_the_tables_stand(spark: SparkSession, tmp_path: Path) -> None:
    """Files of this process may not grow beyond a few bytes: as on a full disk nothing can be written."""
    land(tmp_path, "east", rows(*PARTITIONS))
    history = Tables(spark, tmp_path)
    history.ingest()
    before = history.all()
    land(tmp_path, "west", rows(*PARTITIONS))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, hard))
    try:
        with pytest.raises(RecoveryError, match=r"make room and run again") as refused:
            history.ingest()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "\n" not in str(refused.value)
    assert history.all() == before
    assert history.ingest().ingested == 1 and len(history.rows("replica_log")) == 18
