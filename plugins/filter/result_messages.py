# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter result_messages."""

from __future__ import annotations

DOCUMENTATION = r"""
name: result_messages
short_description: Render the outcomes of a run, and which partitions have no leader
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Counts are of all partitions, not only of those that the modules return.
  - Without next steps of the election, the command plans again.
options:
  _input:
    description: A result of M(streamops.kafka_recovery.kafka_designated_election).
    type: dict
    required: true
  run:
    description: The present run, the variable C(kafka_recovery_present_run) of the role P(streamops.kafka_recovery.common#role).
    type: dict
    required: true
  allow_data_loss:
    description: Whether the run was allowed to elect.
    type: bool
    default: false
  still_offline:
    description: RV(streamops.kafka_recovery.kafka_recovery_result_info#module:still_offline). Empty in check mode, and if the run had no partitions.
    type: dict
    default: {}
positional: run, allow_data_loss, still_offline
"""

EXAMPLES = r"""
- name: Show the outcomes
  ansible.builtin.debug:
    msg: "{{ (election | streamops.kafka_recovery.result_messages(kafka_recovery_present_run, true)).results }}"
"""

RETURN = r"""
_value:
  description:
    - C(results), the outcomes, the records that are given up, and how many other partitions are offline.
    - C(problems), which partitions have no leader, why, and the next steps. Empty if all have one.
  type: dict
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages import election_results
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.present_run import PresentRun


def result_messages(
    election: Mapping[str, Any], run: Mapping[str, Any], allow_data_loss: bool = False, still_offline: Mapping[str, Any] | None = None
) -> dict[str, list[str]]:
    """Return `results` and `problems`, as RETURN documents them."""
    present, offline = PresentRun.from_variables(run), still_offline or {}
    return {
        "results": election_results.result_lines(election, present, allow_data_loss),
        "problems": election_results.problem_lines(election, offline, present),
    }


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., dict[str, list[str]]]]:
        """Return the filter functions by name."""
        return {"result_messages": result_messages}
