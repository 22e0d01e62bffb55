# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A copy of a lost disk is what the disk has, whatever an earlier run has left, and whatever the host answers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lost_disks import CLUSTER_ID, Disk, log

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.disk_pieces import read_pieces
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import disk_copy
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.disk_copy import Limits, copy_logs

NO_LIMIT = Limits(None, None)
LOGS = [{"topic": "orders", "partition": 0, "start_offset": 7, "end_offset": 25}]
MANY = 1 << 40


class Host:
    """A host with a disk. `changed`: replaces values of its answers. `returned`: bytes of the pieces that it has sent."""

    def __init__(self, disk: Disk, **changed: Any) -> None:
        self.disk, self.changed, self.returned = disk, changed, 0

    def __call__(self, options: dict[str, Any]) -> Mapping[str, Any]:
        broker = {"log_dirs": [str(self.disk.path)], "cluster_id": CLUSTER_ID, "broker_id": 1, "logs": [], "pieces": []}
        answer = read_pieces({**broker, **options})
        self.returned += sum(
            piece["bytes"] for piece, row in zip(options.get("pieces", ()), answer["contents"], strict=True) if row["content"]
        )
        for name, values in self.changed.items():
            answer[name] = [{**row, **values} for row in answer[name]]
        return answer


@pytest.fixture(autouse=True)
def short_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log of some hundred bytes has several pieces."""
    monkeypatch.setattr(disk_copy, "MOST_BYTES", 100)


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    disk = Disk(tmp_path / "disk").write()
    whole = log(5, 5, 5, 5, 5, 5)
    disk.log("orders-0", {0: whole[: len(whole) // 2], 15: whole[len(whole) // 2 :]})
    return disk


def copied(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.glob("orders-0/*.log")))


def wanted(disk: Disk) -> bytes:
    """The batches with offsets 5 to 24."""
    whole = b"".join(path.read_bytes() for path in sorted((disk.path / "orders-0").glob("*.log")))
    batch = len(whole) // 6
    return whole[batch : 5 * batch]


def test_only_the_wanted_batches_are_copied(disk: Disk, tmp_path: Path) -> None:
    host = Host(disk)
    result = copy_logs(tmp_path / "copy", LOGS, NO_LIMIT, host, False)
    assert copied(tmp_path / "copy") == wanted(disk)
    assert result == {"bytes": len(wanted(disk)), "copied_bytes": len(wanted(disk)), "skipped": []}
    assert {oct(path.stat().st_mode & 0o777) for path in (tmp_path / "copy").rglob("*") if path.is_file()} == {"0o600"}
    assert copy_logs(tmp_path / "copy", LOGS, NO_LIMIT, host, False)["copied_bytes"] == 0
    assert host.returned == len(wanted(disk)), "a second run gets nothing again"


def test_a_copy_that_was_cut_off_or_changed_is_mended(disk: Disk, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    copy_logs(folder, LOGS, NO_LIMIT, Host(disk), False)
    first, second = sorted(folder.glob("orders-0/*.log"))
    first.write_bytes(first.read_bytes()[:30])
    second.write_bytes(b"x" + second.read_bytes()[1:] + b"more")
    (folder / "orders-0" / "00000000000000000020.log").write_bytes(b"of another run")
    result = copy_logs(folder, LOGS, NO_LIMIT, Host(disk), False)
    assert copied(folder) == wanted(disk) and 0 < result["copied_bytes"] < len(wanted(disk))


@pytest.mark.parametrize(
    "changed",
    [
        {"ranges": {"topic": "../../etc"}},
        {"ranges": {"topic": "other"}},
        {"ranges": {"segment": -1}},
        {"ranges": {"segment": 0}},
        {"ranges": {"bytes": 2**40}},
        {"ranges": {"bytes": 60}},
        {"ranges": {"position": "0"}},
        {"contents": {"content": "AAAA"}},
        {"contents": {"content": "no base64!"}},
        {"contents": {"content": None}},
        {"contents": {"sha256": "0" * 64}},
    ],
    ids=str,
)
def test_an_answer_that_cannot_be_right_is_refused(disk: Disk, tmp_path: Path, changed: dict[str, Any]) -> None:
    with pytest.raises(RecoveryError, match="the host answers with something else"):
        copy_logs(tmp_path / "copy", LOGS, NO_LIMIT, Host(disk, **changed), False)
    assert not copied(tmp_path / "copy")
    assert {path.name for path in tmp_path.iterdir()} <= {"disk", "copy"}


@pytest.mark.parametrize(
    ("name", "link"),
    [
        (".ssh/id_ed25519", None), ("notes.txt", None), ("orders-0/notes.txt", None), ("orders-0.00000000000000000000000000000000-delete/x", None),
        ("orders-0", "outside"), ("orders-1", "outside"), ("orders-1/00000000000000000000.log", "outside/kept"),
    ],
)  # fmt: skip
def test_a_folder_that_has_something_else_is_refused(disk: Disk, tmp_path: Path, name: str, link: str | None) -> None:
    folder, outside = tmp_path / "home", tmp_path / "outside"
    folder.mkdir(mode=0o700)
    outside.mkdir()
    (outside / "kept").write_text("kept")
    (folder / name).parent.mkdir(exist_ok=True, mode=0o700)
    if link is None:
        (folder / name).write_text("kept")
    else:
        (folder / name).symlink_to(tmp_path / link)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(RecoveryError, match="name a folder of its own"):
        copy_logs(folder, LOGS, NO_LIMIT, Host(disk), False)
    assert sorted(tmp_path.rglob("*")) == before


def test_no_more_is_copied_than_limits_and_room_allow(disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = len(wanted(disk))
    for limits in (Limits(size - 1, None), Limits(None, size - 1)):
        result = copy_logs(tmp_path / "copy", LOGS, limits, Host(disk), False)
        assert result == {"bytes": 0, "copied_bytes": 0, "skipped": [{"topic": "orders", "partition": 0}]}
    # Two segments, in one folder, of a file system of which 5 percent or 1 GiB stays free.
    reserve = 1 << 30
    for free, files, free_files, problem in (
        (reserve + 2 * size - 1, 0, 0, "bytes may still"),
        (reserve + 2 * size, 1000, 52, "files may still"),
        (reserve + 2 * size, 1000, 53, None),
        (reserve + 2 * size, 0, 0, None),
    ):
        found = SimpleNamespace(f_bavail=free, f_frsize=1, f_blocks=MANY, f_files=files, f_favail=free_files)
        monkeypatch.setattr(os, "statvfs", lambda _path, found=found: found)
        if problem is None:
            copy_logs(tmp_path / f"copy {files}", LOGS, NO_LIMIT, Host(disk), False)
            assert copied(tmp_path / f"copy {files}") == wanted(disk)
        else:
            with pytest.raises(RecoveryError, match=problem):
                copy_logs(tmp_path / "copy", LOGS, NO_LIMIT, Host(disk), False)
            assert not copied(tmp_path / "copy")


def test_a_range_of_another_log_is_named_as_a_partition(disk: Disk, tmp_path: Path) -> None:
    with pytest.raises(RecoveryError, match="a range of other-0, which is not one of logs"):
        copy_logs(tmp_path / "copy", LOGS, NO_LIMIT, Host(disk, ranges={"topic": "other"}), False)


@pytest.mark.parametrize(("most_of_log", "most"), [(1, 100), (100, 1)])
def test_an_answer_with_too_many_ranges_is_refused(
    disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_of_log: int, most: int
) -> None:
    monkeypatch.setattr(disk_copy, "MOST_LOG_RANGES", most_of_log)
    monkeypatch.setattr(disk_copy, "MOST_RANGES", most)
    with pytest.raises(RecoveryError, match="the host answers with something else"):
        copy_logs(tmp_path / "copy", LOGS, NO_LIMIT, Host(disk), False)
    assert not (tmp_path / "copy").exists()


def test_check_mode_writes_nothing(disk: Disk, tmp_path: Path) -> None:
    assert copy_logs(tmp_path / "copy", LOGS, NO_LIMIT, Host(disk), True)["bytes"] == len(wanted(disk))
    assert not (tmp_path / "copy").exists()
