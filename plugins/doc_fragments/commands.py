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
"""
