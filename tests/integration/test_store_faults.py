# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes to a store whose requests fail and whose answers are lost, and processes that race for one lock."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from integration.held import wait_until
from integration.store_clients import Bucket

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.cluster_files import record_name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.file_lock import confirmed, held, locked, opened, still_locked
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import TakenError, create
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store import client as store_client
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.client import Client, ConflictError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.fenced_journal import FencedJournal
from rig.object_gate import Act, Request

FAULTS = st.lists(st.sampled_from([None, 500, 503, Act.CUT, Act.LOSE]), max_size=4)
# Who acts, what it does, and what happens to the requests that this takes.
STEPS = st.lists(st.tuples(st.integers(0, 1), st.sampled_from(["create", "replace", "look", "remove"]), FAULTS), min_size=1, max_size=8)
WRITERS = st.lists(st.tuples(st.integers(0, 1), st.booleans(), FAULTS), min_size=1, max_size=10)
# A process that counts in a file, which is safe only while it holds the lock.
COUNT = """
import sys
from pathlib import Path
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.file_lock import held
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.mount import mounted
mount = mounted(sys.argv[1])
for _ in range(int(sys.argv[2])):
    with held(mount.root / "lock", "busy", 300.0):
        try:
            number = int(mount.client.get("count")[0])
        except FileNotFoundError:
            number = 0
        mount.client.put("count", str(number + 1).encode())
"""
HOLD = """
import sys, time
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.file_lock import held
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.mount import mounted
with held(mounted(sys.argv[1]).root / "lock", "busy"):
    print("held", flush=True)
    time.sleep(1000)
"""
settings.register_profile("store", deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def faulty(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    """A bucket whose faults cost no time."""
    monkeypatch.setattr(store_client, "FIRST_PAUSE", 0.001)
    return bucket


class _Faults:
    """Faults for the next requests, in their order."""

    def __init__(self) -> None:
        self.next: list[Any] = []

    def __call__(self, _request: Request) -> Any:
        return self.next.pop(0) if self.next else None


@settings(settings.get_profile("store"))
@given(steps=STEPS)
def test_a_conditional_write_arrives_once_or_is_refused_whatever_the_network_loses(faulty: Bucket, steps: list[Any]) -> None:
    clients, faults = [Client(faulty.url), Client(faulty.url)], _Faults()
    known: list[str | None] = [None, None]
    stored: bytes | None = None
    current: str | None = None
    clients[0].remove("object")
    with faulty.gate.ruled(faulty.name, faults):
        for number, (who, step, lost) in enumerate(steps):
            faults.next = list(lost)
            content = f"{who} {number}".encode()
            if step == "create":
                try:
                    known[who] = clients[who].create("object", content)
                except ConflictError:
                    assert stored is not None
                else:
                    assert stored is None
                    stored, current = content, known[who]
            elif step == "replace" and (etag := known[who]) is not None:
                try:
                    known[who] = clients[who].replace("object", content, etag)
                except ConflictError:
                    assert etag != current
                else:
                    assert etag == current
                    stored, current = content, known[who]
            elif step == "look":
                try:
                    found = clients[who].get("object")
                except FileNotFoundError:
                    assert stored is None
                else:
                    assert found is not None and found == (stored, current)
                    known[who] = found[1]
            elif step == "remove":
                clients[who].remove("object")
                stored = current = None
            faults.next = []
    assert faulty.contents().get("object") == stored


@settings(settings.get_profile("store"))
@given(steps=WRITERS)
@example(
    steps=[(0, True, []), (0, False, [Act.LOSE, 500, None, 500])]
)  # the answer is lost, and whether the write has arrived cannot be read
def test_only_the_last_who_took_a_journal_writes_it_and_no_line_is_lost(faulty: Bucket, steps: list[Any]) -> None:
    client, faults = Client(faulty.url), _Faults()
    client.remove("journal")
    writers = [FencedJournal(client, "journal"), FencedJournal(client, "journal")]
    contents, holder, expected = [b"", b""], -1, b""
    with faulty.gate.ruled(faulty.name, faults):
        for number, (who, takes, lost) in enumerate(steps):
            faults.next = list(lost)
            if takes:
                contents[who], holder = writers[who].take(), who
                assert contents[who] == expected
            elif holder != -1 and contents[who] is not None:
                line = b"%d\n" % number
                try:
                    writers[who].replace(contents[who] + line)
                except TakenError:
                    assert who != holder
                else:
                    assert who == holder
                    contents[who] = expected = contents[who] + line
            faults.next = []
    assert FencedJournal(client, "journal").read() == expected


def test_a_lock_is_held_by_one_of_many_processes(bucket: Bucket) -> None:
    processes, times = 4, 3
    argv = [sys.executable, "-c", COUNT, bucket.url, str(times)]
    started = [subprocess.Popen(argv, env={**os.environ}) for _ in range(processes)]
    assert [process.wait(300) for process in started] == [0] * processes
    assert bucket.contents()["count"] == str(processes * times).encode()
    assert json.loads(bucket.contents()["lock.lease"])["released"] is True


def test_the_lock_of_a_killed_process_is_taken_after_its_time_to_live(bucket: Bucket) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD, bucket.url], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        root = bucket.root()
        with pytest.raises(RecoveryError, match="busy"), held(root / "lock", "busy"):
            pass
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        with held(root / "lock", "busy"):
            pass


def test_a_run_keeps_its_lease_if_one_request_for_it_hangs(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_RECOVERY_LEASE_SECONDS", "6")
    root, other, hung = bucket.root(), bucket.root(), list[Request]()

    def hangs(request: Request) -> Any:
        if request.method == "PUT" and request.key.endswith("lock.lease") and not hung:
            hung.append(request)
            return Act.HOLD
        return None

    with held(root / "lock", "busy") as stream, bucket.gate.ruled(bucket.name, hangs):
        assert bucket.gate.held.acquire(timeout=60)
        with pytest.raises(RecoveryError, match="busy"), held(other / "lock", "busy"):
            pass
        assert still_locked(stream)


def test_a_run_keeps_its_lease_if_the_store_fails_for_longer_than_the_time_to_live(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """The request of a run that waits for the lease is answered when the store answers again, before the holder has renewed it."""
    monkeypatch.setenv("KAFKA_RECOVERY_LEASE_SECONDS", "3")
    waiting = bucket.mounted()
    get, asked, fails = waiting.client.get, list[str](), [False]

    def answered_late(key: str, **options: Any) -> Any:
        asked.append(key)
        if len(asked) != 3:
            return get(key, **options)
        fails[0] = True
        time.sleep(4)
        try:
            return get(key, **options)
        finally:
            fails[0] = False

    monkeypatch.setattr(waiting.client, "get", answered_late)
    refused = bucket.gate.ruled(bucket.name, lambda request: 503 if fails[0] and request.method == "PUT" else None)
    with held(bucket.root() / "lock", "busy") as stream, refused:
        assert not waiting.lease(waiting.root / "lock").acquire(0)
        assert len(asked) > 3 and confirmed(stream)


def test_a_run_keeps_its_lease_if_the_answers_to_a_renewal_are_lost(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_RECOVERY_LEASE_SECONDS", "3")
    bodies = set[bytes]()

    def loses(request: Request) -> Any:
        return None if not request.key.endswith("lock.lease") else Act.LOSE if request.method == "PUT" else 503

    def renewed() -> bool:
        bodies.add(bucket.contents()["lock.lease"])
        return len(bodies) > 1

    with held(bucket.root() / "lock", "busy") as stream:
        assert not renewed()
        with bucket.gate.ruled(bucket.name, loses):
            wait_until(renewed, "a renewal")
            requests = bucket.gate.requests[bucket.name]["PUT"]
            time.sleep(1.2)  # the renewal is given up
            assert bucket.gate.requests[bucket.name]["PUT"] > requests
        bodies.clear()
        wait_until(renewed, "a renewal")
        assert still_locked(stream)


def test_a_run_whose_machine_was_suspended_asks_the_store_before_it_goes_on(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """The monotonic clock of Linux stands still meanwhile, and the thread that renews the lease has not run yet."""
    path = bucket.root() / "lock"
    with opened(path) as stream:
        assert locked(path, stream) and confirmed(stream)
        lease: Any = stream.lease  # type: ignore[attr-defined]
        lease._ended.set()
        with held(bucket.root() / "lock", "busy", 10.0):
            lease._renewed_at += 100.0  # the time in which it was taken, which the clock has not counted
            assert confirmed(stream)
            since_boot = time.clock_gettime(time.CLOCK_BOOTTIME)
            monkeypatch.setattr(time, "clock_gettime", lambda _clock: since_boot + 200.0)
            assert not confirmed(stream)


def test_a_name_of_the_inventory_stays_with_its_cluster(bucket: Bucket) -> None:
    record_name(bucket.root(), "east", "cluster-of-east")
    record_name(bucket.root(), "east", "cluster-of-east")
    before = bucket.contents()
    with pytest.raises(RecoveryError, match="two fleets must not share a workdir") as caught:
        record_name(bucket.root(), "east", "another-cluster")
    assert bucket.url in mounts.shown(str(caught.value))
    with pytest.raises(RecoveryError, match="not one of Kafka"):
        record_name(bucket.root(), "west", "../../etc")
    assert bucket.contents() == before


def test_what_a_foreign_hand_has_put_into_the_bucket_does_not_leave_the_folder(bucket: Bucket, tmp_path: Path) -> None:
    client = bucket.mounted().client
    for key in ("plans/.hidden/x.json", "plans/a", "plans/b/c.json", ".views/x.json", "throttles/.hidden", ".x"):
        client.put(key, b"x")
    root = bucket.root()
    mounts.list_folder(root / "plans")
    assert sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()) == ["plans/a", "plans/b/c.json"]
    create(root / "plans/d", b"own")
    assert {path.stat().st_uid for path in root.rglob("*")} == {os.geteuid()}
