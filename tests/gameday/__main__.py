"""`make gameday`: something breaks, you repair it, and get a score."""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import Any

from integration.spark import connect_server
from rich.console import Console
from rich.status import Status

from gameday import scores, summary, telling
from gameday.prompt import ROOT, Prompt
from gameday.scenario import Scenario
from gameday.scenarios import CARELESS, FAMILIES, LEVELS, draw
from gameday.score import Card, Facts, score
from gameday.stage import Stage, fleet
from rig import RigError
from rig.fleet import disks, host_vars, inventory, write_inventory
from rig.process import Processes

MORE_SEEDS = 10_000
# Nodes are near, and a rehearsal is no time to wait half a minute for one that hangs.
VARIABLES = {"kafka_recovery_duration": 6, "kafka_request_timeout": 3}


def parser() -> argparse.ArgumentParser:
    cli = argparse.ArgumentParser(prog="python -m gameday", description=__doc__)
    cli.add_argument("--seed", type=int, help="the same seed and level give the same scenario (default: any)")
    cli.add_argument("--level", choices=LEVELS, default="normal", help="(default: %(default)s)")
    cli.add_argument("--scenario", choices=FAMILIES, help="this one, if you want to know beforehand")
    cli.add_argument("--play", choices=("best", "careless"), help="let an automatic player play")
    cli.add_argument("--script", type=Path, metavar="FILE", help="play the commands of this file, one a line")
    cli.add_argument(
        "--scores", type=Path, metavar="FILE", help=f"append the score there (default: {scores.default_file()}; automatic players: nowhere)"
    )
    cli.add_argument(
        "--summary", type=Path, metavar="FILE", help="write a summary of the game there when it has its score: Markdown, for a post-mortem"
    )
    return cli


def main() -> int:
    """Play one game. 0 when it was scored or the player quit, 1 when it broke or a script did not come to its end, 2 for wrong options."""
    cli = parser()
    options = cli.parse_args()
    commands = script(cli, options.script) if options.script else None
    if options.summary and not options.summary.absolute().parent.is_dir():
        cli.error(f"--summary {options.summary}: its folder does not exist")
    seed = random.SystemRandom().randrange(MORE_SEEDS) if options.seed is None else options.seed
    scenario = draw(seed, options.level, options.scenario)
    if options.play:
        commands = list(scenario.best if options.play == "best" else CARELESS)
    if commands is None and not sys.stdin.isatty():
        cli.error("a player is needed: start it in a terminal, or with --play or --script")
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    console = Console(highlight=False)
    try:
        with ExitStack() as stack:
            return game(console, stack, scenario, commands, options.scores, options.summary)
    except RigError as problem:
        print(f"gameday: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nThe game has ended, without a score.", file=sys.stderr)
        return 130


def game(
    console: Console,
    stack: ExitStack,
    scenario: Scenario,
    commands: list[str] | None,
    scores_file: Path | None,
    summary_file: Path | None,
) -> int:
    """Everything that is started is on the stack."""
    console.print(
        f"Game day: seed {scenario.seed}, level {scenario.level}. A fleet starts and gets hurt; that takes a minute or two. Ctrl-C ends it."
    )
    folder = scratch(stack)
    workdir = folder / "workdir"
    workdir.mkdir(mode=0o700)
    with Status("", console=console) as shown:

        def say(line: str) -> None:
            """Which cluster is at work, and not what happens to it."""
            shown.update(f"{line.partition(']')[0].removeprefix('[')} is being prepared")

        (folder / "spark").mkdir()
        remote = stack.enter_context(connect_server(folder / "spark"))
        clusters = stack.enter_context(fleet(scenario, say))
        stage = Stage(scenario, clusters.clusters, by_the_clock=commands is None)
        stack.callback(stage.close)
        stage.prepare()
    prompt = open_game(console, stage, folder / "inventory.yml", workdir, ask=commands is None, kafka_recovery_spark_remote=remote)
    if commands is None:
        prompt.converse()
    else:
        prompt.play(commands)
    if prompt.ended != "done":
        console.print("The game has ended, without a score.")
        return 0 if commands is None else 1
    facts, card = settle(console, prompt)
    if summary_file:
        summarize(console, summary_file, prompt, facts, card)
    file = scores_file or (scores.default_file() if commands is None else None)
    if file:
        remember(console, file, scenario, facts, card)
    return 0


def summarize(console: Console, file: Path, prompt: Prompt, facts: Facts, card: Card) -> None:
    """Write the summary. If that fails, the game still has its score."""
    try:
        summary.write(file, prompt.scenario, prompt.stage.course, facts, card, datetime.now())
    except OSError as problem:
        console.print(f"There is no summary: {file}: {problem.strerror}", markup=False, soft_wrap=True)
        return
    console.print(f"Summary: {file}", markup=False, soft_wrap=True)


def remember(console: Console, file: Path, scenario: Scenario, facts: Facts, card: Card) -> None:
    """Append the score, and show the last ones. Where that cannot be, the game was played all the same."""
    try:
        scores.append(file, scenario, facts, card, datetime.now())
        telling.earlier(console, scores.last(file))
    except OSError as problem:
        console.print(f"The score is not kept: {file}: {problem.strerror}. Name another file with --scores", markup=False, soft_wrap=True)
        return
    console.print(f"[dim]{file}[/]", soft_wrap=True)


def open_game(console: Console, stage: Stage, inventory_file: Path, workdir: Path, ask: bool, **variables: Any) -> Prompt:
    """Write the inventory, set the clock going and show the page."""
    write_inventory(inventory_file, night_inventory(stage, workdir, **variables))
    stage.alarm()
    telling.page(console, stage.scenario)
    telling.briefing(console, f"cd {ROOT} && .venv/bin/ansible-playbook streamops.kafka_recovery.plan -i {inventory_file}")
    return Prompt(console, stage.scenario, stage, inventory_file, ask)


def settle(console: Console, prompt: Prompt) -> tuple[Facts, Card]:
    """Look at the clusters, score, and show the card."""
    facts = prompt.stage.facts(prompt.hints)
    card = score(facts)
    telling.card(console, prompt.scenario, prompt.stage.course, facts, card)
    return facts, card


def night_inventory(stage: Stage, workdir: Path, **variables: Any) -> dict[str, Any]:
    """What the playbooks need to know of this night."""
    content = inventory({name: host_vars(cluster) for name, cluster in stage.clusters.items()})
    content["kafka_clusters"]["vars"] |= {"kafka_recovery_workdir": str(workdir), **VARIABLES, **variables}
    attached = [(stage.clusters[site], broker) for site, broker in stage.scenario.disks]
    return content | (disks(attached) if attached else {})


def scratch(stack: ExitStack) -> Path:
    """A folder that goes when the game goes, also by SIGKILL."""
    folder = Path(tempfile.mkdtemp(prefix="kafka-gameday-"))
    keeper = Processes(remove=[folder])
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    stack.callback(keeper.close)
    return folder


def script(cli: argparse.ArgumentParser, path: Path) -> list[str]:
    """Commands of a file; empty lines and those that begin with # are left out."""
    try:
        lines = [line.strip() for line in path.read_text().splitlines()]
    except OSError as problem:
        cli.error(f"--script {path}: {problem.strerror}")
    return [line for line in lines if line and not line.startswith("#")]


def end(number: int, _frame: FrameType | None) -> None:
    """The terminal is closed, or the player ends the game: its output is not read any more, and everything is taken down."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
