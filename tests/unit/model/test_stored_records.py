# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records are decoded as producers wrote them, whatever the codec; damage is an error that names the offset, and takes no more memory than the limit."""

from __future__ import annotations

import struct
import tracemalloc
from contextlib import suppress
from typing import Any

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from record_batches import (
    CODECS,
    COUNT_AT,
    DELTA_AT,
    RECORDS_AT,
    XERIAL,
    Content,
    batch_of,
    compressed,
    marker,
    with_content,
    with_crc,
)

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import BatchError, stored_batches
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_records import (
    Marker,
    Record,
    has_append_time,
    marker_of,
    records_of,
)

NOW = 1_795_000_000_000
BYTES = st.none() | st.binary(max_size=40) | st.binary(min_size=200, max_size=200)
HEADERS: Any = st.lists(st.tuples(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), BYTES), max_size=3)
RECORDS: Any = st.lists(st.tuples(st.integers(-1, 1 << 60), BYTES, BYTES, HEADERS), min_size=1, max_size=8)
SOME: list[Content] = [(NOW, b"k", b"v" * 50, [("h", b"1")]), (NOW + 1, None, None, [("h", None)])]


def expected(base: int, contents: list[Content]) -> list[Record]:
    return [
        Record(base + number, timestamp, key, value, tuple((name.encode(), data) for name, data in headers))
        for number, (timestamp, key, value, headers) in enumerate(contents)
    ]


@given(st.integers(0, 1 << 60), RECORDS, st.sampled_from(CODECS))
def test_every_record_is_decoded_as_it_was_written(base: int, contents: list[Content], codec: str) -> None:
    data = batch_of(base, contents, codec)
    assert [one.compression for one in stored_batches(data)] == [codec]
    assert list(records_of(data)) == expected(base, contents)


def test_snappy_without_frames_is_decoded() -> None:
    """As librdkafka writes it."""
    plain = batch_of(7, SOME)
    raw = pyarrow.compress(plain[RECORDS_AT:], "snappy", asbytes=True)
    assert list(records_of(with_content(plain, raw, CODECS.index("snappy")))) == expected(7, SOME)


def test_times_that_the_broker_has_set_are_those_of_the_batch() -> None:
    plain = batch_of(0, SOME)
    data = with_content(plain, plain[RECORDS_AT:], 0b1000)
    assert has_append_time(data) and not has_append_time(plain)
    assert [record.timestamp for record in records_of(data)] == [NOW + 1, NOW + 1]


@pytest.mark.parametrize("codec", CODECS)
def test_a_batch_that_lost_all_its_records_to_compaction_has_none(codec: str) -> None:
    data = bytearray(with_content(batch_of(0, SOME), b"", CODECS.index(codec)))
    struct.pack_into(">i", data, COUNT_AT, 0)
    assert list(records_of(with_crc(data))) == []


def test_offsets_that_compaction_removed_are_left_out() -> None:
    data = bytearray(batch_of(5, SOME[:1]))
    struct.pack_into(">i", data, DELTA_AT, 9)
    assert [record.offset for record in records_of(with_crc(data))] == [5]


@pytest.mark.parametrize(("commit", "kind"), [(True, "commit"), (False, "abort")])
def test_markers_say_how_a_transaction_ended(commit: bool, kind: str) -> None:
    assert marker_of(marker(9, 77, commit, coordinator_epoch=4)) == Marker(9, NOW, kind, 4, 77, 0)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ((NOW, None, None, []), "the control batch at offset 9 has no marker"),
        ((NOW, b"\0", None, []), "the control batch at offset 9 has no marker"),
        ((NOW, b"\0\0\0\1", b"\0\0", []), "the marker at offset 9 has no epoch of its coordinator"),
    ],
)
def test_control_batches_without_a_marker_are_refused(content: Content, reason: str) -> None:
    with pytest.raises(BatchError, match=reason):
        marker_of(batch_of(9, [content]))


def test_other_control_records_are_no_ends_of_transactions() -> None:
    assert marker_of(batch_of(9, [(NOW, struct.pack(">hh", 0, 2), None, [])])).kind == "type 2"


def zigzag(value: int) -> bytes:
    encoded, value = bytearray(), value << 1 ^ value >> 63
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])


