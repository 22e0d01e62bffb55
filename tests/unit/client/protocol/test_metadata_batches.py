# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Batches of the metadata log: kafka-python writes them and reads the same, and damage is an error."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record import MemoryRecords
from kafka.record.memory_records import MemoryRecordsBuilder
from metadata_logs import batch

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.metadata_batches import (
    UNREADABLE,
    read_batches,
    read_records,
)

Written = tuple[int, bytes | None, bytes | None]  # timestamp, key, value
TIMES = st.integers(0, 1 << 45)
RECORDS = st.lists(st.tuples(TIMES, st.none() | st.binary(max_size=200), st.none() | st.binary(max_size=20_000)), min_size=1, max_size=5)
ONE = batch(7, [b"value", b"other"])
HEADER = 61


def written(records: Sequence[Written]) -> bytes:
    builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=1 << 27)
    for timestamp, key, value in records:
        builder.append(timestamp, key, value, [])
    builder.close()
    return bytes(builder.buffer())


@given(st.lists(RECORDS, max_size=3), st.binary(max_size=50))
def test_whole_batches_are_read_as_kafka_python_reads_them(batches: list[list[Written]], rest: bytes) -> None:
    data = b"".join(map(written, batches))
    cut_off = written([(0, None, bytes(100))])[: len(rest)]
    whole, found = read_batches(data + cut_off)
    assert whole == len(data)
    read = [(one.base_offset, one.next_offset, one.leader_epoch, one.is_control, list(map(tuple, read_records(one)))) for one in found]
    assert read == [
        (
            one.base_offset,
            one.next_offset,
            one.leader_epoch,
            one.is_control_batch,
            [(record.offset, record.timestamp, record.value or b"") for record in one],
        )
        for one in MemoryRecords(data)
    ]


def test_the_time_of_appending_counts_if_the_batch_has_it() -> None:
    data = bytearray(ONE)
    struct.pack_into(">h", data, 21, 0b1000)
    struct.pack_into(">q", data, 35, 1234)
    (found,) = read_batches(bytes(data))[1]
    assert [record.timestamp for record in read_records(found)] == [1234, 1234]


TIMESTAMP = 27  # of the first record, in the header


@pytest.mark.parametrize(
    ("at", "replaced", "reason"),
    [
        (HEADER - 4, struct.pack(">i", -1), "it has -1 records"),
        (HEADER - 4, struct.pack(">i", 1), "bytes follow its last record"),
        (HEADER - 4, struct.pack(">i", 1 << 30), "index out of bounds"),
        (HEADER, b"\x7f", "a record has 11 bytes instead of -64"),
        (HEADER + 4, b"\x0a", "a record has"),  # a key, where there was none
        (HEADER + 4, b"\x03", "a key or value of -2 bytes"),
        (HEADER + 5, b"\x7e", "a key or value of 63 bytes"),
        (HEADER + 11, b"\x02", "a record has 1 headers"),
        (HEADER + 11, b"\x01", "a record has -1 headers"),
        (HEADER, b"\xff" * 10, "an integer of more than 64 bits"),
        (HEADER + 3, b"\x7e", "a record has offset"),
        (HEADER + 3, b"\x01", "a record has offset"),
        (TIMESTAMP, struct.pack(">q", -5), "a record has the time -5"),
        (TIMESTAMP, struct.pack(">q", 2**63 - 1) + ONE[TIMESTAMP + 8 : HEADER + 2] + b"\x02", "a record has the time 9223372036854775808"),
    ],
)
def test_what_no_controller_writes_is_an_error(at: int, replaced: bytes, reason: str) -> None:
    (found,) = read_batches(ONE[:at] + replaced + ONE[at + len(replaced) :])[1]
    with pytest.raises(UNREADABLE, match=reason):
        list(read_records(found))


@given(st.integers(HEADER, len(ONE) - 1), st.binary(min_size=1, max_size=12))
def test_damage_is_an_error_or_other_records(at: int, damage: bytes) -> None:
    (found,) = read_batches((ONE[:at] + damage + ONE[at + len(damage) :])[: len(ONE)])[1]
    try:
        assert len(list(read_records(found))) == 2
    except UNREADABLE as error:
        assert str(error)
