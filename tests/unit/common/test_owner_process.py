# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A process ends with its owner, and takes its children along."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from repository_root import ROOT

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import owner_process
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.owner_process import find_owner

# In a session of its own, as a module that Ansible runs with async. Its child ignores SIGTERM.
OWNED = """
import subprocess, sys, time
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import signals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.owner_process import end_with, find_owner
signals.listen()
with end_with(find_owner(int(sys.argv[1]), float(sys.argv[2]))):
    child = subprocess.Popen([sys.executable, "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(60)"])
    print(child.pid, flush=True)
    time.sleep(60 if sys.argv[3] == "stays" else 0.1)
child.kill()
"""
ENDS_WITHIN_SECONDS = 5.0


@pytest.fixture
def owner() -> Iterator[subprocess.Popen[bytes]]:
    # Programs that a shell starts in the background ignore SIGINT, and so would this one.
    listens = "import signal, time; signal.signal(signal.SIGINT, signal.default_int_handler); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", listens], start_new_session=True) as process:
        yield process
        process.kill()


def owned(owner: subprocess.Popen[bytes], stays: str) -> tuple[subprocess.Popen[str], psutil.Process]:
    """A process that ends with `owner`, and its child."""
    since = psutil.Process(owner.pid).create_time()
    process = subprocess.Popen(
        [sys.executable, "-c", OWNED, str(owner.pid), str(since), stays],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / ".cache/collections")},
    )
    assert process.stdout is not None
    return process, psutil.Process(int(process.stdout.readline()))


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_it_ends_within_seconds_of_its_owner_and_its_child_too(owner: subprocess.Popen[bytes], number: signal.Signals) -> None:
    process, child = owned(owner, "stays")
    os.killpg(owner.pid, number)
    owner.wait()
    began = time.monotonic()
    assert process.wait(timeout=ENDS_WITHIN_SECONDS) == 1
    child.wait(timeout=ENDS_WITHIN_SECONDS)
    assert time.monotonic() - began < ENDS_WITHIN_SECONDS


def test_an_owner_that_no_process_has_waited_for_has_ended(owner: subprocess.Popen[bytes]) -> None:
    since = psutil.Process(owner.pid).create_time()
    owner.kill()
    while psutil.Process(owner.pid).status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.01)
    with pytest.raises(RecoveryError):
        find_owner(owner.pid, since)


def test_it_is_not_watched_any_more_when_its_work_is_done(owner: subprocess.Popen[bytes]) -> None:
    process, _child = owned(owner, "leaves")
    assert process.wait(timeout=ENDS_WITHIN_SECONDS) == 0


def test_a_process_with_a_reused_id_is_not_the_owner(owner: subprocess.Popen[bytes]) -> None:
    since = psutil.Process(owner.pid).create_time()
    assert find_owner(owner.pid, since).pid == owner.pid
    with pytest.raises(RecoveryError):
        find_owner(owner.pid, since - 60)


def test_the_collection_imports_it_without_psutil(tmp_path: Path) -> None:
    (tmp_path / "psutil.py").write_text("raise ImportError\n")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT / '.cache/collections'}"}
    subprocess.run([sys.executable, "-c", f"import {owner_process.__name__}"], env=environment, check=True)
