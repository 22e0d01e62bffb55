# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machine that runs a playbook is destroyed at a write to the object store; the same playbook on another machine ends the work.

A machine is a home, a folder for temporary files, and all processes that have them: Ansible, its modules, Spark.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from integration.damaged import BY_PLAYBOOK
from integration.requestlog import RequestLog
from integration.store_clients import Bucket
from integration.support import Operator, Played
from integration.test_destroyed_at_every_step import nothing_is_open
from integration.throttle_leaks import clear, wait_for_throttles

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.lease import SETTING as LEASE_SECONDS
from rig import NewTopic
from rig.object_gate import Act, Request

MOVED = "moved.by.playbooks"
POINTS = 12  # of a recovery
MOVE_POINTS = 8


class Machine:
    """A machine whose processes all die at its write number `dies_at`, before that write arrives or (`arrives`) after it."""

    def __init__(self, folder: Path, dies_at: int | None = None, arrives: bool = False) -> None:
        self._folder, self._dies_at, self._arrives = folder, dies_at, arrives
        self.writes: list[str] = []
        self._lock = threading.Lock()
        for path in self.environment.values():
            Path(path).mkdir(parents=True)

    @property
    def environment(self) -> dict[str, str]:
        return {name: str(self._folder / name) for name in ("HOME", "TMPDIR")}

    def __call__(self, request: Request) -> Act | int | None:
        """The rule of the gate."""
        if request.method not in ("PUT", "POST", "DELETE"):
            return None
        with self._lock:
            self.writes.append(f"{request.method} {request.key}")
            if self._dies_at is None or len(self.writes) < self._dies_at:
                return None
            self.destroy()
        # Of what the dead had sent, nothing else arrives.
        return None if self._arrives and len(self.writes) == self._dies_at else Act.CUT

    def destroy(self) -> None:
        """Kill every process of the machine, children of the dead included, and remove its disk."""
        while running := self._processes():
            for process in running:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            time.sleep(0.05)  # not waited for: the parent of a process gets its return code
        shutil.rmtree(self._folder, ignore_errors=True)

    def _processes(self) -> list[psutil.Process]:
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.pid != os.getpid() and process.environ().get("TMPDIR") == self.environment["TMPDIR"]:
                    found.append(process)
        return found


Play = Callable[[int], Played]


class Walk:
    """Playbooks, each on a machine of its own, with one bucket."""

    def __init__(self, bucket: Bucket, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._bucket, self._folder, self._monkeypatch = bucket, folder, monkeypatch
        self._machines = 0

    def on_a_machine(self, play: Play, *death: Any) -> tuple[Played, list[str]]:
        """How a playbook ended, and what it wrote."""
        self._machines += 1
        machine = Machine(self._folder / f"{self._machines}", *death)
        for name, value in machine.environment.items():
            self._monkeypatch.setenv(name, value)
        try:
            with self._bucket.gate.ruled(self._bucket.name, machine):
                played = play(self._machines)
        finally:
            machine.destroy()
        return played, machine.writes

    def undisturbed(self, play: Play) -> list[str]:
        played, writes = self.on_a_machine(play)
        assert played.returncode == 0 and writes, played
        return writes

    def destroyed(self, play: Play, at: int, arrives: bool) -> None:
        """Destroy the machine of a playbook at a write, then play it again elsewhere, to its end."""
        first, writes = self.on_a_machine(play, at, arrives)
        assert first.returncode != 0 or len(writes) < at, (at, writes, first)
        second, again = self.on_a_machine(play)
        assert second.returncode == 0, (at, writes, again, second)


@pytest.fixture
def walk(bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Walk:
    monkeypatch.setenv(LEASE_SECONDS, "1")
    return Walk(bucket, tmp_path / "machines", monkeypatch)


def points(writes: list[str], number: int) -> list[int]:
    """Numbers of writes, from the first to the last, evenly."""
    return sorted({1 + round(index * (len(writes) - 1) / (number - 1)) for index in range(number)})


@pytest.mark.long
def test_recover(east: Operator, bucket: Bucket, walk: Walk) -> None:
    before = east.states(BY_PLAYBOOK)

    def recovering(partition: int) -> Play:
        options: Mapping[str, Any] = {"partitions": [{"topic": BY_PLAYBOOK, "partition": partition}], "allow_data_loss": True}
        return lambda run: east.play("recover", f"{run}", **options, workdir=bucket.url, spark_remote="")

    writes = walk.undisturbed(recovering(0))
    ends = points(writes, POINTS)
    assert len(ends) < len(before)
    for partition, at in enumerate(ends, 1):
        walk.destroyed(recovering(partition), at, arrives=bool(at % 2))
        where = (partition, at, writes[at - 1])
        assert east.in_order_again(before)[BY_PLAYBOOK, partition].leader == 2, where
        nothing_is_open(bucket.contents(), where)
    log = RequestLog(east.cluster)
    last, _writes = walk.on_a_machine(recovering(len(ends)))
    assert last.returncode == 0 and last.recap[east.name]["changed"] == 0 and log.written() == {}, last
    print(f"recover.yml: {len(ends)} of {len(writes)} writes to the store: all ended elsewhere")


@pytest.mark.long
def test_reassign(west: Operator, bucket: Bucket, walk: Walk, tmp_path: Path) -> None:
    clear(west.cluster)
    west.cluster.create_topics([NewTopic(MOVED, [[1, 2]])])
    west.cluster.produce(MOVED, 0, ["x" * 1000] * 100)

    def moving(broker: int) -> Play:
        folder = tmp_path / f"to-{broker}"
        folder.mkdir(mode=0o700, exist_ok=True)
        rows = [{"topic": MOVED, "partition": 0, "replicas": [1, broker]}]
        (folder / f"{west.name}.json").write_text(json.dumps({"version": 1, "partitions": rows}))
        options: dict[str, Any] = {"reassignment_dir": str(folder), "throttle": 100_000_000, "allow_data_loss": True}
        return lambda run: west.play("reassign", f"{run}", **options, workdir=bucket.url, spark_remote="")

    def has_moved(broker: int, where: Any) -> None:
        west.cluster.wait_for_partitions([MOVED], lambda state: state.replicas == (1, broker), "moved")
        wait_for_throttles(west.cluster)
        assert west.ask("kafka_partition_reassignment_info")["summary"]["moving"] == 0, where
        nothing_is_open(bucket.contents(), where)

    writes = walk.undisturbed(moving(3))
    has_moved(3, "undisturbed")
    ends = points(writes, MOVE_POINTS)
    for number, at in enumerate(ends):
        broker = 2 + number % 2
        walk.destroyed(moving(broker), at, arrives=bool(at % 2))
        has_moved(broker, (at, writes[at - 1]))
    print(f"reassign.yml: {len(ends)} of {len(writes)} writes to the store: all ended elsewhere")
