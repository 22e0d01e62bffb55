# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The option of modules that wait for the first answer about a partition, as documentation."""

from __future__ import annotations


class ModuleDocFragment:
    """Waiting for the first answer."""

    DOCUMENTATION = r"""
options:
  first_answer_seconds:
    description:
      - Seconds beyond the time for the logs in which brokers are asked on for a partition of which no replica has answered, until the first answer comes.
        This is how KIP-966's strategy Aggressive treats late answers. V(0) asks no longer.
      - It is for partitions with the strategy C(aggressive) only, and only while a replica that did not answer is on an unfenced broker.
    type: float
    default: 0.0
"""
