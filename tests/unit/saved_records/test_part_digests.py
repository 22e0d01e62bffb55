# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The digests of a file of batches and of its pieces come from one read of it: it can have gigabytes, in an object store."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path

import pytest
from record_batches import log
from saved_folders import folder, save

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import landing_format
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import store


class Counted(io.FileIO):
    """A file that counts what is read of it."""

    count = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size) or b""
        Counted.count += len(data)
        return data


@pytest.mark.parametrize("chunk", [1, 7, 64, 1 << 20])
def test_a_part_is_read_once_for_its_own_digest_and_those_of_its_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    logs = {("t", number, 2, 0): log(5, 10 * number + 1) for number in range(4)}
    part = save(tmp_path, logs)
    monkeypatch.setattr(store, "opened_regular", lambda path, follow: Counted(path))
    monkeypatch.setattr(store, "_CHUNK", chunk)
    monkeypatch.setattr(Counted, "count", 0)
    pieces = store.read_pieces(folder(tmp_path), "id", whole=True)
    assert [piece.content_sha256 for piece in pieces] == [hashlib.sha256(data).hexdigest() for data in logs.values()]
    index = part.with_suffix(store.INDEX).stat().st_size
    assert part.stat().st_size <= Counted.count <= part.stat().st_size + index


@pytest.mark.parametrize("values", [{"position": 0}, {"bytes": 1}, {"bytes": 1 << 60}])
def test_pieces_that_do_not_follow_each_other_in_their_part_are_refused(tmp_path: Path, values: dict[str, int]) -> None:
    """A user who may write to the store of a workdir could name each byte a million times: each one is digested for each piece."""
    index = save(tmp_path, {("t", number, 2, 0): log(5, 10 * number + 1) for number in range(2)}).with_suffix(store.INDEX)
    header, *rows, _seal = map(json.loads, index.read_text().splitlines())
    rows[1] |= values
    landing_format.write(index, header, rows)
    for whole in (True, False):
        with pytest.raises(store.SavedRecordsError, match=r"piece 2 is not behind the one before|its batches are not those"):
            store.read_pieces(folder(tmp_path), "id", whole)
