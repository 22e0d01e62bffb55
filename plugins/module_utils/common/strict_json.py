# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads JSON of files that anyone may have written, strictly, and compares it with a shape. Errors name the place and the reason.

Pure: no I/O. A shape is a type, `[shape of each element]`, `{key: shape}`, or one of the classes below. Keys that a shape lacks are accepted.
"""

from __future__ import annotations

import json
import math
import reprlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeGuard

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import printable


class ContentError(ValueError):
    """Content that cannot be used; the text begins with the place, if there is one. The caller adds the name of the file."""


@dataclass(frozen=True)
class Optional:
    """A value that may be null."""

    of: Any


@dataclass(frozen=True)
class IntRange:
    """A whole number from `low` to `high`, usually the range of its field in Kafka's protocol."""

    low: int
    high: int


@dataclass(frozen=True)
class Name:
    """A name: not empty, at most `longest` characters, none of them a control character."""

    longest: int = 255


BROKER = IntRange(0, 2**31 - 1)
EPOCH = IntRange(-1, 2**31 - 1)
OFFSET = IntRange(0, 2**63 - 1)
# A whole number beyond it cannot be computed with as a number with decimals.
_LARGEST = sys.float_info.max

_TYPE_NAMES = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "an object",
    bool: "true or false",
    type(None): "null",
}
_QUOTES = reprlib.Repr()
_QUOTES.maxlevel, _QUOTES.maxlist, _QUOTES.maxdict, _QUOTES.maxstring = 3, 12, 6, 60


class _DuplicateKeyObject(dict[str, Any]):
    """An object with a duplicate `key`."""

    key = ""


def parse(content: bytes) -> Any:
    """Return the value of a JSON text in UTF-8. Raises ContentError for other content, duplicate keys, NaN, and numbers that are too large."""
    try:
        return json.loads(content.decode(), object_pairs_hook=_once, parse_constant=_finite, parse_float=_finite)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ContentError(f"is not UTF-8 text: invalid byte at {error.start} (line {line})") from error
    except json.JSONDecodeError as error:
        raise ContentError(f"is not valid JSON: {error.msg}, line {error.lineno}, column {error.colno}") from error
    except RecursionError as error:
        raise ContentError("is nested too deeply") from error
    except _ForbiddenValueError as error:
        raise ContentError(_located(content) or str(error)) from error
    except ValueError as error:
        # Python's own limit: numbers of thousands of digits.
        raise ContentError(f"a number in it is too large: {error}") from error


class _ForbiddenValueError(ValueError):
    """JSON that a file must not contain."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    if len(unique) != len(pairs):
        raise _ForbiddenValueError("duplicate key in an object")
    return unique


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _ForbiddenValueError(f"{text:.20} is not a finite number")
    return number


def _located(content: bytes) -> str | None:
    """Return the place of the first refused value, found in a second pass that only broken files need. None if it is not found."""

    def keep(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        marked = _DuplicateKeyObject(pairs)
        keys = [key for key, _value in pairs]
        marked.key = next((key for place, key in enumerate(keys) if key in keys[:place]), "") if len(marked) != len(keys) else ""
        return marked if len(marked) != len(keys) else dict(pairs)

    try:
        for place, value in _walk(json.loads(content.decode(), object_pairs_hook=keep), ""):
            if isinstance(value, _DuplicateKeyObject):
                return f"{place or 'the file'}: duplicate key {value.key!r:.50} in an object"
            if isinstance(value, float) and not math.isfinite(value):
                return f"{place or 'the file'}: {json.dumps(value)} is not a finite number"
    except (ValueError, RecursionError):
        pass
    return None


def _walk(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    yield place, value
    if isinstance(value, dict):
        for key, part in value.items():
            name = printable(f"{key:.50}")
            yield from _walk(part, f"{place}.{name}" if place else name)
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _walk(part, f"{place}[{index}]")


def check(value: Any, shape: Any) -> None:
    """Raise ContentError for the first place at which a value does not have a shape (this file's docstring describes shapes)."""
    check_each([value], shape)


def check_each(values: Sequence[Any], shape: Any) -> None:
    """Check each of many values as `check` does, faster. Raises ContentError for the first that does not have the shape."""
    # Files have a hundred thousand values, and nearly always all of them are right.
    if not _fit(values, shape):
        for value in values:
            _check(value, shape, "")


def is_whole(value: Any) -> TypeGuard[int]:
    """Return whether a value is a whole number. Unlike for isinstance, true and false are not."""
    return isinstance(value, int) and not isinstance(value, bool)


def _fit(values: Sequence[Any], shape: Any) -> bool:
    """Return whether all values have this shape. It does not find the place, but checks a hundred thousand values as columns, in a few calls."""
    # Exact types: true and false are whole numbers to isinstance.
    kinds = set(map(type, values))
    if isinstance(shape, Optional):
        return _fit([value for value in values if value is not None] if type(None) in kinds else values, shape.of)
    if isinstance(shape, list):
        return kinds <= {list} and _fit(list(chain.from_iterable(values)), shape[0])
    if isinstance(shape, dict):
        try:
            return kinds <= {dict} and all(_fit([value[key] for value in values], part) for key, part in shape.items())
        except KeyError:
            return False
    if isinstance(shape, IntRange):
        return kinds <= {int} and (not values or shape.low <= min(values) <= max(values) <= shape.high)
    if isinstance(shape, Name):
        lengths = set(map(len, values)) if kinds <= {str} else {0}
        return (not values or 0 < min(lengths) <= max(lengths) <= shape.longest) and all(map(str.isprintable, values))
    if shape is float:
        return kinds <= {float, int} and (int not in kinds or -_LARGEST <= min(values) <= max(values) <= _LARGEST)
    return kinds <= {shape}


def _check(value: Any, shape: Any, place: str) -> None:
    if isinstance(shape, Optional):
        if value is not None:
            _check(value, shape.of, place)
        return
    expected = _type(shape)
    kind: Any = type(value)  # exactly: true and false are whole numbers to isinstance
    if kind is not expected and not (expected is float and kind is int):
        raise ContentError(f"{place or 'the file'}: expected {_TYPE_NAMES[expected]}, found {type_name(value)}")
    if shape is float and kind is int and not -_LARGEST <= value <= _LARGEST:
        raise ContentError(f"{place or 'the file'}: {shortened(value)} is too large")
    if isinstance(shape, list):
        for index, element in enumerate(value):
            _check(element, shape[0], f"{place}[{index}]")
    elif isinstance(shape, dict):
        for key, part in shape.items():
            if key not in value:
                raise ContentError(f"{place or 'the file'}: {key} is missing")
            _check(value[key], part, f"{place}.{key}" if place else key)
    elif isinstance(shape, IntRange) and not shape.low <= value <= shape.high:
        raise ContentError(f"{place}: {shortened(value)} is not between {shape.low} and {shape.high}")
    elif isinstance(shape, Name) and not (0 < len(value) <= shape.longest and value.isprintable()):
        raise ContentError(f"{place}: {shortened(value)} is not a valid name: 1 to {shape.longest} printable characters")


def type_name(value: Any) -> str:
    """Return the name of a value's JSON type, for messages."""
    return _TYPE_NAMES.get(type(value), "something else")


def shortened(value: Any) -> str:
    """Return a value as errors quote it, shortened if it is long or deep."""
    return _QUOTES.repr(value)


def _type(shape: Any) -> type:
    if isinstance(shape, IntRange):
        return int
    if isinstance(shape, Name):
        return str
    return shape if isinstance(shape, type) else type(shape)
