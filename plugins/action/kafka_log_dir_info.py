# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Takes from the answer of a host only what the module documents. Facts in it would change the variables of the host, and with them whose disk it has."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action.normal import ActionModule as NormalAction

_DOCUMENTED = {"broker_id", "log_dirs", "partitions", "other_logs", "absent", "counts"}
# What Ansible adds, also if the module did not run.
_OF_ANSIBLE = {
    "changed", "failed", "skipped", "unreachable", "msg", "exception", "invocation", "warnings", "deprecations", "rc", "module_stdout", "module_stderr",
}  # fmt: skip


class ActionModule(NormalAction):  # type: ignore[misc]
    """Ansible's action for modules, whose result has no facts."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the module's result."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        return {name: value for name, value in result.items() if name in _DOCUMENTED | _OF_ANSIBLE}
