# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter result_messages."""

from __future__ import annotations

DOCUMENTATION = r"""
name: result_messages
short_description: Render what a run shows last
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - The outcomes of a run, which partitions have no leader, why, and what to do next with its command.
  - Counts are of all partitions, not only of those that the modules return.
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
  impact:
    description: The result of M(streamops.kafka_recovery.kafka_consumer_impact_info), only C(msg) if the impact is unknown. Empty if it is not wanted.
    type: dict
    default: {}
positional: run, allow_data_loss, still_offline, impact
"""

EXAMPLES = r"""
- name: Show the outcomes
  streamops.kafka_recovery.kafka_recovery_summary:
    lines: "{{ (election | streamops.kafka_recovery.result_messages(kafka_recovery_present_run, true)).lines }}"
"""

RETURN = r"""
_value:
  description:
    - C(lines), for people.
    - C(summary), the same as data. C(summary.groups) has the partitions without a leader by outcome and reason code, the cheapest next step first.
      C(summary.line) is the run in one line, for a chat. C(summary.failure) is one sentence if a partition has no leader after a run, else empty.
  type: dict
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages import election_results
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.present_run import PresentRun


def result_messages(
    election: Mapping[str, Any],
    run: Mapping[str, Any],
    allow_data_loss: bool = False,
    still_offline: Mapping[str, Any] | None = None,
    impact: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return `lines` and `summary`, as RETURN documents them."""
    return election_results.screen(election, PresentRun.from_variables(run), allow_data_loss, still_offline or {}, impact)


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., dict[str, Any]]]:
        """Return the filter functions by name."""
        return {"result_messages": result_messages}
