"""The prompt: what an operator can do in the night."""

from __future__ import annotations

import cmd
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gameday import telling
from gameday.debrief import Action
from gameday.scenario import Scenario
from gameday.stage import UP, Stage
from rig import RigError, keeper, stock

ROOT = Path(__file__).parents[2]
PREFIX = "streamops.kafka_recovery."
# What `run` takes.
PLAYBOOKS = {path.stem: f"{PREFIX}{path.stem}" for path in sorted((ROOT / "playbooks").glob("*.yml"))}
WAIT_SECONDS = 300.0
COMMANDS = ("run", "status", "wait", "mount", "restart", "page", "hint", "done", "quit")
SETTLED_LOOKS = 3
STOCK = ("kafka-leader-election", "kafka-leader-election.sh")


class Prompt(cmd.Cmd):
    """Commands of the game. What is typed here and what the player types in another terminal count alike: the clusters are looked at."""

    prompt = "gameday> "

    def __init__(self, console: Console, scenario: Scenario, stage: Stage, inventory: Path, ask: bool = True) -> None:
        """`ask`: whether a player is there to answer questions."""
        super().__init__()
        self.console, self.scenario, self.stage, self.inventory = console, scenario, stage, inventory
        self.hints = 0
        self.ended: str | None = None  # "done" or "quit"
        self._code: int | None = None  # of the program that a command ran
        self._ask, self._interrupted = ask, False

    def play(self, commands: Iterable[str]) -> None:
        """Play these commands, as if a player typed them."""
        for command in commands:
            self.console.print(Text(f"{self.prompt}{command}", style="bold"), soft_wrap=True)
            if self.onecmd(command):
                return

    def converse(self) -> None:
        """Read commands until the game ends. Ctrl-C breaks off what is under way; twice at the prompt it ends the game."""
        while self.ended is None:
            try:
                self.cmdloop()
            except KeyboardInterrupt:
                if self._interrupted:
                    self.ended = "quit"
                self._interrupted = True
                self.console.print("" if self.ended else "\nCtrl-C once more, or quit, ends the game.")

    def precmd(self, line: str) -> str:
        self._interrupted = False
        return line

    def onecmd(self, line: str) -> bool:
        began, self._code = self.stage.elapsed, None
        try:
            return bool(super().onecmd(line))
        except RigError as problem:  # a cluster that does not do what was asked: the night goes on
            self._say(str(problem))
            return False
        finally:
            self.stage.course.actions.append(Action(line.strip(), began, self.stage.elapsed, self._code))

    def do_help(self, line: str) -> None:
        """help [COMMAND]: all commands, or what one of them does"""
        names = [line] if line in COMMANDS else COMMANDS
        table = Table.grid(padding=(0, 2))
        for name in names:
            usage, _, meaning = " ".join((getattr(self, f"do_{name}").__doc__ or "").split()).partition(": ")
            table.add_row(Text(usage, style="bold"), Text(meaning))
        self.console.print(table)

    def get_names(self) -> list[str]:
        return [name for name in super().get_names() if name != "do_EOF"]

    def do_status(self, _line: str) -> None:
        """status: nodes, partitions without a leader, time since the page"""
        telling.status(self.console, self.stage)

    def do_run(self, line: str) -> None:
        """run PLAYBOOK [OPTION ...]: a playbook of the collection, on the clusters of this night (the inventory is given by itself);
        or kafka-leader-election, Kafka's own tool (--limit CLUSTER: one of several)"""
        try:
            first, *rest = shlex.split(line)
        except ValueError as problem:
            self._say(f"This cannot be read: {problem or 'nothing to run'}. For example: run plan")
            return
        if Path(first).name == "ansible-playbook" and rest:
            # The commands that playbooks show name the playbook last.
            first = rest.pop(next((place for place, word in enumerate(rest) if word.startswith(PREFIX)), 0))
        name = first.removeprefix(PREFIX)
        if name in STOCK:
            self._stock_tool(rest)
        elif name in PLAYBOOKS:
            self._playbook(PLAYBOOKS[name], rest)
        else:
            self._say(f"There is no playbook {first}. There are: {', '.join(PLAYBOOKS)}; and Kafka's own kafka-leader-election")

    def complete_run(self, text: str, *_rest: object) -> list[str]:
        return [name for name in (*PLAYBOOKS, STOCK[0]) if name.startswith(text)]

    def do_wait(self, line: str) -> None:
        """wait [SECONDS]: until a node comes up or partitions win or lose their leader, at most so long (300)"""
        try:
            seconds = float(line) if line else WAIT_SECONDS
        except ValueError:
            self._say(f"{line} is no number of seconds")
            return
        began = time.monotonic()
        before = last = self._picture()
        if not any(counts is None or counts[1] for counts in self.stage.leaderless().values()):
            self._say("Nothing to wait for: every partition has a leader.")
            return
        self.stage.let_time_pass()
        calm = 0
        try:
            while time.monotonic() - began < seconds:
                if self.console.is_terminal:
                    self.console.print(f"waiting, {time.monotonic() - began:.0f} s (Ctrl-C: no longer)", end="\r", style="dim")
                time.sleep(1)
                now = self._picture()
                calm = calm + 1 if now == last else 0
                last = now
                if calm >= SETTLED_LOOKS and _moved(before, now):
                    break
        except KeyboardInterrupt:
            self._say("")
        changes = _changes(before, last)
        waited = f"{time.monotonic() - began:.0f} s"
        self._say("\n".join([f"After {waited}:", *changes]) if changes else f"Nothing has changed in {waited}.")

    def do_mount(self, line: str) -> None:
        """mount [CLUSTER] BROKER: have the disk of a broker mounted, and the broker started"""
        self._hand(line, self.stage.mount, brokers=True)

    def do_restart(self, line: str) -> None:
        """restart [CLUSTER] NODE: have a broker or a controller restarted (a hanging one, too)"""
        self._hand(line, self.stage.restart)

    def do_hint(self, _line: str) -> None:
        """hint: a hint, for 5 points; there are two"""
        if self.hints == len(self.scenario.hints):
            self._say("There are no more.")
            return
        self._say(self.scenario.hints[self.hints])
        self.hints += 1

    def do_page(self, _line: str) -> None:
        """page: show the alert again, and what colleagues have said"""
        telling.page(self.console, self.scenario)

    def do_done(self, _line: str) -> bool:
        """done: go back to bed; the game ends and is scored"""
        without = sum(counts[1] for counts in self.stage.leaderless().values() if counts)
        if self._ask and without:
            try:
                answer = input(f"{without} partitions have no leader. That may be right. Score the game as it is? [y/N] ")
            except EOFError:
                answer = ""
            if answer.strip().lower() not in {"y", "yes"}:
                return False
        self.ended = "done"
        return True

    def do_quit(self, _line: str) -> bool:
        """quit: end the game without a score"""
        self.ended = "quit"
        return True

    do_EOF = do_quit

    def emptyline(self) -> bool:
        return False

    def default(self, line: str) -> None:
        self._say(f"There is no command {line.split(maxsplit=1)[0]}. help lists them; playbooks are started with run.")

    # how it is done

    def _say(self, text: str) -> None:
        self.console.print(Text(text))

    def _echo(self, *argv: str) -> None:
        self.console.print(Text(f"$ {shlex.join(argv)}", style="dim"), soft_wrap=True)

    def _playbook(self, playbook: str, options: list[str]) -> None:
        inventory = [] if {"-i", "--inventory"} & set(options) else ["-i", str(self.inventory)]
        argv = [str(Path(sys.executable).parent / "ansible-playbook"), playbook, *inventory, *options]
        self._echo("ansible-playbook", *argv[1:])
        sys.stdout.flush()
        self._code = code = _run(argv)
        self._say(f"exit code {code}{': something is held or has failed, see above' if code else ''}")

    def _stock_tool(self, options: list[str]) -> None:
        chosen = list(self.stage.clusters)
        if "--limit" in options[:-1]:
            place = options.index("--limit")
            chosen = [options[place + 1]]
            options = options[:place] + options[place + 2 :]
        for name in chosen:
            if name not in self.stage.clusters:
                self._say(f"There is no cluster {name}. There are: {', '.join(self.stage.clusters)}")
                continue
            self._echo(STOCK[1], "--bootstrap-server", self.stage.clusters[name].bootstrap_servers, *options)
            try:
                done = stock.elect(self.stage.clusters[name], *options)
            except RigError as problem:
                self._say(str(problem))
                continue
            self._say((done.stdout + done.stderr).strip())
            self._code = done.returncode
            self._say(f"exit code {done.returncode}")

    def _hand(self, line: str, act: Callable[[str, int], str], brokers: bool = False) -> None:
        words = line.split()
        site = words[0] if len(words) == 2 else next(iter(self.stage.clusters)) if len(self.stage.clusters) == 1 else ""
        if site not in self.stage.clusters:
            self._say(f"Which cluster? {', '.join(self.stage.clusters)}, then the node's id")
            return
        cluster = self.stage.clusters[site]
        known = cluster.brokers if brokers else cluster.nodes
        if not words or not words[-1].isdigit() or int(words[-1]) not in known:
            self._say(f"Which one? {site} has {', '.join(map(str, known))}")
            return
        self._say(act(site, int(words[-1])))

    def _picture(self) -> dict[str, str]:
        states = {f"{site}: {self.stage.clusters[site].nodes[node].name}": state for (site, node), state in self.stage.states().items()}
        topics = {
            f"{site}: {topic}": f"{counts[1]} of {counts[0]} partitions without leader" if counts else "no data"
            for (site, topic), counts in self.stage.leaderless().items()
        }
        return states | topics


def _moved(before: dict[str, str], now: dict[str, str]) -> bool:
    """Whether a node has come up, or a topic is different."""
    return any(now[name] != text and (now[name] == UP or "partitions" in now[name]) for name, text in before.items())


def _changes(before: dict[str, str], now: dict[str, str]) -> list[str]:
    return [f"  {name}: {now[name]} (before: {text})" for name, text in before.items() if now[name] != text]


def _run(argv: list[str]) -> int:
    """Run a program in this terminal. On Linux it dies with the game; Ctrl-C is its business."""
    environment = {**os.environ, "ANSIBLE_DISPLAY_SKIPPED_HOSTS": "false"}
    with subprocess.Popen([sys.executable, "-I", keeper.__file__, "become", str(os.getpid()), *argv], cwd=ROOT, env=environment) as process:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                continue  # the terminal has sent it to the program as well
            except BaseException:
                process.terminate()
                raise
