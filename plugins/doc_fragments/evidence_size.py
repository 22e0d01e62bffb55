# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The option that limits how much evidence is collected at once, as documentation."""

from __future__ import annotations


class ModuleDocFragment:
    """Option to limit the evidence of one run."""

    DOCUMENTATION = r"""
options:
  max_evidence_rows:
    description:
      - Maximum of partitions, replicas and pairs of replicas whose evidence is collected at once. It bounds the memory of the task, about 1 kB for each.
      - A partition with three replicas has seven, so the default allows 28,571 such partitions. Beyond it nothing is read, and the error has the number to set.
    type: int
    default: 200000
"""
