# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options that end a watch of the metadata quorum, as documentation."""

from __future__ import annotations


class ModuleDocFragment:
    """Options of the watch over the metadata quorum."""

    DOCUMENTATION = r"""
options:
  quorum_before:
    description:
      - An earlier state of the metadata quorum, as M(streamops.kafka_recovery.kafka_quorum_info) returns it. It is the start of the watch that this
        task ends.
      - Nothing is elected, and the task fails, unless the quorum is stable and has the same leader in the same epoch as then. The task reads the quorum
        again when O(quorum_window) seconds have passed since, and waits until then. It does not wait for a quorum with one voter.
      - With the same epoch no other leader can have led in between, because every election increments the epoch.
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
        description: Time of that state, in seconds of the monotonic clock of the host that runs the module.
        type: float
        required: true
      voters:
        description:
          - The voters. Nothing is elected if one has joined or left since, has another directory, or has fewer records in its log than then.
          - Not compared if it is omitted.
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
    description: Seconds from O(quorum_before) to the last read of the metadata quorum.
    type: float
    default: 3.0
"""
