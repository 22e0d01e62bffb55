# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter cancellation_lines."""

from __future__ import annotations

DOCUMENTATION = r"""
name: cancellation_lines
short_description: Render what became of cancelled moves
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - The outcomes, what was removed of a throttle, and in a dry run the command that cancels the moves.
options:
  _input:
    description: A result of M(streamops.kafka_recovery.kafka_partition_reassignment) with state V(cancelled).
    type: dict
    required: true
  run:
    description: The present run, the variable C(kafka_recovery_present_run) of the role P(streamops.kafka_recovery.common#role).
    type: dict
    required: true
  allowed:
    description: Whether moves were cancelled.
    type: bool
    default: false
positional: run, allowed
"""

EXAMPLES = r"""
- name: Show what became of the moves
  ansible.builtin.debug:
    msg: "{{ cancelled | streamops.kafka_recovery.cancellation_lines(kafka_recovery_present_run, true) }}"
"""

RETURN = r"""
_value:
  description: The lines.
  type: list
  elements: str
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages import moves_in_progress
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.present_run import PresentRun


def cancellation_lines(ended: Mapping[str, Any], run: Mapping[str, Any], allowed: bool = False) -> list[str]:
    """Return the lines that RETURN documents."""
    return moves_in_progress.cancellation_lines(ended, PresentRun.from_variables(run), allowed)


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., list[str]]]:
        """Return the filter functions by name."""
        return {"cancellation_lines": cancellation_lines}
