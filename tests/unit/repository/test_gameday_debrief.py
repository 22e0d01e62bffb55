# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Game day: the drawing and the summary at the end say what the player did and when partitions had no leader."""

from __future__ import annotations

import io
import re
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from gameday.__main__ import summarize
from gameday.debrief import MOST_ROWS, Action, Course, bars, levels, span, timeline
from gameday.prompt import Prompt
from gameday.scenario import SERVE
from gameday.scenarios import draw
from gameday.score import Facts, PartitionFacts, score
from gameday.stage import Stage
from gameday.summary import summary
from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console

from rig import RigError

GAME = Course(
    [
        Action("run plan", 0.0, 20.0, 0),
        Action("status", 20.0, 21.0),
        Action("run recover -e kafka_recovery_allow_data_loss=true | cat", 30.0, 60.0, 2),
        Action("mount 4", 70.0, 70.0),
        Action("done", 100.0, 100.0),
    ],
    [(0.0, 8), (50.0, 4), (75.0, None), (80.0, 0)],
)
SCENARIO = draw(3, only="no_survivor")
FACTS = Facts(
    [PartitionFacts("east", "orders", 0, SERVE, 130, 120, 100, kept=120, led=True)], 80.0, 300.0, 1, stock={("east", "orders"): 100}
)


def drawn(course: Course, width: int = 80) -> list[str]:
    out = io.StringIO()
    timeline(Console(file=out, width=width, color_system=None), course)
    return out.getvalue().splitlines()


def test_a_slice_of_time_shows_the_most_partitions_without_a_leader() -> None:
    assert levels(GAME, 10) == [8, 8, 8, 8, 8, 4, 4, 4, 0, 0]
    assert levels(GAME, 20)[14:17] == [4, None, 0]
    assert levels(Course(), 2) == [None, None]


def test_bars_are_as_high_as_the_counts_and_say_where_there_is_no_answer() -> None:
    assert bars([8, 4, 1, 0, None]) == "█▄▁·?"
    assert bars([0, 0]) == "··" and bars([None]) == "?"


@given(st.lists(st.none() | st.integers(0, 10_000)))
def test_every_count_has_one_character_and_only_zero_is_shown_as_none(counts: list[int | None]) -> None:
    shown = bars(counts)
    assert len(shown) == len(counts)
    assert [char == "·" for char in shown] == [count == 0 for count in counts]


MOMENTS = st.floats(0, 10_000)


@given(MOMENTS, MOMENTS, MOMENTS, st.integers(20, 80))
@example(0.0, 5e-324, 0.0, 20)  # 20 / 5e-324 is infinite
def test_a_command_is_drawn_within_the_axis(one: float, other: float, more: float, cells: int) -> None:
    began, ended = sorted((one, other))
    shown = span(Action("wait", began, ended), ended + more, cells)
    assert len(shown.strip()) >= 1 and len(shown) <= cells


def test_the_drawing_has_the_commands_that_count_and_fits_on_80_columns_without_colours() -> None:
    lines = drawn(GAME)
    assert all(len(line) <= 80 for line in lines) and "\x1b" not in "".join(lines)
    axis, without, *commands = lines[1:]
    assert axis.split() == ["0:00", "1:40"]
    assert re.fullmatch(r"without a leader +█+▄+\?*·+ +max 8", without)
    assert [line.split()[0] for line in commands[:4]] == ["run", "run", "mount", "done"]
    start = axis.index("0:00")
    plan, recover, mount, done = (line[start:] for line in commands[:4])
    assert plan.startswith("├") and plan.endswith("20 s")
    assert plan.index("┤") < recover.index("├") < recover.index("┤") < mount.index("│") < done.index("│")
    assert without.index("▄") - start <= recover.index("┤"), "the leaders came while recover ran"


def test_a_long_game_is_cut_and_says_so() -> None:
    course = Course([Action("wait", float(number), number + 1.0) for number in range(MOST_ROWS + 3)], [(0.0, 1)])
    lines = drawn(course)
    assert sum(line.startswith("wait") for line in lines) == MOST_ROWS
    assert "and 3 more commands" in lines
    assert drawn(Course()), "a game that was ended at once can be drawn, too"


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_drawing_fits_the_terminal(width: int) -> None:
    assert max(map(len, drawn(GAME, width))) <= width


