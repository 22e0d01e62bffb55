# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes one report: ingests new files into the history, makes the document, and writes its files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import printable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import Playbooks
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import safe_name, work_file, write_private
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.shown_command import Commands
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history import compaction, ingest, input_files
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.store import Store
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report import (
    document,
    page_files,
    prometheus_file,
    risk_section,
    scope,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.html_page import STEPS_SHOWN, datatables, page
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.session import session

# Bytes. Of a larger workdir a report reads the tables, and few of its files are new.
MOST_INPUT = 1 << 30


def report(params: Mapping[str, Any], where: Mapping[str, Any], check_mode: bool = False) -> dict[str, Any]:
    """Make a report and return the result of the module. `params`: its options; `where`: arguments of `session`. Raises RecoveryError.

    In check mode only the command files are written, which the result names. The result then shows what the tables have, without an ingest.
    """
    workdir = Path(params["workdir"]).expanduser().absolute()
    clusters, now = params["clusters"], datetime.now(UTC)
    names = None if clusters is None else [safe_name("clusters", name) for name in clusters]
    commands = Commands(workdir)
    playbooks = Playbooks.from_params(params, commands)
    wanted = scope.Wanted(safe_name("run_id", params["run_id"]), workdir, params["run_ids"], names, now, playbooks)
    paths = {kind: work_file(workdir, "reports", "report", wanted.name, f".{kind}", make=not check_mode) for kind in ("html", "json")}
    textfile = Path(params["textfile"]).expanduser().absolute() if params["textfile"] else None
    # Checked before minutes of work.
    datatables()
    files = page_files.passed_or_installed(params[page_files.OPTION])
    if textfile:
        prometheus_file.check(textfile)
    size = sum(source.bytes for run in input_files.find(workdir).values() for source in run.values())
    with session(**where, input_bytes=min(size, MOST_INPUT)) as spark:
        store, ingested = Store(spark, workdir / ingest.HISTORY), ingest.Summary()
        if params["ingest"] and not check_mode:
            ingested = ingest.ingest(spark, workdir, params["retention_days"], now)
            if params["retention_days"] is not None:
                compaction.expire(store.catalog, now.date(), params["retention_days"])
            compaction.compact(store.catalog, now.date())
        store.pin()
        content = document.collect(lambda table: store.read(table, names), wanted)
        if params["what_if_brokers"]:
            content["what_if"] = risk_section.what_if(spark, wanted, content, params["what_if_brokers"])
    html, text = page(content, files).encode(), json.dumps(content, indent=1).encode() + b"\n"
    commands.write()
    if not check_mode:
        write_private(paths["html"], html)
        write_private(paths["json"], text)
        if textfile:
            prometheus_file.write(textfile, content)
    steps = [_step(row) for row in [*content["held"], *content["others_offline"]]]
    result = {
        "headline": {key: printable(text) for key, text in content["headline"].items()},
        "next_steps": steps[:STEPS_SHOWN],
        "steps_left_out": max(0, len(steps) - STEPS_SHOWN),
        "html_path": str(paths["html"]),
        "json_path": str(paths["json"]),
        "run_ids": content["run_ids"],
        "summary": _summary(content, ingested.ingested),
        "record_counts": content["lost_records"]["totals"],
        "quarantine": ingested.quarantine,
    }
    return result | ({"textfile": str(textfile)} if textfile else {})


def _step(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of the document's `held` or `others_offline` as a step in the result of the module."""
    return {
        "cluster": row["cluster"],
        "code": row["reason_code"] or row["outcome"],
        "partitions": row["partitions"],
        "step": row["next_step"],
        "command": row["command"],
    }


def _summary(content: Mapping[str, Any], ingested: int) -> dict[str, Any]:
    return {
        **{key: content["totals"][key] for key in ("partitions", "without_leader", "outcomes")},
        **{key: content["risk"]["totals"][key] for key in ("offline", "one_failure")},
        "quarantined": sum(row["files"] for row in content["quarantine"]["counts"]),
        "ingested": ingested,
    }
