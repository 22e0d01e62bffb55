# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run writes before it changes a cluster is there after a power loss, names and folders included."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import file_lock
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.cluster_files import journal_file, record_name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import create, work_file, write_private
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import ChangedOrder, Journal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal import ThrottleJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal_entries import RUN
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.model import LEADER_RATE, SetRate
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import disk_verdict
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.part_writer import count_parts
from simulation.power_loss import DurableFiles

CLUSTER = "abc"


class Nothing(Random):
    """Nothing that was not synced is on the disk."""

    def choice(self, seq: tuple[float, ...]) -> float:  # type: ignore[override]
        return seq[0]


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DurableFiles:
    """Return what the disk has of a workdir that is not made yet."""
    found = DurableFiles(tmp_path)
    monkeypatch.setattr(os, "fsync", found.sync)
    return found


def order(workdir: Path) -> None:
    with Journal(journal_file(workdir, "journal", CLUSTER), CLUSTER) as journal:
        journal.intend([ChangedOrder("t", 0, "id", (1, 2), (2, 1))], [])


def throttle(workdir: Path) -> None:
    with ThrottleJournal(workdir, "east", CLUSTER) as journal:
        journal.record_intent(RUN, [SetRate(1, LEADER_RATE, None, ("5000",))], ())


def verdict(workdir: Path) -> None:
    disk_verdict.withdraw(workdir, "east", CLUSTER, "1", 1, "it has more")


def claim(workdir: Path) -> None:
    create(work_file(workdir, "claims", "east"), b"{}")


def name(workdir: Path) -> None:
    record_name(workdir, "east", CLUSTER)


@pytest.mark.parametrize("write", [order, throttle, verdict, claim, name], ids=lambda one: one.__name__)
def test_what_was_written_is_there(tmp_path: Path, disk: DurableFiles, write: Callable[[Path], None]) -> None:
    workdir = tmp_path / "workdir"
    write(workdir)
    written = {path.relative_to(workdir): path.read_bytes() for path in workdir.rglob("*") if path.is_file()}
    disk.lose_power(Nothing())
    assert written
    for path, content in written.items():  # the line that names the process may still be there, too
        assert (workdir / path).read_bytes().startswith(content)


def test_what_a_killed_run_has_not_synced_is_synced_before_it_counts(
    tmp_path: Path, disk: DurableFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "workdir/saved/1/east"
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None if os.path.isdir(f"/proc/self/fd/{handle}") else disk.sync(handle))  # noqa: PTH112
        create(work_file(folder.parent.parent.parent, "saved/1/east", "000001", suffix=".jsonl"), b"{}\n")
    count_parts(folder)
    disk.lose_power(Nothing())
    assert (folder / "000001.jsonl").read_bytes() == b"{}\n"


def test_what_was_not_synced_is_lost(tmp_path: Path, disk: DurableFiles) -> None:
    path = work_file(tmp_path, "journal", "east")
    write_private(path, b"synced")
    path.write_bytes(b"not synced")
    with file_lock.opened(path.with_name("lock")):
        path.with_name("other").write_bytes(b"not synced")
        disk.lose_power(Nothing())
    assert {one.name: one.read_bytes() for one in path.parent.iterdir()} == {"east.json": b"synced", "lock": b""}
    path.unlink()
    disk.lose_power(Nothing())
    assert path.read_bytes() == b"synced", "to remove a name, too, needs a sync of its folder"


def test_what_is_left_after_one_power_loss_is_on_the_disk_before_the_next(tmp_path: Path, disk: DurableFiles) -> None:
    path = tmp_path / "journal"
    path.write_bytes(b"one")
    disk.sync(os.open(path, os.O_RDONLY))
    disk.sync(os.open(tmp_path, os.O_RDONLY))
    path.with_name("new").write_bytes(b"two")
    disk.sync(os.open(path.with_name("new"), os.O_RDONLY))
    path.with_name("new").replace(path)
    disk.lose_power(Nothing())
    assert path.read_bytes() == b"one"
    path.write_bytes(b"one and more")
    disk.sync(os.open(path, os.O_RDONLY))
    disk.lose_power(Nothing())
    assert path.read_bytes() == b"one and more"
