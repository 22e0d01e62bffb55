"""Kafka's frames, as far as a gateway has to understand them: headers of requests, and the list of messages in answers to ApiVersions."""

import asyncio
import struct
from collections.abc import Mapping
from dataclasses import dataclass

API_VERSIONS, FLEXIBLE_API_VERSIONS = 18, 3
MAX_FRAME = 100 << 20


@dataclass(frozen=True)
class Request:
    """A request frame without its length: `rest` is what follows the client id (of flexible versions: the header's tagged fields, then the body)."""

    frame: bytes
    api_key: int
    version: int
    correlation_id: int
    client_id: str | None
    rest: bytes

    @classmethod
    def parse(cls, frame: bytes) -> "Request":
        api_key, version, correlation_id, length = struct.unpack_from(">hhih", frame)
        end = 10 + max(0, length)
        client_id = None if length < 0 else frame[10:end].decode()
        return cls(frame, api_key, version, correlation_id, client_id, frame[end:])

    @property
    def flexible_body(self) -> bytes:
        """The body of a flexible version."""
        return self.rest[_after_tags(self.rest, 0) :]


async def read_frame(reader: asyncio.StreamReader) -> bytes | None:
    """The next frame without its length, None where the connection ends."""
    try:
        (length,) = struct.unpack(">i", await reader.readexactly(4))
        return await reader.readexactly(length) if 0 <= length <= MAX_FRAME else None
    except asyncio.IncompleteReadError:
        return None


def framed(frame: bytes) -> bytes:
    return struct.pack(">i", len(frame)) + frame


def response(correlation_id: int, body: bytes) -> bytes:
    """The answer to a flexible version: a header without tagged fields, and the body."""
    return struct.pack(">i", correlation_id) + b"\0" + body


def offering(answer: bytes, version: int, offered: Mapping[int, tuple[int, int]]) -> bytes:
    """An answer to ApiVersions that offers these messages, too: lowest and highest version by API key.

    Its header is never a flexible one. Where the broker does not know the version it answers an error in the layout of v0, and stays as it is.
    """
    (error,) = struct.unpack_from(">h", answer, 4)
    if error:
        return answer
    flexible = version >= FLEXIBLE_API_VERSIONS
    if flexible:
        count, at = _unsigned(answer, 6)
        count -= 1
    else:
        count, at = struct.unpack_from(">i", answer, 6)[0], 10
    rows = {}
    for _ in range(count):
        key, lowest, highest = struct.unpack_from(">hhh", answer, at)
        rows[key] = (lowest, highest)
        at = _after_tags(answer, at + 6) if flexible else at + 6
    rows |= offered
    length = _unsigned_bytes(len(rows) + 1) if flexible else struct.pack(">i", len(rows))
    packed = [struct.pack(">hhh", key, *versions) + (b"\0" if flexible else b"") for key, versions in rows.items()]
    return b"".join([answer[:6], length, *packed, answer[at:]])


def _unsigned(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _unsigned_bytes(value: int) -> bytes:
    parts = []
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def _after_tags(data: bytes, at: int) -> int:
    count, at = _unsigned(data, at)
    for _ in range(count):
        _tag, at = _unsigned(data, at)
        size, at = _unsigned(data, at)
        at += size
    return at
