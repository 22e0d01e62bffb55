# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter approval_lines."""

from __future__ import annotations

DOCUMENTATION = r"""
name: approval_lines
short_description: Render which plans are merged
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Has a line for each plan, with who has signed and merged it, or why it must not be applied.
options:
  _input:
    description: A result of M(streamops.kafka_recovery.kafka_recovery_commit_info).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show approved plans
  ansible.builtin.debug:
    msg: "{{ approvals | streamops.kafka_recovery.approval_lines }}"
"""

RETURN = r"""
_value:
  description: The lines.
  type: list
  elements: str
"""

from collections.abc import Callable

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.proposals import approval_lines


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., list[str]]]:
        """Return the filter functions by name."""
        return {"approval_lines": approval_lines}
