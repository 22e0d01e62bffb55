# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A progress file: the progress of a module that works for long, for its action plugin and for operators.

It is JSON with `cluster`, `run_id`, `updated_at`, numbers, and `line`, the same as text. It is replaced every few seconds, and at the end, when `ended`
is true. In a workdir in a store it is on this machine, too, and in the store it is replaced less often.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts, strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError, printable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import (
    private_directory,
    read_regular,
    write_private,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.timestamps import utc_now

STORE_SECONDS = 15.0  # between two writes to a store


class ProgressFile:
    """The progress file of one run at `path`. Failures to write it are ignored. `last`: the numbers that were written last, None before that."""

    def __init__(self, path: Path, cluster: str, run_id: str) -> None:
        self._path, self._stored_at = path, -math.inf
        self._head = {"cluster": cluster, "run_id": run_id}
        self.last: dict[str, Any] | None = None

    def write(self, line: str, numbers: Mapping[str, Any]) -> None:
        """Write the progress of the run. `line`: the same as `numbers`, as text."""
        self.last = dict(numbers)
        self._replace(line, ended=False)

    def end(self, message: str) -> None:
        """Write the last progress with `ended` true. `message`: a sentence on how the run ended."""
        self._replace(message, ended=True)

    def _replace(self, line: str, ended: bool) -> None:
        line = f"{self._head['cluster']}: {line}"
        content = {**self._head, "updated_at": utc_now(), "ended": ended, **(self.last or {}), "line": printable(line)}
        encoded = json.dumps(content, indent=1).encode() + b"\n"
        here = mounts.shared(self._path)
        with suppress(RecoveryError, OSError):
            if here != self._path:
                private_directory(here.parent)
                write_private(here, encoded)
                if not ended and time.monotonic() - self._stored_at < STORE_SECONDS:
                    return
                self._stored_at = time.monotonic()
            write_private(self._path, encoded)


def line_of(path: Path, run_id: str) -> str | None:
    """Return the line of this run's progress file, None if there is no file, it cannot be read, or it belongs to another run."""
    try:
        content = strict_json.parse(read_regular(path, follow=False))
        strict_json.check(content, {"run_id": str, "line": str})
    except (OSError, ValueError):
        return None
    return printable(content["line"]) if content["run_id"] == run_id else None
