# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter move_progress_lines."""

from __future__ import annotations

DOCUMENTATION = r"""
name: move_progress_lines
short_description: Render the progress of moves of one cluster
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - One line for the cluster, one for each broker that still copies, and what is to know about throttles and brokers that do not answer.
options:
  _input:
    description: A result of M(streamops.kafka_recovery.kafka_partition_reassignment_info).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show the moves in progress
  ansible.builtin.debug:
    msg: "{{ moves | streamops.kafka_recovery.move_progress_lines }}"
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


def move_progress_lines(seen: Mapping[str, Any]) -> list[str]:
    """Return the lines that RETURN documents."""
    return moves_in_progress.progress_lines(seen)


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., list[str]]]:
        """Return the filter functions by name."""
        return {"move_progress_lines": move_progress_lines}
