# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter automatic_recovery_objections."""

from __future__ import annotations

DOCUMENTATION = r"""
name: automatic_recovery_objections
short_description: Render which variables do not allow an automatic recovery
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - An automatic recovery works on one cluster, with fixed options and a workdir that stays.
options:
  _input:
    description: Variables of the run, C(clusters) (how many it has), C(workdir), C(strategy), C(ranking), C(topic_strategies) and C(require_commit).
    type: dict
    required: true
  cluster:
    description: Inventory host name of the cluster.
    type: str
    required: true
positional: cluster
"""

EXAMPLES = r"""
- name: Check that unattended recovery is allowed
  ansible.builtin.assert:
    that: options | streamops.kafka_recovery.automatic_recovery_objections(inventory_hostname) | length == 0
"""

RETURN = r"""
_value:
  description: A sentence for each variable that does not allow it.
  type: list
  elements: str
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.automatic_recovery import (
    AutomaticRecoveryOptions,
    option_objections,
)


def automatic_recovery_objections(variables: Mapping[str, Any], cluster: str) -> list[str]:
    """Return a sentence for each variable that does not allow an automatic recovery."""
    return option_objections(AutomaticRecoveryOptions(**variables), cluster)


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., list[str]]]:
        """Return the filter functions by name."""
        return {"automatic_recovery_objections": automatic_recovery_objections}
