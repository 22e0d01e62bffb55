# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter readiness_messages."""

from __future__ import annotations

DOCUMENTATION = r"""
name: readiness_messages
short_description: Render what stops a recovery before it starts
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Reads a result of M(streamops.kafka_recovery.kafka_recovery_evidence_info) or M(streamops.kafka_recovery.kafka_readiness_info), and compares it with the
    limits of the run.
  - The limits are those of M(streamops.kafka_recovery.kafka_designated_election), which checks them again when it knows which partitions are held.
options:
  _input:
    description: The result, or a part of it. C(permissions), C(quorum), C(partitions) and C(evidence) may be V(none).
    type: dict
    required: true
  run:
    description: The present run, the variable C(kafka_recovery_present_run) of the role P(streamops.kafka_recovery.common#role).
    type: dict
    required: true
  stages:
    description: Stages of the run, as in O(streamops.kafka_recovery.kafka_readiness_info#module:stages).
    type: list
    elements: str
    default: [collect]
  window:
    description: Seconds for which the metadata quorum was watched.
    type: float
    default: 0
  planned:
    description: Whether the run applies a plan that is there already. Then O(max_partitions) does not apply.
    type: bool
    default: false
  allow_data_loss:
    description: Whether the run elects leaders. Else the limits do not apply.
    type: bool
    default: false
  max_partitions:
    description: Elect at most this many partitions.
    type: int
    default: 10000
  max_offline_brokers:
    description: Elect only if at most this many brokers are offline.
    type: int
    default: 2
positional: run, stages, window, planned, allow_data_loss, max_partitions, max_offline_brokers
"""

EXAMPLES = r"""
- name: Check for obstacles to a recovery
  ansible.builtin.assert:
    that: messages.obstacles | length == 0
    fail_msg: "{{ messages.obstacles | first | default('') }}"
  vars:
    messages: "{{ readiness | streamops.kafka_recovery.readiness_messages(kafka_recovery_present_run) }}"
"""

RETURN = r"""
_value:
  description:
    - C(obstacles), a message with what is wrong and the remedy if something stops the run, else an empty list.
    - C(notes), what can disturb the metadata quorum and what could not be checked. Empty if the quorum was not read, or is not stable.
    - C(lines), what a run without obstacles shows. Empty if a part of the result is missing.
  type: dict
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import acls
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages import readiness
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.present_run import PresentRun
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.readiness import ReadinessPolicy


def readiness_messages(
    result: Mapping[str, Any],
    run: Mapping[str, Any],
    stages: Sequence[str] = (acls.COLLECT,),
    window: float = 0.0,
    planned: bool = False,
    allow_data_loss: bool = False,
    max_partitions: int = ReadinessPolicy.max_partitions,
    max_offline_brokers: int = ReadinessPolicy.max_offline_brokers,
) -> dict[str, list[str]]:
    """Return `obstacles`, `notes` and `lines`, as RETURN documents them."""
    present = PresentRun.from_variables(run)
    policy = ReadinessPolicy(stages, float(window), planned, allow_data_loss, int(max_partitions), int(max_offline_brokers))
    complete = all(result.get(name) for name in ("permissions", "quorum", "partitions"))
    return {
        "obstacles": readiness.obstacles(result, present, policy),
        "notes": readiness.quorum_notes(result["quorum"]) if result.get("quorum") else [],
        "lines": readiness.lines(result, present) if complete else [],
    }


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., dict[str, list[str]]]]:
        """Return the filter functions by name."""
        return {"readiness_messages": readiness_messages}
