# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuses clusters that want different plans, and gives a plan in the background (a task with `async`) what ties it to the playbook.

That is the playbook's process, and a file to wait for. Only the control node knows that process, and the file needs a new name for each start:
another batch, or a killed playbook, may have left its file. The folder of the result is created here, because Ansible would create it with the umask.
"""

from __future__ import annotations

import multiprocessing
import os
import secrets
from pathlib import Path
from typing import Any

import psutil
from ansible.errors import AnsibleActionFail
from ansible.plugins.action.normal import ActionModule as NormalAction

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import private_directory
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import same_options

DEFAULT_ASYNC_DIR = "~/.ansible_async"
# The fact in which the role plan records the options of each cluster.
RECORDED = "kafka_recovery_wanted"


class ActionModule(NormalAction):  # type: ignore[misc]
    """Ansible's action for modules, which compares the options of clusters first, and adds these options to a task with `async`."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the module's result, or that of its start, with the name of the file. Fails if the role plan has recorded different options."""
        if (problem := same_options.difference(same_options.recorded(RECORDED, task_vars or {}))) is not None:
            raise AnsibleActionFail(problem)
        options = self._task.args
        if not self._task.async_val or not {"workdir", "run_id"} <= options.keys():
            return super().run(tmp, task_vars)
        if self._connection.transport == "local" and not self._connection.become:
            _make_private(self.get_shell_option("async_dir", default=DEFAULT_ASYNC_DIR))
        path = f"{options['workdir']}/landing/{options['run_id']}/.collected-{secrets.token_hex(10)}.json"
        options["collected_file"], options["playbook_process"] = path, _playbook_process()
        return super().run(tmp, task_vars) | {"collected_file": path}


def _make_private(folder: str) -> None:
    """Create the folder of the result. Fails if another user could replace its files."""
    try:
        private_directory(Path(folder).expanduser())
    except RecoveryError as error:
        raise AnsibleActionFail(str(error)) from error


def _playbook_process() -> dict[str, Any]:
    """Return id and start time of the process of ansible-playbook. Ansible runs this code in a worker, which is a child of that process."""
    parent = multiprocessing.parent_process()
    pid = os.getpid() if parent is None or parent.pid is None else parent.pid
    return {"pid": pid, "started_at": psutil.Process(pid).create_time()}
