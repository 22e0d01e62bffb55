# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options that name partitions, and the workdir's, as documentation."""

from __future__ import annotations


class ModuleDocFragment:
    """Options that select partitions."""

    DOCUMENTATION = r"""
options:
  partitions:
    description:
      - Partitions to work on. Default is all partitions without a live leader, unless the module documents another default.
      - Mutually exclusive with O(partitions_file).
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
  partitions_file:
    description:
      - JSON file that names the partitions, in the form of KIP-1275, C({"partitions":[{"topic":"foo","partitions":[0,3]}]}),
        or of KIP-460, C({"partitions":[{"topic":"foo","partition":1}]}).
    type: path
"""

    WORKDIR = r"""
options:
  cluster:
    description: Name of the cluster, as in the inventory. Part of the names of its files in O(workdir).
    type: str
    required: true
  run_id:
    description: Name of this run. Part of the paths of all its files.
    type: str
    required: true
  workdir:
    description: Directory on the host that runs the modules, for snapshots, evidence, plans, journals, results. Created if it is missing, private to its owner.
      Or the URL of a folder in an object store (C(s3://), C(gs://), C(az://)).
    type: path
    required: true
"""
