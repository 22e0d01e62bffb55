# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands of the simulation refuse what they cannot play, and leave no process behind when they are stopped."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time

import pytest

from simulation.seed_pool import AHEAD

STARTED, ENDED = 60.0, 20.0  # seconds
PROCESSES = 2  # at least: one that plays seeds, and a process of its pool


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("simulation", "5", "3"), "the last seed, 3, is below the first one, 5"),
        (("simulation", "5", "0"), "the last seed, 0, is below the first one, 5"),
        (("simulation", "none.json"), "cannot read the script none.json: No such file or directory"),
        (("simulation", "pyproject.toml"), "pyproject.toml is not a script of a history: Expecting value"),
        (("simulation", "tests/simulation"), "cannot read the script tests/simulation: Is a directory"),
        (("simulation", "1", "--jobs", "0"), "--jobs must be 1 or more"),
        (("simulation.mutants", "no such mistake"), "no mistake has 'no such mistake' in its name"),
        (("simulation.mutants", "shortest", "--jobs", "0"), "--jobs must be 1 or more"),
    ],
)
def test_what_cannot_be_played_is_refused(arguments: tuple[str, ...], reason: str) -> None:
    played = subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, check=False)
    assert played.returncode == 2
    assert reason in played.stderr and "Traceback" not in played.stderr


def descendants(process: int) -> set[int]:
    """Return the processes that a process has started, and those that these have started."""
    rows = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout.splitlines()
    parents = {int(child): int(parent) for child, parent in map(str.split, rows)}
    found = {process}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {process}


def running(processes: set[int]) -> set[int]:
    """Return those of the processes that run."""
    rows = subprocess.run(["ps", "-A", "-o", "pid=,stat="], capture_output=True, text=True, check=True).stdout.splitlines()
    return processes & {int(row.split()[0]) for row in rows if not row.split()[1].startswith("Z")}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize(
    "command", [("simulation.mutants", "takes the shortest log", "--jobs", "1"), ("simulation", "1", "2000", "--jobs", "1")]
)
def test_a_command_that_is_stopped_leaves_no_process(command: tuple[str, ...], number: signal.Signals) -> None:
    played = subprocess.Popen([sys.executable, "-m", *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    until = time.monotonic() + STARTED
    while len(started := descendants(played.pid)) < PROCESSES - (command[0] == "simulation") and time.monotonic() < until:
        time.sleep(0.1)
    time.sleep(1.0)  # the process of the pool has begun
    started |= descendants(played.pid)
    played.send_signal(number)
    printed = played.communicate(timeout=ENDED)[0]
    assert played.returncode == 128 + number
    assert command[0] != "simulation" or re.search(r"^\d+ histories from seed 1 on in \d+ s, .* ended badly$", printed, re.M), printed
    until = time.monotonic() + ENDED
    while (left := running(started)) and time.monotonic() < until:
        time.sleep(0.1)
    assert started and not left


def test_when_its_minutes_are_over_only_what_has_begun_is_played() -> None:
    command = [sys.executable, "-m", "simulation", "1", "--minutes", "0.0001", "--jobs", "1"]
    played = subprocess.run(command, capture_output=True, text=True, check=False)
    assert played.returncode == 0, played.stdout + played.stderr
    (number,) = re.findall(r"^(\d+) histories from seed 1 on", played.stdout, re.M)
    assert int(number) <= AHEAD
