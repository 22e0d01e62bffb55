# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Game day on real clusters: the right play gets full marks, the careless one loses records, and nothing is left behind however it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pexpect
import psutil
import pytest
from gameday.__main__ import open_game, settle
from gameday.prompt import Prompt
from gameday.scenario import ALLOW, CLEAN, HOLD, RECOVER
from gameday.scenarios import CARELESS, FAMILIES, draw
from gameday.score import Card, score
from gameday.stage import Stage, settings
from rich.console import Console

from rig import KafkaCluster
from rig.ports import LOCKS

CHECKOUT = Path(__file__).resolve().parents[2]
GIVE_UP_SECONDS = 900
GONE_SECONDS = 30
NIGHT = draw(3, only="forks_to_hold")


@pytest.fixture(scope="module")
def night(spark_remote: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prompt]:
    """One night on one cluster: forked logs that are to be held, and others that are to be elected."""
    (site,) = NIGHT.sites
    folder = tmp_path_factory.mktemp("gameday")
    with KafkaCluster(site.name, **settings(site)) as cluster:
        stage = Stage(NIGHT, {site.name: cluster}, by_the_clock=False)
        try:
            stage.prepare()
            console, file = Console(highlight=False, width=140), folder / "inventory.yml"
            yield open_game(console, stage, file, folder, ask=False, kafka_recovery_spark_remote=spark_remote)
        finally:
            stage.close()


def marks(card: Card) -> dict[str, float]:
    """The share of the points of each line."""
    return {line.name: line.points / line.of for line in card.lines}


@pytest.mark.long
def test_the_best_play_gets_full_marks_and_a_forced_election_afterwards_loses_them(night: Prompt) -> None:
    night.play(NIGHT.best)
    assert night.ended == "done"
    facts, card = settle(night.console, night)
    assert marks(card).keys() == {"records kept", "refusals", "service", "time", "left as found"}
    # How long it took is the machine's business.
    assert {name for name, share in marks(card).items() if share < 1} <= {"time"}, card
    assert {row.led for row in facts.expected(HOLD)} == {False}

    # Kafka's own tool, on copies, kept less than the best play: that is what the card compares with.
    served = [row for row in facts.partitions if row.expected != HOLD]
    assert facts.stock.keys() == {("east", loss.topic) for loss in NIGHT.sites[0].losses}
    assert facts.stock["east", served[0].topic] < sum(row.kept for row in served) == sum(row.achievable for row in served)

    night.play(CARELESS)
    after = night.stage.facts()
    forced = after.expected(HOLD)
    assert {row.led for row in forced} == {True}
    assert sum(row.kept for row in forced) == facts.stock["east", forced[0].topic]
    assert marks(score(after))["refusals"] == 0


@pytest.mark.long
def test_a_wrong_command_is_an_error(night: Prompt, capsys: pytest.CaptureFixture[str]) -> None:
    night.console = Console(highlight=False, width=140)
    commands = ("run", "run nonsense", "run 'plan", "wait long", "mount", "mount 9", "restart nowhere 1", "elect", "hint", "hint", "hint")
    night.play(commands)
    said = capsys.readouterr().out
    for text in (
        "For example: run plan", "There is no playbook nonsense", "long is no number of seconds", "Which one? east has 1, 2, 3",
        "Which cluster? east", "There is no command elect", "There are no more",
    ):  # fmt: skip
        assert text in said
    (lost,) = NIGHT.sites[0].roles.lost
    night.play([f"mount {lost}", f"restart {lost}"])
    said = capsys.readouterr().out
    assert "there is nothing left to mount" in said and "the machine is gone" in said
    assert night.hints == 2


def game(tmp_path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """A game as a program, whatever it prints."""
    argv = [sys.executable, "-m", "gameday", "--seed", "1", "--scores", str(tmp_path / "scores.jsonl"), *options]
    return subprocess.run(
        argv, cwd=CHECKOUT, capture_output=True, text=True, check=False, timeout=GIVE_UP_SECONDS, stdin=subprocess.DEVNULL
    )


def test_a_game_without_a_player_is_refused_before_anything_starts(tmp_path: Path) -> None:
    done = game(tmp_path)
    assert done.returncode == 2 and "--play" in done.stderr
    done = game(tmp_path, "--script", str(tmp_path / "missing"))
    assert done.returncode == 2 and "missing: No such file" in done.stderr
    done = game(tmp_path, "--play", "best", "--summary", str(tmp_path / "missing" / "game.md"))
    assert done.returncode == 2 and "its folder does not exist" in done.stderr


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES)
def test_the_best_player_gets_full_marks(family: str, tmp_path: Path) -> None:
    done = game(tmp_path, "--scenario", family, "--play", "best")
    assert done.returncode == 0, done
    (card,) = cards(tmp_path)
    assert {name for name, (points, of) in card["lines"].items() if points < of} <= {"time"}, done.stdout
    if family == "lost_disk":
        assert "is safe to start" in done.stdout and "exit code 2" not in done.stdout, done.stdout


