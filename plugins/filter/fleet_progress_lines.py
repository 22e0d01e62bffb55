# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter fleet_progress_lines."""

from __future__ import annotations

DOCUMENTATION = r"""
name: fleet_progress_lines
short_description: Render the progress of moves of several clusters together
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - The number of clusters with moves in progress, and the sums of what is left to copy. The remaining time is that of the slowest cluster.
options:
  _input:
    description: Results of M(streamops.kafka_recovery.kafka_partition_reassignment_info), one for each cluster.
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Show the moves of all clusters
  ansible.builtin.debug:
    msg: "{{ ansible_play_batch | map('extract', hostvars, 'moves') | streamops.kafka_recovery.fleet_progress_lines }}"
  run_once: true
"""

RETURN = r"""
_value:
  description: The lines.
  type: list
  elements: str
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages import moves_in_progress


def fleet_progress_lines(clusters: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the lines that RETURN documents."""
    return moves_in_progress.fleet_lines(list(clusters))


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., list[str]]]:
        """Return the filter functions by name."""
        return {"fleet_progress_lines": fleet_progress_lines}
