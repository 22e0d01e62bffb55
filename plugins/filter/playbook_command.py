# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter playbook_command."""

from __future__ import annotations

DOCUMENTATION = r"""
name: playbook_command
short_description: The command that runs one of the collection's playbooks
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Makes one line for a shell, as the modules show it, with the inventory that is in use.
  - A word that does not stay as it is on a screen, for example with a quote in it, is left to the reader as C(INVENTORY), C(CLUSTERS) or C(VALUE).
options:
  _input:
    description: Name of the playbook, without that of the collection.
    type: str
    required: true
  inventory:
    description: Inventory sources, as in C(ansible_inventory_sources).
    type: list
    elements: str
    required: true
  limit:
    description: What C(--limit) says. None by default.
    type: str
  variables:
    description: Variables that the run gets with C(-e).
    type: dict
    default: {}
  workdir:
    description: The workdir. It is named unless it is the default one.
    type: str
  run_options:
    description: Words that it repeats, as RV(streamops.kafka_recovery.kafka_recovery_options_info#module:run_options) has them.
    type: list
    elements: str
    default: []
  partitions:
    description: Partitions that the command names, with C(topic) and C(partition). By default it names none.
    type: list
    elements: dict
    default: []
  partitions_file:
    description: A file that names them, for when O(partitions) is empty or more than a command has room for.
    type: str
  without:
    description: Variables of O(run_options) that the command does not repeat.
    type: list
    elements: str
    default: []
positional: inventory, limit, variables, workdir, run_options, partitions, partitions_file, without
"""

EXAMPLES = r"""
- name: Show how to plan again
  ansible.builtin.debug:
    msg: "{{ 'plan' | streamops.kafka_recovery.playbook_command(ansible_inventory_sources, inventory_hostname) }}"
"""

RETURN = r"""
_value:
  description: The command.
  type: str
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import Playbooks, running_program


def playbook_command(
    playbook: str,
    inventory: Sequence[str],
    limit: str | None = None,
    variables: Mapping[str, str] | None = None,
    workdir: str | None = None,
    run_options: Sequence[str] = (),
    partitions: Sequence[Mapping[str, Any]] = (),
    partitions_file: str | None = None,
    without: Sequence[str] = (),
) -> str:
    """One line for a shell that runs a playbook of the collection."""
    where = Path(workdir) if workdir else None
    keys = [(row["topic"], row["partition"]) for row in partitions]
    playbooks = Playbooks(inventory, where, program=running_program(), run_options=run_options)
    return playbooks.line(playbook, limit, variables, keys, partitions_file or None, without)


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., str]]:
        """Names and functions."""
        return {"playbook_command": playbook_command}
