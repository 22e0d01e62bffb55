# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose log dirs are read, what is refused, and what damage stays with its partition."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lost_disks import CLUSTER_ID, DIRECTORY_ID, OTHER_DIRECTORY_ID, Disk, log, offset_rows, read

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.checksums import PlainCrcSum
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs import checkpoint_files, log_dir, partition_log

UNIQUE = "3a0f5f0e5b1f4c0d9d9c1f1b2a3c4d5e"
# Java's FileChannel.tryLock() takes this lock.
HOLD = """
import fcntl, sys
lock = open(sys.argv[1], "r+b")
fcntl.lockf(lock, fcntl.LOCK_EX)
print("locked", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    disk = Disk(tmp_path / "data", high_watermarks={("orders", 0): 8}, recovery_points={("orders", 0): 3}, log_starts={("orders", 0): 2})
    disk.write()
    disk.log("orders-0", {0: log(3, 5, epochs=(0, 4))}, epochs=[(0, 0), (4, 3)])
    return disk


@contextmanager
def locked(path: Path) -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout and holder.stdout.readline()
        try:
            yield holder.pid
        finally:
            holder.communicate("")


def refusal(*disks: Disk, **options: Any) -> str:
    with pytest.raises(RecoveryError) as refused:
        read(disks, **options)
    return str(refused.value)


def state(folder: Path) -> dict[str, tuple[int, ...]]:
    """Everything about the files of a folder that a reader could change."""
    found: dict[str, tuple[int, ...]] = {}
    for path in [folder, *folder.rglob("*")]:
        status = path.lstat()
        found[str(path)] = (status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_atime_ns)
    return found


def test_a_log_dir_is_read_and_stays_as_it_is(disk: Disk) -> None:
    for path in [disk.path, *disk.path.rglob("*")]:
        os.utime(path, (1, 1))  # relatime updates an access time that is older than the change
    before = state(disk.path)
    result = disk.read(broker_id=1)
    assert state(disk.path) == before
    assert (result["broker_id"], result["changed"], result["absent"]) == (1, False, [])
    assert result["counts"] == {"partitions": 1, "damaged": 0, "torn": 0, "doubtful": 0, "bytes": len(log(3, 5))}
    (log_dir,) = result["log_dirs"]
    assert (log_dir["cluster_id"], log_dir["node_id"], log_dir["directory_id"]) == (CLUSTER_ID, 1, DIRECTORY_ID)
    (row,) = result["partitions"]
    assert (row["log_start_offset"], row["log_end_offset"], row["high_watermark"], row["recovery_point"]) == (2, 8, 8, 3)
    assert row["epochs"] == [{"epoch": 0, "start_offset": 0}, {"epoch": 4, "start_offset": 3}]


def test_log_dirs_of_others_are_refused(disk: Disk, tmp_path: Path) -> None:
    assert "log_dirs" in refusal(disk, cluster_id="another") and "cluster_id is another" in refusal(disk, cluster_id="another")
    assert "is of broker 1, and broker_id is 2" in refusal(disk, broker_id=2)
    other = Disk(tmp_path / "other", node_id=2, directory_id=OTHER_DIRECTORY_ID).write()
    assert f"is of broker 2, and {disk.path} is of broker 1" in refusal(disk, other)
    assert "name each once" in refusal(disk, disk)
    assert "copies of one" in refusal(disk, Disk(tmp_path / "copy").write())


def test_a_log_dir_of_a_running_broker_is_refused_and_stays_locked(disk: Disk) -> None:
    with locked(disk.path / ".lock") as process:
        for _ in range(2):
            assert f"locked by process {process}, and a running broker changes its logs: wait if it is coming back, or stop it" in refusal(
                disk
            )
    assert disk.partition()["log_end_offset"] == 8


@pytest.mark.parametrize("content", [None, b"", b"version=1\nnode.id=1\n", bytes(100), b"#" * 100_000])
def test_without_a_valid_meta_properties_nothing_is_read(disk: Disk, content: bytes | None) -> None:
    meta = disk.path / "meta.properties"
    meta.unlink()
    if content is not None:
        meta.write_bytes(content)
    assert refusal(disk).startswith(f"log_dirs: {meta}: ")


def test_a_path_that_is_not_a_log_dir_is_refused(disk: Disk, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(disk.path)
    assert "symbolic link" in refusal(Disk(tmp_path / "link"))
    for path in (tmp_path / "nowhere", disk.path / "meta.properties"):
        assert refusal(Disk(path)).startswith(f"log_dirs: {path}: it cannot be read")
    assert refusal(cluster_id=CLUSTER_ID) == "log_dirs is empty: name the log dirs of the broker"
    assert refusal(disk, last_batches=1001) == "last_batches is 1001: it must be 1000 or less"


def link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/passwd")


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def listener(path: Path) -> None:
    """A socket. Opening it fails with another error than that of a file that is not regular."""
    path.unlink()
    here = Path.cwd()
    with socket.socket(socket.AF_UNIX) as opened:
        os.chdir(path.parent)  # paths of sockets are short
        try:
            opened.bind(path.name)
        finally:
            os.chdir(here)


def test_what_is_not_a_regular_file_is_not_opened(disk: Disk) -> None:
    epochs = disk.path / "orders-0" / "leader-epoch-checkpoint"
    listener(epochs)
    assert disk.partition()["error"] == {"path": str(epochs), "reason": "it is not a regular file"}


@pytest.mark.parametrize(
    "damage", [link, pipe, folder, lambda path: path.write_bytes(bytes(2 << 20)), lambda path: path.write_bytes(b"\xff")]
)
@pytest.mark.parametrize("name", ["leader-epoch-checkpoint", "partition.metadata"])
def test_a_damaged_file_holds_its_partition_alone(disk: Disk, damage: Any, name: str) -> None:
    damaged = disk.log("payments-3", {0: log(2)}) / name
    damage(damaged)
    result = disk.read()
    rows = {row["topic"]: row for row in result["partitions"]}
    assert rows["orders"]["error"] is None and rows["orders"]["log_end_offset"] == 8
    assert rows["payments"]["error"]["path"] == str(damaged) and rows["payments"]["error"]["reason"]
    assert (result["counts"]["partitions"], result["counts"]["damaged"]) == (2, 1)


def test_a_segment_that_is_no_file_is_foreign_and_one_that_is_too_large_an_error(disk: Disk) -> None:
    segment = disk.path / "orders-0" / f"{0:020d}.log"
    link(segment)
    row = disk.partition()
    assert row["foreign_files"] == [segment.name] and row["segments"] == 0 and "no segment" in row["doubts"][0]
    segment.unlink()
    with segment.open("wb") as file:
        file.truncate(1 << 40)
    assert "more than a segment can have" in disk.partition()["error"]["reason"]


@pytest.mark.parametrize("name", ["replication-offset-checkpoint", "recovery-point-offset-checkpoint", "log-start-offset-checkpoint"])
@pytest.mark.parametrize("content", [b"\n", b"0\n7\n", bytes(500)])
def test_a_damaged_checkpoint_of_a_log_dir_counts_as_missing(disk: Disk, name: str, content: bytes) -> None:
    (disk.path / name).write_bytes(content)
    result = disk.read()
    assert name in result["log_dirs"][0]["doubts"][0]
    field = {"replication": "high_watermark", "recovery": "recovery_point", "log": "log_start_offset"}[name.partition("-")[0]]
    (row,) = result["partitions"]
    assert row[field] == (0 if field == "log_start_offset" else None) and row["log_end_offset"] == 8


def test_other_kinds_of_logs_are_not_the_replica(disk: Disk) -> None:
    for kind in ("future", "delete", "stray"):
        disk.log(f"orders-0.{UNIQUE}-{kind}", {0: log(1)})
    disk.log("__cluster_metadata-0", {0: log(1)})
    (disk.path / "lost+found").mkdir()
    result = disk.read()
    assert [row["log_end_offset"] for row in result["partitions"]] == [8]
    assert {(row["kind"], row["log_end_offset"], row["high_watermark"]) for row in result["other_logs"]} == {
        ("future", 1, None), ("delete", 1, None), ("stray", 1, None),
    }  # fmt: skip
    assert result["log_dirs"][0]["logs"] == {"replica": 1, "future": 1, "delete": 1, "stray": 1}
    assert result["log_dirs"][0]["foreign_files"] == ["lost+found"]


def test_two_log_dirs_with_one_partition_are_doubted(disk: Disk, tmp_path: Path) -> None:
    second = Disk(tmp_path / "second", directory_id=OTHER_DIRECTORY_ID).write()
    second.log("orders-0", {0: log(3)})
    second.log("orders-1", {0: log(3)})
    rows = read([disk, second])["partitions"]
    assert [(row["partition"], row["log_end_offset"], len(row["doubts"])) for row in rows] == [(0, 8, 1), (0, 3, 1), (1, 3, 0)]
    assert "another log dir has a log of this partition" in rows[0]["doubts"][0]


def test_partitions_are_selected_and_absent_ones_named(disk: Disk) -> None:
    disk.log("payments-3", {0: log(2)})
    result = disk.read(partitions=[{"topic": "payments", "partition": 3}, {"topic": "payments", "partition": 4}])
    assert [row["topic"] for row in result["partitions"]] == ["payments"]
    assert result["absent"] == [{"topic": "payments", "partition": 4}]


def test_what_was_committed_or_begun_beyond_the_end_is_doubted(disk: Disk) -> None:
    segment = disk.path / "orders-0" / f"{0:020d}.log"
    segment.write_bytes(segment.read_bytes()[:-1])
    assert "its high watermark was 8, and it ends at 3" in disk.partition()["doubts"][0]
    segment.write_bytes(b"")
    doubts = disk.partition()["doubts"]
    assert any("leader epoch 4 began at 3" in doubt for doubt in doubts)


def test_an_interrupted_swap_is_doubted(disk: Disk) -> None:
    folder = disk.path / "orders-0"
    (folder / f"{8:020d}.log").write_bytes(log(2, start=8))
    (folder / f"{0:020d}.log.swap").write_bytes(log(8))
    row = disk.partition()
    assert ".swap" in row["doubts"][0] and row["kept_end_offset"] == 10
    (folder / f"{8:020d}.log.swap").write_bytes(log(2, start=8))
    assert disk.partition()["kept_end_offset"] is None


def test_names_that_are_not_text_are_shown(disk: Disk) -> None:
    (Path(os.fsdecode(os.fsencode(disk.path) + b"/\xff\x1b[31m"))).touch()
    assert disk.read()["log_dirs"][0]["foreign_files"] == ["\udcff\x1b[31m"]  # the module escapes them


def test_what_is_returned_of_all_logs_is_limited(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_dir, "MOST_EPOCHS", 100)
    many = disk.log("payments-0", {0: log(*[1] * 20)}, epochs=[(epoch, epoch) for epoch in range(80)]) / "leader-epoch-checkpoint"
    assert len(disk.read(last_batches=1)["partitions"]) == 2
    refused = refusal(disk, last_batches=20)
    assert "more than 100 leader epochs" in refused and "select some logs with partitions, or lower last_batches" in refused
    for number in range(1, 4):
        os.link(many, disk.log(f"payments-{number}", {}) / "copy")
        (disk.path / f"payments-{number}" / "leader-epoch-checkpoint").unlink()
        os.link(many, disk.path / f"payments-{number}" / "leader-epoch-checkpoint")
    assert "more than 100 leader epochs" in refusal(disk)
    assert len(disk.read(partitions=[{"topic": "payments", "partition": 1}])["partitions"]) == 1


def test_the_most_logs_that_are_read_at_once_are_named(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    disk.log("orders-1", {0: log(3)})
    monkeypatch.setattr(log_dir, "MOST_LOGS", 1)
    assert "has 2 logs, more than 1: select some of them with partitions" in refusal(disk)
    assert len(disk.read(partitions=[{"topic": "orders", "partition": 1}])["partitions"]) == 1


@pytest.mark.slow
def test_a_disk_with_more_than_ten_thousand_logs_is_read(disk: Disk) -> None:
    for number in range(1, 10_001):
        (disk.path / f"orders-{number}").mkdir()
    assert len(disk.read()["partitions"]) == 10_001


def test_several_processes_read_what_one_reads(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: {0, 1, 2})
    for number in range(9):
        disk.log(f"payments-{number}", {0: log(*[1] * number)[: -7 if number % 2 else None]})
    one = disk.read()
    monkeypatch.setattr(log_dir, "LOGS_OF_PROCESS", 3)
    assert disk.read() == one and one["counts"]["torn"] == 4
    monkeypatch.setattr(log_dir, "MOST_EPOCHS", 30)
    assert "more than 30 leader epochs" in refusal(disk)


@pytest.mark.parametrize("library", [True, False])
def test_a_wrong_crc_affects_its_log_alone(disk: Disk, monkeypatch: pytest.MonkeyPatch, library: bool) -> None:
    """The crcs of several logs are checked at once."""
    if not library:
        monkeypatch.setattr(log_dir, "CrcSum", PlainCrcSum)
    for number in range(20):
        content = bytearray(log(*[2] * 5))
        if number in (3, 17):
            content[-1] ^= 1
        disk.log(f"payments-{number}", {0: bytes(content)}, epochs=[(0, 0), (1, 8)])
    payments = [row for row in disk.read()["partitions"] if row["topic"] == "payments"]
    assert [row["partition"] for row in payments if row["torn"]] == [3, 17]
    assert all(row["log_end_offset"] == (8 if row["torn"] else 10) for row in payments)
    monkeypatch.setattr(log_dir, "MOST_EPOCHS", sum(map(log_dir.returned, disk.read()["partitions"])))
    assert len(disk.read()["partitions"]) == 21, "logs that are read again count once"


def test_a_log_of_too_many_files_holds_its_partition_alone(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition_log, "MOST_LOG_FILES", 9)
    crowded = disk.log("payments-0", dict.fromkeys(range(9), b""))
    rows = {row["topic"]: row for row in disk.read()["partitions"]}
    assert rows["payments"]["error"] == {"path": str(crowded), "reason": "it has more than 9 entries"}
    assert rows["orders"]["error"] is None


def test_checkpoints_of_too_many_rows_are_not_read(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = disk.path / "replication-offset-checkpoint"
    rows.write_bytes(offset_rows({("orders", number): 8 for number in range(20)}))
    assert disk.partition()["high_watermark"] == 8
    monkeypatch.setattr(checkpoint_files, "MOST_ROWS", 19)
    result = disk.read()
    assert "more than the 19 rows" in result["log_dirs"][0]["doubts"][0] and result["partitions"][0]["high_watermark"] is None


@given(st.text(st.characters(categories=["Cs", "Cc", "L"]), max_size=5))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_cluster_id_is_refused_on_one_line(disk: Disk, cluster_id: str) -> None:
    assert refusal(disk, cluster_id=cluster_id).isprintable()
