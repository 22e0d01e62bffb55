# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The progress file of moves, `<workdir>/progress/<cluster>.json`. It holds `progress.summary`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts, strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import read_regular, safe_name, work_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.progress_file import ProgressFile
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment import progress

FOLDER = "progress"


class MoveProgressFile(ProgressFile):
    """The progress file of the moves of one run. The constructor raises FileError if it cannot be written; later failures to write are ignored."""

    def __init__(self, workdir: Path, cluster: str, run_id: str) -> None:
        super().__init__(work_file(workdir, FOLDER, cluster), cluster, run_id)

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Write the progress of the run. `summary`: as `progress.summary` returns it."""
        self.write(progress.line(summary), summary)


def path_of(workdir: str, cluster: str) -> Path:
    """Return the path of a cluster's progress file, which may not exist."""
    return Path(workdir).expanduser().absolute() / FOLDER / f"{cluster}.json"


def interrupted_run(workdir: Path, cluster: str, run_id: str) -> str:
    """Return the id of the last run that moved replicas if its moves did not end; empty if it is this run, or its moves are not known."""
    earlier, ended = last_run(workdir, cluster)
    moves = workdir / "reassignments" / earlier / f"{cluster}.json"
    mounts.list_folder(moves.parent)
    return earlier if earlier and not ended and earlier != run_id and moves.is_file() else ""


def last_run(workdir: Path, cluster: str) -> tuple[str, bool]:
    """Return the id of the last run that moved replicas of a cluster, empty if it is not known, and whether it has ended by itself."""
    try:
        content = strict_json.parse(read_regular(path_of(str(workdir), cluster), follow=False))
        strict_json.check(content, {"run_id": strict_json.Name(), "ended": bool})
        return safe_name("run_id", content["run_id"]), content["ended"]
    except (OSError, ValueError, RecoveryError):
        return "", True
