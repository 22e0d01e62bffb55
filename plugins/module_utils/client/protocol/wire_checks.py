# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks the bytes of an answer against its message's layout before kafka-python decodes them. Pure: no I/O.

kafka-python's decoder has no bounds: it accepts integers of any length (the time grows with the square of it), counts of 2,147,483,647 rows, strings
that end after the message, and null in fields that cannot be null. Bytes that pass here are exactly one message, and its objects fit into memory.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import ANSWER_BYTES, COPIED_BYTES, STRING_BYTES

SIZES = {"bool": 1, "int8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "float64": 8, "uuid": 16, "bitfield": 4}
# Approximate bytes of Python objects: of a row in a list, of each of its fields, of a value in a list, of an unknown tag, of a text in addition to
# its bytes, and of a text beyond ASCII in addition to four bytes for each letter.
ROW, FIELD, VALUE, TAG, TEXT, WIDE_TEXT = 120, 40, 48, 250, 24, 60

# What decoders raise for bytes that are not what they expect.
UNREADABLE = (ValueError, IndexError, OverflowError, struct.error)
_INTEGERS = {1: struct.Struct(">b"), 2: struct.Struct(">h"), 4: struct.Struct(">i")}  # by their size in bytes


class MalformedError(ValueError):
    """The bytes are not exactly one message of this kind, or the message is too large."""


class _Walk:
    """The bytes, and how much memory their objects take so far."""

    def __init__(self, data: memoryview) -> None:
        self.data, self.end = data, len(data)
        self.taken = self.copied = 0

    def take(self, size: int) -> None:
        self.taken += size
        if self.taken > ANSWER_BYTES:
            raise MalformedError(f"an answer of {self.end} bytes has too many rows")

    def skip(self, at: int, size: int) -> int:
        if size < 0 or size > self.end - at:
            raise MalformedError(f"{size} bytes at byte {at} of {self.end}")
        return at + size

    def integer(self, at: int, size: int) -> int:
        if size > self.end - at:
            self.skip(at, size)
        number: int = _INTEGERS[size].unpack_from(self.data, at)[0]
        return number

    def unsigned(self, at: int) -> tuple[int, int]:
        value = 0
        for shift in range(0, 35, 7):
            if at >= self.end:
                break
            byte = self.data[at]
            value |= (byte & 0x7F) << shift
            at += 1
            if byte < 0x80 and not value >> 32:
                return value, at
        raise MalformedError(f"an integer of more than 32 bits, or a cut one, before byte {at} of {self.end}")


Step = Callable[[_Walk, int], int]  # from the place where an element begins to the place after it
_MESSAGES: dict[tuple[str, int, int], Step] = {}


def check(kind: Any, version: int, body: memoryview) -> int:
    """Return the approximate bytes that a message takes when it is decoded.

    MalformedError if `body` is not exactly one message of this class (kafka-python's) and version.
    """
    key = kind.name, kind.API_KEY, version
    if key not in _MESSAGES:
        flexible = kind.flexible_version_q(version)
        _MESSAGES[key] = _fields(kind.fields.values(), version, flexible, flexible)
    walk = _Walk(body)
    end = _MESSAGES[key](walk, 0)
    if end != walk.end:
        raise MalformedError(f"{walk.end - end} bytes too many")
    return walk.taken + walk.end


def after_tags(data: memoryview, at: int) -> int:
    """Return the place after tagged fields, all of which are skipped. MalformedError if they do not fit."""
    return _tagged({})(_Walk(data), at)


def _fields(fields: Iterable[Any], version: int, compact: bool, tagged: bool | None) -> Step:
    """Return the step over a message or a row, field by field. `tagged` None: tagged fields are allowed but must be absent."""
    own = [field for field in fields if field.for_version_q(version)]
    steps = [_field(field, version, compact, tagged) for field in own if not field.tagged_field_q(version)]
    if tagged:
        tags = {field.tag: _field(field, version, True, None) for field in own if field.tagged_field_q(version)}
        steps.append(_tagged(tags))
    elif tagged is None:
        steps.append(_no_tags)
    return _sequence(_joined(steps))


class _Numbers(NamedTuple):
    """A compact list of values of fixed size. `before`: bytes of the fields before it; `size`: of a value; `walk`: the step over any such list."""

    before: int
    size: int
    walk: Step


def _joined(steps: Iterable[Step | int | _Numbers]) -> list[Step]:
    """Merge adjacent fields of fixed size, and lists of such values, into one step."""
    joined: list[Step] = []
    lists: list[_Numbers] = []
    fixed = 0
    for step in steps:
        if isinstance(step, int):
            fixed += step
        elif isinstance(step, _Numbers):
            lists.append(step._replace(before=fixed))
            fixed = 0
        else:
            joined += [*_merged(lists, fixed), step]
            lists, fixed = [], 0
    return [*joined, *_merged(lists, fixed)]


def _merged(lists: Sequence[_Numbers], fixed: int) -> list[Step]:
    if lists:
        return [_numbers(tuple(lists), fixed)]
    return [_fixed(fixed)] if fixed else []


def _numbers(lists: Sequence[_Numbers], rest: int) -> Step:
    """Return the step over compact lists with the fields before them, and over `rest` bytes of fields after them."""

    def walk_numbers(walk: _Walk, at: int) -> int:
        data, end, values = walk.data, walk.end, 0
        for before, size, walk_list in lists:
            at += before
            if at >= end:
                raise MalformedError(f"a list at byte {at} of {end}")
            count = data[at]
            if 0 < count < 0x80:  # nearly always
                values += count - 1
                at += 1 + (count - 1) * size
            else:
                at = walk_list(walk, at)
        if values:
            walk.take(values * VALUE)
        at += rest
        return at if at <= end else walk.skip(end, at - end)

    return walk_numbers


def _sequence(steps: list[Step]) -> Step:
    if len(steps) == 1:
        return steps[0]

    def walk_sequence(walk: _Walk, at: int) -> int:
        for step in steps:
            at = step(walk, at)
        return at

    return walk_sequence


def _fixed(size: int) -> Step:
    def walk_fixed(walk: _Walk, at: int) -> int:
        end = at + size
        return end if end <= walk.end else walk.skip(at, size)

    return walk_fixed


def _field(field: Any, version: int, compact: bool, tagged: bool | None) -> Any:
    """Return the step over a field, its size if that is fixed, or _Numbers."""
    kind, nullable = field.type_str.removeprefix("[]"), field.nullable_for_version_q(version)
    if field.is_struct_array():
        return _array(_fields(field.fields.values(), version, compact, tagged), compact, nullable, ROW + FIELD * len(field.fields))
    if field.is_array():
        item = _simple(kind, compact, False)
        step = _array(item, compact, nullable, VALUE)
        return _Numbers(0, item, step) if compact and isinstance(item, int) else step
    if field.is_struct():
        row = _fields(field.fields.values(), version, compact, tagged)
        return _nullable(row) if nullable else row
    return _simple(kind, compact, nullable)


def _simple(kind: str, compact: bool, nullable: bool) -> Any:
    if kind in SIZES:
        return SIZES[kind]
    prefix, most = (2, STRING_BYTES) if kind == "string" else (4, None)

    def walk_bytes(walk: _Walk, at: int) -> int:
        length, at = _length(walk, at, compact, prefix)
        if length == -1 and nullable:
            return at
        if most is not None and length > most:
            raise MalformedError(f"a string of {length} bytes")
        end = walk.skip(at, length)
        if most is not None and length:
            walk.take(TEXT if bytes(walk.data[at:end]).isascii() else WIDE_TEXT + 3 * length)
        return end

    return walk_bytes


def _length(walk: _Walk, at: int, compact: bool, prefix: int) -> tuple[int, int]:
    if compact:
        if at < walk.end and (first := walk.data[at]) < 0x80:  # nearly always
            return first - 1, at + 1
        length, at = walk.unsigned(at)
        return length - 1, at
    return walk.integer(at, prefix), at + prefix


def _array(item: Step | int, compact: bool, nullable: bool, size: int) -> Step:
    """Return the step over a list. `item`: the step over an element, or its size if that is fixed. `size`: bytes of its Python object."""

    def walk_array(walk: _Walk, at: int) -> int:
        if compact and at < walk.end and walk.data[at] == 1:  # empty, as most lists of a partition
            return at + 1
        count, at = _length(walk, at, compact, 4)
        if count == -1 and nullable:
            return at
        if count < 0 or count > walk.end - at:  # nothing in a list takes less than a byte
            raise MalformedError(f"a list of {count} at byte {at} of {walk.end}")
        walk.take(count * size)
        if isinstance(item, int):
            return walk.skip(at, count * item)
        for _time in range(count):
            at = item(walk, at)
        return at

    return walk_array


def _nullable(row: Step) -> Step:
    def walk_nullable(walk: _Walk, at: int) -> int:
        present = walk.integer(at, 1)
        if present < -1:  # Kafka reads null there, and kafka-python a row
            raise MalformedError(f"a row that is neither null nor present at byte {at} of {walk.end}")
        return at + 1 if present < 0 else row(walk, at + 1)

    return walk_nullable


def _tagged(known: dict[int, Any]) -> Step:
    steps = {tag: _sequence(_joined([field])) for tag, field in known.items()}

    def walk_tagged(walk: _Walk, at: int) -> int:
        if at < walk.end and not walk.data[at]:  # nearly always
            return at + 1
        count, begin = walk.unsigned(at)
        at = begin
        last = -1
        for _time in range(count):
            tag, at = walk.unsigned(at)
            size, at = walk.unsigned(at)
            end = walk.skip(at, size)
            if tag <= last:
                raise MalformedError(f"tagged field {tag} after {last}")
            if tag in steps and steps[tag](walk, at) != end:
                raise MalformedError(f"tagged field {tag} has another size than {size}")
            walk.take(TAG)
            at, last = end, tag
        if count:
            # kafka-python copies the rest of the message here.
            walk.copied += walk.end - begin
            if walk.copied > COPIED_BYTES:
                raise MalformedError("too many tagged fields")
        return at

    return walk_tagged


def _no_tags(walk: _Walk, at: int) -> int:
    count, at = walk.unsigned(at)
    if count:
        raise MalformedError(f"{count} tagged fields inside a tagged field")
    return at
