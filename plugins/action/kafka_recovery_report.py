# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Passes the template, the style sheets and the script of the report page to the module.

The module may run packed, also on another host. A packed module has the Python files of the collection, and no other file of it.
"""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action.normal import ActionModule as NormalAction

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report import page_files


class ActionModule(NormalAction):  # type: ignore[misc]
    """Ansible's action for modules, which adds these files to the options."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the module's result."""
        try:
            self._task.args[page_files.OPTION] = page_files.installed()
        except RecoveryError as error:
            raise AnsibleActionFail(str(error)) from error
        return super().run(tmp, task_vars)
