# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Takes from the answer of a host only what the module documents. Facts in it would change the variables of the host, and with them whose disk it has.

Ansible shows messages and warnings as they are. The module has no warnings, and its messages are made printable.
"""

from __future__ import annotations

from typing import Any

from ansible.plugins.action.normal import ActionModule as NormalAction

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import error_line

_DOCUMENTED = {"broker_id", "log_dirs", "partitions", "other_logs", "absent", "counts"}
# What Ansible adds, also if the module did not run.
_OF_ANSIBLE = {"changed", "failed", "skipped", "unreachable", "invocation", "rc"}
_TEXTS = ("msg", "module_stdout", "module_stderr")


class ActionModule(NormalAction):  # type: ignore[misc]
    """Ansible's action for modules, whose result has no facts."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the module's result."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        texts = {name: error_line(str(result[name])) for name in _TEXTS if name in result}
        return {name: value for name, value in result.items() if name in _DOCUMENTED | _OF_ANSIBLE} | texts
