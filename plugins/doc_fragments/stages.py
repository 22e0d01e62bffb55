# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of modules that look ahead of a recovery, as documentation."""

from __future__ import annotations


class ModuleDocFragment:
    """Options that select the stages of a recovery."""

    DOCUMENTATION = r"""
options:
  elect:
    description: Whether the recovery elects leaders, which needs more permissions than reading.
    type: bool
    default: false
  stages:
    description:
      - Stages of the recovery in addition to O(elect). V(collect) collects evidence, V(reassign) moves replicas, V(throttle) throttles the moves.
      - For V(reassign) and V(throttle) all topics must be visible, even if partitions are named, because redundancy is planned for all topics. For
        V(throttle) the relevant topics are the named topics and those with an offline replica.
    type: list
    elements: str
    choices: [collect, reassign, throttle]
    default: [collect]
"""
