# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs that were not compared rank as if they did not fork, but not those of which it is known that they do."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
from evidence_documents import evidence
from partition_situations import FENCED, Log, Situation

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Policy, decide
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import FORKED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.log_pairs import LogPairs
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


@pytest.mark.parametrize(
    "compared",
    [
        [(1, 4), (3, 4)],
        [(1, 4), (4, 5), (3, 5)],
        [(1, 4), (4, 6), (3, 6)],
        [(1, 5), (5, 7), (3, 7)],
    ],
)
def test_a_fork_of_two_logs_is_one_of_all_logs_that_agree_with_them_beyond_it(compared: list[tuple[int, int]]) -> None:
    """1, 4 and 6 have the same records, and so have 3, 5 and 7. 1 and 3 were not compared, but the other comparisons lead from one to the other."""
    logs = {broker: COMMITTED if broker in (1, 4, 6) else LATER for pair in compared for broker in pair}
    unknown = {*combinations(sorted(logs), 2)} - {*compared}
    decision = decide(evidence(Situation("orders", {2: FENCED, **logs}, unknown=unknown)), AGGRESSIVE)
    assert decision.choices and {*decision.choices} <= {1, 4, 6}, "offsets 10 to 15 are proven committed"


def test_a_log_that_agrees_with_one_of_a_fork_up_to_that_fork_may_be_on_either_branch() -> None:
    """4 forks at offset 10 from 1 and from 3. So 3 may go on where 1 ends, as most logs do."""
    longer = Log.of((15, 0), (3, 2), high_watermark=10)
    brokers: dict[int, Log | str] = {2: FENCED, 1: COMMITTED, 3: longer, 4: LATER}
    assert decide(evidence(Situation("orders", brokers, unknown={(1, 3)})), AGGRESSIVE).choices == (3,)


def test_of_forks_that_contradict_each_other_the_first_one_counts() -> None:
    """4 and 5 are said to be the same as 3, but fork from 1 at different offsets. One of these brokers is wrong."""
    brokers: dict[int, Log | str] = {2: FENCED, 1: COMMITTED, 3: LATER, 4: LATER, 5: LATER}
    known = evidence(Situation("orders", brokers, unknown={(1, 3), (4, 5)}))
    for wrong in (4, 5):
        pair = known.pairs[1, wrong]
        assert (pair.relation, pair.common_offset) == (FORKED, 10)
        pairs = LogPairs(replace(known, pairs={**known.pairs, (1, wrong): pair._replace(common_offset=8)}), (), ())
        assert (pairs.fork_shown_by_others(1, 3), pairs.fork_shown_by_others(3, 1)) == (8, 8)


def test_a_log_that_begins_where_the_holder_of_committed_records_ends_does_not_hold_them() -> None:
    """Retention has deleted what it may have had of them."""
    brokers: dict[int, Log | str] = {1: FENCED, 2: Log.of((50, 0), high_watermark=40), 3: Log.of((60, 0), (40, 1), start=60)}
    assert decide(evidence(Situation("orders", brokers)), AGGRESSIVE).choices == (2,)


def test_a_log_that_has_other_bytes_than_the_holder_of_committed_records_does_not_count_as_their_holder() -> None:
    """Below the place where two logs differ it is not known from where on they do: they were compared."""
    brokers: dict[int, Log | str] = {1: FENCED, 2: Log.of((151, 2)), 3: Log.of((150, 2), high_watermark=150)}
    decision = decide(evidence(Situation("orders", brokers, corrupt={(2, 3)}, state={"named": True})), AGGRESSIVE)
    assert decision.choices == (3,)
