"""The summary of a game as Markdown, to print or to put beside a post-mortem."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

from gameday import telling
from gameday.debrief import Course, clock
from gameday.scenario import Scenario
from gameday.score import HINT, Card, Facts


def write(path: Path, scenario: Scenario, course: Course, facts: Facts, card: Card, when: datetime) -> None:
    path.write_text(summary(scenario, course, facts, card, when))


def summary(scenario: Scenario, course: Course, facts: Facts, card: Card, when: datetime) -> str:
    """What was broken, what the player did, what was found at the end, and what would have been best."""
    lines = [
        f"# Game day: {scenario.title}",
        "",
        f"{when:%Y-%m-%d %H:%M}, seed {scenario.seed}, level {scenario.level}: **{card.total} of 100 points**",
        "",
        "## The page",
        "",
        *(f"- {scenario.clock} {line}" for line in scenario.alert),
        *(f"- {line}" for line in scenario.colleagues),
        "",
        "## Timeline",
        "",
        *table(("since the page", "command", "took", "exit code", "partitions without a leader afterwards"), actions(course)),
        "",
        "## Score card",
        "",
        *table(("", "points", "of", "why"), points(card)),
        "",
        "## Records",
        "",
        *table(telling.RECORD_COLUMNS, telling.record_rows(facts)),
        "",
        f"\\* {telling.STOCK_NOTE}",
        "",
        "## The best play",
        "",
        *(f"    {command}" for command in scenario.best),
        "",
        *(f"- {reason}" for reason in scenario.why),
        f"- Read on: {', '.join(scenario.docs)}",
    ]
    return "\n".join(lines) + "\n"


def actions(course: Course) -> Iterable[Sequence[str]]:
    """Rows of the timeline. Changes that were made in another terminal show in the last column alone."""
    yield "0:00", "the page", "", "", number(course.first)
    for action in course.actions:
        if action.verb:
            took = f"{action.ended - action.began:.0f} s"
            code = "" if action.code is None else str(action.code)
            yield clock(action.began), f"`{action.line}`", took, code, number(course.at(action.ended))


def points(card: Card) -> Iterable[Sequence[str]]:
    for line in card.lines:
        yield line.name, f"{line.points:.0f}", str(line.of), line.why
    if card.hints:
        yield "hints", f"-{HINT * card.hints}", "", f"{card.hints} asked for"
    yield "**total**", f"**{card.total}**", "**100**", ""


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table of Markdown."""
    return [_row(columns), _row(["---"] * len(columns)), *map(_row, rows)]


def number(count: int | None) -> str:
    return "?" if count is None else str(count)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
