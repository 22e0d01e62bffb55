# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter next_steps."""

from __future__ import annotations

DOCUMENTATION = r"""
name: next_steps
short_description: What to do next about partitions that have no leader
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Turns the words with which the reasons of held partitions begin, and outcomes, into sentences.
  - The report of M(streamops.kafka_recovery.kafka_recovery_report) says the same.
options:
  _input:
    description: Words such as V(forked) or V(stale). Those that call for no step are left out.
    type: list
    elements: str
    required: true
  cluster:
    description: The inventory name of the cluster.
    type: str
    required: true
  plan:
    description: Path of the plan of the cluster.
    type: str
    required: true
positional: cluster, plan
"""

EXAMPLES = r"""
- name: Say what to do about a forked partition
  ansible.builtin.debug:
    msg: "{{ ['forked'] | streamops.kafka_recovery.next_steps(inventory_hostname, '/var/lib/kafka-recovery/plans/1/east.json') }}"
"""

RETURN = r"""
_value:
  description: One sentence per word, in the order in which they are best done.
  type: list
  elements: str
"""

from collections.abc import Callable, Sequence

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.next_steps import next_steps


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[[Sequence[str], str, str], list[str]]]:
        """Names and functions."""
        return {"next_steps": next_steps}
