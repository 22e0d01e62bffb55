"""The debrief: what the player did and when, beside the partitions without a leader. Pure, but for the drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table
from rich.text import Text

DRAWN = ("run", "wait", "mount", "restart", "hint", "done")  # others change nothing, and cost nothing
MOST_ROWS = 20
LABEL, TOOK, LEAST_CELLS, MOST_CELLS = 27, 7, 20, 80
BLOCKS = "▁▂▃▄▅▆▇█"
NONE, UNKNOWN = "·", "?"


@dataclass(frozen=True)
class Action:
    """A command of the player. Times are seconds since the page; `code` is the exit code of what ran."""

    line: str
    began: float
    ended: float
    code: int | None = None

    @property
    def verb(self) -> str:
        return self.line.split(maxsplit=1)[0] if self.line.strip() else ""


@dataclass
class Course:
    """The course of a game. `without_leader`: since when how many partitions have none, None where a cluster gave no answer."""

    actions: list[Action] = field(default_factory=list)
    without_leader: list[tuple[float, int | None]] = field(default_factory=list)

    def look(self, elapsed: float, count: int | None) -> None:
        """Note how many partitions have no leader, if that is another number than before."""
        if not self.without_leader or self.without_leader[-1][1] != count:
            self.without_leader.append((elapsed, count))

    def at(self, elapsed: float) -> int | None:
        """Partitions without a leader at that time. The first look is a moment after the page, and nothing was known to change before it."""
        return next((count for since, count in reversed(self.without_leader) if since <= elapsed), self.first)

    @property
    def first(self) -> int | None:
        return self.without_leader[0][1] if self.without_leader else None

    @property
    def end(self) -> float:
        return max((action.ended for action in self.actions), default=0.0)


def levels(course: Course, cells: int) -> list[int | None]:
    """For each slice of time the most partitions without a leader. None: no cluster gave an answer in it."""
    changes, found = course.without_leader, []
    for cell in range(cells):
        begin, end = course.end * cell / cells, course.end * (cell + 1) / cells
        seen = [count for since, count in changes if begin < since < end]
        known = [count for count in (course.at(begin), *seen) if count is not None]
        found.append(max(known, default=None))
    return found


def bars(counts: Sequence[int | None]) -> str:
    """One character for each count: higher for more."""
    peak = max((count for count in counts if count is not None), default=0)
    return "".join(UNKNOWN if count is None else BLOCKS[-(-count * len(BLOCKS) // peak) - 1] if count else NONE for count in counts)


def span(action: Action, end: float, cells: int) -> str:
    """The time of a command on a line of so many characters."""
    first, last = (min(cells - 1, int(moment / end * cells)) if end else 0 for moment in (action.began, action.ended))
    drawn = "│" if first == last else f"├{'─' * (last - first - 1)}┤"
    return " " * first + drawn


def timeline(console: Console, course: Course) -> None:
    """Draw the commands and the partitions without a leader over one axis of time. The first column is cut, the summary has whole commands."""
    cells = max(LEAST_CELLS, min(MOST_CELLS, console.width - LABEL - TOOK - 4))
    counts = levels(course, cells)
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=LABEL, no_wrap=True, overflow="ellipsis")
    table.add_column(width=cells, no_wrap=True, overflow="crop")
    table.add_column(width=TOOK, no_wrap=True, justify="right")
    end = clock(course.end)
    table.add_row("", Text("0:00" + end.rjust(cells - 4), style="dim"), "")
    peak = max((count for count in counts if count is not None), default=0)
    table.add_row("without a leader", Text(bars(counts), style="red"), f"max {peak}")
    actions = [action for action in course.actions if action.verb in DRAWN]
    for action in actions[:MOST_ROWS]:
        table.add_row(Text(action.line), Text(span(action, course.end, cells), style="cyan"), f"{action.ended - action.began:.0f} s")
    console.print("[bold]What happened[/]")
    console.print(table)
    if len(actions) > MOST_ROWS:
        console.print(f"and {len(actions) - MOST_ROWS} more commands")
    console.print(f"{NONE} none, {UNKNOWN} no answer", style="dim")
    console.print()


def clock(seconds: float) -> str:
    """Minutes and seconds, as 1:05."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
