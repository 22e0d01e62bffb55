# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter impact_lines."""

from __future__ import annotations

DOCUMENTATION = r"""
name: impact_lines
short_description: Render which consumers and producers a recovery affects
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Has the commands that repair the impact, each on its own line.
options:
  _input:
    description: A result of M(streamops.kafka_recovery.kafka_consumer_impact_info). V(none) or empty if the impact was not assessed.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show the impact and its remedies
  ansible.builtin.debug:
    msg: "{{ impact | streamops.kafka_recovery.impact_lines }}"
"""

RETURN = r"""
_value:
  description: The lines. Empty if the impact was not assessed.
  type: list
  elements: str
"""

from collections.abc import Callable

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.consumer_impact import impact_lines


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., list[str]]]:
        """Return the filter functions by name."""
        return {"impact_lines": impact_lines}
