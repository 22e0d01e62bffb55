# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter not_begun_line."""

from __future__ import annotations

DOCUMENTATION = r"""
name: not_begun_line
short_description: Render which clusters a play in batches has not begun, and how to continue
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Ansible ends a play when every cluster of a batch has failed.
options:
  _input:
    description: Names of the clusters that are not begun.
    type: list
    elements: str
    required: true
  failed:
    description: Names of the clusters that have failed.
    type: list
    elements: str
    required: true
positional: failed
"""

EXAMPLES = r"""
- name: Show which clusters are not begun
  ansible.builtin.debug:
    msg: "{{ ['west', 'south'] | streamops.kafka_recovery.not_begun_line(['east']) }}"
"""

RETURN = r"""
_value:
  description: The line.
  type: str
"""

from collections.abc import Callable, Sequence

from ansible_collections.streamops.kafka_recovery.plugins.filter.run_limit import run_limit
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import clusters


def not_begun_line(later: Sequence[str], failed: Sequence[str]) -> str:
    """Return the line, as RETURN documents it."""
    return clusters.not_begun(later, failed, run_limit(None))


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., str]]:
        """Return the filter functions by name."""
        return {"not_begun_line": not_begun_line}
