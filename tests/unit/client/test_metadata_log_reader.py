# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading the metadata log: whole batches up to the high watermark, a snapshot before them, and limits that are reported."""

from __future__ import annotations

import pytest
from metadata_logs import Active, NoController, batch, feature, topic

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import metadata_log_reader
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.metadata_log_reader import LogRecord, MetadataLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError

VALUES = [feature(level) for level in range(9)]
# Offsets 0 (control), 1 to 3, 4, 5 and 6, written in epochs 1, 1, 2, 5.
LOG = [
    batch(0, [b"leader"], 1, control=True),
    batch(1, VALUES[1:4], 1, timestamp=1111),
    batch(4, VALUES[4:5], 2, timestamp=2222),
    batch(5, VALUES[5:7], 5, timestamp=3333),
]
# 32 MiB in 32 kB.
BOMB = batch(1, [bytes(1 << 25)], codec=1)
HEADERS = batch(1, VALUES[1:2], headers=[("", b"")] * 100_000)


def read(active: Active, seconds: float = 60.0, limit: int = 1 << 20) -> tuple[MetadataLog, list[LogRecord]]:
    log = MetadataLog(active, seconds, limit)
    return log, list(log)


def test_every_record_comes_with_its_offset_and_time() -> None:
    log, entries = read(Active(LOG, end=7))
    assert [(entry.offset, entry.value) for entry in entries] == [(offset, VALUES[offset]) for offset in range(1, 7)]
    assert [entry.timestamp for entry in entries] == [1111] * 3 + [2222] + [3333] * 2
    assert (log.cut, log.snapshot, log.bytes) == (None, False, sum(map(len, LOG)))


def test_the_next_fetch_starts_after_the_last_record_with_its_epoch() -> None:
    active = Active(LOG, end=7, piece=len(LOG[1]) + 60)
    log, entries = read(active)
    assert (log.cut, [entry.offset for entry in entries]) == (None, [1, 2, 3, 4, 5, 6])
    asked = [request.topics[0].partitions[0] for request in active.requests]
    assert [(row.fetch_offset, row.last_fetched_epoch) for row in asked] == [(0, 0), (1, 1), (4, 1), (5, 2)]


def test_what_is_not_committed_is_not_read() -> None:
    log, entries = read(Active(LOG, end=5))
    assert (log.cut, [entry.offset for entry in entries]) == (None, [1, 2, 3, 4])


def test_a_snapshot_stands_for_what_was_before() -> None:
    data = batch(0, [b"header"], control=True) + batch(1, [topic(), feature(3)], timestamp=1) + batch(3, [b"footer"], control=True)
    log, entries = read(Active(LOG[2:], end=7, snapshot=(4, 1, data), piece=120))
    assert entries[:2] == [LogRecord(3, None, topic()), LogRecord(3, None, feature(3))]
    assert [entry.offset for entry in entries[2:]] == [4, 5, 6]
    assert (log.cut, log.snapshot) == (None, True)


@pytest.mark.parametrize(
    ("active", "reason"),
    [
        (Active(LOG, end=7, refuse={1: 74}), "FENCED_LEADER_EPOCH at offset 0"),
        (Active(LOG, end=7, piece=len(LOG[1]) + 60, refuse={3: 6}), "NOT_LEADER_OR_FOLLOWER at offset 4"),
        (Active(LOG, end=9), "at offset 7 of 9"),
        (Active([], end=7, snapshot=(4, 1, b"x" * 90), refuse={2: 98}), "SNAPSHOT_NOT_FOUND at byte 0"),
        (Active([LOG[0], LOG[1][:-9] + b"?" * 9], end=7), "the batch at offset 1 cannot be read"),
        (Active([], end=7, snapshot=(4, 1, LOG[1][:8] + (1 << 30).to_bytes(4, "big") + LOG[1][12:])), "1073741824 bytes of format 2"),
        (Active([], end=7, snapshot=(4, 1, LOG[1][:8] + bytes(4) + LOG[1][12:])), "0 bytes of format 2"),
        (Active([], end=7, snapshot=(4, 1, LOG[1][:16] + b"\x01" + LOG[1][17:])), "bytes of format 1"),
        (Active([LOG[0], LOG[1][:57] + b"\xff" * 4 + LOG[1][61:]], end=7), "the batch at offset 1 cannot be read"),
        (Active([LOG[0], BOMB], end=2), "the batch at offset 1 is compressed"),
        (Active([], end=7, snapshot=(4, 1, BOMB)), "the batch at offset 1 is compressed"),
        (Active([LOG[0], HEADERS], end=2), "the batch at offset 1 cannot be read: a record has 100000 headers, and controllers write none"),
        (Active([], end=7, snapshot=(4, 1, HEADERS)), "the batch at offset 1 cannot be read: a record has 100000 headers"),
    ],
)
def test_the_reason_states_what_cannot_be_read(active: Active, reason: str) -> None:
    log, _ = read(active)
    assert log.cut is not None
    assert reason in log.cut


def test_limits_end_the_reading_and_are_the_stated_reason() -> None:
    active = Active(LOG, end=7, piece=len(LOG[1]) + 60)
    assert read(active, limit=200)[0].cut == "the limit of 0 MiB was reached at offset 1 of 7"
    assert read(active, seconds=0)[0].cut == "the limit of 0 s was reached at offset 1 of 7"
    snapshot = Active(LOG, end=7, snapshot=(4, 1, LOG[1]), piece=50)
    assert read(snapshot, limit=100)[0].cut == "the limit of 0 MiB was reached at byte 100 of the snapshot"


def test_a_piece_that_is_larger_than_the_one_asked_for_ends_the_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata_log_reader, "REQUEST_BYTES", 100)
    monkeypatch.setattr(metadata_log_reader, "PIECE_BYTES", 300)
    batches = LOG[:1] + [batch(offset, VALUES[offset : offset + 1]) for offset in range(1, 5)]
    read(Active(batches, end=5, piece=300))
    for too_large in (Active(batches, end=5), Active([], end=7, snapshot=(4, 1, b"".join(batches)))):
        with pytest.raises(ClusterError, match=r"sends [0-9]+ bytes of its metadata log at once, 100 were requested"):
            read(too_large)


def test_without_an_active_controller_there_is_nothing_to_read() -> None:
    with pytest.raises(ClusterError, match="none of them is the active controller"):
        list(MetadataLog(NoController(), 60))
