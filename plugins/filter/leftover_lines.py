# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter leftover_lines."""

from __future__ import annotations

DOCUMENTATION = r"""
name: leftover_lines
short_description: Render what killed runs have left
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Has a line for each row that the module returned, for runs in progress, for what could not be looked at, and the next step.
options:
  _input:
    description: A result of M(streamops.kafka_recovery.kafka_recovery_leftovers) or M(streamops.kafka_recovery.kafka_recovery_leftovers_info).
    type: dict
    required: true
  run:
    description: The present run, the variable C(kafka_recovery_present_run) of the role P(streamops.kafka_recovery.common#role).
    type: dict
    required: true
  allowed:
    description: Whether the operator has allowed to remove anything.
    type: bool
    default: false
positional: run, allowed
"""

EXAMPLES = r"""
- name: Show what is left
  ansible.builtin.debug:
    msg: "{{ leftovers | streamops.kafka_recovery.leftover_lines(kafka_recovery_present_run) }}"
"""

RETURN = r"""
_value:
  description: The lines.
  type: list
  elements: str
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages import leftovers
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.present_run import PresentRun


def leftover_lines(found: Mapping[str, Any], run: Mapping[str, Any], allowed: bool = False) -> list[str]:
    """Return what is left, what became of it, and the next command of a dry run."""
    return leftovers.leftover_lines(found, PresentRun.from_variables(run), allowed)


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., list[str]]]:
        """Return the filter functions by name."""
        return {"leftover_lines": leftover_lines}
