# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records of `__consumer_offsets` as Kafka's group coordinator writes them."""

from __future__ import annotations

import struct

COMMITTED_AT = 1_795_000_000_000  # ms since 1970


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def _unsigned(value: int) -> bytes:
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def offset_key(group: str, topic: str, partition: int, version: int = 1) -> bytes:
    """Return an OffsetCommitKey."""
    return struct.pack(">h", version) + _text(group) + _text(topic) + struct.pack(">i", partition)


def offset_value(offset: int, epoch: int = -1, metadata: str = "", version: int = 3, topic_id: bytes | None = None) -> bytes:
    """Return an OffsetCommitValue."""
    data = struct.pack(">hq", version, offset)
    if version >= 3:
        data += struct.pack(">i", epoch)
    data += _text(metadata) if version < 4 else _unsigned(len(metadata.encode()) + 1) + metadata.encode()
    data += struct.pack(">q", COMMITTED_AT)
    if version == 1:
        data += struct.pack(">q", 1_796_000_000_000)
    if version >= 4:
        data += b"\0" if topic_id is None else b"\x01\0" + _unsigned(len(topic_id)) + topic_id
    return data
