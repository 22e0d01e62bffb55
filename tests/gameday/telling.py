"""What the operator sees: the page, the state of things, the card."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from gameday.debrief import Course, timeline
from gameday.scenario import Scenario
from gameday.score import Card, Facts
from gameday.stage import UP, Stage

STYLES = {UP: "green", "down": "red"}
RECORD_COLUMNS = ("cluster", "topic", "acknowledged", "can be read", "best play", "Kafka's tool*")
STOCK_NOTE = "kafka-leader-election.sh --election-type unclean, run on a copy of the topics before the page"


def page(console: Console, scenario: Scenario) -> None:
    """The alert, as a pager shows it."""
    lines = [Text(f"{scenario.clock}  {line}") for line in scenario.alert]
    console.print(Panel(Text("\n").join(lines), title="PAGE  critical", title_align="left", border_style="red", expand=False))
    for line in scenario.colleagues:
        console.print(Text(f"  {line}"))
    console.print()


def briefing(console: Console, command: str) -> None:
    """What to do next."""
    console.print("[bold]Get back what can be got back. Lose nothing that need not be lost. The clock runs.[/]")
    console.print("  [bold]run plan[/]   the first step: it only reads")
    console.print("  [bold]help[/]       the other commands")
    console.print("  [bold]done[/]       when you would go back to bed: the score")
    console.print("A second terminal does as well:")
    console.print(Text(f"  {command}", style="dim"), soft_wrap=True)
    console.print()


def status(console: Console, stage: Stage) -> None:
    """Nodes and partitions, as monitoring would show them."""
    notes = stage.scenario.notes
    nodes = Table("cluster", "node", "state", "known of the machine")
    for (site, node), state in stage.states().items():
        name = stage.clusters[site].nodes[node].name
        nodes.add_row(site, name, Text(state, style=STYLES.get(state, "yellow")), notes.get((site, node), ""))
    topics = Table("cluster", "topic", "partitions", "without leader")
    for (site, topic), counts in stage.leaderless().items():
        partitions, without = map(str, counts) if counts else ("?", "?")
        topics.add_row(site, topic, partitions, Text(without, style="green" if without == "0" else "red"))
    console.print(nodes)
    console.print(topics)
    console.print(f"{stage.elapsed:.0f} s since the page")


def card(console: Console, scenario: Scenario, course: Course, facts: Facts, result: Card) -> None:
    """The score, what happened, what would have been best, and why."""
    console.print()
    console.rule(f"seed {scenario.seed}, level {scenario.level}: {scenario.title}")
    table = Table("", "points", "of", "why", title="Score card", title_justify="left")
    for line in result.lines:
        style = "green" if line.points == line.of else "yellow" if line.points else "red"
        table.add_row(line.name, Text(f"{line.points:.0f}", style=style), str(line.of), line.why)
    if result.hints:
        table.add_row("hints", Text(f"-{5 * result.hints}", style="yellow"), "", f"{result.hints} asked for")
    table.add_section()
    table.add_row("[bold]total[/]", f"[bold]{result.total}[/]", "[bold]100[/]", "")
    console.print(table)
    console.print(records(facts))
    console.print(f"* {STOCK_NOTE}", style="dim")
    timeline(console, course)
    console.print("[bold]The best play[/]")
    for command in scenario.best:
        console.print(Text(f"  {command}", style="cyan"), soft_wrap=True)
    for reason in scenario.why:
        console.print(Text(reason))
    console.print(Text(f"Read on: {', '.join(scenario.docs)}", style="dim"))
    console.print()


def records(facts: Facts) -> Table:
    """Acknowledged records by topic: kept, the best that could be had, and what Kafka's own tool kept on a copy."""
    table = Table(*RECORD_COLUMNS, title="Records", title_justify="left")
    for row in record_rows(facts):
        table.add_row(*row)
    return table


def record_rows(facts: Facts) -> Iterable[tuple[str, ...]]:
    """The rows of that table."""
    topics = dict.fromkeys((row.site, row.topic) for row in facts.partitions)
    for site, topic in topics:
        rows = [row for row in facts.partitions if (row.site, row.topic) == (site, topic)]
        best = sum(row.achievable for row in rows)
        held = all(row.expected == "hold" for row in rows)
        yield (
            site,
            topic,
            str(sum(row.acknowledged for row in rows)),
            str(sum(row.kept for row in rows)),
            "held: all of it may come back" if held else str(best),
            str(facts.stock.get((site, topic), "-")),
        )


def earlier(console: Console, games: Sequence[dict[str, Any]]) -> None:
    """The last games, so that progress shows."""
    if not games:
        return
    table = Table("date", "seed", "level", "scenario", "score", title="Your last games", title_justify="left")
    for game in games:
        table.add_row(game["date"], str(game["seed"]), game["level"], game["title"], str(game["total"]))
    console.print(table)
