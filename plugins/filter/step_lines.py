# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter step_lines."""

from __future__ import annotations

DOCUMENTATION = r"""
name: step_lines
short_description: Render the next steps line by line
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Renders RV(streamops.kafka_recovery.kafka_designated_election#module:next_steps), and the same result of other modules.
  - A command has its own line, so that it can be copied from a screen into a shell.
options:
  _input:
    description: Steps with C(partitions), C(step), C(command) and optionally C(cluster).
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Show the next steps
  ansible.builtin.debug:
    msg: "{{ election.next_steps | streamops.kafka_recovery.step_lines }}"
"""

RETURN = r"""
_value:
  description: Two lines for each step, one if it has no command.
  type: list
  elements: str
"""

from collections.abc import Callable

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.partition_lists import step_lines


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., list[str]]]:
        """Return the filter functions by name."""
        return {"step_lines": step_lines}
