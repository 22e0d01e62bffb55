# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter run_limit."""

from __future__ import annotations

DOCUMENTATION = r"""
name: run_limit
short_description: What --limit of the present run says, as data
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Ansible's own variable C(ansible_limit) is evaluated as a template. Someone who may choose the clusters of a run in a pipeline could run commands there.
  - What this filter returns is never evaluated.
options:
  _input:
    description: What is returned if the run has no limit.
    type: raw
    required: true
"""

EXAMPLES = r"""
- name: Show which clusters this run is about
  ansible.builtin.debug:
    msg: "{{ query('ansible.builtin.inventory_hostnames', 'kafka_clusters' | streamops.kafka_recovery.run_limit) }}"
"""

RETURN = r"""
_value:
  description: The pattern of hosts.
  type: raw
"""

from collections.abc import Callable
from typing import Any

from ansible import context


def run_limit(without: Any) -> Any:
    """The pattern of hosts that `--limit` names, `without` if there is none."""
    given = context.CLIARGS.get("subset")
    # A text of its own: what comes from a command line is trusted as a template.
    return "".join(map(str, given)) if given else without


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return {"run_limit": run_limit}
