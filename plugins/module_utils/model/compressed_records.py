# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decompresses the records of a batch, never to more bytes than a limit. Pure.

pyarrow, which Spark needs anyway, has all codecs of Kafka. kafka-python decompresses without a limit, and needs a library more for each of three codecs.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError

with suppress(ImportError):  # optional_imports.py says why
    import pyarrow

# What Kafka's Java clients write before the blocks of snappy: this, a version and the oldest version that can read it (both int32). Each block has its length
# before it. Other clients write one block, and nothing before it.
_XERIAL, _XERIAL_HEADER = b"\x82SNAPPY\x00", 16
_LENGTH = struct.Struct(">i")
_CHUNK = 1 << 20
# Blocks of one batch. Clients write blocks of 32 KiB, and each one takes a call and an object.
_MOST_BLOCKS = 100_000


class CompressionError(RecoveryError):
    """Bytes that cannot be decompressed, or only to more than the limit. The text says which, without an offset."""


def decompressed(codec: str, data: memoryview, most: int) -> bytes:
    """Return decompressed bytes. Raises CompressionError for damaged bytes, and for those that become more than `most`, before that memory is taken.

    codec  one of `stored_batches.CODECS`
    """
    try:
        chunks, size = [], 0
        for chunk in _chunks(codec, data, most):
            size += len(chunk)
            _check_size(size, most)
            chunks.append(chunk)
        return b"".join(chunks)
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        raise CompressionError(f"its {codec} data cannot be decompressed: {error}") from error


def _chunks(codec: str, data: memoryview, most: int) -> Iterator[bytes]:
    if codec == "none":
        yield bytes(data)
    elif codec == "snappy":
        for block in _snappy_blocks(data):
            size = _snappy_size(block)
            _check_size(size, most)
            yield pyarrow.Codec(codec).decompress(block, decompressed_size=size, asbytes=True)
    else:
        with pyarrow.CompressedInputStream(pyarrow.BufferReader(data), codec) as stream:
            while chunk := stream.read(_CHUNK):
                yield chunk


def _snappy_blocks(data: memoryview) -> Iterator[memoryview]:
    if data[: len(_XERIAL)] != _XERIAL:
        yield data
        return
    at, blocks = _XERIAL_HEADER, 0
    while at < len(data):
        blocks += 1
        if blocks > _MOST_BLOCKS:
            raise CompressionError(f"its snappy data has more than {_MOST_BLOCKS} blocks")
        if at + _LENGTH.size > len(data):
            raise CompressionError("its snappy data is cut off")
        (length,) = _LENGTH.unpack_from(data, at)
        at += _LENGTH.size
        if not 0 < length <= len(data) - at:
            raise CompressionError("its snappy data is damaged: a block has an impossible length")
        yield data[at : at + length]
        at += length


def _snappy_size(block: memoryview) -> int:
    """Return the decompressed size of a block: a varint of at most five bytes at its start. pyarrow checks that the block becomes so large."""
    size = 0
    for place, byte in enumerate(block[:5]):
        size |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return size
    raise CompressionError("its snappy data is damaged: a block does not say how large it is")


def _check_size(size: int, most: int) -> None:
    if size > most:
        raise CompressionError(f"its records take more than {most} bytes once they are decompressed: raise max_batch_bytes")
