"""Mutations of answers: of their values, as a hostile broker makes them, and of their bytes, as a broken one does. Each follows from its seed."""

import random
import struct
import uuid
from collections.abc import Callable, Iterator
from typing import Any, cast

from kafka.protocol import admin, consumer, metadata, producer, sasl
from kafka.protocol.api_message import ApiMessage

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import kip1275, metadata_log_fetch, share_groups
from rig.gateway_rules import LOG_INFO_KEY
from wire.answers import Exchange

INTEGERS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64, "uint16": 16}
NAMES = (
    "",
    "\0",
    "a\0b",
    "../../etc",
    "\x1b[2J\x1b]0;x\x07",
    "x" * 64,
    "x" * 300,
    "x" * 32_767,
    "ä" * 99,
    "\u202e",
    "-1",
    "a b\nc",
    "{{ x }}",
    "*",
)
BAD_UTF8 = (b"\xff", b"\xc3\x28", b"\xed\xa0\x80")
SIZES = (-(2**31), -2, -1, 0, 3, 1 << 20, 100_000_001, 2**31 - 1)


def _kinds() -> Iterator[tuple[int, Any]]:
    for package in (admin, consumer, metadata, producer, sasl):
        for name, kind in vars(package).items():
            if name.endswith("Response") and isinstance(kind, type) and issubclass(kind, ApiMessage):
                yield cast(Any, kind).API_KEY, kind
    for own in (metadata_log_fetch.FetchSnapshotResponse, share_groups.DescribeShareGroupOffsetsResponse):
        yield own.API_KEY, own
    yield LOG_INFO_KEY, kip1275.log_info_messages(LOG_INFO_KEY)[1]


KINDS = dict(_kinds())


def encoded(message: Any, version: int) -> bytes:
    """The body of a message. kafka-python encodes one that it has decoded only after it has got a header."""
    message._header = None
    return bytes(message.encode(version=version))


def mutate(seed: str, exchange: Exchange, frame: bytes) -> tuple[str, bytes]:
    """What is done, and the answer as it goes over the wire."""
    draw = random.Random(seed)
    name, change = draw.choice(BYTES if draw.random() < 0.4 else VALUES)
    changed = change(draw, exchange, frame)
    return (name, changed) if changed is not None else ("bits", _bits(draw, exchange, frame))


# --- bytes -------------------------------------------------------------------------------------------------------------


def _bits(draw: random.Random, _exchange: Exchange, frame: bytes) -> bytes:
    data = bytearray(frame)
    for _time in range(draw.choice((1, 1, 2, 8))):
        data[draw.randrange(4, len(data))] = draw.choice((0, 0x7F, 0x80, 0xFF, draw.randrange(256)))
    return bytes(data)


def _cut(draw: random.Random, _exchange: Exchange, frame: bytes) -> bytes:
    """The connection ends within the answer."""
    return frame[: draw.randrange(len(frame))]


def _short(draw: random.Random, _exchange: Exchange, frame: bytes) -> bytes:
    """A whole frame, of the beginning of an answer."""
    return _framed(frame[4 : draw.randrange(4, len(frame))])


def _long(draw: random.Random, _exchange: Exchange, frame: bytes) -> bytes:
    return _framed(frame[4:] + draw.randbytes(draw.choice((1, 4, 1000))))


def _size(draw: random.Random, _exchange: Exchange, frame: bytes) -> bytes:
    return struct.pack(">i", draw.choice(SIZES)) + frame[4:]


def _correlation(draw: random.Random, _exchange: Exchange, frame: bytes) -> bytes:
    return frame[:4] + struct.pack(">i", draw.choice((-1, 0, 2**31 - 1, 7))) + frame[8:]


def _twice(_draw: random.Random, _exchange: Exchange, frame: bytes) -> bytes:
    return frame + frame


def _noise(draw: random.Random, _exchange: Exchange, frame: bytes) -> bytes:
    return _framed(frame[4:8] + draw.randbytes(draw.choice((0, 1, 10, 100, 5000))))


