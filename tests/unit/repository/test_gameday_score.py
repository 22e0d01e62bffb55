# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Game day: the score follows from the facts, and from nothing else."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from gameday import scores
from gameday.scenario import CLEAN, GONE, HOLD, ONLINE, RESCUE, SERVE
from gameday.scenarios import draw
from gameday.score import HINT, RECORDS, REFUSALS, SERVICE, TIDY, TIME, Card, Facts, PartitionFacts, same_order, score
from hypothesis import given
from hypothesis import strategies as st

PAR = 300.0


def partition(expected: str, number: int = 0, **changes: int | bool) -> PartitionFacts:
    """One partition where everything was done right: of 130 acknowledged records the best survivor has 120, the worst one 100."""
    best = 120 if expected == SERVE else 130
    right = PartitionFacts("east", expected, number, expected, 130, best, 100, kept=best, led=True)
    if expected in {HOLD, GONE}:
        right = replace(right, kept=0, led=False)
    return replace(right, **changes)  # type: ignore[arg-type]


def points(card: Card) -> dict[str, float]:
    return {line.name: line.points for line in card.lines}


@given(st.lists(st.sampled_from([SERVE, CLEAN, HOLD, ONLINE, RESCUE, GONE]), min_size=1))
def test_a_player_who_did_everything_right_has_full_marks(expected: list[str]) -> None:
    card = score(Facts([partition(kind, number) for number, kind in enumerate(expected)], seconds=PAR, par=PAR))
    assert card.total == 100
    assert all(line.points == line.of for line in card.lines)


NUMBERS = st.integers(0, 130)
ROWS = st.builds(
    PartitionFacts,
    st.just("east"), st.just("t"), st.integers(0, 9), st.sampled_from([SERVE, CLEAN, HOLD, ONLINE, RESCUE, GONE]),
    st.just(130), st.integers(100, 130), st.integers(0, 100), NUMBERS, st.booleans(), st.booleans(), st.booleans(),
)  # fmt: skip
FACTS = st.builds(Facts, st.lists(ROWS, min_size=1), st.floats(0, 10_000), st.just(PAR), st.integers(0, 2), st.lists(st.text(), max_size=2))


@given(FACTS)
def test_a_score_lies_between_nothing_and_a_hundred(facts: Facts) -> None:
    card = score(facts)
    assert 0 <= card.total <= 100
    assert all(0 <= line.points <= line.of for line in card.lines)
    assert card.total < 100 or all(line.points == line.of for line in card.lines)


@given(FACTS, st.data())
def test_more_records_never_score_less(facts: Facts, data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(facts.partitions) - 1))
    rows = list(facts.partitions)
    rows[number] = replace(rows[number], kept=data.draw(st.integers(rows[number].kept, 130)))
    assert score(replace(facts, partitions=rows)).total >= score(facts).total


@given(FACTS, st.floats(0, 10_000))
def test_more_time_never_scores_more(facts: Facts, more: float) -> None:
    assert score(replace(facts, seconds=facts.seconds + more)).total <= score(facts).total


def test_the_worst_leader_gets_no_points_for_records() -> None:
    half = score(Facts([partition(SERVE, 0), partition(SERVE, 1, kept=100)], 10, PAR))
    assert points(half) == {"records kept": RECORDS / 2, "service": SERVICE, "time": TIME, "left as found": TIDY}
    assert "20 more could have been kept" in half.lines[0].why


def test_an_election_of_what_was_to_be_held_costs_the_refusal() -> None:
    card = score(Facts([partition(HOLD, 0, led=True, kept=100), partition(HOLD, 1), partition(SERVE)], 10, PAR))
    assert points(card)["refusals"] == REFUSALS / 2
    assert points(card)["records kept"] == RECORDS
    assert "30 records given up" in next(line.why for line in card.lines if line.name == "refusals")


def test_an_election_while_the_clean_leader_was_coming_costs_refusal_and_records() -> None:
    early = score(Facts([partition(CLEAN, kept=120)], 10, PAR))
    assert points(early)["refusals"] == 0
    assert points(early)["records kept"] == pytest.approx(RECORDS * 20 / 30)
    never = score(Facts([partition(CLEAN, kept=0, led=False)], 10, PAR))
    assert points(never)["refusals"] == REFUSALS
    assert [points(never)[name] for name in ("records kept", "service", "time")] == [0, 0, 0]


def test_an_election_alone_keeps_less_than_one_whose_lost_records_are_written_again() -> None:
    alone = score(Facts([partition(RESCUE, kept=120)], 10, PAR))
    assert points(alone) == {"records kept": pytest.approx(RECORDS * 20 / 30), "service": SERVICE, "time": TIME, "left as found": TIDY}
    assert points(score(Facts([partition(RESCUE, kept=130)], 10, PAR)))["records kept"] == RECORDS


def test_who_touches_what_was_online_has_not_refused() -> None:
    card = score(Facts([partition(ONLINE, moved=True), partition(HOLD, 1), partition(HOLD, 2, led=True, kept=100)], 10, PAR))
    assert points(card)["refusals"] == pytest.approx(REFUSALS / 3)
    why = next(line.why for line in card.lines if line.name == "refusals")
    assert why == (
        "1 of 3 partitions were elected that should not have been, or not yet: 30 records given up; 1 of 3 had a leader, and have another one"
    )
    assert "elected" not in score(Facts([partition(ONLINE, moved=True)], 10, PAR)).lines[1].why


def test_time_counts_from_par_to_three_times_par() -> None:
    times = {seconds: points(score(Facts([partition(SERVE)], seconds, PAR)))["time"] for seconds in (0, PAR, 2 * PAR, 3 * PAR, 9 * PAR)}
    assert times == {0: TIME, PAR: TIME, 2 * PAR: TIME / 2, 3 * PAR: 0, 9 * PAR: 0}


def test_orders_and_throttles_are_to_be_left_as_they_were() -> None:
    rows = [partition(SERVE, 0, reordered=True), partition(SERVE, 1)]
    assert points(score(Facts(rows, 10, PAR)))["left as found"] == TIDY / 2
    assert points(score(Facts(rows, 10, PAR, throttles=["1: leader.replication.throttled.rate"])))["left as found"] == 0


def test_hints_cost() -> None:
    assert score(Facts([partition(SERVE)], 10, PAR, hints=2)).total == 100 - 2 * HINT


@pytest.mark.parametrize(
    ("before", "now", "same"),
    [((1, 2, 3), (1, 2, 3), True), ((1, 2, 3), (1, 3, 2), False), ((1, 2, 3), (4, 2, 3), True), ((1, 2, 3), (4, 3, 2), False)],
)
def test_a_replica_that_another_broker_took_over_is_no_disorder(before: tuple[int, ...], now: tuple[int, ...], same: bool) -> None:
    assert same_order(before, now) == same


def test_scores_are_kept_one_a_line_and_foreign_lines_are_skipped(tmp_path: Path) -> None:
    file = tmp_path / "new" / "scores.jsonl"
    facts = Facts([partition(SERVE)], 12.4, PAR)
    for seed in range(3):
        scores.append(file, draw(seed), facts, score(facts), datetime(2026, 1, 2, 3, 4))
    with file.open("a") as lines:
        lines.write("not a game\n[1]\n")
    assert [(game["seed"], game["total"], game["date"]) for game in scores.last(file, 2)] == [
        (1, 100, "2026-01-02 03:04"),
        (2, 100, "2026-01-02 03:04"),
    ]
