# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes that answer anything: modules end with a result or one clear error, in bounded memory, and nothing is written to the cluster."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import pytest
from integration.requestlog import RequestLog
from integration.support import CHECKOUT, run_module
from wire.answers import Exchange
from wire.course import IMPACT, STEPS, TOGETHER, Step
from wire.mutations import mutate
from wire.run import MOST_MEGABYTES, verdict
from wire.stage import Stage, stage

from rig.gateway_frames import Request

REPLAYED, OF_ONE_PROCESS, THROUGH_GATEWAYS = 20_000, 1_000, 400
# The ports of what was recorded are fixed, so processes side by side each need a network of their own. Most of their time they wait for answers.
OWN_NETWORK = (
    shutil.which("unshare") is not None and subprocess.run(["unshare", "-rn", "true"], capture_output=True, check=False).returncode == 0
)
SIDE_BY_SIDE, PART_SECONDS = 6, 3600
# A process of its own, on a busy machine, with a request_timeout of 1 s.
GIVE_UP_SECONDS = 120
CLIENT = "streamops-kafka-recovery"
ELECTION = next(step for step in STEPS if step.name == "election compat")


@pytest.fixture(scope="module")
def staged() -> Iterator[Stage]:
    """A damaged cluster behind gateways and taps."""
    with stage() as running:
        yield running


@pytest.mark.long
def test_thousands_of_changed_answers_end_in_results_or_clear_errors() -> None:
    with ThreadPoolExecutor(SIDE_BY_SIDE if OWN_NETWORK else 1) as pool:
        parts = list(pool.map(mutations, range(0, REPLAYED, OF_ONE_PROCESS)))
    findings = [finding for part in parts for finding in part["findings"]]
    assert not findings, "\n".join(findings)
    assert sum(part["tried"] for part in parts) >= REPLAYED
    assert not [part["missed"] for part in parts if part["missed"]]
    assert max(part["megabytes"] for part in parts) < MOST_MEGABYTES


def mutations(first: int) -> dict[str, Any]:
    """Try OF_ONE_PROCESS mutations."""
    network, options = (["unshare", "-rn"], ["--own-network"]) if OWN_NETWORK else ([], [])
    argv = [*network, sys.executable, "-m", "wire", f"--mutations={OF_ONE_PROCESS}", f"--base=long{first}-", *options]
    done = subprocess.run(argv, cwd=CHECKOUT / "tests", capture_output=True, text=True, check=False, timeout=PART_SECONDS)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


@pytest.mark.long
def test_modules_behind_a_hostile_gateway_write_nothing_and_stay_small(staged: Stage, tmp_path: Path) -> None:
    """All modules in check mode, those that would write too."""
    elected = tmp_path / "elected"  # for the module that reads the results of an election
    done = run_module(ELECTION.module, ELECTION.options(staged.brokers, staged.controllers, str(elected), 10.0))
    assert not done.msg
    log, before = RequestLog(staged.cluster), staged.cluster.describe()
    problems: list[str] = []
    tried: Counter[int] = Counter()
    for number in range(THROUGH_GATEWAYS):
        seed = f"gateway{number}"
        draw = random.Random(seed)
        step, share = draw.choice((*STEPS, TOGETHER)), draw.choice((0.05, 0.3, 1.0))

        def change(node: int, request: Request, answer: bytes, seed: str = seed, draw: random.Random = draw, share: float = share) -> bytes:
            if draw.random() > share:
                return answer
            tried[request.api_key] += 1
            return mutate(f"{seed} {draw.random()}", Exchange.of(node, request, answer), answer)[1]

        workdir = tmp_path / str(number)
        if step.module == IMPACT:
            shutil.copytree(elected, workdir)
        with staged.changing(change):
            problem = measured(step, staged, workdir)
        if problem:
            problems.append(f"seed {seed}, {step.name}: {problem}")
    assert not problems, "\n".join(problems)
    assert sum(tried.values()) >= THROUGH_GATEWAYS
    assert not log.written(CLIENT)
    assert staged.cluster.describe() == before


def measured(step: Step, staged: Stage, workdir: Path) -> str | None:
    """Run a step in a process of its own. What is wrong with its end, or with the memory that it took, or None."""
    options = step.options(staged.brokers, staged.controllers, str(workdir), 1.0)
    arguments = json.dumps({"ANSIBLE_MODULE_ARGS": {**options, "_ansible_check_mode": True, "_ansible_diff": True}})
    with (
        TemporaryFile("w+") as complaints,
        subprocess.Popen(
            [sys.executable, str(CHECKOUT / "plugins" / "modules" / f"{step.module}.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
        ) as process,
    ):
        assert process.stdin and process.stdout
        # communicate() has a time limit but takes the usage away.
        deadline = threading.Timer(GIVE_UP_SECONDS, process.kill)
        deadline.start()
        process.stdin.write(arguments)
        process.stdin.close()
        printed = process.stdout.read()
        _pid, status, usage = os.wait4(process.pid, 0)
        deadline.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        complaints.seek(0)
        complaint = complaints.read()
    if process.returncode == -signal.SIGKILL:
        return f"killed: it did not end within {GIVE_UP_SECONDS} s"
    if usage.ru_maxrss >> 10 > MOST_MEGABYTES:
        return f"{usage.ru_maxrss >> 10} MB"
    if not printed.strip() or "Traceback" in complaint:
        return f"{printed} {complaint}"
    return verdict(json.loads(printed))
