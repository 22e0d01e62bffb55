# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of modules that look ahead of a recovery, as documentation."""

from __future__ import annotations


class ModuleDocFragment:
    """What is to be done afterwards."""

    DOCUMENTATION = r"""
options:
  elect:
    description: Whether the recovery is to elect leaders, which needs more than looking.
    type: bool
    default: false
  stages:
    description:
      - What is to be done, apart from O(elect). V(gather) is to collect evidence, V(reassign) to move replicas, V(throttle) to throttle them meanwhile.
      - For V(reassign) and V(throttle) all topics have to be visible, also if partitions are named, because redundancy is planned for all of them. For
        V(throttle) the topics that matter are those named, and those with a replica that is offline.
    type: list
    elements: str
    choices: [gather, reassign, throttle]
    default: [gather]
"""
