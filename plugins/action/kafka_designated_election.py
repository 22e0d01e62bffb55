# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows the progress of saving records, and lists on stderr all partitions that an election has left without a leader (KIP-1275).

The result of the module only counts these. They are read from the results file. If it is out of reach (a remote host, become), nothing is listed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ansible.module_utils.parsing.convert_bool import boolean
from ansible.utils.display import Display

from ansible_collections.streamops.kafka_recovery.plugins.action.kafka_replica_records import ActionModule as SaveAction
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.mounts import has_url
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.offline_list import offline_list

display = Display()


class ActionModule(SaveAction):
    """The action of modules that save records, which lists these partitions after the election."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the module's result."""
        result = super().run(tmp, task_vars)
        # In check mode there is no file, and with async there is no result yet.
        path = result.get("results_path")
        wanted = boolean(self._task.args.get("list_offline", True), strict=False)
        if wanted and path and self._connection.transport == "local" and not self._task.no_log and (lines := _lines(path)):
            display.display("\n".join(lines), stderr=True)
        return result


def _lines(path: str) -> list[str]:
    """Return the list for a results file. It is empty if nothing was to be elected, or if the file cannot be read."""
    try:
        results = json.loads(_content(path))
        if not results["data_loss_allowed"]:
            return []
        return offline_list(results["cluster"], results["partitions"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecoveryError) as error:
        display.warning(f"{path} cannot be read, so the partitions without a leader are not listed: {error}")
        return []


def _content(path: str) -> bytes:
    if not has_url(path):
        return Path(path).read_bytes()
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.edges import read_url

    return read_url(path)
