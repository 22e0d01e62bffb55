# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The model is Kafka's: it reaches the histories that are known from real brokers, clean elections lose nothing in it, and it is not blind."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from model.partition import Bounds, Lost, Replica
from model.rules import Survivors, isr_history, last_written_epoch, log_end_offset, ours
from model.search import Findings, destroys, score, search


def reached(found: Findings, lost: Lost) -> list[Survivors]:
    """The offline states with these logs, high watermarks and committed records, whatever the ISR's history."""
    logs = [(one.log, one.high_watermark) for one in lost.survivors]
    return [
        state.survivors
        for state in found.offline
        if state.committed == lost.committed and [(one.log, one.high_watermark) for one in state.survivors] == logs
    ]


def winner(survivors: Survivors, places: frozenset[int]) -> list[tuple[int, ...]]:
    return [survivors[place].log for place in places]


# The later epoch is what was committed: longest log destroys it.
FORKED = Lost(((1,),), (Replica((0, 0)), Replica((1,))))
# Raft's figure 8: the older epoch was committed by a third leader.
FIGURE_8 = Lost(((0,),), (Replica((0,)), Replica((1,))))


def test_the_forked_history_is_reached_and_the_longest_log_is_wrong_there(small: Findings) -> None:
    states = reached(small, FORKED)
    assert states
    for survivors in states:
        assert winner(survivors, log_end_offset(survivors)) == [(0, 0)]
        assert winner(survivors, last_written_epoch(survivors)) == [(1,)]
        assert ours(survivors) == frozenset()
        assert winner(survivors, isr_history(survivors)) in ([(1,)], [])


def test_figure_8_is_reached_and_the_latest_epoch_is_wrong_there(small: Findings) -> None:
    states = reached(small, FIGURE_8)
    assert states
    for survivors in states:
        assert winner(survivors, last_written_epoch(survivors)) == [(1,)]
        assert ours(survivors) == frozenset()
        assert winner(survivors, isr_history(survivors)) in ([(0,)], [])
    assert any(isr_history(survivors) for survivors in states)


def test_clean_elections_lose_nothing_that_was_committed(found: dict[int, Findings]) -> None:
    assert [findings.contradictions for findings in found.values()] == [0, 0]


@pytest.mark.parametrize("without", ["truncation", "growth_needs_caught_up"])
def test_without_what_makes_kafka_safe_clean_elections_lose_records(without: str) -> None:
    broken = search(dataclasses.replace(Bounds(2, records=2, epochs=3), **dict[str, Any]({without: False})))
    assert broken.contradictions
    assert score(broken.offline, isr_history).losing


def test_commits_below_min_isr_make_the_isr_history_worthless(small: Findings) -> None:
    """Kafka before 3.7."""
    older = search(Bounds(2, records=2, epochs=3, commit_needs_min_isr=False))
    assert score(small.offline, isr_history).losing == 0
    assert score(older.offline, isr_history).losing
    assert score(older.offline, ours).losing == 0


@pytest.mark.parametrize(
    ("committed", "logs", "destroying"),
    [
        (((0,),), ((0,), (1,)), {1}),
        (((0,),), ((0, 0), (0, 1)), set()),
        (((0, 0),), ((0,), (0, 0)), {0}),
        # No other replica holds the second record: it is lost already.
        (((0, 0),), ((0,), (0, 1)), set()),
        # Both branches were committed, before and after an unclean election.
        (((0,), (1,)), ((0,), (1,)), {0, 1}),
    ],
)
def test_a_loss_is_a_committed_record_that_another_survivor_holds(
    committed: tuple[tuple[int, ...], ...], logs: tuple[tuple[int, ...], ...], destroying: set[int]
) -> None:
    lost = Lost(committed, tuple(Replica(log) for log in logs))
    assert {place for place in range(len(logs)) if destroys(lost, place)} == destroying
