# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter commit_lines."""

from __future__ import annotations

DOCUMENTATION = r"""
name: commit_lines
short_description: Render where results were committed
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Names the clusters whose results were left out, with the reason.
options:
  _input:
    description: A result of M(streamops.kafka_recovery.kafka_recovery_commit).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show where the results are
  ansible.builtin.debug:
    msg: "{{ committed | streamops.kafka_recovery.commit_lines }}"
"""

RETURN = r"""
_value:
  description: The lines.
  type: list
  elements: str
"""

from collections.abc import Callable

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.proposals import commit_lines


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., list[str]]]:
        """Return the filter functions by name."""
        return {"commit_lines": commit_lines}
