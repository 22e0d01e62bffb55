# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows the progress of a reassignment while its module waits: a line of the module's progress file every few seconds.

A module itself cannot print before it ends. If its files are not accessible (a remote host, become), no progress is shown.
"""

from __future__ import annotations

import threading
from typing import Any

from ansible.plugins.action.normal import ActionModule as NormalAction
from ansible.utils.display import Display

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.progress_file import line_of, path_of

POLL_SECONDS = 1.0
MIN_SECONDS_BETWEEN_LINES = 5.0
# Shown with the first line, because Ansible shows nothing more after Ctrl-C.
HOW_TO_CONTINUE = "; should this be interrupted, run it again to go on"

display = Display()


class ActionModule(NormalAction):  # type: ignore[misc]
    """Ansible's action for modules, which displays progress meanwhile."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the module's result."""
        ended = threading.Event()
        reader: threading.Thread | None = None
        if self._progress_is_accessible():
            names = [str(self._task.args[option]) for option in ("workdir", "cluster", "run_id")]
            reader = threading.Thread(target=_display_progress, args=(*names, ended), daemon=True)
            reader.start()
        try:
            return super().run(tmp, task_vars)
        finally:
            ended.set()
            if reader is not None:
                reader.join()

    def _progress_is_accessible(self) -> bool:
        options_set = all(self._task.args.get(option) for option in ("workdir", "cluster", "run_id"))
        return options_set and self._connection.transport == "local" and not self._task.async_val and not self._task.check_mode


def _display_progress(workdir: str, cluster: str, run_id: str, ended: threading.Event) -> None:
    """Display the line of the progress file when it has changed, at most every MIN_SECONDS_BETWEEN_LINES, until `ended` is set."""
    path = path_of(workdir, cluster)
    displayed = line_of(path, run_id)  # by an earlier task
    seconds_since_line, suffix = MIN_SECONDS_BETWEEN_LINES, HOW_TO_CONTINUE
    while not ended.wait(POLL_SECONDS):
        seconds_since_line += POLL_SECONDS
        line = line_of(path, run_id)
        if line is not None and line != displayed and seconds_since_line >= MIN_SECONDS_BETWEEN_LINES:
            display.display(line + suffix)
            displayed, seconds_since_line, suffix = line, 0.0, ""
