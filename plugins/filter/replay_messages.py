# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter replay_messages."""

from __future__ import annotations

DOCUMENTATION = r"""
name: replay_messages
short_description: Render the outcomes of replays
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Has the number of records that were written, and a line for each partition of which something is left or must be looked at.
  - After a dry run it ends with the command that writes, or that proposes the replay.
options:
  _input:
    description: A result of M(streamops.kafka_recovery.kafka_record_replay).
    type: dict
    required: true
  allowed:
    description: Whether records were written.
    type: bool
    required: true
  run:
    description: The present run, as the variable C(kafka_recovery_present_run) of the role P(streamops.kafka_recovery.common#role) has it.
    type: dict
    required: true
  proposed:
    description: Whether the run only proposes the replay.
    type: bool
    default: false
  require_commit:
    description: Whether only merged replays may be written, and this one is not merged.
    type: bool
    default: false
positional: allowed, run, proposed, require_commit
"""

EXAMPLES = r"""
- name: Show the results
  ansible.builtin.debug:
    msg: "{{ (replayed | streamops.kafka_recovery.replay_messages(true, kafka_recovery_present_run)).lines }}"
"""

RETURN = r"""
_value:
  description:
    - C(lines), and C(failure), a sentence if records are left that should be written, or are undecided, or if saved batches cannot be decoded.
      It is empty otherwise.
  type: dict
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages import replays
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.present_run import PresentRun


def replay_messages(
    replayed: Mapping[str, Any], allowed: bool, run: Mapping[str, Any], proposed: bool = False, require_commit: bool = False
) -> dict[str, Any]:
    """Return `lines` and `failure`, as RETURN documents them."""
    return replays.screen(replayed, allowed, PresentRun.from_variables(run), proposed, require_commit)


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., dict[str, Any]]]:
        """Return the filter functions by name."""
        return {"replay_messages": replay_messages}
