# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter report_lines."""

from __future__ import annotations

DOCUMENTATION = r"""
name: report_lines
short_description: Render the headline of a report, the next steps and its files
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - A command has its own line, so that it can be copied from a screen into a shell.
options:
  _input:
    description: A result of M(streamops.kafka_recovery.kafka_recovery_report).
    type: dict
    required: true
  check_mode:
    description: Whether no file was written.
    type: bool
    default: false
positional: check_mode
"""

EXAMPLES = r"""
- name: Show the report summary
  ansible.builtin.debug:
    msg: "{{ reported | streamops.kafka_recovery.report_lines }}"
"""

RETURN = r"""
_value:
  description: The lines.
  type: list
  elements: str
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages import written_report


def report_lines(reported: Mapping[str, Any], check_mode: bool = False) -> list[str]:
    """Return the headline, the next steps, and the files of a report."""
    return written_report.report_lines(reported, check_mode)


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., list[str]]]:
        """Return the filter functions by name."""
        return {"report_lines": report_lines}
