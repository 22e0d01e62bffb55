# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuses clusters that want different placements of replicas: one plan run serves all clusters of a batch, with the options of one of them."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action.normal import ActionModule as NormalAction

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import same_options

# The fact in which the role restore_redundancy records the options of each cluster.
RECORDED = "kafka_recovery_wanted_redundancy"


class ActionModule(NormalAction):  # type: ignore[misc]
    """Ansible's action for modules, which compares the options of clusters first."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the module's result. Fails if the role restore_redundancy has recorded different options."""
        if (problem := same_options.difference(same_options.recorded(RECORDED, task_vars or {}))) is not None:
            raise AnsibleActionFail(problem)
        return super().run(tmp, task_vars)
