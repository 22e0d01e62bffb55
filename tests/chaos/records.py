"""`make chaos-records`: random histories whose lost disks are returned. What a disk held and producers were promised must be read again, once.

The outcome of each seed is kept in a file. A seed that has one without violations is not played again.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from integration.spark import connect_server
from rich.console import Console
from rich.table import Table

from chaos.judge import Violation
from chaos.record_judge import ABORTED_SINCE
from chaos.returned import STRATEGIES, RescuingStage, Returned, ReturningRunner
from chaos.stage import new_cluster
from chaos.watch import Watcher

KEPT = Path(".cache/chaos-records")
SUMS = ("partitions", "elected", "attempts", "rescues", "by_playbook", "saved_from_disks", "replayed", "seconds")


def main() -> int:
    """Run the histories of the seeds; 1 when the judge finds anything."""
    cli = argparse.ArgumentParser(prog="python -m chaos.records", description=__doc__)
    cli.add_argument("--seed", type=int, default=1, help="seed of the first history; the others follow it (default 1)")
    cli.add_argument("--runs", type=int, default=40, help="number of histories (default 40)")
    cli.add_argument("--minutes", type=float, help="begin no further history after so many minutes")
    cli.add_argument("--strategy", choices=STRATEGIES, help="instead of the one that each seed draws")
    cli.add_argument("--fault", default="", help="name of a fault, instead of the one that each seed draws")
    cli.add_argument("--results", type=Path, default=KEPT, help=f"folder of the outcomes (default {KEPT})")
    options = cli.parse_args()
    options.results.mkdir(parents=True, exist_ok=True)
    console = Console(highlight=False, soft_wrap=True, width=max(140, Console().width))
    seeds = range(options.seed, options.seed + options.runs)
    waiting = [seed for seed in seeds if violations(outcome_of(options.results, seed)) != []]
    began = time.monotonic()
    with ExitStack() as stack:
        if waiting:
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kafka-recovery-chaos-")))
            remote = stack.enter_context(connect_server(directory))
            cluster = stack.enter_context(new_cluster("returned", say=lambda text: console.print(text, markup=False, style="dim")))
            stage = RescuingStage(cluster)
            watcher = Watcher(stage, directory)
            stack.callback(watcher.close)
            runner = ReturningRunner(stage, directory, remote, watcher)
        for seed in waiting:
            if options.minutes and time.monotonic() - began > options.minutes * 60:
                break
            done = one(runner, seed, options.fault, options.strategy or "")
            (options.results / f"{seed}.json").write_text(json.dumps(done.document(), indent=1) + "\n")
            console.print(line(done), markup=False)
            for violation in done.violations:
                console.print(f"  {violation}\n  replay: python -m chaos.records --seed {seed} --runs 1", markup=False, style="red")
    found = [outcome for seed in seeds if (outcome := outcome_of(options.results, seed))]
    console.print(table(found))
    return 1 if any(map(violations, found)) else 0


def one(runner: ReturningRunner, seed: int, fault: str, strategy: str) -> Returned:
    """Run one history. What ends it early is a finding, too, and the next history begins again."""
    try:
        return runner.run(seed, fault, strategy)
    except Exception as problem:
        trace = "\n".join(traceback.format_exc().splitlines()[-8:])
        return Returned(seed, strategy, "", violations=[Violation("the history could not be played to its end", "", f"{problem}\n{trace}")])


def outcome_of(folder: Path, seed: int) -> dict[str, Any] | None:
    """The outcome of a seed that was played before."""
    path = folder / f"{seed}.json"
    return json.loads(path.read_text()) if path.exists() else None


def violations(outcome: dict[str, Any] | None) -> list[str] | None:
    """What the judge found in an outcome; None without an outcome."""
    return None if outcome is None else list(outcome["violations"])


def line(outcome: Returned) -> str:
    """One history in one line."""
    verdict = f"{len(outcome.violations)} VIOLATIONS" if outcome.violations else "ok"
    return (
        f"seed {outcome.seed} ({outcome.seconds:.0f} s) {verdict}: {outcome.strategy}, {outcome.fault}; {outcome.elected} elected of "
        f"{outcome.partitions}, held {outcome.held}; {outcome.rescues} rescues, {outcome.replayed} replayed, skipped {dict(outcome.skipped)}, "
        f"kills {dict(outcome.kills)}, seconds {outcome.phases}; "
        f"held by a disk {dict(outcome.kept.held)}, lost {dict(outcome.kept.lost)}, twice {outcome.kept.duplicates}"
    )


def table(outcomes: Iterable[dict[str, Any]]) -> Table:
    """The figures of all histories, by strategy."""
    shown = Table(
        "strategy", "histories", *(name.replace("_", " ") for name in SUMS), "kills", "disks held", "cannot be read", "twice", "violations"
    )
    for strategy in STRATEGIES:
        own = [outcome for outcome in outcomes if outcome["strategy"] == strategy]
        sums = [round(sum(outcome[name] for outcome in own)) for name in SUMS]
        kills, held, lost = Counter[str](), Counter[str](), Counter[str]()
        for outcome in own:
            kills.update(outcome["kills"])
            held.update(outcome["kept"]["held"])
            lost.update(outcome["kept"]["lost"])
        ends = (sum(kills.values()), by_worth(held), by_worth(lost), sum(outcome["kept"]["duplicates"] for outcome in own))
        shown.add_row(strategy, *map(str, (len(own), *sums, *ends, sum(len(outcome["violations"]) for outcome in own))))
    return shown


def by_worth(counts: Counter[str]) -> str:
    """Numbers of records by the worth of their acknowledgement."""
    return (
        ", ".join(f"{worth if worth == ABORTED_SINCE else f'acks={worth}'} {number}" for worth, number in sorted(counts.items()) if number)
        or "0"
    )


if __name__ == "__main__":
    sys.exit(main())
