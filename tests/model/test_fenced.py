# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fenced brokers that answer: `decide` knows their logs, elects none of them, and gives up nothing that they hold."""

from __future__ import annotations

from collections import Counter

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Policy, decide
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import ClusterHeader
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.loss import bounds
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.strategy import Strategy
from model.evidence import evidence
from model.logs import common
from model.partition import Lost
from model.search import Findings, destroys

HELD = "fenced_broker_holds_more"


def judged(lost: Lost, fenced: int) -> Counter[str]:
    """What becomes of the partition if the broker of one of its survivors is fenced and answers."""
    placed = dict(enumerate(lost.survivors))
    beside = {fenced: placed.pop(fenced)}
    counted: Counter[str] = Counter()
    known = evidence(placed, fenced=beside)
    for strategy in (Strategy.BALANCED, Strategy.AGGRESSIVE):
        decision = decide(known, Policy(strategy))
        assert fenced not in decision.choices
        assert strategy == Strategy.BALANCED or decision.choices, "aggressive waits for no broker"
        for winner in decision.choices or (decision.best_first[0],):
            log = placed[winner].log
            gone = max(len(committed) - common(log, committed) for committed in lost.committed)
            assert (bounds(decision, ClusterHeader()).lower_bound or 0) <= gone, "nothing is called lost that is not"
        if strategy == Strategy.BALANCED:
            counted["elected"] += bool(decision.choices)
            counted["losing"] += any(destroys(lost, winner) for winner in decision.choices)
            counted[HELD] += decision.reason == HELD
            alone = decide(evidence(placed), Policy(strategy))
            counted["saved"] += decision.reason == HELD and any(destroys(lost, winner) for winner in alone.choices)
            assert not decision.choices or decision.choices == alone.choices
    return counted


@pytest.mark.parametrize("bounds_of", ["small", "four"])
def test_no_committed_record_of_a_fenced_broker_is_given_up(bounds_of: str, request: pytest.FixtureRequest) -> None:
    findings: Findings = request.getfixturevalue(bounds_of)
    counted: Counter[str] = Counter()
    for lost in findings.offline:
        for fenced in range(len(lost.survivors)):
            counted += judged(lost, fenced)
    assert counted["losing"] == 0, counted
    assert min(counted["elected"], counted[HELD], counted["saved"]) > 50, counted
