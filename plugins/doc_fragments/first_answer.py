# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The option of modules that wait for the first answer about a partition, as documentation."""

from __future__ import annotations


class ModuleDocFragment:
    """Option to wait for the first answer of a partition."""

    DOCUMENTATION = r"""
options:
  first_answer_seconds:
    description:
      - Additional seconds to query brokers for a partition of which no replica has answered in time, until the first answer.
        KIP-966's strategy Aggressive treats late answers like this. V(0) does not wait.
      - Only for partitions with the strategy C(aggressive), and only while a replica that did not answer is on an unfenced broker.
    type: float
    default: 0.0
"""
