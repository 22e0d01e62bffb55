# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter move_messages."""

from __future__ import annotations

DOCUMENTATION = r"""
name: move_messages
short_description: Render planned and made moves of replicas
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Commands continue an interrupted run, or make the moves.
  - Reads the progress file of the cluster in the workdir, for an earlier run whose moves did not end.
options:
  _input:
    description: The cluster's row of RV(streamops.kafka_recovery.kafka_redundancy_plan#module:plans).
    type: dict
    required: true
  run:
    description: The present run, the variable C(kafka_recovery_present_run) of the role P(streamops.kafka_recovery.common#role).
    type: dict
    required: true
  reassigned:
    description: A result of M(streamops.kafka_recovery.kafka_partition_reassignment). Without it C(moved) is empty.
    type: dict
  restored:
    description: A result of M(streamops.kafka_recovery.kafka_partition_reassignment_info). Without it C(incomplete) is empty.
    type: dict
  allowed:
    description: Whether replicas are moved.
    type: bool
    default: false
  merged:
    description: Whether the moves are merged ones.
    type: bool
    default: false
  require_commit:
    description: Whether only merged moves may be made.
    type: bool
    default: false
positional: run, reassigned, restored, allowed, merged, require_commit
"""

EXAMPLES = r"""
- name: Show what is planned
  ansible.builtin.debug:
    msg: "{{ (redundancy.plans[0] | streamops.kafka_recovery.move_messages(kafka_recovery_present_run)).planned }}"
"""

RETURN = r"""
_value:
  description:
    - C(planned), the planned moves, and why partitions are held. Empty for moves that were planned before.
    - C(held), which partitions were held, and the next steps.
    - C(moved), what became of the moves, and how to undo or make them.
    - C(incomplete), which partitions are not fully redundant, and which merged moves were not made.
  type: dict
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.progress_file import interrupted_run
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages import replica_moves
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.present_run import PresentRun
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.edges import local_workdir


def move_messages(
    moves: Mapping[str, Any],
    run: Mapping[str, Any],
    reassigned: Mapping[str, Any] | None = None,
    restored: Mapping[str, Any] | None = None,
    allowed: bool = False,
    merged: bool = False,
    require_commit: bool = False,
) -> dict[str, list[str]]:
    """Return `planned`, `held`, `moved` and `incomplete`, as RETURN documents them."""
    present = PresentRun.from_variables(run)
    with local_workdir(present.workdir) as workdir:
        earlier = interrupted_run(workdir, present.cluster, present.run_id)
    return {
        "planned": replica_moves.planned_lines(moves, present, earlier, require_commit) if "bytes" in moves else [],
        "held": replica_moves.held_lines(moves, present, earlier, require_commit),
        "moved": replica_moves.moved_lines(reassigned, moves["path"], present, allowed, merged, require_commit) if reassigned else [],
        "incomplete": replica_moves.incomplete_lines(moves["planned"], restored or {})
        + (replica_moves.unmade_lines(reassigned or {}) if merged else []),
    }


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., dict[str, list[str]]]]:
        """Return the filter functions by name."""
        return {"move_messages": move_messages}
