# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows how far a reassignment has come while its module waits: what the module writes to its progress file, a line every few seconds.

A module cannot speak before it ends. Where its files are out of reach (a remote host, become) it works as ever, in silence.
"""

from __future__ import annotations

import threading
from typing import Any

from ansible.utils.display import Display

from ansible_collections.streamops.kafka_recovery.plugins.action.beside_ansible import ActionModule as BesideAnsible
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.progress_file import line_of, path_of

LOOK_SECONDS = 1.0
AT_LEAST_SECONDS = 5.0  # between two lines
# Once Ctrl-C has ended Ansible, nobody is left to say it.
HOW_TO_GO_ON = "; should this be interrupted, run it again to go on"

display = Display()


class ActionModule(BesideAnsible):
    """The collection's own action for modules, with somebody who reads aloud meanwhile."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the module's result."""
        ended = threading.Event()
        reader: threading.Thread | None = None
        if self._can_be_seen():
            names = [str(self._task.args[option]) for option in ("workdir", "cluster", "run_id")]
            reader = threading.Thread(target=_read_aloud, args=(*names, ended), daemon=True)
            reader.start()
        try:
            return super().run(tmp, task_vars)
        finally:
            ended.set()
            if reader is not None:
                reader.join()

    def _can_be_seen(self) -> bool:
        there = all(self._task.args.get(option) for option in ("workdir", "cluster", "run_id"))
        return there and self._connection.transport == "local" and not self._task.async_val and not self._task.check_mode


def _read_aloud(workdir: str, cluster: str, run_id: str, ended: threading.Event) -> None:
    """Show the line of the progress file whenever it has changed, but not too often."""
    path = path_of(workdir, cluster)
    said = line_of(path, run_id)  # by an earlier run
    silent, more = AT_LEAST_SECONDS, HOW_TO_GO_ON
    while not ended.wait(LOOK_SECONDS):
        silent += LOOK_SECONDS
        line = line_of(path, run_id)
        if line is not None and line != said and silent >= AT_LEAST_SECONDS:
            display.display(line + more)
            said, silent, more = line, 0.0, ""
