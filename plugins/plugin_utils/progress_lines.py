# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows the progress of a module while it works: a line of the module's progress file every few seconds.

A module itself cannot print before it ends. If its files are not accessible (a remote host, become), no progress is shown.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from ansible.module_utils.common.validation import check_type_path
from ansible.plugins.action.normal import ActionModule as NormalAction
from ansible.utils.display import Display

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.mounts import has_url
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.progress_file import line_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.user_paths import path_problem

POLL_SECONDS = 1.0
MIN_SECONDS_BETWEEN_LINES = 5.0
# Shown with the first line, because Ansible shows nothing more after Ctrl-C.
HOW_TO_CONTINUE = "; should this be interrupted, run it again to go on"

display = Display()


class ProgressAction(NormalAction, ABC):  # type: ignore[misc]
    """Ansible's action for modules, which displays progress meanwhile."""

    @abstractmethod
    def progress_path(self, workdir: Path, cluster: str, run_id: str) -> Path:
        """Return the path of the module's progress file, which may not exist. Raises RecoveryError for names that cannot be file names."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the module's result."""
        ended = threading.Event()
        reader = self._reader(ended)
        if reader is not None:
            reader.start()
        try:
            result: dict[str, Any] = super().run(tmp, task_vars)
            return result
        finally:
            ended.set()
            if reader is not None:
                reader.join()

    def _reader(self, ended: threading.Event) -> threading.Thread | None:
        """Return a thread that displays progress until `ended` is set, None if the module's files are not accessible or it writes none."""
        options = [self._task.args.get(option) for option in ("workdir", "cluster", "run_id")]
        if not all(options) or self._connection.transport != "local" or self._task.async_val or self._task.check_mode:
            return None
        named, cluster, run_id = map(str, options)
        workdir = workdir_of(named)
        if workdir is None:
            return None  # the module refuses it
        try:
            path = self.progress_path(workdir, cluster, run_id)
        except RecoveryError:
            return None  # the module refuses these names
        return threading.Thread(target=display_progress, args=(path, run_id, ended), daemon=True)


def workdir_of(path: str) -> Path | None:
    """Return the directory in which a module writes progress for a path or URL, None for one that the module refuses."""
    if has_url(path):
        from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.edges import machine_path

        try:
            return machine_path(path)
        except RecoveryError:
            return None
    expanded = check_type_path(path)
    return None if path_problem(expanded) else Path(expanded).absolute()


def display_progress(path: Path, run_id: str, ended: threading.Event) -> None:
    """Display the line of a progress file when it has changed, at most every MIN_SECONDS_BETWEEN_LINES, until `ended` is set."""
    shown = line_of(path, run_id)  # by an earlier task
    seconds_since_line, suffix = MIN_SECONDS_BETWEEN_LINES, HOW_TO_CONTINUE
    while not ended.wait(POLL_SECONDS):
        seconds_since_line += POLL_SECONDS
        line = line_of(path, run_id)
        if line is not None and line != shown and seconds_since_line >= MIN_SECONDS_BETWEEN_LINES:
            display.display(line + suffix)
            shown, seconds_since_line, suffix = line, 0.0, ""