def record(*fields: int | bytes, length: int | None = None) -> bytes:
    """A record with these fields behind its attributes: numbers as varints."""
    body = b"\0" + b"".join(zigzag(one) if isinstance(one, int) else one for one in fields)
    return zigzag(len(body) if length is None else length) + body


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (record(0, 0, -1, -1, 0, length=100), "a record is longer than the rest of the batch"),
        (record(0, 0, -1, -1, 0, length=-1), "a record is longer than the rest of the batch"),
        (record(0, 0, 50, -1, 0), "a field is longer than its record"),
        (record(0, 0, 1 << 40, -1, 0), "a field is longer than its record"),
        (record(0, 5, -1, -1, 0), "offset 105 is not between 100 and 101"),
        (record(0, 0, -1, -1, 0) + record(0, 0, -1, -1, 0), "behind record 1 of 2: offset 100 is not between 101 and 101"),
        (record(0, 0, -1, -1, -3), "a record has -3 headers"),
        (record(0, 0, -1, -1, 1 << 30), "a record has 1073741824 headers"),
        (record(0, 0, -1, -1, 1, -1, -1), "a header has no name"),
        (record(0, 0, -1, -1, 0, b"??"), "the record at offset 100 has another length than its fields"),
        (record((1 << 63) - 1, 0, -1, -1, 0), "the timestamp of offset 100 does not fit into 64 bits"),
        (b"\x14\0" + b"\xff" * 20, "a number has more than ten bytes"),
        (record(0, 0, -1, -1, 0), "its records are cut off"),
        (b"", "behind record 0 of 2: its records are cut off"),
        (record(0, 0, -1, -1, 0) + record(0, 1, -1, -1, 0) + b"more", "4 bytes follow the last record"),
    ],
)
def test_impossible_content_is_an_error_with_the_offset(content: bytes, reason: str) -> None:
    data = with_content(batch_of(100, [(NOW, b"k", b"v", []), (NOW, b"k", b"v", [])]), content, 0)
    assert list(stored_batches(data)), "its crc is right"
    with pytest.raises(BatchError, match=reason) as error:
        list(records_of(data))
    assert "the batch at offset 100 cannot be decoded" in str(error.value)


@pytest.mark.parametrize("codec", CODECS[1:])
def test_a_decompression_bomb_takes_no_more_memory_than_the_limit(codec: str) -> None:
    data = with_content(batch_of(3, SOME), compressed(codec, bytes(64 << 20)), CODECS.index(codec))
    before = pyarrow.default_memory_pool().max_memory()
    tracemalloc.start()
    with pytest.raises(
        BatchError, match=r"the batch at offset 3 .* take more than 1000000 bytes once they are decompressed: raise max_batch_bytes"
    ):
        list(records_of(data, 1_000_000))
    assert tracemalloc.get_traced_memory()[1] < 8 << 20 and pyarrow.default_memory_pool().max_memory() < before + (8 << 20)
    tracemalloc.stop()


def test_snappy_in_countless_blocks_is_refused() -> None:
    """Each block takes a call and an object, however short it is."""
    block = pyarrow.compress(b"x", "snappy", asbytes=True)
    content = XERIAL + (struct.pack(">i", len(block)) + block) * 200_000
    tracemalloc.start()
    with pytest.raises(BatchError, match="the batch at offset 3 cannot be decoded: its snappy data has more than"):
        list(records_of(with_content(batch_of(3, SOME), content, CODECS.index("snappy"))))
    assert tracemalloc.get_traced_memory()[1] < 20 << 20
    tracemalloc.stop()


@pytest.mark.parametrize(
    "content", [XERIAL + b"\0\0", XERIAL + b"\0\0\0\x09abc", XERIAL + b"\xff\xff\xff\xffabc", b"\xff" * 9, b"\x05", b"\xff\xff\xff\xff\x0f"]
)
def test_damaged_snappy_frames_are_an_error(content: bytes) -> None:
    with pytest.raises(BatchError, match="the batch at offset 3 cannot be decoded: its"):
        list(records_of(with_content(batch_of(3, SOME), content, CODECS.index("snappy"))))


@given(RECORDS, st.sampled_from(CODECS), st.data())
def test_random_damage_is_an_error_or_other_records(contents: list[Content], codec: str, data: st.DataObject) -> None:
    content = bytearray(compressed(codec, batch_of(0, contents)[RECORDS_AT:]))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(content) - 1))
        how = data.draw(st.sampled_from(("change", "cut", "add")))
        if how == "change":
            content[place] = data.draw(st.integers(0, 255))
        elif how == "cut" and len(content) > 1:
            del content[place : place + data.draw(st.integers(1, len(content)))]
            content = content or bytearray(1)
        else:
            content[place:place] = data.draw(st.binary(min_size=1, max_size=20))
    damaged = with_content(batch_of(0, contents), bytes(content), CODECS.index(codec))
    with suppress(BatchError):
        offsets = [one.offset for one in records_of(damaged, 1 << 20)]
        assert offsets == sorted(set(offsets)) and len(offsets) == len(contents)
    with suppress(BatchError):
        marker_of(damaged)
