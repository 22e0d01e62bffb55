# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter selected_clusters."""

from __future__ import annotations

DOCUMENTATION = r"""
name: selected_clusters
short_description: Return the clusters of a play without those that it must skip
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - A play that selects partitions sets C(kafka_recovery_leave_alone) for a cluster in which it selects none. The next play must skip this cluster, because
    an empty selection means all partitions.
options:
  _input:
    description: The inventory group of the clusters.
    type: str
    required: true
  groups:
    description: Inventory host names by group.
    type: dict
    required: true
  hostvars:
    description: Variables by inventory host name. Empty if a playbook is only checked (C(--syntax-check)), where Ansible has none.
    type: dict
    required: true
  only_if:
    description: Name of a variable. A cluster is left out, too, if it does not have this variable, or if the variable is off.
    type: str
positional: groups, hostvars, only_if
"""

EXAMPLES = r"""
- name: Recover what was selected
  hosts: "{{ 'kafka_clusters' | streamops.kafka_recovery.selected_clusters(groups, hostvars | default({})) }}"
  roles:
    - streamops.kafka_recovery.preflight
"""

RETURN = r"""
_value:
  description: The group, and a pattern that leaves out each cluster that the play must skip. A pattern for C(hosts) of a play.
  type: list
  elements: str
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleError

from ansible_collections.streamops.kafka_recovery.plugins.filter.option_bool import option_bool

LEAVE_ALONE = "kafka_recovery_leave_alone"


def selected_clusters(
    group: str, groups: Mapping[str, Sequence[str]], hostvars: Mapping[str, Any], only_if: str | None = None
) -> list[str]:
    """Return host patterns, as RETURN documents them. AnsibleFilterError if the variable of a cluster is not a boolean.

    A cluster whose variables cannot be read is not left out: the play fails with it, unless --limit excludes it. With `only_if` it is.
    """
    # The group stands first even if all of its clusters are left out: Ansible plays all hosts if there is no pattern.
    return [group, *(f"!{cluster}" for cluster in groups.get(group, ()) if _skipped(_variables(cluster, hostvars), only_if))]


def _skipped(variables: Mapping[str, Any], only_if: str | None) -> bool:
    return option_bool(variables.get(LEAVE_ALONE)) or (only_if is not None and not option_bool(variables.get(only_if)))


def _variables(cluster: str, hostvars: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        variables: Mapping[str, Any] = hostvars[cluster]
    except (KeyError, AnsibleError):
        return {}
    return variables


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., list[str]]]:
        """Return the filter functions by name."""
        return {"selected_clusters": selected_clusters}
