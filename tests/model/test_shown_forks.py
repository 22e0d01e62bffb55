# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Forks of logs that were not compared, which other comparisons show: whichever comparisons of the survivors are missing, in every state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations, pairwise, permutations

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import FORKED, Pair
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.log_pairs import LogPairs
from model.comparison import not_compared, seen, stored
from model.evidence import evidence
from model.partition import Replica
from model.search import Findings

BROKERS = range(4)
ALL_PAIRS = [*combinations(BROKERS, 2)]
Places = tuple[int, int]


def leads_to_fork(path: tuple[int, ...], compared: dict[Places, Pair]) -> bool:
    """Whether logs that were compared one after the other show that the first and the last one fork: one of them forks, and the others agree beyond it."""
    pairs = [compared.get((min(step), max(step))) for step in pairwise(path)]
    if None in pairs:
        return False
    first, *others = sorted((pair.common_offset or 0, pair.relation) for pair in pairs if pair)
    return first[1] == FORKED and all(offset > first[0] for offset, _relation in others)


def subsets() -> Iterator[set[Places]]:
    """Every choice of pairs that were not compared, but at least one."""
    return ({*some} for count in range(1, len(ALL_PAIRS) + 1) for some in combinations(ALL_PAIRS, count))


def test_other_logs_show_a_fork_if_comparisons_lead_from_one_log_over_it_to_the_other(small: Findings, four: Findings) -> None:
    """Four survivors with the two or three logs of a state."""
    counted = Counter[bool]()
    for logs in {tuple(map(stored, lost.survivors)) for lost in (*small.offline, *four.offline)}:
        survivors = {broker: logs[broker % len(logs)] for broker in BROKERS}
        relations = {(one, other): seen(one, other, survivors[one], survivors[other]) for one, other in ALL_PAIRS}
        for missing in subsets():

            def compare(one: int, other: int, log: Replica, others: Replica, missing: set[Places] = missing) -> Pair:
                return (not_compared if (one, other) in missing else seen)(one, other, log, others)

            pairs = LogPairs(evidence(survivors, compare=compare), (), ())
            compared = {places: pair for places, pair in relations.items() if places not in missing}
            for one, other in missing:
                paths = (path for count in (3, 4) for path in permutations(BROKERS, count) if (path[0], path[-1]) == (one, other))
                is_shown = any(leads_to_fork(path, compared) for path in paths)
                assert pairs.fork_shown_by_others(one, other) == (relations[one, other].common_offset if is_shown else None)
                counted[is_shown] += 1
    assert min(counted.values()) > 500
