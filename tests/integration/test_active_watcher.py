# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Event sources of two machines with their workdir in an object store: one is active, and stops sending events once another one has taken over."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from integration.store_clients import Bucket
from unit.event_sources import free_port, loaded

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import private_directory, write_private
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.events.active_watcher import ActiveWatcher
from rig.object_gate import Request


@contextmanager
def source(bucket: Bucket, machine: Path) -> Iterator[subprocess.Popen[bytes]]:
    """An event source that sends an event of an unreachable cluster as soon as it is active. `machine`: its temporary folder."""
    machine.mkdir()
    args = {
        "clusters": [{"name": "east", "bootstrap_servers": f"127.0.0.1:{free_port()}"}],
        "workdir": bucket.url, "backoff_min": 0.1, "backoff_max": 0.2, "unreachable_after": 1, "interval": 0.2,
    }  # fmt: skip
    environment = {**os.environ, "TMPDIR": str(machine), "KAFKA_RECOVERY_LEASE_SECONDS": "2"}
    argv = [sys.executable, loaded("fleet")["__file__"], json.dumps(args)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


def event(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    assert process.stdout is not None
    sent: dict[str, Any] = json.loads(process.stdout.readline())
    return sent


def test_a_source_that_was_stalled_stands_by_when_it_wakes_and_another_one_is_active(bucket: Bucket, tmp_path: Path) -> None:
    with source(bucket, tmp_path / "first") as first:
        watcher = event(first)["watcher"]
        with source(bucket, tmp_path / "second") as second:
            first.send_signal(signal.SIGSTOP)
            other = event(second)["watcher"]
            assert other and other != watcher
            assert json.loads(bucket.contents()["incidents/watcher.json"])["watcher"] == other
            first.send_signal(signal.SIGCONT)
            assert first.stdout is not None and select.select([first.stdout], [], [], 5)[0] == [], "it has nothing to send"
            second.kill()
            again = event(first)["watcher"]
            assert again not in (watcher, other)
            assert json.loads(bucket.contents()["incidents/watcher.json"])["watcher"] == again


def test_a_source_is_active_again_after_another_one_was(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_RECOVERY_LEASE_SECONDS", "2")
    first, second = ActiveWatcher(bucket.root()), ActiveWatcher(bucket.mounted().root)
    for watcher in (first, second, first):
        assert watcher.check() and watcher.check()
        watcher.stop()


@pytest.mark.parametrize("before", [False, True])
def test_a_source_that_was_stalled_after_it_took_the_lock_does_not_take_the_name_of_the_active_one(bucket: Bucket, before: bool) -> None:
    stalled, other = ActiveWatcher(bucket.root()), bucket.root() / "incidents" / "watcher.json"
    if before:
        private_directory(other.parent)
        write_private(other, b"{}")
    wrote: list[bytes] = []

    def another_one_becomes_active(request: Request) -> None:
        if request.method == "PUT" and request.key.endswith("watcher.lock.lease") and not wrote:
            wrote.append(b'{"watcher": "another"}')
            private_directory(other.parent)
            write_private(other, wrote[0])

    with bucket.gate.ruled(bucket.name, another_one_becomes_active), pytest.raises(RecoveryError):
        stalled.check()
    assert stalled.watcher is None
    assert bucket.contents()["incidents/watcher.json"] == wrote[0]
