# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bytes of a log are read as whole batches, or refused."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from record_batches import DELTA_AT, EPOCH_AT, batch, log, with_crc

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import BatchError, stored_batches


def test_headers_are_what_was_written() -> None:
    first, second = stored_batches(batch(100, 3, epoch=4) + batch(103, 2, epoch=5, producer_id=7, transactional=True))
    assert (first.base_offset, first.last_offset, first.epoch, first.records, first.producer_id) == (100, 102, 4, 3, -1)
    assert (first.compression, first.transactional, first.control) == ("none", False, False)
    assert (second.base_offset, second.last_offset, second.epoch, second.producer_id, second.transactional) == (103, 104, 5, 7, True)
    assert first.max_timestamp - first.base_timestamp == 2


@given(st.lists(st.integers(1, 20), max_size=6), st.integers(0, 400))
def test_whole_batches_are_read_and_a_part_at_the_end_is_left_out(sizes: list[int], cut: int) -> None:
    content = log(*sizes)
    kept = content[: max(0, len(content) - cut)]
    found = list(stored_batches(kept))
    assert found == list(stored_batches(content))[: len(found)]
    assert sum(one.size for one in found) <= len(kept)
    assert cut or len(found) == len(sizes)


@given(st.data())
def test_no_changed_byte_that_the_crc_covers_is_accepted(data: st.DataObject) -> None:
    content = bytearray(log(3, 2))
    at = data.draw(st.integers(17, len(log(3)) - 1))  # from the crc of the first batch to its end
    content[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(BatchError, match="offset 0"):
        list(stored_batches(bytes(content)))


@pytest.mark.parametrize("value", [1, 0, 127])
def test_another_format_is_refused(value: int) -> None:
    content = bytearray(log(1))
    content[16] = value
    with pytest.raises(BatchError, match=f"format {value}"):
        list(stored_batches(bytes(content)))


@pytest.mark.parametrize("length", [-1, 0, 48, 1 << 30])
def test_an_impossible_length_is_refused(length: int) -> None:
    content = bytearray(log(1))
    struct.pack_into(">i", content, 8, length)
    with pytest.raises(BatchError, match="impossible values"):
        list(stored_batches(bytes(content)))


@pytest.mark.parametrize(("place", "form", "value"), [(EPOCH_AT, ">i", -2), (EPOCH_AT, ">i", -(1 << 31)), (0, ">q", (1 << 63) - 2)])
def test_epochs_and_offsets_that_no_file_can_have_are_refused(place: int, form: str, value: int) -> None:
    """The crc covers neither the base offset nor the leader epoch. The offset after the last record has 63 bits, too."""
    content = bytearray(log(2))
    struct.pack_into(form, content, place, value)
    with pytest.raises(BatchError, match="impossible values"):
        list(stored_batches(bytes(content)))


def test_a_batch_may_have_the_greatest_offset_that_can_have_an_end() -> None:
    content = bytearray(batch((1 << 63) - 3, 1))
    struct.pack_into(">i", content, DELTA_AT, 1)
    (found,) = stored_batches(with_crc(content))
    assert found.last_offset + 1 == (1 << 63) - 1


def test_offsets_and_epochs_never_go_backwards() -> None:
    with pytest.raises(BatchError, match="follows one that ends at 104"):
        list(stored_batches(batch(100, 5) + batch(104, 1)))
    older = bytearray(batch(1, 1))
    struct.pack_into(">i", older, EPOCH_AT, 2)
    with pytest.raises(BatchError, match="epoch 2, follows one that ends at 0, epoch 3"):
        list(stored_batches(batch(0, 1, epoch=3) + bytes(older)))
