# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of modules that show commands, as documentation."""

from __future__ import annotations


class ModuleDocFragment:
    """Commands that a module shows."""

    DOCUMENTATION = r"""
options:
  inventory:
    description:
      - Inventory sources that the commands name which this module shows, as C(ansible_inventory_sources) has them. Without it they say C(INVENTORY).
      - A command names its partitions. More than 20 of them are in a file C(<workdir>/commands/partitions-*.json) that the command names. What was planned or
        elected writes it in check mode, too, because the dry run shows the command.
    type: list
    elements: str
    default: []
  run_options:
    description:
      - Words of the present command line that the commands repeat, as
        RV(streamops.kafka_recovery.kafka_recovery_options_info#module:run_options) has them.
    type: list
    elements: str
    default: []
  require_commit:
    description: Whether only plans that are merged may be applied. Then the commands propose what they would otherwise elect.
    type: bool
    default: false
"""
