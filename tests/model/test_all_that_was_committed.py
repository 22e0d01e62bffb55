# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A topic with tiered storage (KIP-405): what `balanced` elects holds every committed record that the last leader had, and can have copied to remote storage.

For other topics it is enough that no survivor holds a committed record which the elected one lacks.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Policy, decide
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import PartitionEvidence
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.strategy import Strategy
from model.answers import pasts
from model.evidence import Past, evidence, in_past, part
from model.logs import common
from model.partition import Bounds
from model.test_lost_member import Case, cases

BALANCED = Policy(Strategy.BALANCED)
SMALL: dict[str, Any] = {"records": 2, "epochs": 2}
# Not in it: power cuts, after which no log is known to hold what it held before (docs/decisions.md).
SEARCHES = {
    "min ISR 1": Bounds(1, **SMALL),
    "min ISR 2": Bounds(2, **SMALL),
    "three epochs": Bounds(2, records=2, epochs=3),
    "four": Bounds(2, replicas=4, **SMALL),
    "unclean elections": Bounds(2, unclean_elections=True, **SMALL),
    "ELR": Bounds(2, eligible_leader_replicas=True, **SMALL),
    "min ISR changes": Bounds(2, min_isr_changes=True, **SMALL),
    "before Kafka 3.7": Bounds(2, commit_needs_min_isr=False, **SMALL),
}
LONG = ("three epochs", "four", "unclean elections", "min ISR changes", "before Kafka 3.7")
# Where only the leader may have a committed record. Elsewhere a survivor always has it.
LEADER_ALONE = ("min ISR 1", "four", "min ISR changes", "before Kafka 3.7")


def tiered(known: PartitionEvidence) -> PartitionEvidence:
    assert known.state is not None
    return replace(known, state=known.state._replace(remote_storage_enable=True))


def loses(case: Case, winner: tuple[int, ...]) -> bool:
    """Whether the last leader had committed records that this log lacks."""
    return any(common(winner, committed) < common(case.member.log, committed) for committed in case.lost.committed)


def judged(case: Case, past: Past) -> Counter[str]:
    counted = Counter[str]()
    placed = in_past(case.lost.survivors, past)
    broker = (*past.standing.isr, *past.standing.elr)[-1]
    for source, known in (
        ("history", evidence(placed, past)),
        ("disk and history", evidence(placed, past, fenced={broker: case.member})),
        ("disk", replace(evidence(placed, past, fenced={broker: case.member}), history=None)),
        ("neither", replace(evidence(placed, past), history=None)),
    ):
        usual, decision = decide(known, BALANCED), decide(tiered(known), BALANCED)
        assert decision.choices in (usual.choices, ())
        counted[f"{source}: elected"] += bool(decision.choices)
        counted[f"{source}: lost"] += any(loses(case, placed[one].log) for one in decision.choices)
        counted["lost without the rule"] += any(loses(case, placed[one].log) for one in usual.choices)
    return counted


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.long] * (name in LONG)) for name in SEARCHES])
def test_what_is_elected_holds_all_that_may_be_in_remote_storage(name: str) -> None:
    bounds, total = SEARCHES[name], Counter[str]()
    ways = pasts(bounds)
    for case in cases(bounds):
        for past in ways[tuple(sorted(map(part, case.lost.survivors)))]:
            total += judged(case, past)
    assert not any(total[f"{source}: lost"] for source in ("history", "disk and history", "disk", "neither")), total
    assert bool(total["lost without the rule"]) == (name in LEADER_ALONE), "or the rule would be idle"
    assert total["disk: elected"] and not total["neither: elected"], total
    # At min ISR 1 the history alone proves nothing, and so it is if min ISR may have been 1.
    if name not in ("min ISR 1", "before Kafka 3.7"):
        assert total["history: elected"], total
