# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ctrl-C and SIGTERM in the middle of an election: what is under way is finished, orders are put back, the results tell how far it went.

Ansible itself ends at once and leaves its modules to the same signal (its workers pass it on), with no reader of what they print.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from integration.held import wait_until
from integration.support import CHECKOUT, GIVE_UP_SECONDS, Operator, outcomes, run_module

ANSIBLE_SECONDS = 15.0
# Python reads this at every start. Modules come to it through a pipe, so it has no arguments then; one of
# them is held where it is about to send ElectLeaders: replica orders are changed then.
SITECUSTOMIZE = """
import os, sys, time
from pathlib import Path
if len(sys.orig_argv) == 1:
    from kafka.net.manager import KafkaConnectionManager
    send, folder = KafkaConnectionManager.send, Path(__file__).parent
    def held(self, request, **kwargs):
        if request.name.startswith("ElectLeaders"):
            (folder / "reached").touch()
            for _ in range({seconds} * 50):
                if (folder / "go").exists():
                    break
                time.sleep(0.02)
        return send(self, request, **kwargs)
    KafkaConnectionManager.send = held
"""
# The terminal becomes the controlling one, as of a login shell: Ctrl-C there reaches what it would reach for an operator.
# What runs in the background ignores Ctrl-C, and so would the playbook where the tests do.
OWN_TERMINAL = """
import fcntl, os, signal, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""
BETWEEN = """
import os, signal, time
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import signals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import designated_election, backend_elections
designated_election.BATCH = designated_election.SIDE_BY_SIDE = 1
elect = backend_elections.elect_by_order
def interrupted(*args):
    os.kill(os.getpid(), signal.{name})
    while not signals.pending_signal():  # by the main thread
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGTERM)
    return elect(*args)
