# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter replay_lines."""

from __future__ import annotations

DOCUMENTATION = r"""
name: replay_lines
short_description: Render the outcomes of replays
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Has the number of records that were written, and a line for each partition of which something is left or must be looked at.
options:
  _input:
    description: A result of M(streamops.kafka_recovery.kafka_record_replay).
    type: dict
    required: true
  allowed:
    description: Whether records were written.
    type: bool
    default: false
positional: allowed
"""

EXAMPLES = r"""
- name: Show the results
  ansible.builtin.debug:
    msg: "{{ replayed | streamops.kafka_recovery.replay_lines(true) }}"
"""

RETURN = r"""
_value:
  description: The lines.
  type: list
  elements: str
"""

from collections.abc import Callable

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.replays import replay_lines


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., list[str]]]:
        """Return the filter functions by name."""
        return {"replay_lines": replay_lines}
