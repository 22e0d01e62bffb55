# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options that end a watch of the metadata quorum, as documentation."""

from __future__ import annotations


class ModuleDocFragment:
    """The look at the quorum with which the watch began."""

    DOCUMENTATION = r"""
options:
  quorum_before:
    description:
      - An earlier look at the metadata quorum, as M(streamops.kafka_recovery.kafka_quorum_info) returns it. Ends the watch that began with it.
      - Nothing is elected, and the task fails, unless the quorum has the same leader in the same epoch as then, and is calm. This is looked at when
        O(quorum_window) seconds have passed since. What is left of them is waited for. A quorum with one voter is not waited for.
      - No other leader can have led in between, because every election counts the epoch up.
    type: dict
    suboptions:
      leader_id:
        description: Id of the active controller.
        type: int
        required: true
      leader_epoch:
        description: Its epoch.
        type: int
        required: true
      looked_at:
        description: When that was, in seconds of the monotonic clock of the host that runs the module.
        type: float
        required: true
      voters:
        description:
          - The voters. Nothing is elected if one has joined or left since, has another directory, or has fewer records in its log than then.
          - Not compared if it is left out.
        type: list
        elements: dict
        suboptions:
          replica_id:
            description: Id of the voter.
            type: int
            required: true
          directory_id:
            description: Its directory.
            type: str
          log_end_offset:
            description: Its log end offset.
            type: int
          lag:
            description: Not compared.
            type: int
          seconds_since_fetch:
            description: Not compared.
            type: float
          seconds_since_caught_up:
            description: Not compared.
            type: float
  quorum_window:
    description: Seconds from O(quorum_before) to the last look at the metadata quorum.
    type: float
    default: 3.0
"""
