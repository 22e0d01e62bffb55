# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The progress file, `<workdir>/progress/<cluster>.json`: what a module that waits has to tell, for whoever waits for the module.

It holds `progress.summary`, with `cluster`, `run_id`, `updated_at` and `line`, which says all of it in words. Written anew every few seconds, and once
at the end, when `ended` is true.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import SpokenError, printable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import read_regular, work_file, write_private
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.timestamps import utc_now
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment import progress

FOLDER = "progress"


class ProgressFile:
    """The file of one run. It is proven writable when this is made; later nothing fails because it cannot be written."""

    def __init__(self, workdir: Path, cluster: str, run_id: str) -> None:
        self._path = work_file(workdir, FOLDER, cluster)
        self._head = {"cluster": cluster, "run_id": run_id}
        self.last: dict[str, Any] | None = None

    def write(self, found: Mapping[str, Any]) -> None:
        """Tell how far it is: `progress.summary`."""
        self.last = dict(found)
        self._replace(progress.line(self._head["cluster"], found), ended=False)

    def end(self, words: str) -> None:
        """Tell how it ended."""
        self._replace(f"{self._head['cluster']}: {words}", ended=True)

    def _replace(self, line: str, ended: bool) -> None:
        content = {**self._head, "updated_at": utc_now(), "ended": ended, **(self.last or {}), "line": printable(line)}
        with suppress(SpokenError, OSError):
            write_private(self._path, json.dumps(content, indent=1).encode() + b"\n")


def path_of(workdir: str, cluster: str) -> Path:
    """Where the file of a cluster is, whether it is there or not."""
    return Path(workdir).expanduser().absolute() / FOLDER / f"{cluster}.json"


def line_of(path: Path, run_id: str) -> str | None:
    """What the file of this run says in words; None where there is none, or another run's."""
    try:
        content = strict_json.parse(read_regular(path, follow=False))
        strict_json.check(content, {"run_id": str, "line": str})
    except (OSError, ValueError):
        return None
    return printable(content["line"]) if content["run_id"] == run_id else None
