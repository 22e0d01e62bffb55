# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of modules that select saved records, as documentation. `kafka_module.record_selection_arguments` has their types."""

from __future__ import annotations


class ModuleDocFragment:
    """Options that select saved records."""

    DOCUMENTATION = r"""
options:
  topics:
    description: Topics to select. Mutually exclusive with O(partitions) and O(partitions_file).
    type: list
    elements: str
  brokers:
    description: Ids of the brokers whose saved replicas are selected. Default is all.
    type: list
    elements: int
  start_offset:
    description: First saved offset to select, in each partition.
    type: int
  end_offset:
    description: Offset after the last one to select, in each partition.
    type: int
  start_time:
    description: Select records whose timestamp is this time or later. ISO 8601 in UTC, as C(2026-11-21T18:05:00Z), with a fraction of the second if needed.
    type: str
  end_time:
    description: Select records whose timestamp is before this time, in the format of O(start_time).
    type: str
  keys:
    description: Select records that have one of these keys, as text in UTF-8. Default is all, also those without a key.
    type: list
    elements: str
"""
