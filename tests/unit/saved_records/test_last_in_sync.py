# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which replicas were in sync when a partition was elected without them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import last_in_sync

KEY = ("t", 0)


def state(epoch: int, isr: tuple[int, ...] = (), elr: tuple[int, ...] = (), topic_id: str = "id") -> PartitionState:
    return PartitionState(*KEY, topic_id, -1, epoch, (1, 2, 3), isr, elr, (), ())


def was(workdir: Path, broker: int, epoch: int, topic_id: str = "id") -> bool:
    return last_in_sync.was_in_sync(last_in_sync.read(workdir, "east", "abc"), KEY, topic_id, epoch, broker)


def test_the_first_election_without_a_replica_counts(tmp_path: Path) -> None:
    assert not was(tmp_path, 1, 4)
    for before in (state(5, (1,)), state(5, (1,)), state(8, (), (2, 3))):
        last_in_sync.note(tmp_path, "east", "abc", [before])
    assert len(last_in_sync.read(tmp_path, "east", "abc")) == 2
    assert [was(tmp_path, broker, 5) for broker in (1, 2, 3)] == [True, False, False]
    assert [was(tmp_path, broker, 6) for broker in (1, 2, 3)] == [False, True, True]
    assert not was(tmp_path, 2, 9) and not was(tmp_path, 1, 5, "made again")
    assert (tmp_path / "rescue/east/in-sync.json").stat().st_mode & 0o777 == 0o600


def test_what_is_of_another_cluster_or_damaged_says_nothing(tmp_path: Path) -> None:
    last_in_sync.note(tmp_path, "east", "other", [state(5, (1,))])
    assert not was(tmp_path, 1, 5)
    last_in_sync.note(tmp_path, "east", "abc", [state(5, (1,)), state(6)])
    assert was(tmp_path, 1, 5)
    path = tmp_path / "rescue/east/in-sync.json"
    path.write_text(path.read_text().replace("[1]", '["1"]'))
    with pytest.raises(FileError, match=r"in-sync\.json"):
        was(tmp_path, 1, 5)
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileError, match="symbolic link"):
        last_in_sync.note(tmp_path, "east", "abc", [state(5, (1,))])
