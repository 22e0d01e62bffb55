# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files, locks and journals of a workdir in an S3 bucket, as several machines see them."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from integration.store_clients import Bucket
from unit.record_batches import batch
from unit.saved_folders import HEADER, save
from unit.saved_folders import folder as saved_folder

from ansible_collections.streamops.kafka_recovery.plugins.filter.file_text import file_text
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.file_lock import held
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.journal_file import JournalBusy, JournalFile
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.mounts import shown
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import Playbooks
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import (
    FileError,
    TakenError,
    create,
    private_directory,
    read_regular,
    refresh,
    remove,
    work_file,
    write_private,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.shown_command import Commands
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import ChangedOrder
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import Journal as ReorderJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.healthy_snapshot import prune, snapshot_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import landing_format
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.module_options import files
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.impact.kafka_cli import Tools
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import stored_batches
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history import input_files
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.recovery.plan_files import find_landing_files
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.local_machine import plan_dir_problems
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal import ThrottleJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal_entries import RUN
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.model import LEADER_RATE, SetRate
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import store
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.part_writer import open_part
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.run_bytes import counted_bytes
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.saved_folder import folder_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.saved_folder import locked as locked_folder
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails import Tail
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.edges import local_options
from rig.object_gate import Act, Request


class Journal(JournalFile):
    """A journal that remembers the numbers in it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, 0.0, lambda: RecoveryError("busy"))
        self.numbers: list[int] = []

    def _take(self, number: int, line: bytes) -> None:
        self.numbers.append(int(line.split(b":")[1].rstrip(b"}\n")))

    def add(self, number: int) -> None:
        """Append a number."""
        self._append({"number": number})

    def shorten(self) -> None:
        """Leave nothing."""
        self._replace([])


def test_what_one_machine_writes_another_one_reads(bucket: Bucket) -> None:
    here, there = bucket.root(), bucket.mounted().root
    path = work_file(here, "plans", "east", "run-1")
    write_private(path, b"plan")
    write_private(path, b"plan again")
    assert bucket.contents()["plans/run-1/east.json"] == b"plan again"
    assert read_regular(there / "plans/run-1/east.json") == b"plan again"
    later = bucket.root()
    mounts.list_folder(later / "plans")
    assert [file.name for file in (later / "plans").glob("*/*.json")] == ["east.json"]
    assert (later / "plans/run-1/east.json").stat().st_size == len(b"plan again")
    assert stat.S_IMODE(later.stat().st_mode) == 0o700
    remove(later / "plans/run-1/east.json")
    with pytest.raises(FileNotFoundError):
        read_regular(there / "plans/run-1/east.json")
    assert not (there / "plans/run-1/east.json").exists()


def test_a_large_file_travels_whole_and_leaves_no_copy(bucket: Bucket) -> None:
    content = os.urandom(20 << 20)
    path = work_file(bucket.root(), "saved", "east", "1", ".batches")
    write_private(path, content)
    assert path.stat().st_blocks == 0
    assert read_regular(path) == content
    assert read_regular(bucket.root() / "saved/1/east.batches") == content


def test_a_file_that_was_read_is_not_overwritten_after_another_run_has_changed_it(bucket: Bucket) -> None:
    here, there = bucket.root(), bucket.root()
    write_private(here / "results.json", b"first")
    assert read_regular(there / "results.json") == b"first"
    write_private(here / "results.json", b"second")
    with pytest.raises(FileError, match="written meanwhile by another run"):
        write_private(there / "results.json", b"third")
    assert read_regular(there / "results.json") == b"second"


def test_a_file_is_created_once(bucket: Bucket) -> None:
    here, there = bucket.root(), bucket.root()
    create(here / "claims/one", b"here")
    with pytest.raises(FileExistsError):
        create(there / "claims/one", b"there")
    refresh(there)
    assert [path.name for path in (there / "claims").iterdir()] == ["one"]


def test_folders_that_grow_with_each_run_are_not_listed_before_they_are_read(bucket: Bucket) -> None:
    client = bucket.mounted().client
    for key in (
        "history/loss/1.parquet",
        "saved/1/east/000001.jsonl",
        "results/1/east.json",
        "results/2/east.json",
        "clusters/east.json",
        "probe",
    ):
        client.put(key, b"{}")
    before = bucket.gate.requests[bucket.name]["GET"]
    root = bucket.root()
    assert bucket.gate.requests[bucket.name]["GET"] == before + 2, "the folder itself, and clusters"
    assert _names(root) == {"clusters/east.json", "probe"}
    for _ in range(2):
        mounts.list_folder(root / "results/1")
    assert bucket.gate.requests[bucket.name]["GET"] == before + 3
    assert _names(root / "results") == {"1/east.json"}
    mounts.list_folder(root / "results")
    mounts.list_folder(root / "results/2")
    assert bucket.gate.requests[bucket.name]["GET"] == before + 4
    assert _names(root / "results") == {"1/east.json", "2/east.json"}


def _names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_readers_find_what_other_machines_have_written_since_a_run_began(bucket: Bucket) -> None:
    there = bucket.root()
    committed = ("plans", "proposed_revivals", "revival_results", "replay_results", "move_results")
    for kind, suffix in (("landing", ".jsonl"), ("results", ".json"), ("impact", ".json"), *((kind, ".json") for kind in committed)):
        write_private(work_file(there, kind, "east", "1", suffix), b"{}")
    snapshot = snapshot_file(there, "east", "2026-11-21T04-00-00Z")
    write_private(snapshot, b"{}")
    save(there, {("t", 0, 3, 7): batch(7, 1)})

    refused = find_landing_files(bucket.root(), "1", None).quarantine
    assert [Path(row["path"]).name for row in refused] == ["east.jsonl"]
    for kind in committed:
        assert [*files(str(bucket.root() / kind / "1"), ["east", "west"])] == ["east"]
    assert not [*plan_dir_problems("plans", bucket.root() / "plans/1", ["east"])]
    found = {kind for kinds in input_files.find(bucket.root()).values() for kind in kinds}
    assert found == {"landing", "plan", "result", "impact", "healthy"}
    assert store.cluster_id_of(saved_folder(bucket.root())) == HEADER["cluster_id"]
    later = snapshot_file(bucket.root(), "east", "2026-11-22T04-00-00Z")
    write_private(later, b"{}")
    assert prune(later, keep_hours=1e-6, keep_days=1e-6) == 1
    assert "healthy/east/2026-11-21T04-00-00Z.jsonl" not in bucket.contents()


def test_a_folder_that_is_listed_again_leaves_an_open_journal_as_it_is(bucket: Bucket) -> None:
    root = bucket.root()
    with Journal(work_file(root, "journal", "abc", suffix=".jsonl")) as journal:
        journal.add(1)
        refresh(root / "journal")
        journal.add(2)
        refresh(root)
        journal.add(3)
    with Journal(bucket.root() / "journal/abc.jsonl") as journal:
        assert journal.numbers == [1, 2, 3]


def test_files_with_a_dot_stay_on_the_machine(bucket: Bucket) -> None:
    root = bucket.root()
    write_private(root / ".collected", b"x")
    assert ".collected" not in bucket.contents()


@pytest.mark.parametrize("act", [503, 500, Act.CUT, Act.LOSE])
def test_a_write_survives_a_store_that_fails_for_a_while(bucket: Bucket, act: Any) -> None:
    root = bucket.root()
    private_directory(root)
    left = [3]

    def rule(request: Request) -> Any:
        left[0] -= request.method == "PUT"
        return act if request.method == "PUT" and left[0] >= 0 else None

    with bucket.gate.ruled(bucket.name, rule):
        create(root / "file", b"content")
    with Journal(root / "journal.jsonl") as journal:
        left[0] = 3
        with bucket.gate.ruled(bucket.name, rule):
            journal.add(1)
            journal.add(2)
    assert bucket.contents()["file"] == b"content"
    with Journal(bucket.root() / "journal.jsonl") as journal:
        assert journal.numbers == [1, 2]


def test_a_store_that_never_answers_ends_with_a_clear_error(bucket: Bucket) -> None:
    root = bucket.root()
    with Journal(root / "journal.jsonl") as journal:
        journal._file._stored._client._patience = 0.5  # type: ignore[attr-defined]
        with bucket.gate.ruled(bucket.name, lambda _request: 503), pytest.raises(FileError, match="has not answered"):
            journal.add(1)


def test_stores_that_cannot_be_used_are_refused_with_their_url(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileError, match="does not exist"):
        Bucket(bucket.store, "no-such-bucket").mounted()
    read_only = bucket.mounted()
    with (
        bucket.gate.ruled(bucket.name, lambda request: 403 if request.method == "PUT" else None),
        pytest.raises(FileError, match=f"s3://{bucket.name}/team/work refuses"),
    ):
        private_directory(read_only.root)
    lying = bucket.mounted()
    with (
        bucket.gate.ruled(bucket.name, lambda request: Act.UNCONDITIONAL if request.conditional else None),
        pytest.raises(FileError, match="does not refuse a write"),
    ):
        private_directory(lying.root)
    unable = bucket.mounted()
    with (
        bucket.gate.ruled(bucket.name, lambda request: 501 if request.conditional else None),
        pytest.raises(FileError, match="does not have conditional writes"),
    ):
        private_directory(unable.root)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong-secret")
    with pytest.raises(FileError, match="check the credentials") as caught:
        bucket.mounted()
    assert "wrong-secret" not in str(caught.value)
    monkeypatch.delenv("AWS_ALLOW_HTTP")
    with pytest.raises(FileError, match="AWS_ALLOW_HTTP"):
        bucket.mounted()


def test_a_lock_is_held_by_one_run_until_it_ends(bucket: Bucket) -> None:
    here, there = bucket.root(), bucket.root()
    with held(here / "lock", "busy here"), pytest.raises(FileError, match="busy there"), held(there / "lock", "busy there"):
        pass
    with held(there / "lock", "busy there"):
        pass


def test_a_journal_is_taken_from_a_holder_that_is_gone_and_shuts_it_out(bucket: Bucket) -> None:
    with Journal(bucket.root() / "journal.jsonl") as stalled:
        stalled.add(1)
        lease: Any = stalled._file._stream.lease  # type: ignore[union-attr]
        lease._ended.set()  # as if the process was stopped
        with Journal(bucket.root() / "journal.jsonl") as successor:
            assert successor.numbers == [1]
            successor.shorten()
        with Journal(bucket.root() / "journal.jsonl") as next_one:  # the successor has ended without a second look
            assert not next_one.is_sure_again()
            assert next_one.outwait() and next_one.is_sure_again()
        with pytest.raises(TakenError, match="another run has taken"):
            stalled.add(2)
    with Journal(bucket.root() / "journal.jsonl") as later:
        assert not later.outwait()
        assert later.numbers == []


def test_another_machine_sees_that_a_run_throttles_a_cluster_and_who_it_is(bucket: Bucket) -> None:
    here, there = (ThrottleJournal(bucket.root(), "east", "abc") for _ in range(2))
    assert not there.run_lock.is_active()
    end = here.run_lock.acquire("run-1").end
    assert there.run_lock.is_active()
    with pytest.raises(RecoveryError, match=f"another run moves replicas of this cluster: process {os.getpid()} on"):
        there.run_lock.fail_if_active("wait until it has ended")
    rate = SetRate(1, LEADER_RATE, None, ("1000",))
    with here:
        here.record_intent(RUN, [rate], [])
        waiting = ThrottleJournal(bucket.root(), "east", "abc", patience=0.1)
        with pytest.raises(RecoveryError, match=rf"the journal \S+\.jsonl: process {os.getpid()} on"), waiting:
            pass
    with there:
        assert there.rates() == {(1, LEADER_RATE): [rate]}
        there.record_removed(RUN, [rate], [])
    end()
    assert not there.run_lock.is_active()
    with here:
        assert here.rates() == {}


def test_other_machines_see_the_id_of_the_run_that_throttles_a_cluster(bucket: Bucket) -> None:
    for run_id in ("run-1", "run-2"):
        end = ThrottleJournal(bucket.root(), "east", "abc").run_lock.acquire(run_id).end
        journal = ThrottleJournal(bucket.root(), "east", "abc", read_only=True)
        found = journal.run_lock.last_run()
        assert journal.run_lock.is_active()
        end()
        assert found is not None and found[0] == run_id
        assert not journal.run_lock.is_active()


@pytest.mark.parametrize("alive", [True, False])
def test_who_only_looks_for_a_run_neither_takes_its_lock_nor_writes(bucket: Bucket, monkeypatch: pytest.MonkeyPatch, alive: bool) -> None:
    monkeypatch.setenv("KAFKA_RECOVERY_LEASE_SECONDS", "1")
    mount = bucket.mounted()
    end = ThrottleJournal(mount.root, "east", "abc").run_lock.acquire("run-1").end
    if not alive:
        left = bucket.contents()["throttles/id-abc.run.lease"]
        end()
        mount.client.put("throttles/id-abc.run.lease", left)
    journal = ThrottleJournal(bucket.root(), "east", "abc", read_only=True)
    before = bucket.contents()
    assert journal.run_lock.is_active() is alive
    with pytest.raises(JournalBusy) if alive else nullcontext():
        journal.run_lock.fail_if_active("wait")
    if alive:
        end()
        assert not journal.run_lock.is_active()
    else:
        assert bucket.contents() == before


def test_a_journal_that_a_living_run_has_open_is_told_from_one_of_a_killed_run(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_RECOVERY_LEASE_SECONDS", "1")
    path = work_file(bucket.root(), "journal", "id-abc", suffix=".jsonl")
    there = bucket.mounted().root / "journal/id-abc.jsonl"
    with ReorderJournal(path, "abc", "run-1") as running:
        running.intend([ChangedOrder("orders", 0, "id", (1, 2), (2, 1))], [])
        with ReorderJournal(there, "abc", read_only=True) as journal, pytest.raises(JournalBusy, match="run-1"):
            journal.fail_if_held()
        left = bucket.contents()["journal/id-abc.jsonl.lease"]
    with ReorderJournal(there, "abc", read_only=True) as journal:
        journal.fail_if_held()
    bucket.mounted().client.put("journal/id-abc.jsonl.lease", left)
    with ReorderJournal(there, "abc", read_only=True) as journal:
        journal.fail_if_held()
        assert [*journal.left_behind()] == [("orders", 0)]


def test_saved_records_are_those_that_the_run_before_had_saved_when_it_ended(bucket: Bucket) -> None:
    here, there = (folder_of(bucket.mounted().root, "1", "east") for _ in range(2))
    with locked_folder(here):
        write_private(here / "000001.batches", b"x" * 1500)
        write_private(here / "000001.index", b"index")
    with locked_folder(there):
        assert [path.name for path in sorted(there.glob("0*"))] == ["000001.batches", "000001.index"]


def test_the_bytes_that_another_cluster_of_the_run_has_saved_meanwhile_count(bucket: Bucket) -> None:
    east, west = (folder_of(bucket.mounted().root, "1", name) for name in ("east", "west"))
    with locked_folder(west), counted_bytes(west, 2000) as counted:
        with locked_folder(east):
            write_private(east / "000001.batches", b"x" * 1500)
        assert counted.take(400)
        assert not counted.take(200), "2,100 of 2,000 bytes"


def test_a_stalled_run_cannot_replace_what_its_successor_has_saved(bucket: Bucket) -> None:
    here, there = (bucket.mounted().root for _ in range(2))
    private_directory(saved_folder(here))
    data = batch(7, 1)
    with pytest.raises(FileError, match="written meanwhile by another run"), open_part(saved_folder(here), HEADER) as stalled:
        stalled.add(Tail("t", 0, "id", 5, 3, 7, 8), 7, memoryview(data), list(stored_batches(data)))
        save(there, {("t", 0, 3, 7): batch(7, 2)})
        saved = bucket.contents()
    assert bucket.contents() == saved
    # It may stall between its batches and their index, too.
    index = saved_folder(here) / "000001.jsonl"
    with pytest.raises(FileError, match="written meanwhile by another run"):
        landing_format.write(index, {**HEADER, "collected_at": "2026-11-21T04:00:00Z"}, [], new=True)
    assert bucket.contents() == saved


@pytest.mark.parametrize("names", ["../../../etc", "plans/../../x", "./plans", "plans/."])
def test_a_url_below_the_workdir_does_not_lead_out_of_it(bucket: Bucket, names: str) -> None:
    with pytest.raises(RecoveryError, match=r"plan_dir: .* is not the URL of a folder in an object store"):
        local_options({"workdir": bucket.url, "plan_dir": f"{bucket.url}/{names}"})


def test_playbooks_read_files_of_the_bucket(bucket: Bucket) -> None:
    write_private(work_file(bucket.root(), "plans", "east", "1"), b"{}")
    assert file_text(f"{bucket.url}/plans/1/east.json") == "{}"
    assert file_text(f"{bucket.url}/plans/1/west.json") == ""


def test_commands_find_their_files_from_any_machine(bucket: Bucket, tmp_path: Path) -> None:
    root = bucket.root()
    commands = Commands(root)
    tools = Tools("b:9092", commands)
    offsets = root / "impact" / "1" / "east.reset-1.csv"
    script, reset = commands.line(["echo", "it's"], ["more"]), tools.reset_from("it's", "consumer", offsets, b"t,0,7\n")
    listed = Playbooks(["hosts.yml"], root, commands).line("plan", "east", None, [("orders", number) for number in range(100)])
    commands.write()
    written = {name.partition("/")[2] for name in bucket.contents() if name.startswith("commands/")}
    assert {Path(name).suffix for name in written} == {".sh", ".json"} and str(root) not in f"{script}{reset}"
    (names,) = [name for name in written if name.endswith(".json")]
    assert f"kafka_recovery_partitions_file={bucket.url}/commands/{names}" in shown(listed)
    checksum = hashlib.sha256(b"t,0,7\n").hexdigest()
    assert reset is not None and reset.startswith(
        f"aws s3 cp {bucket.url}/impact/1/east.reset-1.csv east.reset-1.csv && echo '{checksum} *east.reset-1.csv' | sha256sum -c && "
        f"aws s3 cp {bucket.url}/commands/"
    )
    # The program of the store, as far as the command uses it.
    for name, content in bucket.contents().items():
        (tmp_path / name.replace("/", "_")).write_bytes(content)
    program = tmp_path / "aws"
    program.write_text(f'#!/bin/sh\nname="${{3#{bucket.url}/}}"\ncp "{tmp_path}/$(echo "$name" | tr / _)" "$4"\n')
    program.chmod(0o700)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    path = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", str(script)], cwd=elsewhere, env=path, capture_output=True, text=True, check=True)
    assert done.stdout.endswith(": OK\nit's more\n")
