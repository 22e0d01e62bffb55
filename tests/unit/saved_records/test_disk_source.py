# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tails are read from the segments of a disk, and saved as they stand there."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lost_disks import Disk
from record_batches import batch, log

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import stored_batches
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import store
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.disk_source import DiskSource
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.save import Saved, TailSaver
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.save_limits import Limits
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails import Tail

HEADER = {"cluster": "east", "cluster_id": "id", "run_id": "1", "backend": "compat"}
KEY = ("t", 0)


def on_disk(folder: Path, segments: dict[int, bytes]) -> Path:
    return Disk(folder / "disk").write().log("t-0", segments)


def saved(workdir: Path, path: Path, *tails: Tail) -> tuple[Saved, bytes]:
    folder = workdir / "saved" / "1" / "east"
    found = TailSaver(DiskSource({KEY: path}, tails), folder, HEADER, Limits()).save(tails)
    pieces = store.read_pieces(folder, "id", whole=True)
    content = [(piece.start, piece.part.read_bytes()[piece.position : piece.position + piece.size]) for piece in pieces]
    return found, b"".join(data for _start, data in sorted(content))


def tail(start: int, end: int) -> Tail:
    return Tail(*KEY, "id-of-t", 0, 1, start, end)


@given(st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=5), min_size=1, max_size=4), st.data())
def test_a_tail_is_saved_byte_for_byte_from_all_segments(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[list[int]], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("disk")
    segments, offset = {}, 0
    for records in sizes:
        segments[offset] = log(*records, start=offset)
        offset += sum(records)
    content = b"".join(segments.values())
    batches = [*stored_batches(content)]
    start = data.draw(st.integers(0, offset - 1))
    end = data.draw(st.sampled_from([one.last_offset + 1 for one in batches if one.last_offset >= start]))
    found, bytes_saved = saved(folder, on_disk(folder, segments), tail(start, end))
    assert found.complete == [tail(start, end)] and not found.refused
    before = sum(one.size for one in batches if one.last_offset < start)
    assert bytes_saved == content[before : sum(one.size for one in batches if one.last_offset < end)]


def test_a_batch_that_is_larger_than_a_piece_is_read_whole(tmp_path: Path) -> None:
    large = batch(0, 1, size=1_200_000)
    found, content = saved(tmp_path, on_disk(tmp_path, {0: large + batch(1, 1)}), tail(0, 2))
    assert found.complete and content == large + batch(1, 1)


def test_damage_in_a_tail_is_named_and_nothing_behind_it_counts_as_saved(tmp_path: Path) -> None:
    damaged = bytearray(log(2, 2, 2))
    damaged[-5] ^= 1
    found, _content = saved(tmp_path, on_disk(tmp_path, {0: bytes(damaged)}), tail(0, 6))
    assert not found.complete and "the crc of the batch at offset 4 is wrong" in found.refused[tail(0, 6)]


def test_a_folder_that_is_gone_is_named(tmp_path: Path) -> None:
    found, _content = saved(tmp_path, tmp_path / "nowhere", tail(0, 6))
    assert "nowhere: it cannot be read: No such file or directory" in found.refused[tail(0, 6)]


def test_a_segment_that_ends_early_is_named(tmp_path: Path) -> None:
    found, _content = saved(tmp_path, on_disk(tmp_path, {0: log(2, 2)[:-3]}), tail(0, 4))
    assert not found.complete and found.refused[tail(0, 4)]
