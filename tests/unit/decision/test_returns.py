# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which lost brokers hold every committed record and lead by themselves if they are started."""

from __future__ import annotations

from typing import Any

import pytest
from evidence_documents import evidence
from partition_situations import FENCED, Log, Situation

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.waiting import in_sync_on_return


@pytest.mark.parametrize(
    ("state", "elr", "found"),
    [
        ({"isr": [1]}, False, [1]),
        ({"isr": [1]}, True, [1]),
        ({"eligible_leader_replicas": [1]}, True, [1]),
        ({"eligible_leader_replicas": [1, 3], "replicas": [1, 2, 3]}, True, [1, 3]),
        ({"last_known_elr": [1]}, True, []),
        ({"isr": [2]}, False, []),
        ({}, True, []),
    ],
    ids=["ISR", "ISR with ELR", "ELR", "two", "last known leader: its shutdown was unclean", "a survivor is in sync", "none"],
)
def test_only_members_of_isr_or_elr_are_in_sync(state: dict[str, Any], elr: bool, found: list[int]) -> None:
    partition = evidence(Situation("orders", {1: FENCED, 2: Log.of((5, 0)), 3: FENCED}, state=state))
    assert list(in_sync_on_return(partition, partition.state, elr)) == found
