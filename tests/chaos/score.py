"""What many histories come to: one line for each, tables at the end, everything as JSON."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from chaos.faults import FAULTS
from chaos.judge import Violation
from chaos.recovery import Recovered
from chaos.rivals import RULES
from chaos.run import AGGRESSIVE, HELD, OURS, Cost, Outcome


def line(outcome: Outcome) -> str:
    """One history in one line."""
    recoveries = "; ".join(
        f"{done.fault}{'' if struck(done) else ' (did not strike)'}{', playbook' if done.by_playbook else ''}: {len(done.elected)} elected"
        + (f" ({counted(Counter(done.evidence.values()))})" if done.evidence else "")
        + (f", {len(done.held)} held" if done.held else "")
        + (f", {done.attempts} runs" if done.attempts > 1 else "")
        for done in outcome.recoveries
    )
    if done := outcome.returned:
        recoveries += f"; disks returned: {done.rescues} rescues, {done.replayed} replayed, {sum(done.kills.values())} kills, twice {done.kept.duplicates}"
    verdict = f"{len(outcome.violations)} VIOLATIONS" if outcome.violations else "ok"
    return f"seed {outcome.seed} ({outcome.seconds:.0f} s) {verdict}: {outcome.offline} of {outcome.partitions} offline; {recoveries}"


def counted(numbers: Mapping[str, int]) -> str:
    """Numbers by name."""
    return ", ".join(f"{name} {number}" for name, number in sorted(numbers.items())) or "0"


def struck(done: Recovered) -> bool:
    """Whether the fault really happened."""
    return done.fault == "none" or bool(done.story)


def violations(outcome: Outcome, command: str) -> list[str]:
    """Every violation with what is needed to look into it."""
    return [f"seed {outcome.seed}: {violation}\n  history {outcome.story}\n  replay: {command}" for violation in outcome.violations]


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The figures of all histories."""
    recoveries = [done for outcome in outcomes for done in outcome.recoveries]
    returned = [outcome.returned for outcome in outcomes if outcome.returned]
    costs = added(outcomes)
    return {
        "seeds": [outcome.seed for outcome in outcomes],
        "histories": len(outcomes),
        "recoveries": len(recoveries),
        "faults": {fault: by_fault(recoveries, fault) for fault in FAULTS},
        "by_playbook": sum(done.by_playbook for done in recoveries),
        "disks_returned": sum(outcome.returned is not None for outcome in outcomes),
        "rescues": sum(done.rescues for done in returned),
        "replayed": sum(done.replayed for done in returned),
        "partitions": sum(outcome.partitions for outcome in outcomes),
        "offline": sum(outcome.offline for outcome in outcomes),
        "acknowledged": sum(outcome.acknowledged for outcome in outcomes),
        "elected": sum(len(done.elected) for done in recoveries),
        "elected_on": dict(sum((Counter(done.evidence.values()) for done in recoveries), Counter[str]())),
        "accepted_on": dict(sum((Counter(done.evidence.values()) for outcome in outcomes for done in outcome.aggressive), Counter[str]())),
        "judged_by_porcupine": sum(outcome.witnessed for outcome in outcomes),
        "cleaned_logs": sum(outcome.cleaned for outcome in outcomes),
        "unflushed_partitions": sum(outcome.unflushed for outcome in outcomes),
        "failed_logs": sum(outcome.failed for outcome in outcomes),
        "held": dict(sum((Counter(done.held.values()) for done in recoveries), Counter[str]())),
        "outcomes": dict(sum((done.outcomes for done in recoveries), Counter[str]())),
        "reruns": sum(done.attempts - 1 for done in recoveries),
        "own_processes_killed": sum(done.killed for done in recoveries),
        "loss_bounds": loss_bounds([*recoveries, *(done for outcome in outcomes for done in outcome.aggressive)]),
        "leaks": sum(is_leak(violation) for outcome in outcomes for violation in outcome.violations),
        "violations": sum(len(outcome.violations) for outcome in outcomes),
        "stock_elections_checked": sum(outcome.stock_checked for outcome in outcomes),
        "costs": {rule: vars(cost) for rule, cost in costs.items()},
        "seconds": round(sum(outcome.seconds for outcome in outcomes)),
    }


def loss_bounds(recoveries: Sequence[Recovered]) -> dict[str, Any]:
    """How tight the stated bounds were, by what the upper one rests on: elections, records really lost (acknowledged by all in-sync replicas, or
    read), the sums of both bounds, and the widest gap between them."""
    found: dict[str, dict[str, int]] = {}
    for bounds in (bounds for done in recoveries for bounds in done.bounds):
        row = found.setdefault(bounds.upper_from, dict.fromkeys(("elections", "lost", "lower", "upper", "widest"), 0))
        lower, upper = bounds.lower or 0, bounds.upper or 0
        sums = {"elections": 1, "lost": bounds.lost, "lower": lower, "upper": upper}
        row |= {name: row[name] + number for name, number in sums.items()}
        row["widest"] = max(row["widest"], upper - lower)
    return dict(sorted(found.items()))


