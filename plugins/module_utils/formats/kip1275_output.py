# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of KIP-1275's `--manual-recovery-output-file`: the leaders that a plan designates, for an operator to read and change.

A plan is sealed and must not be edited. These files may be edited, because the election collects their evidence again. A second file lists the held
partitions with their best candidates. No playbook reads it: a held partition is elected only after an operator has moved it to the first file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError, read_regular, write_private
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import plan_file

# Only the controllers elect the leader of this topic.
CLUSTER_METADATA = "cluster_metadata"
KEYS = ("topic", "partition", "designatedLeader")


class OutputFiles(NamedTuple):
    """Paths of the files of one cluster. None for a file that would have no partitions."""

    leaders: Path | None
    candidates: Path | None


def write(plan: Path, folder: Path) -> OutputFiles:
    """Write `<folder>/<cluster>.json` and `<folder>/<cluster>.held.json` from the plan `<cluster>.json`, one partition per line.

    Raises PlanError if `plan` cannot be used, and FileError if a file cannot be written or exists with different content: KIP-1275 creates a new
    file, and the existing one may have been edited.
    """
    planned = plan_file.load(plan)
    leaders = [{key: row[key] for key in KEYS} for row in planned["partitions"]]
    candidates = [
        {"topic": row["topic"], "partition": row["partition"], "designatedLeader": row["candidate"], "reason_code": row["reason_code"]}
        for row in planned.get("held", ())
        if row["candidate"] is not None and row["reason_code"] != CLUSTER_METADATA
    ]
    paths = folder / plan.name, folder / f"{plan.stem}.held{plan.suffix}"
    return OutputFiles(*(_write_new(path, rows) for path, rows in zip(paths, (leaders, candidates), strict=True)))


def _write_new(path: Path, partitions: Iterable[Mapping[str, Any]]) -> Path | None:
    rows = [json.dumps(row) for row in partitions]
    content = ('{"partitions": [\n  ' + ",\n  ".join(rows) + "\n]}\n").encode() if rows else None
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        present = read_regular(path, follow=False)
    except FileNotFoundError:
        present = None
    except OSError as error:
        raise FileError(f"manual_output_dir: {path} cannot be used: {error.strerror}; name another directory") from error
    if present is not None and present != content:
        raise FileError(f"manual_output_dir: {path} already exists with different content; move it away, or name another directory")
    if content is None:
        return None
    if present is None:
        write_private(path, content)
    return path
