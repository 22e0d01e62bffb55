# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two logs that were not compared, and a third one that is identical to one of them."""

from __future__ import annotations

from collections.abc import Collection

import pytest
from evidence_documents import evidence
from partition_situations import Log, Situation

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Action, Decision, Policy, Word, decide
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.strategy import Strategy

LONG, SHORT = Log((0, 0, 1, 2), (0, 0, 1, 2), 0), Log((0, 0, 1), (0, 0, 1), 2)
FORK = Log((0, 0, 3), (0, 0, 3), 0)


def decided(brokers: dict[int, Log | str], *unknown: tuple[int, int], corrupt: Collection[tuple[int, int]] = ()) -> Decision:
    return decide(evidence(Situation("orders", brokers, unknown={*unknown}, corrupt={*corrupt})), Policy(Strategy.BALANCED))


@pytest.mark.parametrize(
    "logs",
    [{1: LONG, 2: SHORT, 3: SHORT}, {3: LONG, 1: SHORT, 2: SHORT}, {1: SHORT, 2: LONG, 3: LONG}],
    ids=["the longer log", "its broker's id is greater", "the shorter log"],
)
def test_the_comparison_of_an_identical_log_counts(logs: dict[int, Log | str]) -> None:
    compared = decided(logs)
    left_out = [(1, 3)]
    decision = decided(logs, *left_out)
    assert (decision.action, decision.word, decision.choices) == (Action.ELECT, Word.PREFIX, compared.choices)
    assert decision.relations == compared.relations
    assert decision.points == compared.points and not decision.lacking


def test_a_fork_is_known_by_an_identical_log() -> None:
    decision = decided({1: LONG, 2: LONG, 3: FORK}, (1, 3))
    assert (decision.action, decision.reason) == (Action.HOLD, "forked")
    assert decision.relations == decided({1: LONG, 2: LONG, 3: FORK}).relations


def test_it_stays_unknown_where_the_identical_log_was_not_compared_either_or_is_corrupt() -> None:
    logs: dict[int, Log | str] = {1: LONG, 2: SHORT, 3: SHORT}
    assert decided(logs, (1, 2), (1, 3)).reason == "incomplete"
    assert decided(logs, (1, 3), corrupt={(1, 2)}).reason == "corrupt"
    assert decided(logs, (1, 3), (2, 3)).reason == "incomplete"
