# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CRC-32C without a library is that of the library."""

from __future__ import annotations

import random

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.checksums import plain_crc32c


def test_the_check_value_of_the_standard() -> None:
    assert plain_crc32c(b"123456789") == 0xE3069283


@given(st.binary(max_size=2000), st.binary(max_size=2000))
def test_any_bytes_in_one_or_two_pieces(first: bytes, second: bytes) -> None:
    assert plain_crc32c(second, plain_crc32c(first)) == plain_crc32c(first + second) == crc32c(first + second)


@pytest.mark.parametrize("size", [127, 128, 129, 131, 132, 133, 255, 256, 257, 65_535, 65_536, 65_537, 1 << 20, 1_234_567])
def test_sizes_around_the_powers_of_two(size: int) -> None:
    data = random.Random(size).randbytes(size)
    assert plain_crc32c(data) == crc32c(data)
    assert plain_crc32c(memoryview(data)) == crc32c(data)