def _run(draw: random.Random, _exchange: Exchange, frame: bytes) -> bytes:
    """A run of bytes that an integer without bounds, or a count, is made of."""
    at, run = draw.randrange(8, len(frame) + 1), draw.choice((b"\xff", b"\x80", b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x0f"))
    length = draw.choice((1, 5, 100, 50_000))
    return _framed(frame[4:at] + (run * length)[:200_000] + frame[at + draw.choice((0, 4)) :])


def _utf8(draw: random.Random, _exchange: Exchange, frame: bytes) -> bytes | None:
    """Something inside that is no UTF-8, in place of as many bytes of text."""
    letters = [at for at in range(8, len(frame) - 3) if frame[at : at + 3].isalpha()]
    if not letters:
        return None
    at, bad = draw.choice(letters), draw.choice(BAD_UTF8)
    return frame[:at] + bad + frame[at + len(bad) :]


def _framed(frame: bytes) -> bytes:
    return struct.pack(">i", len(frame)) + frame


# --- values ------------------------------------------------------------------------------------------------------------


class _Place:
    """A field of a message or of one of its rows."""

    def __init__(self, row: Any, field: Any) -> None:
        self.row, self.field, self.kind = row, field, field.type_str.removeprefix("[]")

    @property
    def value(self) -> Any:
        return getattr(self.row, self.field.name)

    def set(self, value: Any) -> None:
        setattr(self.row, self.field.name, value)


def _places(kind: Any, row: Any, version: int) -> Iterator[_Place]:
    for field in kind.fields.values():
        if field.for_version_q(version):
            yield _Place(row, field)
            value = getattr(row, field.name)
            if field.is_struct_array():
                for one in value or ():
                    yield from _places(field, one, version)
            elif field.is_struct() and value is not None:
                yield from _places(field, value, version)


def _value(change: Callable[[random.Random, _Place], Any]) -> Callable[[random.Random, Exchange, bytes], bytes | None]:
    """A change of some value of the message. None where there is none that it is for."""

    def changed(draw: random.Random, exchange: Exchange, frame: bytes) -> bytes | None:
        kind = KINDS.get(exchange.api_key)
        if kind is None:
            return None
        version = min(exchange.version, kind.max_version)
        header = 8 + (1 if kind.flexible_version_q(version) and exchange.api_key != 18 else 0)
        try:
            message = kind.decode(memoryview(frame)[header:], version=version)
            places = list(_places(kind, message, version))
            draw.shuffle(places)
            if not any(change(draw, place) for place in places):
                return None
            return _framed(frame[4:header] + encoded(message, version))
        except (ValueError, TypeError, AttributeError, IndexError, struct.error):
            return None  # kafka-python cannot encode it

    return changed


def _integer(draw: random.Random, place: _Place) -> bool:
    if place.kind not in INTEGERS or place.field.is_array():
        return False
    bits = INTEGERS[place.kind]
    extremes = (-(2 ** (bits - 1)), -2, -1, 0, 1, 7, 99_999, 2 ** (bits - 1) - 1)
    place.set(draw.choice([one for one in extremes if -(2 ** (bits - 1)) <= one < 2 ** (bits - 1)]))
    return True


def _integers(draw: random.Random, place: _Place) -> bool:
    if not place.field.is_array() or place.field.is_struct_array() or place.kind != "int32":
        return False
    place.set(draw.choice(([], [-1], [7, 7, 7], [2**31 - 1], list(range(10_000)))))
    return True


def _name(draw: random.Random, place: _Place) -> bool:
    if place.kind != "string" or place.field.is_array():
        return False
    place.set(draw.choice(NAMES))
    return True


def _null(draw: random.Random, place: _Place) -> bool:
    if place.kind in INTEGERS or place.kind == "bool":
        return False
    place.set(None)
    return True


def _empty(draw: random.Random, place: _Place) -> bool:
    if not place.field.is_array():
        return False
    place.set([])
    return True


def _repeated(draw: random.Random, place: _Place) -> bool:
    """Rows twice, or thousands of them with other numbers."""
    if not place.field.is_struct_array() or not place.value:
        return False
    rows, count = list(place.value), draw.choice((1, 1, 3_000))
    integers = [field for field in place.field.fields.values() if field.type_str in ("int32", "int64")]
    for number in range(count):
        first = rows[0]
        copy = type(first)(version=first.version, **{field.name: getattr(first, field.name) for field in place.field.fields.values()})
        if count > 1 and integers:
            setattr(copy, integers[0].name, number)
        rows.append(copy)
    place.set(rows)
    return True


def _identity(draw: random.Random, place: _Place) -> bool:
    if place.kind != "uuid" or place.field.is_array():
        return False
    place.set(draw.choice((uuid.UUID(int=0), uuid.UUID(int=1), uuid.UUID(int=2**128 - 1))))
    return True


def _bytes(draw: random.Random, place: _Place) -> bool:
    if place.kind not in ("bytes", "records"):
        return False
    data = bytearray(place.value or b"")
    for _time in range(draw.choice((1, 4)) if data else 0):
        data[draw.randrange(min(len(data), 64))] = draw.randrange(256)
    place.set(draw.choice((bytes(data), bytes(data[: draw.randrange(len(data) + 1)]), draw.randbytes(61), b"\xff" * 61)))
    return True


BYTES: list[tuple[str, Callable[[random.Random, Exchange, bytes], bytes | None]]] = [
    (change.__name__[1:], change) for change in (_bits, _cut, _short, _long, _size, _correlation, _twice, _noise, _run, _utf8)
]
VALUES: list[tuple[str, Callable[[random.Random, Exchange, bytes], bytes | None]]] = [
    (change.__name__[1:], _value(change))
    for change in (_integer, _integer, _integer, _integers, _name, _name, _null, _empty, _repeated, _identity, _bytes)
]
