# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options that name partitions with their desired replicas, as documentation."""

from __future__ import annotations


class ModuleDocFragment:
    """Options that select partitions and their new replicas."""

    DOCUMENTATION = r"""
options:
  partitions:
    description:
      - Partitions to work on.
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
        description: Ids of the brokers of the partition's new replicas, the preferred leader first.
        type: list
        elements: int
  reassignment_file:
    description:
      - JSON file of C(kafka-reassign-partitions.sh), version 1,
        C({"version":1,"partitions":[{"topic":"foo","partition":1,"replicas":[1,2,3]}]}), as that tool and
        M(streamops.kafka_recovery.kafka_redundancy_plan) write it.
      - Log directories in it must be C(any). Replicas are moved between brokers, not between the log directories of one broker.
    type: path
  reassignment_file_sha256:
    description:
      - The sha256 that O(reassignment_file) must have, as C(sha256sum) prints it and M(streamops.kafka_recovery.kafka_redundancy_plan) returns it.
      - The task fails before it changes anything if the file has another one, because it was replaced since it was made.
    type: str
"""
