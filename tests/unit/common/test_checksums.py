# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CRC-32C without a library is that of the library."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.checksums import CrcSum, PlainCrcSum, plain_crc32c


def test_the_check_value_of_the_standard() -> None:
    assert plain_crc32c(b"123456789") == 0xE3069283


@given(st.binary(max_size=2000), st.binary(max_size=2000))
def test_any_bytes_in_one_or_two_pieces(first: bytes, second: bytes) -> None:
    assert plain_crc32c(second, plain_crc32c(first)) == plain_crc32c(first + second) == crc32c(first + second)


@pytest.mark.parametrize(
    "size",
    [
        7,
        8,
        9,
        127,
        128,
        129,
        131,
        132,
        133,
        255,
        256,
        257,
        846,
        847,
        848,
        849,
        907,
        1693,
        1694,
        1695,
        65_535,
        65_536,
        65_537,
        1 << 20,
        1_234_567,
    ],
)
def test_sizes_around_those_that_are_halved(size: int) -> None:
    data = random.Random(size).randbytes(size)
    assert plain_crc32c(data) == crc32c(data)
    assert plain_crc32c(memoryview(data)) == crc32c(data)


PARTS = st.lists(st.binary(min_size=4, max_size=1000), max_size=6)
SUMS = pytest.mark.parametrize("kind", [PlainCrcSum, CrcSum])


def are_right(kind: type[PlainCrcSum], parts: Iterable[tuple[bytes, int]]) -> bool:
    crcs = kind()
    for content, crc in parts:
        crcs.add(content, crc)
    return crcs.is_right()


@SUMS
@given(PARTS)
def test_several_crcs_at_once(kind: type[PlainCrcSum], contents: list[bytes]) -> None:
    assert are_right(kind, [(content, crc32c(content)) for content in contents])


@SUMS
@given(PARTS.filter(bool), st.data())
def test_one_wrong_crc_of_several(kind: type[PlainCrcSum], contents: list[bytes], data: st.DataObject) -> None:
    parts = [(content, crc32c(content)) for content in contents]
    number = data.draw(st.integers(0, len(parts) - 1))
    content, crc = parts[number]
    bit = data.draw(st.integers(0, len(content) * 8 + 31))
    changed = bytearray(content + crc.to_bytes(4, "little"))
    changed[bit // 8] ^= 1 << bit % 8
    parts[number] = bytes(changed[:-4]), int.from_bytes(changed[-4:], "little")
    assert not are_right(kind, parts)


@SUMS
@given(st.binary(min_size=4, max_size=1000), st.integers(2, 6), st.data())
def test_equal_errors_do_not_cancel_each_other(kind: type[PlainCrcSum], content: bytes, times: int, data: st.DataObject) -> None:
    """As two batches with the same records, and the same page of both missing."""
    zeroed = data.draw(st.integers(0, len(content) - 1))
    damaged = content[:zeroed] + bytes(len(content) - zeroed)
    assert are_right(kind, [(damaged, crc32c(content))] * times) is (damaged == content)


@SUMS
@pytest.mark.parametrize("wrong", [0, 511, 512, 1500])
def test_one_wrong_crc_of_many(kind: type[PlainCrcSum], wrong: int) -> None:
    contents = [number.to_bytes(4, "big") * 5 for number in range(1600)]
    parts = [(content, crc32c(content)) for content in contents]
    assert are_right(kind, parts)
    parts[wrong] = parts[wrong][0], parts[wrong][1] ^ 1
    assert not are_right(kind, parts)
