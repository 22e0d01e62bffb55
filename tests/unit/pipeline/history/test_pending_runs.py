# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which runs are ingested: of a snapshot a minute one an hour, and nothing that retention would remove again."""

from __future__ import annotations

import json
import os
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import healthy_files
from impact_samples import impact, write
from partition_situations import broker_rows, land

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.input_files import find
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.pending_runs import (
    DIGESTS,
    Changes,
    RunBatch,
    leave_out_old,
    thin_out,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.schemas import HEALTHY, RECOVERY
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.store import PublishedRun

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def test_the_first_snapshot_of_each_hour_and_the_newest(tmp_path: Path) -> None:
    for run in ("2026-11-20T09-59-00Z", "2026-11-20T10-00-00Z", "2026-11-20T10-01-00Z", "2026-11-20T10-02-00Z", "by-hand-1", "by-hand-2"):
        healthy_files.write(tmp_path, run, [healthy_files.broker(1)], collected_at="2026-11-20T10:00:00Z")
    healthy_files.write(tmp_path, "2026-11-20T10-01-00Z", [healthy_files.broker(1)], "west")
    kept = {(run.cluster, run.run_id) for run in thin_out(find(tmp_path))}
    assert kept == {
        ("east", "2026-11-20T09-59-00Z"), ("east", "2026-11-20T10-00-00Z"), ("east", "2026-11-20T10-02-00Z"), ("east", "by-hand-1"),
        ("east", "by-hand-2"), ("west", "2026-11-20T10-01-00Z"),
    }  # fmt: skip
    # Those that were ingested as the newest are still known when others are: nothing has to be removed.
    healthy_files.write(tmp_path, "2026-11-20T11-00-00Z", [healthy_files.broker(1)])
    assert ("east", "2026-11-20T10-00-00Z") in {(run.cluster, run.run_id) for run in thin_out(find(tmp_path))}


def test_what_is_older_than_retention_waits_outside(tmp_path: Path) -> None:
    old, young = "2026-11-10T10-00-00Z", "2026-11-20T10-00-00Z"
    for run in (old, young):
        healthy_files.write(tmp_path, run, [healthy_files.broker(1)])
    os.utime(land(tmp_path, "east", broker_rows(3), "long-ago"), (1e9, 1e9))
    files, now = find(tmp_path), datetime(2026, 11, 21, tzinfo=UTC)
    assert {run.run_id for run in leave_out_old(files, 3, now, ())} == {young}
    assert {run.run_id for run in leave_out_old(files, 3, now, {PublishedRun(RECOVERY, "east", "long-ago")})} == {young, "long-ago"}
    assert len(leave_out_old(files, 10**4, now, ())) == 3


def test_a_file_is_another_one_by_its_seal_and_a_refused_one_by_its_content(tmp_path: Path) -> None:
    path = land(tmp_path, "east", broker_rows(3))
    healthy_files.write(tmp_path, "2026-11-20T10-00-00Z", [healthy_files.broker(1)])
    files = find(tmp_path)
    changes, run = Changes(files), PublishedRun(RECOVERY, "east", "run-1")
    assert set(changes.of({})) == files.keys()
    row = {"landing_sha256": files[run]["landing"].digest(), "plan_sha256": None, "result_sha256": None}
    snapshot = PublishedRun(HEALTHY, "east", "2026-11-20T10-00-00Z")
    assert changes.of({run: row}) == [snapshot]
    assert changes.of({run: {**row, "landing_sha256": files[run]["landing"].content_digest()}}) == [snapshot]
    land(tmp_path, "east", broker_rows(4))
    assert run in Changes(find(tmp_path)).of({run: row})
    path.unlink()
    path.mkdir()
    assert len(find(tmp_path)[run]["landing"].digest()) == 64


def test_results_of_another_cluster_are_refused_also_when_the_evidence_is_broken_now(tmp_path: Path) -> None:
    path, run = land(tmp_path, "east", broker_rows(3)), PublishedRun(RECOVERY, "east", "run-1")
    results = tmp_path / "results" / "run-1" / "east.json"
    results.parent.mkdir(parents=True)
    content: dict[str, Any] = {
        "cluster": "east",
        "run_id": "run-1",
        "plan_id": None,
        "backend": "compat",
        "finished_at": "2026-11-21T04:05:00Z",
        "data_loss_allowed": True,
        "other_offline_partitions": 0,
        "partitions": [],
    }
    results.write_text(json.dumps({**content, "cluster_id": "another"}))

    def taken(audit: dict[PublishedRun, dict[str, Any]]) -> RunBatch:
        batch = RunBatch(find(tmp_path), audit, Changes(find(tmp_path)))
        batch.check(run)
        return batch

    first = taken({})
    assert first.refused[run] == {"result": "its cluster id is another, and that of the run id-of-east"} and not first.replaced()
    row = first.rows(NOW)[0]
    assert (row["key"], row["cluster_id"], row["date"], row["kept_rows"]) == ("run-1/east", "id-of-east", date(2026, 11, 21), {})
    path.write_text("broken")
    audit = {**row, "table_rows": {"replica_log": 9, "quarantine": 1}, "outcomes": {}}
    again = taken({run: audit})
    assert again.refused[run].keys() == {"landing", "result"}
    # The rows that came from the evidence stay, and are counted as they were.
    assert again.replaced()[run].isdisjoint({"replica_log", "candidates"}) and {"quarantine", "recovery_audit"} <= again.replaced()[run]
    kept = again.rows(NOW)[0]
    assert kept["kept_rows"] == {"replica_log": 9} and kept["date"] == row["date"] and kept["cluster_id"] == "id-of-east"
    assert "its landing file has changed since it was ingested: the rows are those of the former one" in kept["remarks"]
    # Nothing is left to be done of files that were refused as they are.
    assert run not in Changes(find(tmp_path)).of({run: {name: kept[name] for name in DIGESTS}})
    # The right results are taken.
    results.write_text(json.dumps({**content, "cluster_id": "id-of-east"}))
    assert taken({run: audit}).refused[run].keys() == {"landing"}


def test_a_look_comes_after_its_run_and_again_and_is_nothing_odd(tmp_path: Path) -> None:
    land(tmp_path, "east", broker_rows(3))
    run, path = PublishedRun(RECOVERY, "east", "run-1"), tmp_path / "impact" / "run-1" / "east.json"
    results = tmp_path / "results" / "run-1" / "east.json"
    content: dict[str, Any] = {
        "cluster": "east", "cluster_id": "id-of-east", "run_id": "run-1", "plan_id": None, "backend": "compat",
        "finished_at": "2026-11-21T04:05:00Z", "data_loss_allowed": True, "other_offline_partitions": None, "partitions": [],
    }  # fmt: skip
    write(results, content)

    def taken(audit: dict[PublishedRun, dict[str, Any]]) -> RunBatch:
        batch = RunBatch(find(tmp_path), audit, Changes(find(tmp_path)))
        batch.check(run)
        return batch

    row = taken({}).rows(NOW)[0]
    assert (row["impact"], row["impact_at"], row["impact_sha256"], row["remarks"]) == (None, None, None, [])
    audit = {**row, "table_rows": {}, "outcomes": {}}
    assert run not in Changes(find(tmp_path)).of({run: audit})

    write(path, impact())
    write(results, {**content, "impact": {"path": str(path)}})
    assert Changes(find(tmp_path)).of({run: audit}) == [run]
    seen = taken({run: audit}).rows(NOW)[0]
    assert (seen["impact"], seen["impact_at"]) == (impact()["summary"], datetime(2026, 11, 21, 4, 30, tzinfo=UTC))
    assert (seen["backend"], seen["date"], seen["remarks"]) == (row["backend"], row["date"], [])

    audit = {**seen, "table_rows": {"impact": 5}, "outcomes": {}}
    write(path, impact(groups=[]))
    write(results, {**content, "impact": {"path": "of the second impact file"}})
    again = taken({run: audit})
    assert "impact" in again.replaced()[run] and again.rows(NOW)[0]["remarks"] == []
    write(results, {**content, "finished_at": "2026-11-21T05:05:00Z"})
    write(path, impact())
    assert taken({run: audit}).rows(NOW)[0]["remarks"] == ["its result file has changed since it was ingested: its rows were replaced"]


def test_a_look_that_is_broken_gone_or_of_another_cluster_leaves_the_rows_of_the_former_one(tmp_path: Path) -> None:
    run, path = PublishedRun(RECOVERY, "east", "run-1"), tmp_path / "impact" / "run-1" / "east.json"
    land(tmp_path, "east", broker_rows(3))
    write(path, impact())
    first = RunBatch(find(tmp_path), {}, Changes(find(tmp_path)))
    first.check(run)
    audit = {run: {**first.rows(NOW)[0], "table_rows": {"impact": 5, "replica_log": 3}, "outcomes": {}}}
    for content, reason in (
        ("{", "is not valid JSON"),
        ('{"cluster": "east"}', "cluster_id is missing: the file was cut off"),
        (json.dumps(impact(cluster_id="another")), "its cluster id is another, and that of the run id-of-east"),
        (json.dumps(impact(run_id="run-2")), "its run_id is run-2, but its path has"),
        (json.dumps(impact(observed_at="yesterday")), "its observed_at yesterday is not a time"),
    ):
        path.write_text(content)
        batch = RunBatch(find(tmp_path), audit, Changes(find(tmp_path)))
        batch.check(run)
        assert reason in batch.refused[run]["impact"], content
        assert [(row["kind"], row["path"]) for row in batch.quarantine(NOW)] == [("impact", str(path))]
        row = batch.rows(NOW)[0]
        assert "impact" not in batch.replaced()[run] and row["kept_rows"] == {"impact": 5}
        assert (row["impact"], row["impact_at"]) == (audit[run]["impact"], audit[run]["impact_at"])
        assert "the rows are those of the former one" in " ".join(row["remarks"])
        assert run not in Changes(find(tmp_path)).of({run: row}), "it is refused once"
    path.unlink()
    gone = RunBatch(find(tmp_path), audit, Changes(find(tmp_path)))
    gone.check(run)
    assert gone.rows(NOW)[0]["impact"] == audit[run]["impact"] and not gone.refused[run]
