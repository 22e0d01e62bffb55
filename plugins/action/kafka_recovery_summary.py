# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows lines as they are: the default callback would show JSON, in which quotes of commands are escaped."""

from __future__ import annotations

from typing import Any

from ansible import constants
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import error_line, printable
from ansible_collections.streamops.kafka_recovery.plugins.modules.kafka_recovery_summary import ARGUMENTS

DEFAULT_CALLBACKS = "default", "ansible.builtin.default"

display = Display()


class ActionModule(ActionBase):  # type: ignore[misc]
    """The action of `kafka_recovery_summary`."""

    TRANSFERS_FILES = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return what RETURN documents."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _validation, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        if arguments["failure"].strip():
            return result | {"failed": True, "msg": "\n".join(map(error_line, arguments["failure"].strip().split("\n")))}
        lines = [printable(line) for line in arguments["lines"]]
        if lines and not self._task.no_log:
            # In one piece, with the name of the cluster: tasks of other clusters show theirs at the same time.
            name = "" if self._task.run_once else f"{(task_vars or {}).get('inventory_hostname', '')}: "
            is_default = constants.config.get_config_value("DEFAULT_STDOUT_CALLBACK") in DEFAULT_CALLBACKS
            display.display(name + "\n".join(lines), stderr=arguments["on_stderr"] or not is_default)
        return result | {"changed": False, "lines": lines, "summary": arguments["summary"]}