@pytest.mark.long
@pytest.mark.parametrize("family", ["different_lengths", "unmounted_disk", "forks_to_decide", "last_known_leader"])
def test_the_careless_player_loses_records(family: str, tmp_path: Path) -> None:
    summary = tmp_path / "game.md"
    done = game(tmp_path, "--scenario", family, "--play", "careless", "--summary", str(summary))
    assert done.returncode == 0, done
    (card,) = cards(tmp_path)
    points, of = card["lines"]["records kept"]
    assert points < of and card["total"] < 100, done.stdout
    # What Kafka's own tool has kept on copies it keeps in the game, too.
    rows = [line.strip("| ").split(" | ") for line in summary.read_text().splitlines() if line.startswith("| east |")]
    assert [kept for *_, kept, _best, _stock in rows] == [stock for *_, stock in rows] != [], rows


@pytest.mark.long
def test_an_empty_leader_gives_up_what_a_disk_would_have_brought_back(tmp_path: Path) -> None:
    scenario = draw(1, only="no_survivor")
    (site,) = scenario.sites
    alone = next(loss.topic for loss in site.losses if loss.expected == CLEAN)
    forced = {"kafka_recovery_lost_brokers": [*site.roles.lost, 4], "kafka_recovery_revive_empty": [{"topic": alone}]}
    script, summary = tmp_path / "script", tmp_path / "game.md"
    script.write_text(f"{RECOVER}\nrun revive {ALLOW} -e '{json.dumps(forced)}'\nmount 4\nwait 20\ndone\n")
    done = game(tmp_path, "--scenario", "no_survivor", "--script", str(script), "--summary", str(summary))
    assert done.returncode == 0, done
    (card,) = cards(tmp_path)
    assert {name for name, (points, of) in card["lines"].items() if points < of} - {"time"} == {"records kept", "refusals"}, done.stdout
    assert card["lines"]["refusals"][0] == 0
    assert f"**{card['total']} of 100 points**" in summary.read_text() and f"run revive {ALLOW}" in summary.read_text()


@pytest.mark.long
def test_an_election_alone_keeps_less_than_the_disk_has(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(f"{RECOVER}\ndone\n")
    done = game(tmp_path, "--scenario", "lost_disk", "--script", str(script))
    assert done.returncode == 0, done
    (card,) = cards(tmp_path)
    assert {name for name, (points, of) in card["lines"].items() if points < of} - {"time"} == {"records kept"}, done.stdout


def cards(tmp_path: Path) -> list[dict[str, Any]]:
    """The scores that were kept."""
    return [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]


@pytest.mark.long
@pytest.mark.parametrize("end", ["quit", "ctrl-c", "closed terminal", "SIGKILL"])
def test_nothing_is_left_however_a_game_ends(end: str, tmp_path: Path) -> None:
    mark = uuid.uuid4().hex
    environment = {**os.environ, "TMPDIR": str(tmp_path), "GAMEDAY_TEST": mark}
    argv = ["-m", "gameday", "--seed", "1", "--scenario", "different_lengths"]
    terminal = pexpect.spawn(
        sys.executable, argv, cwd=str(CHECKOUT), env=environment, timeout=GIVE_UP_SECONDS, dimensions=(40, 120), encoding="utf-8",
        preexec_fn=hears_ctrl_c,
    )  # fmt: skip
    terminal.expect("gameday> ")
    assert len(marked(mark)) > 5
    terminal.sendline("status")
    terminal.expect("since the page")
    if end == "quit":
        terminal.sendline("quit")
    elif end == "ctrl-c":
        terminal.sendintr()
        terminal.expect("once more")
        terminal.sendintr()
    elif end == "closed terminal":
        terminal.sendline("run plan")
        terminal.expect("PLAY")
        terminal.ptyproc.fileobj.close()  # pexpect's own way waits for less than clusters take to end
    else:
        os.kill(terminal.pid, getattr(signal, end))
    if end != "closed terminal":
        terminal.expect(pexpect.EOF)
        terminal.close()
    deadline = time.monotonic() + GONE_SECONDS
    while left := [*marked(mark), *(str(path) for path in tmp_path.iterdir() if path.name != LOCKS)]:
        assert time.monotonic() < deadline, left
        time.sleep(0.2)


def hears_ctrl_c() -> None:
    """What a shell starts in the background ignores SIGINT, and so does all that it starts. No player plays there."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def marked(mark: str) -> list[str]:
    """Processes that carry this mark in their environment, and live."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("GAMEDAY_TEST") == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(f"{process.pid}: {' '.join(process.cmdline())[:200]}")
        except psutil.Error:
            continue
    return found
