# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs that were not compared rank as if they did not fork, but not those of which it is known that they do."""

from __future__ import annotations

import pytest
from evidence_documents import evidence
from partition_situations import FENCED, Log, Situation

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Policy, decide
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.strategy import Strategy

AGGRESSIVE = Policy(Strategy.AGGRESSIVE)
# Raft's "Figure 8": the older epoch is the committed one.
COMMITTED, LATER = Log.of((15, 0), high_watermark=15), Log.of((10, 0), (6, 1), high_watermark=10)


@pytest.mark.parametrize("third", [LATER, Log.of((10, 0), (2, 1), high_watermark=10)], ids=["same", "prefix"])
def test_a_log_of_which_a_third_one_shows_that_it_forks_does_not_hold_what_lies_beyond_the_fork(third: Log) -> None:
    """3 was not compared with 1. But 4 is the same as 3, or its start, and forks from 1 at offset 10, so 3 does, too."""
    brokers: dict[int, Log | str] = {2: FENCED, 1: COMMITTED, 3: LATER, 4: third}
    decision = decide(evidence(Situation("orders", brokers, unknown={(1, 3)})), AGGRESSIVE)
    assert decision.choices == (1,), "offsets 10 to 15 are proven committed, and only 1 holds them"


def test_a_log_that_has_other_bytes_than_the_holder_of_committed_records_does_not_count_as_their_holder() -> None:
    """Below the place where two logs differ it is not known from where on they do: they were compared."""
    brokers: dict[int, Log | str] = {1: FENCED, 2: Log.of((151, 2)), 3: Log.of((150, 2), high_watermark=150)}
    decision = decide(evidence(Situation("orders", brokers, corrupt={(2, 3)}, state={"named": True})), AGGRESSIVE)
    assert decision.choices == (3,)
