# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter preferred_lines."""

from __future__ import annotations

DOCUMENTATION = r"""
name: preferred_lines
short_description: Render the outcomes of preferred elections
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Has a line for each partition that the module returned.
options:
  _input:
    description: A result of M(streamops.kafka_recovery.kafka_leader_election).
    type: dict
    required: true
  check_mode:
    description: Whether the elections were a dry run.
    type: bool
    default: false
positional: check_mode
"""

EXAMPLES = r"""
- name: Show the results
  ansible.builtin.debug:
    msg: "{{ preferred | streamops.kafka_recovery.preferred_lines }}"
"""

RETURN = r"""
_value:
  description: The lines.
  type: list
  elements: str
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages import preferred_leaders


def preferred_lines(elected: Mapping[str, Any], check_mode: bool = False) -> list[str]:
    """Return the outcomes, and the leader of each partition that the module returned."""
    return preferred_leaders.preferred_lines(elected, check_mode)


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., list[str]]]:
        """Return the filter functions by name."""
        return {"preferred_lines": preferred_lines}
