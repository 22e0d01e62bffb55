# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter evidence_lines."""

from __future__ import annotations

DOCUMENTATION = r"""
name: evidence_lines
short_description: Render the counts of collected evidence
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Names the landing file, and has the table of the first replicas.
options:
  _input:
    description: A result of M(streamops.kafka_recovery.kafka_replica_log_info).
    type: dict
    required: true
  in_short:
    description: Whether to name only how many replicas answered.
    type: bool
    default: false
positional: in_short
"""

EXAMPLES = r"""
- name: Show the evidence
  ansible.builtin.debug:
    msg: "{{ evidence | streamops.kafka_recovery.evidence_lines }}"
"""

RETURN = r"""
_value:
  description: The lines.
  type: list
  elements: str
"""

from collections.abc import Callable

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.collected_evidence import evidence_lines


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., list[str]]]:
        """Return the filter functions by name."""
        return {"evidence_lines": evidence_lines}
