"""`make chaos`: random histories on a real cluster, recoveries under faults, every one of them judged."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import traceback
from contextlib import ExitStack
from pathlib import Path

from integration.spark import connect_server
from rich.console import Console
from witness import franz

from chaos import score
from chaos.faults import FAULTS
from chaos.history import draw
from chaos.judge import Violation
from chaos.returned import RescuingStage
from chaos.run import Outcome, Runner
from chaos.share_group import make_share_group
from chaos.stage import new_cluster

RETURNED_EACH = 4  # of so many seeds one has its lost disks returned
EXAMPLE = "python -m chaos --seed {seed} --runs 1"


def main() -> int:
    """Run the histories of the seeds; 1 when a judge finds anything."""
    cli = argparse.ArgumentParser(prog="python -m chaos", description=__doc__)
    cli.add_argument("--seed", type=int, default=1, help="seed of the first history; the others follow it (default 1)")
    cli.add_argument("--runs", type=int, default=5, help="number of histories (default 5)")
    cli.add_argument("--minutes", type=float, help="begin no further history after so many minutes")
    cli.add_argument("--faults", help="names of faults, comma-separated, instead of those that the seeds draw: " + ", ".join(FAULTS))
    cli.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    cli.add_argument("--show", action="store_true", help="only say what the histories are")
    options = cli.parse_args()
    seeds = range(options.seed, options.seed + options.runs)
    console = Console(highlight=False, soft_wrap=True, width=max(140, Console().width))
    if options.show:
        for seed in seeds:
            console.print(f"seed {seed}: {draw(seed)}")
        return 0
    faults = options.faults.split(",") if options.faults else ()
    unknown = sorted(set(faults) - FAULTS.keys())
    if unknown:
        cli.error(f"unknown faults: {', '.join(unknown)}")
    outcomes = []
    began = time.monotonic()
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kafka-recovery-chaos-")))
        remote = stack.enter_context(connect_server(directory))
        stage = RescuingStage(stack.enter_context(new_cluster(say=lambda text: console.print(text, markup=False, style="dim"))))
        if not make_share_group(stage.cluster):
            console.print("share groups keep no state on this version of Kafka")
        runner = Runner(stage, directory, remote)
        stack.callback(runner.close)
        for seed in seeds:
            if options.minutes and time.monotonic() - began > options.minutes * 60:
                break
            outcome = one(runner, seed, faults)
            outcomes.append(outcome)
            console.print(score.line(outcome), markup=False)
            for text in score.violations(outcome, EXAMPLE.format(seed=seed)):
                console.print(text, markup=False, style="red")
    if not franz.PROGRAM.exists():
        console.print(f"porcupine has judged nothing: {franz.MISSING}")
    figures = score.summary(outcomes)
    for table in score.tables(figures):
        console.print(table)
    if options.json:
        details = [score.details(outcome) for outcome in outcomes]
        options.json.write_text(json.dumps({**figures, "runs": details}, indent=1) + "\n")
    return 1 if figures["violations"] else 0


def one(runner: Runner, seed: int, faults: tuple[str, ...] | list[str]) -> Outcome:
    """Run one history. What ends it early is a finding, too, and the next history begins again."""
    began = time.monotonic()
    try:
        return runner.run_returned(seed) if not faults and seed % RETURNED_EACH == 0 else runner.run(seed, faults)
    except Exception as problem:
        trace = "\n".join(traceback.format_exc().splitlines()[-20:])
        violation = Violation("the history could not be played to its end", "", f"{problem}\n{trace}")
        return Outcome(seed, violations=[violation], seconds=time.monotonic() - began)


if __name__ == "__main__":
    sys.exit(main())
