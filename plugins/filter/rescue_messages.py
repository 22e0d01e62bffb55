# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter rescue_messages."""

from __future__ import annotations

DOCUMENTATION = r"""
name: rescue_messages
short_description: Say which lost brokers are safe to start
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Has a line for each host with the disk of a lost broker.
options:
  _input:
    description: The ids of brokers, by the hosts that have their disks.
    type: dict
    required: true
  hostvars:
    description: The variable C(hostvars).
    type: dict
    required: true
  brokers:
    description: RV(streamops.kafka_recovery.kafka_lost_disk_info#module:brokers).
    type: list
    elements: dict
    required: true
  judged:
    description: Results of M(streamops.kafka_recovery.kafka_lost_disk_records), one for each host that is the item of its loop.
    type: list
    elements: dict
    required: true
  run:
    description: The present run, as the variable C(kafka_recovery_present_run) of the role P(streamops.kafka_recovery.common#role) has it.
    type: dict
    required: true
positional: hostvars, brokers, judged, run
"""

EXAMPLES = r"""
- name: Show which brokers are safe to start
  ansible.builtin.debug:
    msg: "{{ (broker_ids | streamops.kafka_recovery.rescue_messages(hostvars, disks.brokers, judged.results, kafka_recovery_present_run)).lines }}"
"""

RETURN = r"""
_value:
  description:
    - C(lines) about all brokers, and C(failure), a sentence on those that must not be started. It is empty if there are none.
    - If there are none, and records were saved, the last line is the command that counts what can be written again.
  type: dict
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages import rescued_disks
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.present_run import PresentRun


def rescue_messages(
    broker_ids: Mapping[str, int],
    hostvars: Mapping[str, Any],
    brokers: Iterable[Mapping[str, Any]],
    judged: Iterable[Mapping[str, Any]],
    run: Mapping[str, Any],
) -> dict[str, Any]:
    """Return `lines` and `failure`, as RETURN documents them."""
    return rescued_disks.rescue_lines(broker_ids, hostvars, brokers, judged, PresentRun.from_variables(run))


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., dict[str, list[str]]]]:
        """Return the filter functions by name."""
        return {"rescue_messages": rescue_messages}
