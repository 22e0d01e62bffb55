# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From which offset on a replica loses records by an election: from the fork on, or all of them if nothing shows that anything is common."""

from __future__ import annotations

import pytest
from evidence_documents import document
from partition_situations import Log, Situation

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Policy, decide
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decode import read
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.entry import truncated
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.strategy import Strategy

FORK = 60


@pytest.mark.parametrize(
    ("winner_start", "other_start", "offset"),
    [
        (0, 0, FORK),
        (FORK - 1, 0, FORK),  # both have the record before the fork
        (FORK, 0, None),  # what the winner had before the fork was deleted
        (FORK, FORK - 1, None),
        (FORK, FORK, FORK),  # there is nothing before the fork
    ],
)
def test_a_log_is_lost_from_the_fork_on_if_the_winner_still_has_a_record_of_both(
    winner_start: int, other_start: int, offset: int | None
) -> None:
    brokers = {1: Log.of((FORK, 0), (40, 1)), 2: Log.of((FORK, 0), (50, 2))}
    rows = document(Situation("orders", brokers).rows())
    for row in rows["logs"]:
        row["log_start_offset"] = winner_start if row["broker_id"] == 2 else other_start
    decision = decide(read(rows), Policy(Strategy.AGGRESSIVE))
    assert decision.winner is not None
    assert decision.winner.broker_id == 2
    records = None if offset is None else 40
    assert list(truncated(decision)) == [{"broker_id": 1, "offset": offset, "records": records}]
