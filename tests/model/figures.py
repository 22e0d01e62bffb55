"""The tables of docs/model.md."""

from __future__ import annotations

from collections.abc import Mapping

from model.partition import Bounds
from model.rules import LOOSER_RULES, RULES, isr_history, ours
from model.search import Findings, score, scores

# What can happen besides, and larger partitions; fewer records and epochs keep each search within a minute or two.
VARIANTS = {
    "2 records": Bounds(2, records=2),
    "2 records, power cuts": Bounds(2, records=2, power_cuts=True),
    "3 epochs, power cuts": Bounds(2, epochs=3, power_cuts=True),
    "2 records, unclean elections": Bounds(2, records=2, unclean_elections=True),
    "2 records, min ISR goes from 2 to 1 and back": Bounds(2, records=2, min_isr_changes=True),
    "2 records, ELR": Bounds(2, records=2, eligible_leader_replicas=True),
    "2 records, 3 epochs, all of these": Bounds(
        2, records=2, epochs=3, power_cuts=True, unclean_elections=True, min_isr_changes=True, eligible_leader_replicas=True
    ),
    "4 replicas, 2 records, 3 epochs": Bounds(2, replicas=4, records=2, epochs=3),
    "4 replicas, 2 records, 3 epochs, min ISR 3": Bounds(3, replicas=4, records=2, epochs=3),
    "4 replicas, 2 records, 2 epochs, power cuts": Bounds(2, replicas=4, records=2, epochs=2, power_cuts=True),
    "2 records, Kafka before 3.7 (commits below min ISR)": Bounds(2, records=2, commit_needs_min_isr=False),
}


def main_table(*found: Findings) -> str:
    """What each rule does, at min ISR 1 and 2."""
    offline = [findings.offline for findings in found]
    rows = [
        "| min ISR | 1 | | | 2 | | |",
        "|---|---|---|---|---|---|---|",
        row("states with a leader", *(value for findings in found for value in (f"{findings.states:,}", "", ""))),
        row("states without, two survivors", *(value for states in offline for value in (f"{len(states):,}", "", ""))),
        row("**rule**", *["elects", "destroys", "on average"] * len(found)),
    ]
    for name, rule in {**RULES, **LOOSER_RULES}.items():
        cells = []
        for states in offline:
            counted = score(states, rule)
            cells += [share(counted.elected, len(states)), f"{counted.losing:,}", f"{counted.losing_on_average:,.0f}"]
        rows.append(row(name, *cells))
    return "\n".join(rows)


def variants_table(found: Mapping[str, Findings]) -> str:
    """What the conditions of `ISR history` are worth."""
    rows = [
        row(
            "",
            "states",
            "offline",
            "ours: elects",
            "destroys",
            "ISR history: elects",
            "destroys",
            *(f"{name}: destroys" for name in LOOSER_RULES),
        ),
        "|---" * (7 + len(LOOSER_RULES)) + "|",
    ]
    for title, findings in found.items():
        states = findings.offline
        cells = [f"{findings.states:,}", f"{len(states):,}"]
        for rule in (ours, isr_history):
            counted = score(states, rule)
            cells += [share(counted.elected, len(states)), f"{counted.losing:,}"]
        cells += [f"{counted.losing:,}" for counted in scores(states, LOOSER_RULES).values()]
        rows.append(row(title, *cells))
    return "\n".join(rows)


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %"
