# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks that the inventory has clusters, that their variables can be read, and that batch sizes are valid, before a play on clusters starts.

An action plugin, because it needs the inventory. The rules are in module_utils/preflight.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.plugins.action import ActionBase

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import clusters
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.connection_variables import SECRETS
from ansible_collections.streamops.kafka_recovery.plugins.modules.kafka_recovery_inventory_info import ARGUMENTS


class ActionModule(ActionBase):  # type: ignore[misc]
    """The action of `kafka_recovery_inventory_info`."""

    TRANSFERS_FILES = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return what RETURN documents."""
        task_vars = task_vars or {}
        result: dict[str, Any] = super().run(tmp, task_vars)
        _validation, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        members = (task_vars.get("groups") or {}).get(arguments["group"]) or []
        if not members:
            raise AnsibleActionFail(clusters.none_in(arguments["group"]))
        if unreadable := dict(_unreadable(arguments["clusters"], task_vars["hostvars"])):
            texts = {name: str(error) for name, error in unreadable.items()}
            # Ansible shows where in the inventory the variable of the cause is.
            raise AnsibleActionFail(clusters.not_readable(texts)) from next(iter(unreadable.values()))
        if problem := clusters.invalid_serial(task_vars["hostvars"][members[0]].get("kafka_recovery_serial", "100%")):
            raise AnsibleActionFail(problem)
        return result | {"changed": False, "clusters": arguments["clusters"]}


def _unreadable(names: Iterable[str], hostvars: Mapping[str, Any]) -> Iterator[tuple[str, AnsibleError]]:
    """Yield each variable that cannot be read, with Ansible's error. An empty name stands for all variables of a cluster."""
    for cluster in names:
        try:
            variables = hostvars[cluster]
            present = SECRETS & set(variables)
        except AnsibleError as error:
            yield "", error
            return
        for name in sorted(present):
            try:
                str(variables[name])
            except AnsibleError as error:
                yield name, error
