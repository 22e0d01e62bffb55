# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter run_limit."""

from __future__ import annotations

DOCUMENTATION = r"""
name: run_limit
short_description: Return --limit of the present run as data
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Ansible evaluates its own variable C(ansible_limit) as a template. In a pipeline, a user who may choose the clusters of a run could run commands
    with it.
  - The result of this filter is never evaluated.
options:
  _input:
    description: The result if the run has no limit.
    type: raw
    required: true
"""

EXAMPLES = r"""
- name: Show the clusters of this run
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
    """Return the host pattern of `--limit`, `without` if there is none."""
    given = context.CLIARGS.get("subset")
    # A new text: Ansible trusts text of the command line as a template.
    return "".join(map(str, given)) if given else without


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter functions by name."""
        return {"run_limit": run_limit}
