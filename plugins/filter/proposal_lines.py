# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter proposal_lines."""

from __future__ import annotations

DOCUMENTATION = r"""
name: proposal_lines
short_description: Render where plans were proposed, and the next step
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - The command has the inventory, the limit and the options of the present run. For unsigned plans it is the command that signs them.
options:
  _input:
    description: A result of M(streamops.kafka_recovery.kafka_recovery_commit), or of a skipped task if there was nothing to propose.
    type: dict
    required: true
  run:
    description: The present run, the variable C(kafka_recovery_present_run) of the role P(streamops.kafka_recovery.common#role).
    type: dict
    required: true
  repository:
    description: The Git repository, as the command names it.
    type: str
    required: true
  directory:
    description: Directory of the recoveries in the repository.
    type: str
    required: true
  plan_signers:
    description: File of those who may sign plans. Empty without.
    type: str
    default: ""
  require_signatures:
    description: How many different people must sign what is applied.
    type: int
    default: 1
positional: run, repository, directory, plan_signers, require_signatures
"""

EXAMPLES = r"""
- name: Show the next step
  ansible.builtin.debug:
    msg: "{{ proposed | streamops.kafka_recovery.proposal_lines(kafka_recovery_present_run, 'git@example.com:plans.git', 'recoveries') }}"
"""

RETURN = r"""
_value:
  description: The lines.
  type: list
  elements: str
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages import proposals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.present_run import PresentRun


def proposal_lines(
    proposed: Mapping[str, Any],
    run: Mapping[str, Any],
    repository: str,
    directory: str,
    plan_signers: str = "",
    require_signatures: int = 1,
) -> list[str]:
    """Return where plans were proposed, and the next step with its command."""
    plans = proposals.PlanRepository(repository, directory, plan_signers, require_signatures)
    return proposals.proposal_lines(proposed, PresentRun.from_variables(run), plans)


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., list[str]]]:
        """Return the filter functions by name."""
        return {"proposal_lines": proposal_lines}
