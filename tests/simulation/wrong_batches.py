# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Batches of records that no leader has written so: cut, with other bytes, offsets, epochs, times or producers, some of them with a right crc."""

from __future__ import annotations

import struct
from collections.abc import Callable
from random import Random

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.checksums import crc32c

# Where fields of a batch are (KIP-98), and what they are.
OFFSET, LENGTH, EPOCH, MAGIC, CRC, ATTRIBUTES, LAST_DELTA = (0, ">q"), (8, ">i"), (12, ">i"), (16, ">b"), (17, ">I"), (21, ">h"), (23, ">i")
FIRST_TIME, LAST_TIME, PRODUCER, PRODUCER_EPOCH, SEQUENCE, RECORDS = (27, ">q"), (35, ">q"), (43, ">q"), (51, ">h"), (53, ">i"), (57, ">i")
FIELDS = (
    OFFSET, OFFSET, EPOCH, EPOCH, LENGTH, MAGIC, ATTRIBUTES, ATTRIBUTES, LAST_DELTA, LAST_DELTA, FIRST_TIME, LAST_TIME, PRODUCER, PRODUCER_EPOCH,
    SEQUENCE, RECORDS,
)  # fmt: skip
STEPS = (-(1 << 20), -3, -1, 1, 2, 16, 32, 1 << 20)
HEADER, OVERHEAD = 61, 12


def falsified_batches(data: bytes, random: Random) -> bytes:
    """Return other bytes than these, which are batches of a log."""
    batches = cut_apart(data)
    if not batches:
        return bytes(random.choice((0, 1, HEADER, 100)))
    at = random.randrange(len(batches))
    one = batches[at]
    place = random.randrange(len(one))
    ways: tuple[Callable[[], list[bytes]], ...] = (
        lambda: [with_other_field(one, random)],
        lambda: [with_other_field(one, random)],
        lambda: [one[: random.randrange(1, len(one))]],
        lambda: [one[:place], bytes([one[place] ^ 1 << random.randrange(8)]), one[place + 1 :]],
        lambda: [],
        lambda: [one, one],
        lambda: [*batches[at + 1 : at + 2], one],
    )
    return b"".join((*batches[:at], *random.choice(ways)(), *batches[at + 1 :]))


def with_other_field(batch: bytes, random: Random) -> bytes:
    """Return a batch with another field of its header, and a crc that is right."""
    at, kind = random.choice(FIELDS)
    (value,) = struct.unpack_from(kind, batch, at)
    bits = 8 * struct.calcsize(kind)
    return with_field(batch, (at, kind), (value + random.choice(STEPS) + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1))


def with_field(batch: bytes, field: tuple[int, str], value: int) -> bytes:
    """Return a batch with this value in a field of its header, and a crc that is right."""
    at, kind = field
    return _with_right_crc(batch[:at] + struct.pack(kind, value) + batch[at + struct.calcsize(kind) :])


def with_other_byte(batch: bytes, random: Random) -> bytes:
    """Return a batch with another byte in its records, and a crc that is right."""
    at = random.randrange(min(HEADER, len(batch) - 1), len(batch))
    return _with_right_crc(batch[:at] + bytes([random.randrange(256)]) + batch[at + 1 :])


def _with_right_crc(batch: bytes) -> bytes:
    begin = CRC[0]
    return batch[:begin] + struct.pack(CRC[1], crc32c(batch[ATTRIBUTES[0] :])) + batch[begin + struct.calcsize(CRC[1]) :]


def cut_apart(data: bytes) -> list[bytes]:
    """Return the batches in these bytes."""
    batches = []
    while len(data) >= HEADER:
        size = OVERHEAD + struct.unpack_from(LENGTH[1], data, LENGTH[0])[0]
        batches.append(data[:size])
        data = data[size:]
    return batches
