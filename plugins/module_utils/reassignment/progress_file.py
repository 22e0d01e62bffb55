# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The progress file, `<workdir>/progress/<cluster>.json`: the progress of a module that waits, for its action plugin and for operators.

It holds `progress.summary`, with `cluster`, `run_id`, `updated_at` and `line`, the same as text. It is replaced every few seconds, and at the
end, when `ended` is true.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError, printable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import (
    read_regular,
    safe_name,
    work_file,
    write_private,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.timestamps import utc_now
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment import progress

FOLDER = "progress"


class ProgressFile:
    """The progress file of one run. The constructor raises FileError if it cannot be written; later failures to write are ignored."""

    def __init__(self, workdir: Path, cluster: str, run_id: str) -> None:
        self._path = work_file(workdir, FOLDER, cluster)
        self._head = {"cluster": cluster, "run_id": run_id}
        self.last: dict[str, Any] | None = None

    def write(self, summary: Mapping[str, Any]) -> None:
        """Write the progress of the run. `summary`: as `progress.summary` returns it."""
        self.last = dict(summary)
        self._replace(progress.line(self._head["cluster"], summary), ended=False)

    def end(self, message: str) -> None:
        """Write the last progress with `ended` true. `message`: a sentence on how the run ended."""
        self._replace(f"{self._head['cluster']}: {message}", ended=True)

    def _replace(self, line: str, ended: bool) -> None:
        content = {**self._head, "updated_at": utc_now(), "ended": ended, **(self.last or {}), "line": printable(line)}
        with suppress(RecoveryError, OSError):
            write_private(self._path, json.dumps(content, indent=1).encode() + b"\n")


def path_of(workdir: str, cluster: str) -> Path:
    """Return the path of a cluster's progress file, which may not exist."""
    return Path(workdir).expanduser().absolute() / FOLDER / f"{cluster}.json"


def line_of(path: Path, run_id: str) -> str | None:
    """Return the line of this run's progress file, None if there is no file, it cannot be read, or it belongs to another run."""
    try:
        content = strict_json.parse(read_regular(path, follow=False))
        strict_json.check(content, {"run_id": str, "line": str})
    except (OSError, ValueError):
        return None
    return printable(content["line"]) if content["run_id"] == run_id else None


def interrupted_run(workdir: Path, cluster: str, run_id: str) -> str:
    """Return the id of the last run that moved replicas if its moves did not end; empty if it is this run, or its moves are not known."""
    try:
        content = strict_json.parse(read_regular(path_of(str(workdir), cluster), follow=False))
        strict_json.check(content, {"run_id": strict_json.Name(), "ended": bool})
        earlier = safe_name("run_id", content["run_id"])
    except (OSError, ValueError, RecoveryError):
        return ""
    moves = workdir / "reassignments" / earlier / f"{cluster}.json"
    return earlier if not content["ended"] and earlier != run_id and moves.is_file() else ""
