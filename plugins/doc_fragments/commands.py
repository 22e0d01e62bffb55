# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of modules that show commands, as documentation."""

from __future__ import annotations


class ModuleDocFragment:
    """Options for the commands that a module suggests."""

    DOCUMENTATION = r"""
options:
  inventory:
    description:
      - Inventory sources for the commands that this module suggests, as in C(ansible_inventory_sources). Default is the placeholder C(INVENTORY).
      - A command names its partitions. If there are more than three, it names a file C(<workdir>/commands/partitions-*.json) that lists them. Check mode
        writes this file, too, because a dry run shows the command.
    type: list
    elements: str
    default: []
  run_options:
    description:
      - Command-line arguments of the running playbook that the commands repeat, from
        RV(streamops.kafka_recovery.kafka_recovery_options_info#module:run_options).
    type: list
    elements: str
    default: []
  require_commit:
    description: Whether only merged plans may be applied. If so, the commands propose plans instead of electing.
    type: bool
    default: false
"""
