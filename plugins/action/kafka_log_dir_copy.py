# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Copies records from the disk of a lost broker to this machine. The module of the same name returns them on the host, one answer after another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError, error_line
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.mounts import has_url
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numeric_options import check_numbers
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.user_paths import check_user_paths
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.disk_copy import Limits, copy_logs
from ansible_collections.streamops.kafka_recovery.plugins.modules.kafka_log_dir_copy import ARGUMENTS

MODULE = "streamops.kafka_recovery.kafka_log_dir_copy"


class ActionModule(ActionBase):  # type: ignore[misc]
    """The action of `kafka_log_dir_copy`."""

    TRANSFERS_FILES = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return what RETURN documents."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _validation, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        if not arguments["dest"]:
            raise AnsibleActionFail("dest is missing: name a folder on the control node")
        if has_url(arguments["dest"]):
            raise AnsibleActionFail("dest is a URL: name a folder on the control node, as the filter machine_path finds it for a workdir")
        broker = {name: arguments[name] for name in ("log_dirs", "cluster_id", "broker_id")}

        def host(options: dict[str, Any]) -> dict[str, Any]:
            answer: dict[str, Any] = self._execute_module(module_name=MODULE, module_args={**broker, **options}, task_vars=task_vars or {})
            if answer.get("failed") or answer.get("unreachable"):
                raise RecoveryError(error_line(str(answer.get("msg", "the module failed on the host"))))
            return answer

        try:
            check_numbers(arguments)
            check_user_paths({"dest": ARGUMENTS["dest"]}, arguments)
            limits = Limits(arguments["max_saved_partition_bytes"], arguments["max_saved_bytes"])
            folder = Path(arguments["dest"]).absolute()
            copied = copy_logs(folder, arguments["logs"], limits, host, bool(self._task.check_mode))
        except RecoveryError as error:
            # An exception would fail the task whatever its failed_when says.
            return result | {"changed": False, "failed": True, "msg": str(error)}
        return result | {"changed": False, **copied}
