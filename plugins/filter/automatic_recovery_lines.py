# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter automatic_recovery_lines."""

from __future__ import annotations

DOCUMENTATION = r"""
name: automatic_recovery_lines
short_description: Render why nothing is elected automatically
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Has the reasons and the next steps for a person.
options:
  _input:
    description: A result of M(streamops.kafka_recovery.kafka_recovery_incident).
    type: dict
    required: true
  run:
    description: The present run, the variable C(kafka_recovery_present_run) of the role P(streamops.kafka_recovery.common#role).
    type: dict
    required: true
  held_by_reason:
    description: Number of held partitions by reason code.
    type: dict
    default: {}
positional: run, held_by_reason
"""

EXAMPLES = r"""
- name: Show why a person must decide
  ansible.builtin.debug:
    msg: "{{ automatic | streamops.kafka_recovery.automatic_recovery_lines(kafka_recovery_present_run) }}"
"""

RETURN = r"""
_value:
  description: The lines.
  type: list
  elements: str
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.automatic_recovery import refusal_lines
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.present_run import PresentRun


def automatic_recovery_lines(
    automatic: Mapping[str, Any], run: Mapping[str, Any], held_by_reason: Mapping[str, int] | None = None
) -> list[str]:
    """Return why nothing is elected automatically, and the next steps."""
    return refusal_lines(automatic, held_by_reason or {}, PresentRun.from_variables(run))


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., list[str]]]:
        """Return the filter functions by name."""
        return {"automatic_recovery_lines": automatic_recovery_lines}