backend_elections.elect_by_order = interrupted
"""


@contextmanager
def in_a_terminal(operator: Operator, folder: Path, run_id: str, **variables: Any) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The playbook apply as the foreground process of a terminal of its own; yields the process and the terminal's other end."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(SITECUSTOMIZE.format(seconds=GIVE_UP_SECONDS))
    values = {"workdir": str(operator.workdir), "run_id": run_id, "allow_data_loss": True, **variables}
    argv = [str(Path(sys.executable).parent / "ansible-playbook"), "streamops.kafka_recovery.apply", "-i", str(operator.inventory())]
    argv += ["-e", json.dumps({f"kafka_recovery_{name}": value for name, value in values.items()})]
    keyboard, terminal = pty.openpty()
    environment = {**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_CONFIG": str(CHECKOUT / "ansible.cfg"), "PYTHONPATH": str(folder)}
    process = subprocess.Popen(
        [sys.executable, "-c", OWN_TERMINAL, sys.executable, *argv],
        cwd=CHECKOUT,
        env=environment,
        stdin=terminal,
        stdout=(folder / "stdout").open("wb"),
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    os.close(terminal)
    try:
        yield process, keyboard
    finally:
        (folder / "go").touch()
        process.kill()
        process.wait()
        os.close(keyboard)


def press_ctrl_c(_process: subprocess.Popen[bytes], keyboard: int) -> None:
    os.write(keyboard, b"\x03")


def send_sigterm(process: subprocess.Popen[bytes], _keyboard: int) -> None:
    process.terminate()


def is_working(operator: Operator) -> bool:
    """Whether a process holds the lock of the journal."""
    with operator.journal.open("rb") as journal:
        try:
            fcntl.flock(journal, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@pytest.mark.parametrize(
    ("topic", "interrupt", "returncode"),
    [
        pytest.param("interrupted.sigint", press_ctrl_c, 99, id="ctrl_c"),
        pytest.param("interrupted.sigterm", send_sigterm, -signal.SIGTERM, marks=pytest.mark.long, id="sigterm"),
    ],
)
def test_a_playbook_that_is_interrupted_leaves_nothing_half_done_and_the_next_run_goes_on(
    prepared: Callable[[str], Operator],
    tmp_path: Path,
    topic: str,
    interrupt: Callable[[subprocess.Popen[bytes], int], None],
    returncode: int,
) -> None:
    operator, folder = prepared(topic), tmp_path / "run"
    before, orders = operator.states(topic), operator.orders(topic)
    plans = {"plan_dir": str(operator.path("plans", "1").parent)}
    with in_a_terminal(operator, folder, "interrupted", **plans) as (process, keyboard):
        said = folder / "stdout"
        wait_until(lambda: (folder / "reached").exists() or process.poll() is not None, "the election")
        assert process.poll() is None, said.read_text()
        interrupt(process, keyboard)
        # On a busy machine Ansible sometimes waits for its module, which is what we hold. Mostly it ends at once.
        with suppress(subprocess.TimeoutExpired):
            process.wait(ANSIBLE_SECONDS)
        # The module has not ended: it holds its lock, and the orders are as they are in the middle of an election.
        assert is_working(operator)
        assert operator.orders(topic) != orders
        assert not operator.path("results", "interrupted").exists()
        (folder / "go").touch()
        assert process.wait(GIVE_UP_SECONDS) == returncode, said.read_text()
        wait_until(lambda: not is_working(operator), "the end of the module")
    wait_until(operator.path("results", "interrupted").exists, "results")
    results = operator.read("results", "interrupted")
    assert outcomes(results["partitions"]) == {topic: {"elected"}}, "the batch that was under way"
    after = operator.in_order_again(before)
    assert {state.leader for state in after.values()} == {2}
    assert [path for path in operator.workdir.rglob(".*") if operator.name in path.name] == []
    again = operator.apply("1", "again")
    assert (again["summary"]["already_online"], again["repaired"]) == (4, [])


def test_what_was_not_reached_is_held_and_elected_by_the_next_run(prepared: Callable[[str], Operator]) -> None:
    """Four batches of one partition; the signal comes during the first, and another one right after it."""
    operator = prepared("interrupted.between")
    before = operator.states(operator.name)
    params = {**operator.connection, **operator.files("interrupted"), "plan": str(operator.path("plans", "1")), "allow_data_loss": True}
    answer = run_module("kafka_designated_election", params, before=BETWEEN.format(name="SIGINT"))
    assert answer.returncode == 1, answer
    assert answer.msg == (
        "interrupted by SIGINT: 1 of 4 partitions have a leader (1 elected), 3 were not reached; replica orders are put back, run again to go on"
    )
    results = operator.read("results", "interrupted")
    assert [row["outcome"] for row in results["partitions"]] == ["elected", "held", "held", "held"]
    assert all(row["reason_code"] == "interrupted" for row in results["partitions"][1:])
    operator.in_order_again(before)

    result = operator.apply("1", "again")
    assert (result["summary"]["already_online"], result["summary"]["elected"], result["repaired"]) == (1, 3, [])
    after = operator.in_order_again(before)
    assert {state.leader for state in after.values()} == {2}


def members(session: int) -> list[str]:
    """Commands of the processes that live in a session."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, _parent, _group, its_session = (process / "stat").read_text().rpartition(")")[2].split()[:4]
            if int(its_session) == session and state != "Z":
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return found


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.long), signal.SIGTERM], ids=["ctrl_c", "sigterm"])
def test_planning_that_is_interrupted_while_its_own_spark_starts_leaves_no_java_behind(
    prepared: Callable[[str], Operator], tmp_path: Path, number: signal.Signals
) -> None:
    operator = prepared("interrupted.between")
    (tmp_path / "landing").mkdir()
    shutil.copytree(operator.path("landing", "1").parent, tmp_path / "landing" / "1")
    arguments = tmp_path / "arguments.json"
    arguments.write_text(json.dumps({"ANSIBLE_MODULE_ARGS": {"workdir": str(tmp_path), "run_id": "1"}}))
    module = str(CHECKOUT / "plugins" / "modules" / "kafka_recovery_plan.py")
    process = subprocess.Popen(
        [sys.executable, module, str(arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        wait_until(lambda: any("SparkSubmit" in command for command in members(process.pid)), "a Java")
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=GIVE_UP_SECONDS)
        assert process.returncode == 1
        assert json.loads(stdout)["msg"].startswith(f"interrupted by {number.name}: plans that were not finished are unchanged")
        assert "Traceback" not in stderr, stderr
        wait_until(lambda: not members(process.pid), "no process left")
        assert not list(tmp_path.glob("plans/1/*"))
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
