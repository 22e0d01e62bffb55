# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Entries of a plan for the made-up controller."""

from __future__ import annotations

from collected_evidence import found_again

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Entry


def entry(partition: int, replicas: tuple[int, ...], strategy: str = "balanced") -> Entry:
    return found_again(Entry("t", partition, 2, (2, 3, 1), "id", 1, replicas, {2: (0, 121), 3: (0, 100)}, "prefix", strategy))


# The third one has a leader by the time of the election.
ENTRIES = [entry(0, (1, 3, 2)), entry(1, (1, 2, 3)), entry(2, (3, 1, 2))]
