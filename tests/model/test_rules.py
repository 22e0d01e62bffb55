# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each rule loses in every state that a small partition can reach."""

from __future__ import annotations

from pathlib import Path

import pytest

from model.figures import main_table
from model.partition import NOTHING, UNCLEAN_ELECTION, WITHOUT_LEADER, Bounds, Replica
from model.rules import (
    LOOSER_RULES,
    RULES,
    Rule,
    first_in_order,
    isr_history,
    isr_history_trusting_disks,
    last_to_leave,
    last_written_epoch,
    log_end_offset,
    ours,
)
from model.search import Findings, score, search

GUIDE = Path(__file__).parents[2] / "docs" / "model.md"


@pytest.mark.parametrize("min_isr", [1, 2])
@pytest.mark.parametrize("rule", [ours, isr_history])
def test_what_balanced_elects_destroys_no_committed_record(found: dict[int, Findings], rule: Rule, min_isr: int) -> None:
    counted = score(found[min_isr].offline, rule)
    assert counted.elected > 0
    assert counted.losing == 0


@pytest.mark.parametrize("min_isr", [1, 2])
@pytest.mark.parametrize("rule", [first_in_order, log_end_offset, last_written_epoch])
def test_the_same_count_convicts_other_rules(found: dict[int, Findings], rule: Rule, min_isr: int) -> None:
    counted = score(found[min_isr].offline, rule)
    assert counted.elected == len(found[min_isr].offline)
    assert counted.losing_on_average > 0


def test_isr_history_elects_where_logs_fork_but_not_at_min_isr_1(found: dict[int, Findings]) -> None:
    assert score(found[2].offline, isr_history).elected > 1.5 * score(found[2].offline, ours).elected
    assert score(found[1].offline, isr_history).elected == score(found[1].offline, ours).elected
    assert score(found[1].offline, last_to_leave).losing > 0


def test_the_guide_shows_these_figures(found: dict[int, Findings]) -> None:
    assert main_table(*found.values()) in GUIDE.read_text()


@pytest.mark.parametrize(
    ("bounds", "too_loose"),
    [
        (Bounds(2, records=2, epochs=2, power_cuts=True), isr_history_trusting_disks),
        (Bounds(2, records=1, epochs=3, power_cuts=True, eligible_leader_replicas=True), last_to_leave),
        (Bounds(2, records=2, epochs=2, unclean_elections=True), last_to_leave),
        (Bounds(2, records=2, epochs=2, min_isr_changes=True), last_to_leave),
    ],
    ids=["power cuts", "power cuts with ELR", "unclean elections", "min ISR changes"],
)
def test_every_condition_of_isr_history_is_needed(bounds: Bounds, too_loose: Rule) -> None:
    _only_the_loose_rule_loses(search(bounds), too_loose)


def test_the_sizes_of_the_isr_are_needed_with_four_replicas(four: Findings) -> None:
    _only_the_loose_rule_loses(four, last_to_leave)


def _only_the_loose_rule_loses(findings: Findings, too_loose: Rule) -> None:
    for rule in (ours, isr_history):
        counted = score(findings.offline, rule)
        assert counted.elected > 0
        assert counted.losing == 0
    assert score(findings.offline, too_loose).losing > 0


@pytest.mark.parametrize(
    ("survivors", "elected"),
    [
        ((Replica((0,)), Replica((0, 1))), {1}),
        ((Replica((0, 1), left=1), Replica((0, 1), left=2)), {0, 1}),
        # Forked: who left while the ISR was too small to commit.
        ((Replica((0,), left=2), Replica((1,), left=1, overtaken=True)), {0}),
        ((Replica((0,), left=1, overtaken=True), Replica((1,), left=2, overtaken=True)), set()),
        # In one change: the later epoch gives up the least.
        ((Replica((0,), left=1), Replica((1,), left=1)), {1}),
        # The log of the last one goes on in another's.
        ((Replica((0, 0), left=1, overtaken=True), Replica((0,), left=2), Replica((1,), left=1, overtaken=True)), {0}),
        ((Replica((0,), left=2), Replica((1,), left=1, overtaken=True, since=WITHOUT_LEADER)), set()),
        ((Replica((0,), left=2), Replica((1,), left=1, overtaken=True, since=UNCLEAN_ELECTION)), set()),
        ((Replica((0,), left=2, since=NOTHING), Replica((0, 1), left=1, overtaken=True, since=UNCLEAN_ELECTION)), {1}),
    ],
)
def test_isr_history(survivors: tuple[Replica, ...], elected: set[int]) -> None:
    assert isr_history(survivors) == elected


def test_ours_refuses_any_replica_that_does_not_reach_a_high_watermark() -> None:
    assert ours((Replica((0, 0)), Replica((0,), high_watermark=2))) == {0}
    assert ours((Replica((0,)), Replica((0,), high_watermark=2))) == set()


def test_all_rules_are_counted() -> None:
    assert [*RULES.values(), *LOOSER_RULES.values()] == [
        first_in_order,
        log_end_offset,
        last_written_epoch,
        ours,
        isr_history,
        isr_history_trusting_disks,
        last_to_leave,
    ]
