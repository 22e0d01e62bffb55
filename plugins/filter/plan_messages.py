# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter plan_messages."""

from __future__ import annotations

DOCUMENTATION = r"""
name: plan_messages
short_description: Render the plan of a cluster, and how to apply the plans
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Commands have the inventory, the limit and the options of the present run.
options:
  _input:
    description: A result of M(streamops.kafka_recovery.kafka_recovery_plan).
    type: dict
    required: true
  run:
    description: The present run, the variable C(kafka_recovery_present_run) of the role P(streamops.kafka_recovery.common#role).
    type: dict
    required: true
  strategy:
    description: The strategy of the plan.
    type: str
    required: true
  manual_output_dir:
    description: Directory of the files that an operator may edit. Empty if none were written.
    type: str
    default: ""
  require_commit:
    description: Whether only merged plans may be applied.
    type: bool
    default: false
positional: run, strategy, manual_output_dir, require_commit
"""

EXAMPLES = r"""
- name: Show how to apply the plans
  ansible.builtin.debug:
    msg: "{{ (planned | streamops.kafka_recovery.plan_messages(kafka_recovery_present_run, 'balanced')).apply }}"
"""

RETURN = r"""
_value:
  description:
    - C(plan), the counts of the cluster's plan, why partitions are held, and the files. Empty if the cluster has no plan.
    - C(apply), how to apply the plans of the fleet.
  type: dict
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.plans import apply_lines, plan_lines
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.present_run import PresentRun


def plan_messages(
    planned: Mapping[str, Any], run: Mapping[str, Any], strategy: str, manual_output_dir: str = "", require_commit: bool = False
) -> dict[str, list[str]]:
    """Return `plan` and `apply`, as RETURN documents them."""
    present = PresentRun.from_variables(run)
    return {
        "plan": plan_lines(planned, present, strategy, manual_output_dir),
        "apply": apply_lines(planned, present, require_commit, manual_output_dir),
    }


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., dict[str, list[str]]]]:
        """Return the filter functions by name."""
        return {"plan_messages": plan_messages}
