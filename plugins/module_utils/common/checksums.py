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
_FEW_BITS = 64
# x^6777 = x^484 + x^100 + 1 modulo G. So are the squares of both sides, and the squares of these.
_SPARSE_POWER, _SPARSE_TERMS = 6777, (0, 100, 484)
# Of parts that are added, each begins so many bytes behind the one before: equal errors at equal places do not cancel each other.
_DISTANCE = 2
# So many parts are added before the sum is divided. More would begin far behind the first.
_MOST_PARTS = 512


def plain_crc32c(data: bytes | bytearray | memoryview, value: int = 0) -> int:
    """Return the CRC of `data`, or with `value`, the CRC of the bytes before it, that of both."""
    bits = len(data) * 8
    if bits <= _FEW_BITS:
        return _by_bytes(bytes(data), value ^ _ALL) ^ _ALL
    return _remainder(int.from_bytes(data, "little") ^ value ^ _ALL, bits) ^ _ALL


class PlainCrcSum:
    """Checks several CRCs at once.

    Bytes with their CRC behind them are a multiple of G, and a sum of multiples is one, too. So only the sum is divided. As for one CRC, one of 2^32
    wrong sums is taken for a right one.
    """

    def __init__(self) -> None:
        self._sum, self._inverted, self._bytes, self._parts, self._right = 0, 0, 0, 0, True

    def add(self, data: bytes | memoryview, crc: int) -> None:
        """Add a part, of 4 bytes or more, with the CRC that it should have."""
        if self._parts == _MOST_PARTS:
            self._divide()
        begin = self._parts * _DISTANCE
        part = b"".join((bytes(begin), data, (crc ^ _ALL).to_bytes(4, "little")))
        self._sum ^= int.from_bytes(part, "little")
        self._inverted ^= _ALL << begin * 8
        self._bytes, self._parts = max(self._bytes, len(part)), self._parts + 1

    def is_right(self) -> bool:
        """Return whether each part that was added has its CRC."""
        self._divide()
        return self._right

    def _divide(self) -> None:
        self._right = self._right and _remainder(self._sum ^ self._inverted, self._bytes * 8) == 0
        self._sum, self._inverted, self._bytes, self._parts = 0, 0, 0, 0


def _remainder(polynomial: int, bits: int) -> int:
    """Return a polynomial times x^32, modulo G.

    It is H * x^m + L, and is replaced by H * (x^m mod G) + L, which has about half as many bits and the same remainder, until it is short. A loop over
    bytes reads 7 MB/s. This reads some 100 MB/s, because shifts of large numbers are fast and (x^m mod G) has few terms.
    """
    while bits > _FEW_BITS:
        power, terms = _fold(bits)
        upper_bits = bits - power
        width = max(power, upper_bits + terms[-1])
        upper, polynomial = polynomial & ((1 << upper_bits) - 1), polynomial >> upper_bits << (width - power)
        for term in terms:
            polynomial ^= upper << (width - upper_bits - term)
        bits = width
    padding = -bits % 8
    return _by_bytes((polynomial << padding).to_bytes((bits + padding) // 8, "little"), 0)


@functools.lru_cache(1024)
def _fold(bits: int) -> tuple[int, tuple[int, ...]]:
    """Return an m below `bits`, at least half of it, and the powers of x whose sum is x^m modulo G, in order."""
    if bits > _SPARSE_POWER:
        doublings = ((bits - 1) // _SPARSE_POWER).bit_length() - 1
        return _SPARSE_POWER << doublings, tuple(term << doublings for term in _SPARSE_TERMS)
    power = 1 << (bits - 1).bit_length() - 1
    return power, _terms(power)


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
def _terms(power: int) -> tuple[int, ...]:
    """Return the powers of x whose sum is x^power modulo G. `power` is a power of two, so it is squared from 1 on."""
    return tuple(31 - bit for bit in range(31, -1, -1) if _power(power) >> bit & 1)


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

    class CrcSum(PlainCrcSum):
        """Checks several CRCs, each at once."""

        def add(self, data: bytes | memoryview, crc: int) -> None:
            """Add a part, of 4 bytes or more, with the CRC that it should have."""
            self._right = self._right and crc32c(data) == crc
except ImportError:
    crc32c = plain_crc32c  # type: ignore[assignment]
    CrcSum = PlainCrcSum  # type: ignore[assignment, misc]
