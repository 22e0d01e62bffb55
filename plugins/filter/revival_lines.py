# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter revival_lines."""

from __future__ import annotations

DOCUMENTATION = r"""
name: revival_lines
short_description: Render the outcomes of revivals
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Has a line for each partition, group and hanging transaction that the module returned, and the next step.
options:
  _input:
    description: A result of M(streamops.kafka_recovery.kafka_partition_revival).
    type: dict
    required: true
  run:
    description: The present run, the variable C(kafka_recovery_present_run) of the role P(streamops.kafka_recovery.common#role).
    type: dict
    required: true
  allowed:
    description: Whether partitions were revived.
    type: bool
    default: false
  require_commit:
    description: Whether only merged revivals may be made, and these are not merged.
    type: bool
    default: false
positional: run, allowed, require_commit
"""

EXAMPLES = r"""
- name: Show the results
  ansible.builtin.debug:
    msg: "{{ revived | streamops.kafka_recovery.revival_lines(kafka_recovery_present_run, true) }}"
"""

RETURN = r"""
_value:
  description: The lines.
  type: list
  elements: str
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages import revivals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.present_run import PresentRun


def revival_lines(revived: Mapping[str, Any], run: Mapping[str, Any], allowed: bool = False, require_commit: bool = False) -> list[str]:
    """Return the outcomes, groups, hanging transactions and disks to save, and the next command of a dry run."""
    return revivals.revival_lines(revived, PresentRun.from_variables(run), allowed, require_commit)


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., list[str]]]:
        """Return the filter functions by name."""
        return {"revival_lines": revival_lines}
