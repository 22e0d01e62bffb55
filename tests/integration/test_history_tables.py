# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real recovery in the history tables: all of it, once, whatever happens to who writes them."""

from __future__ import annotations

import signal
from collections import Counter
from typing import Any

import pyarrow.parquet as pq
import pytest
from integration.support import Operator, run_module

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.catalog import Catalog

TOPICS = ["history", "kip.held"]
# A process that gets no further than to the end of what Spark writes.
KILLED = """
import os, signal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history import catalog, folder_files
{what} = lambda *given: os.kill(os.getpid(), signal.SIGKILL)
"""


def rows(operator: Operator) -> dict[str, list[dict[str, Any]]]:
    """What any reader of Parquet finds in the files that the manifest names."""
    root = operator.workdir / "history"
    found: dict[str, list[dict[str, Any]]] = {}
    for file in Catalog(root).files():
        found.setdefault(file.table, []).extend(
            {**row, "cluster": file.cluster} for row in pq.ParquetFile(root / file.path).read().to_pylist()
        )
    return found


@pytest.mark.long
def test_a_recovery_is_in_the_tables_once_also_when_writers_are_killed(east: Operator) -> None:
    east.recover("1", TOPICS)
    east.ask("kafka_watermark_info", **east.files("healthy-1"))
    options = {"workdir": str(east.workdir), "run_id": "report", "spark_remote": east.spark_remote}
    for what in ("catalog.Catalog._commit", "folder_files.write_private"):
        killed = run_module("kafka_recovery_report", options, before=KILLED.format(what=what))
        assert killed.returncode == -signal.SIGKILL and rows(east) == {}
    for again in (False, True):
        answer = run_module("kafka_recovery_report", options)
        assert answer.returncode == 0 and answer.result["summary"]["ingested"] == (0 if again else 2), answer
        found = rows(east)
        assert {str(path.relative_to(east.workdir / "history")) for path in (east.workdir / "history").rglob("*.parquet")} == {
            file.path for file in Catalog(east.workdir / "history").files()
        }
        check(east, found)


def check(east: Operator, found: dict[str, list[dict[str, Any]]]) -> None:
    """The tables say what the run's own files say."""
    results, plan = east.read("results", "1"), east.read("plans", "1")
    reported = {(row["topic"], row["partition"]): row for row in found["result"]}
    assert len(reported) == len(found["result"]) == len(results["partitions"]) == 8
    for row in results["partitions"]:
        # What was given up is in the table of losses, from the plan. Kafka's error, and what was decided again, are in the reason, too.
        own = {name: value for name, value in row.items() if name not in ("truncated", "loss", "error", "decided_again")}
        assert {name: reported[row["topic"], row["partition"]][name] for name in own} == own
    outcomes = {outcome: count for outcome, count in results["summary"].items() if count}
    assert Counter(row["outcome"] for row in found["result"]) == outcomes == {"elected": 4, "held": 4}
    sections = Counter(row["section"] for row in found["plan"])
    assert sections == {"partitions": len(plan["partitions"]), "held": len(plan["held"])}
    lost = {(row["topic"], row["partition"]): row for row in found["loss"]}
    for entry in (*plan["partitions"], *plan["held"]):
        assert {name: lost[entry["topic"], entry["partition"]][name] for name in entry["loss"]} == entry["loss"]
    recovery = [row for row in found["replica_log"] if row["origin"] == "recovery"]
    ends = {(one["topic"], one["partition"], log["broker_id"]): log["log_end_offset"] for one in east.documents("1") for log in one["logs"]}
    assert {(row["topic"], row["partition"], row["broker_id"]): row["log_end_offset"] for row in recovery} == ends and len(recovery) == len(
        ends
    )
    winners = {(row["topic"], row["partition"]): row["broker_id"] for row in found["candidates"] if row["place"] == 1}
    assert winners.keys() == reported.keys()
    audit = {row["origin"]: row for row in found["recovery_audit"]}
    assert len(found["recovery_audit"]) == 2 and dict(audit["recovery"]["outcomes"]) == outcomes
    assert dict(audit["recovery"]["table_rows"]) == {
        table: sum(1 for row in found[table] if row.get("origin", "recovery") == "recovery")
        for table in ("replica_log", "candidates", "plan", "loss", "result")
    }
    assert audit["healthy"]["partitions"] == len(
        {(row["topic"], row["partition"]) for row in found["replica_log"] if row["origin"] == "healthy"}
    )
