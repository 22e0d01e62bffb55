# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records of `__consumer_offsets`, in the layouts of Kafka's `OffsetCommitKey.json` and `OffsetCommitValue.json`."""

from __future__ import annotations

import base64
import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from offset_record_bytes import COMMITTED_AT, offset_key, offset_value

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.offset_records import (
    OffsetRecordError,
    SavedOffset,
    key_of,
    value_of,
)

GROUPS, NUMBERS = st.text(st.characters(codec="utf-8"), max_size=50), st.integers(0, 2**31 - 1)


@given(GROUPS, NUMBERS, st.sampled_from([0, 1]))
def test_a_key_is_read_as_it_was_written(group: str, partition: int, version: int) -> None:
    assert key_of(offset_key(group, "orders", partition, version)) == (group, ("orders", partition))


@given(st.integers(0, 4), st.integers(0, 2**63 - 1), st.integers(-1, 2**31 - 1), GROUPS, st.none() | st.binary(min_size=16, max_size=16))
def test_a_value_is_read_as_it_was_written(version: int, offset: int, epoch: int, metadata: str, topic_id: bytes | None) -> None:
    found = value_of(offset_value(offset, epoch, metadata, version, topic_id))
    has_id = version >= 4 and topic_id is not None and topic_id != bytes(16)
    text = base64.urlsafe_b64encode(topic_id or b"").decode().rstrip("=") if has_id else None
    assert found == SavedOffset(offset, epoch if version >= 3 else -1, metadata, text, COMMITTED_AT)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for read in (key_of, value_of):
        with contextlib.suppress(OffsetRecordError):
            read(data)


@given(st.integers(0, 4), st.data())
def test_a_record_that_is_cut_off_or_too_long_is_refused(version: int, data: st.DataObject) -> None:
    for read, whole in ((key_of, offset_key("group", "orders", 3, 1)), (value_of, offset_value(5, 1, "m", version, bytes(range(16))))):
        for wrong in (whole[: data.draw(st.integers(0, len(whole) - 1))], whole + b"\0"):
            with pytest.raises(OffsetRecordError):
                read(wrong)


def test_a_varint_has_at_most_32_bits() -> None:
    record = offset_value(5, version=4)[:-1]
    assert value_of(record + b"\x01\xff\xff\xff\xff\x0f\0") == value_of(record + b"\0")  # the tag 2**32 - 1, which is not known
    for wrong in (b"\x01\x80\x80\x80\x80\x10\0", b"\x01\xff\xff\xff\xff\x7f\0"):
        with pytest.raises(OffsetRecordError, match="32 bits"):
            value_of(record + wrong)


def test_records_of_other_kinds_are_none() -> None:
    assert {key_of(struct.pack(">h", version) + b"rest") for version in (2, 3, 17)} == {None}
    with pytest.raises(OffsetRecordError):
        key_of(offset_key("group", "../orders", 0, 1))
