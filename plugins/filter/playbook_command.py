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
  - Renders one line for a shell, in the form that the modules show, with the inventory of the present run.
  - An argument that a screen would change, for example one with a quote in it, is replaced by C(INVENTORY), C(CLUSTERS) or C(VALUE) for the reader to
    fill in.
options:
  _input:
    description: Name of the playbook, without the name of the collection.
    type: str
    required: true
  inventory:
    description: Inventory sources, as in C(ansible_inventory_sources).
    type: list
    elements: str
    required: true
  limit:
    description: Value of C(--limit). By default the command has none.
    type: str
  variables:
    description: Variables that the command sets with C(-e).
    type: dict
    default: {}
  workdir:
    description: The workdir. The command names it unless it is the default one.
    type: str
  run_options:
    description: Arguments that the command repeats, from RV(streamops.kafka_recovery.kafka_recovery_options_info#module:run_options).
    type: list
    elements: str
    default: []
  partitions:
    description: Partitions that the command names, with C(topic) and C(partition). By default it names none.
    type: list
    elements: dict
    default: []
  partitions_file:
    description: A file that lists them, used if O(partitions) is empty or too long for a command.
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
    """Return one line for a shell that runs a playbook of the collection."""
    where = Path(workdir) if workdir else None
    keys = [(row["topic"], row["partition"]) for row in partitions]
    playbooks = Playbooks(inventory, where, program=running_program(), run_options=run_options)
    return playbooks.line(playbook, limit, variables, keys, partitions_file or None, without)


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., str]]:
        """Return the filter functions by name."""
        return {"playbook_command": playbook_command}
