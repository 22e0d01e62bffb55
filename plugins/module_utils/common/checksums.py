# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CRC-32C (Castagnoli, RFC 3720), with the library crc32c if it is installed, else with Python's standard library alone."""

from __future__ import annotations

import functools

# Bits are reflected: the first bit of the first byte is the coefficient of the highest power.
_POLYNOMIAL = 0x82F63B78
_ALL = 0xFFFFFFFF
# Fewer bits than this are divided byte by byte.
_FEW_BITS = 1024


def plain_crc32c(data: bytes | bytearray | memoryview, value: int = 0) -> int:
    """Return the CRC of `data`, or with `value`, the CRC of the bytes before it, that of both.

    The bytes are one polynomial, H * x^m + L. It is replaced by H * (x^m mod G) + L, which has half as many bits and the same remainder, until it is
    short. Shifts of large numbers do that at some 100 MB/s, and a loop over bytes reads 7 MB/s.
    """
    bits = len(data) * 8
    if bits <= _FEW_BITS:
        return _by_bytes(bytes(data), value ^ _ALL) ^ _ALL
    polynomial = int.from_bytes(data, "little") ^ value ^ _ALL
    while bits > _FEW_BITS:
        power = 1 << (bits - 1).bit_length() - 1
        upper_bits = bits - power
        upper, lower = polynomial & ((1 << upper_bits) - 1), polynomial >> upper_bits
        product = 0
        for shift in _shifts(power):
            product ^= upper << shift
        # The product has 31 bits more than `upper`, and ends where `lower` ends.
        gap = power - upper_bits - 31
        polynomial, bits = (lower ^ product << gap, power) if gap >= 0 else (lower << -gap ^ product, power - gap)
    padding = -bits % 8
    return _by_bytes((polynomial << padding).to_bytes((bits + padding) // 8, "little"), 0) ^ _ALL


def _by_bytes(data: bytes, remainder: int) -> int:
    table = _table()
    for byte in data:
        remainder = table[(remainder ^ byte) & 0xFF] ^ remainder >> 8
    return remainder


def _times_x(value: int) -> int:
    """Return a polynomial times x, modulo G."""
    return value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)


@functools.cache
def _table() -> tuple[int, ...]:
    def divided(value: int) -> int:
        for _ in range(8):
            value = _times_x(value)
        return value

    return tuple(map(divided, range(256)))


@functools.cache
def _shifts(power: int) -> tuple[int, ...]:
    """Return the set bits of x^power mod G. `power` is a power of two, so it is squared from 1 on."""
    return tuple(bit for bit in range(32) if _power(power) >> bit & 1)


@functools.cache
def _power(power: int) -> int:
    if power == 1:
        return 1 << 30
    root, rest, square = _power(power // 2), _power(power // 2), 0
    for bit in range(31, -1, -1):
        if root >> bit & 1:
            square ^= rest
        rest = _times_x(rest)
    return square


try:
    from crc32c import crc32c
except ImportError:
    crc32c = plain_crc32c  # type: ignore[assignment]
