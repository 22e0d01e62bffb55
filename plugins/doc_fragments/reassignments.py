# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options that name partitions with their desired replicas, as documentation."""

from __future__ import annotations


class ModuleDocFragment:
    """Which partitions a task is about, and which replicas they are to have."""

    DOCUMENTATION = r"""
options:
  partitions:
    description:
      - The partitions that the task is about.
      - Mutually exclusive with O(reassignment_file).
    type: list
    elements: dict
    suboptions:
      topic:
        description: Name of the topic.
        type: str
        required: true
      partition:
        description: Number of the partition.
        type: int
        required: true
      replicas:
        description: Ids of the brokers that are to have the partition's replicas, the preferred leader first.
        type: list
        elements: int
  reassignment_file:
    description:
      - JSON file of C(kafka-reassign-partitions.sh), version 1,
        C({"version":1,"partitions":[{"topic":"foo","partition":1,"replicas":[1,2,3]}]}), as it and
        M(streamops.kafka_recovery.kafka_redundancy_plan) write it.
      - Log directories in it have to be C(any). Replicas are moved between brokers here, not between the directories of one.
    type: path
"""
