# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Of identical logs, one whose comparison with a third log failed: it may lack records in between, or its broker may not say the truth."""

from __future__ import annotations

from dataclasses import replace

import pytest
from evidence_documents import evidence
from partition_situations import Log, Situation

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Action, Decision, Policy, Ranking, decide
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import (
    CORRUPT,
    UNKNOWN,
    ClusterHeader,
    PartitionEvidence,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.explain import explanation
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.loss import bounds
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.strategy import Strategy

WHOLE, START = Log((0, 0, 1, 2), (0, 0, 1, 2), 0), Log((0, 0, 1), (0, 0, 1), 2)
FENCED_START = replace(START, fenced=True)
KIP1275 = Policy(Strategy.BALANCED, Ranking.KIP1275)


def decided(logs: dict[int, Log | str], pair: tuple[int, int], relation: str, strategy: Strategy = Strategy.BALANCED) -> Decision:
    """The decision if the comparison of a pair has failed."""
    known = evidence(Situation("orders", logs))
    failed = known.pairs[pair]._replace(relation=relation, shorter=None, common_offset=None, reason="no record at offset 1")
    return decide(replace(known, pairs={**known.pairs, pair: failed}), Policy(strategy))


def with_an_older_epoch(known: PartitionEvidence) -> PartitionEvidence:
    """The same evidence, but the log of broker 1 is of an older leader epoch."""
    first, *others = known.logs
    return replace(known, logs=(first._replace(partition_leader_epoch=6), *others))


def text(decision: Decision) -> str:
    return explanation(decision, bounds(decision, ClusterHeader()), ClusterHeader())


@pytest.mark.parametrize("other", [START, FENCED_START], ids=["survivor", "fenced"])
@pytest.mark.parametrize("relation", [UNKNOWN, CORRUPT])
def test_it_may_not_lead(other: Log, relation: str) -> None:
    decision = decided({2: WHOLE, 1: WHOLE, 3: other}, (1, 3), relation)
    if relation == CORRUPT and other is START:
        assert (decision.action, decision.reason) == (Action.HOLD, "corrupt")
    else:
        assert (decision.action, decision.choices, decision.identical) == (Action.ELECT, (2,), (2, 1))
        assert "broker 1 may not lead: whether its log fits that of broker 3 is not known (no record at offset 1)" in text(decision)


def test_the_partition_is_held_if_it_is_the_only_one_that_starts_first() -> None:
    """A follower deletes what lies before the start of its leader's log, so no other one may lead. Broker 2 is the best by its leader epoch (KIP-1275)."""
    logs: dict[int, Log | str] = {1: WHOLE, 2: replace(WHOLE, start=1), 3: START}
    assert decide(with_an_older_epoch(decided(logs, (1, 2), "same").evidence), KIP1275).choices == (1,)
    known = with_an_older_epoch(decided(logs, (1, 3), UNKNOWN).evidence)
    held = decide(known, KIP1275)
    assert (held.ranked[0].broker_id, held.action, held.reason) == (2, Action.HOLD, "incomplete")
    assert "remove the reason why the log of broker 1 could not be compared" in text(held)
    assert decide(known, replace(KIP1275, strategy=Strategy.AGGRESSIVE)).choices == (2,)


def test_a_log_is_named_once_if_two_of_its_comparisons_have_failed() -> None:
    known = with_an_older_epoch(decided({1: WHOLE, 2: replace(WHOLE, start=1), 3: START, 4: START}, (1, 3), UNKNOWN).evidence)
    failed = known.pairs[1, 4]._replace(relation=UNKNOWN, shorter=None, common_offset=None, reason="no record at offset 1")
    held = decide(replace(known, pairs={**known.pairs, (1, 4): failed}), KIP1275)
    assert len(held.failed) == 2 and "why the log of broker 1 could not be compared" in text(held)