def details(outcome: Outcome) -> dict[str, Any]:
    """One history: what happened, and what came of each recovery."""
    return {
        "seed": outcome.seed,
        "history": outcome.story,
        "violations": list(map(str, outcome.violations)),
        "seconds": round(outcome.seconds, 1),
        "phases": outcome.phases,
        "disks_returned": outcome.returned.document() if outcome.returned else None,
        "recoveries": [
            {
                "fault": done.fault,
                "by_playbook": done.by_playbook,
                "story": done.story,
                "partitions": len(done.partitions),
                "elected": len(done.elected),
                "elected_on": dict(Counter(done.evidence.values())),
                "held": dict(Counter(done.held.values())),
                "outcomes": dict(done.outcomes),
                "refusals": done.refusals,
                "runs": done.attempts,
                "seconds": round(done.seconds, 1),
            }
            for done in (*outcome.recoveries, *outcome.aggressive)
        ],
    }


def is_leak(violation: Violation) -> bool:
    """Whether something was left behind."""
    return violation.judge in {
        "a replica order stayed changed",
        "the journal stays open",
        "the journal stays open without a word",
        "temporary files are left",
    }


def by_fault(recoveries: Sequence[Recovered], fault: str) -> dict[str, Any]:
    """The recoveries under one fault: how many, what came of them, how long they took in seconds. What a fault missed counts as undisturbed."""
    chosen = [done for done in recoveries if (done.fault if struck(done) else "none") == fault]
    seconds = [done.seconds for done in chosen if done.partitions]
    return {
        "recoveries": len(chosen),
        "partitions": sum(len(done.partitions) for done in chosen),
        "elected": sum(len(done.elected) for done in chosen),
        "held": sum(len(done.held) for done in chosen),
        "stale": sum(done.outcomes["stale"] for done in chosen),
        "failed": sum(done.outcomes["failed"] for done in chosen),
        "clean_leader": sum(done.outcomes["clean_leader"] for done in chosen),
        "modules_refused": sum(len(done.refusals) for done in chosen),
        "reruns": sum(done.attempts - 1 for done in chosen),
        "median_seconds": round(statistics.median(seconds), 1) if seconds else None,
        "max_seconds": round(max(seconds), 1) if seconds else None,
    }


def added(outcomes: Sequence[Outcome]) -> dict[str, Cost]:
    """The costs of each rule over all histories."""
    costs = {rule: Cost() for rule in (*RULES, OURS, HELD, AGGRESSIVE)}
    for outcome in outcomes:
        for rule, cost in outcome.costs.items():
            costs[rule].partitions += cost.partitions
            costs[rule].another_held += cost.another_held
            costs[rule].total += cost.total
    return costs


def tables(figures: dict[str, Any]) -> list[Table]:
    """The same for people."""
    whole = Table(title="chaos", show_header=False)
    names = (
        "histories",
        "recoveries",
        "by_playbook",
        "disks_returned",
        "rescues",
        "replayed",
        "partitions",
        "offline",
        "acknowledged",
        "elected",
        "reruns",
        "own_processes_killed",
    )
    for name in (
        *names,
        "cleaned_logs",
        "unflushed_partitions",
        "failed_logs",
        "judged_by_porcupine",
        "stock_elections_checked",
        "leaks",
        "violations",
        "seconds",
    ):
        whole.add_row(name.replace("_", " "), str(figures[name]))
    whole.add_row("elected, by evidence", counted(figures["elected_on"]))
    whole.add_row("elected by aggressive, by evidence", counted(figures["accepted_on"]))
    whole.add_row("held, by reason", counted(figures["held"]))
    columns = ("recoveries", "partitions", "elected", "held", "stale", "failed", "clean_leader", "modules_refused", "reruns")
    faults = Table("fault", *(column.replace("_", " ") for column in columns), "median s", "max s", title="by fault")
    for fault, row in figures["faults"].items():
        if row["recoveries"]:
            seconds = (str(row[name]) for name in ("median_seconds", "max_seconds"))
            faults.add_row(fault, *(str(row[column]) for column in columns), *seconds)
    lost = Table(
        "rule",
        "partitions",
        "acks=all",
        "acks=1",
        "acks=all, in total",
        "acks=1, in total",
        title="acknowledged records lost that another survivor held",
    )
    for rule, cost in figures["costs"].items():
        counts = [cost[kind].get(level, 0) for kind in ("another_held", "total") for level in ("all", "1")]
        lost.add_row(rule, str(cost["partitions"]), *map(str, counts))
    bounds = Table(
        "upper bound from",
        "elections",
        "lost",
        "lower bounds",
        "upper bounds",
        "widest",
        title="stated loss, records acknowledged by all or read",
    )
    for source, row in figures["loss_bounds"].items():
        bounds.add_row(source, *map(str, row.values()))
    return [whole, faults, lost, bounds]