def test_only_changes_are_noted() -> None:
    course = Course()
    for moment, count in enumerate((3, 3, 0, 0, None, 0)):
        course.look(float(moment), count)
    assert course.without_leader == [(0.0, 3), (2.0, 0), (4.0, None), (5.0, 0)]
    assert [course.at(moment) for moment in (1.5, 2.0, 4.5, 9.0)] == [3, 0, None, 0]


def test_before_the_first_look_it_was_as_at_the_first_look() -> None:
    late = Course([Action("run plan", 0.1, 100.0)], [(9.0, 3), (60.0, 0)])
    assert levels(late, 4) == [3, 3, 3, 0] and Course().at(1.0) is None


def test_the_watch_counts_partitions_and_knows_a_cluster_that_gives_no_answer() -> None:
    stage = Stage(SCENARIO, {})
    led, without = SimpleNamespace(leader=2), SimpleNamespace(leader=-1)
    for states in (
        {"east": {("a", 0): without, ("a", 1): without}, "west": {("b", 0): led}},
        {"east": {("a", 0): led, ("a", 1): without}, "west": {}},
        {"east": {("a", 0): led, ("a", 1): led}, "west": {("b", 0): led}},
    ):
        stage.note(states)  # type: ignore[arg-type]
    assert [count for _since, count in stage.course.without_leader] == [2, None, 0]


def test_the_prompt_notes_each_command_with_its_times_and_its_exit_code(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stage = Stage(SCENARIO, {})
    prompt = Prompt(Console(file=io.StringIO()), SCENARIO, stage, tmp_path / "inventory.yml", ask=False)
    monkeypatch.setattr("gameday.prompt._run", lambda _argv: 2)

    def unanswered() -> None:
        raise RigError("no broker answers")

    monkeypatch.setattr(stage, "leaderless", unanswered)
    prompt.play(["run plan", "wait", "page", "quit"])
    assert [(action.line, action.code) for action in stage.course.actions] == [
        ("run plan", 2),
        ("wait", None),
        ("page", None),
        ("quit", None),
    ]
    times = [moment for action in stage.course.actions for moment in (action.began, action.ended)]
    assert times == sorted(times)


def test_the_summary_has_the_page_the_timeline_the_card_the_records_and_the_best_play() -> None:
    card = score(FACTS)
    text = summary(SCENARIO, GAME, FACTS, card, datetime(2026, 1, 2, 3, 4))
    assert text.startswith(f"# Game day: {SCENARIO.title}\n")
    assert f"2026-01-02 03:04, seed 3, level normal: **{card.total} of 100 points**" in text
    for line in (*SCENARIO.alert, *SCENARIO.colleagues, *SCENARIO.why):
        assert line in text
    for row in (
        "| 0:00 | the page |  |  | 8 |",
        "| 0:00 | `run plan` | 20 s | 0 | 8 |",
        "| 0:20 | `status` | 1 s |  | 8 |",
        r"| 0:30 | `run recover -e kafka_recovery_allow_data_loss=true \| cat` | 30 s | 2 | 4 |",
        "| 1:40 | `done` | 0 s |  | 0 |",
        "| east | orders | 130 | 120 | 120 | 100 |",
        "| hints | -5 |  | 1 asked for |",
        f"| **total** | **{card.total}** | **100** |  |",
    ):
        assert f"\n{row}\n" in text
    assert "\n".join(f"    {command}" for command in SCENARIO.best) in text


def test_a_summary_that_cannot_be_written_does_not_end_the_game(tmp_path: Path) -> None:
    out = io.StringIO()
    prompt = SimpleNamespace(scenario=SCENARIO, stage=SimpleNamespace(course=GAME))
    card = score(FACTS)
    summarize(Console(file=out, width=200), tmp_path, prompt, FACTS, card)  # type: ignore[arg-type]
    assert "There is no summary" in out.getvalue()
    summarize(Console(file=out, width=200), tmp_path / "game.md", prompt, FACTS, card)  # type: ignore[arg-type]
    assert (tmp_path / "game.md").read_text().startswith("# Game day")
