# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values that stand in place of right ones: in answers of a broker, and in files."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random
from typing import Any
from uuid import UUID

from simulation.wrong_batches import falsified_batches

NUMBERS = (-2, -1, 0, 1, 2, 7, 77, 2**15 - 1, 2**31 - 1, 2**62)
STEPS = (-7, -1, 1, 1, 7)
ERRORS = (3, 5, 6, 29, 30, 31, 41, 44, 56, 58, 74, 76, 9999)  # 9999: of a Kafka that does not exist yet
TEXTS: tuple[str | None, ...] = (None, "", "orders", "payments", "a b", "\x1b[31m", "x" * 3000, "9" * 40)
MANY = 3000
Place = tuple[Any, Any, tuple[str, ...]]  # an object or a list of JSON, the name or number of a value in it, and names on the way to it


def falsified(value: Any, name: str, random: Random) -> Any:
    """Return another value of the same kind."""
    match value:
        case bool():
            return not value
        case int() if name == "error_code":
            return random.choice(ERRORS) if value == 0 else 0
        case int():
            return value + random.choice(STEPS) if random.random() < 0.5 else random.choice(NUMBERS)
        case UUID():
            return UUID(int=random.choice((0, 7, 1 << 64, 1 + (1 << 64))))
        case list():
            return _other_list(value, random)
        case bytes() | bytearray() | memoryview():
            return falsified_batches(bytes(value), random)
        case _:
            return random.choice(TEXTS)


def _other_list(rows: list[Any], random: Random) -> list[Any]:
    at = random.randrange(len(rows)) if rows else 0
    ways: list[list[Any]] = [
        [],
        [*rows[:at], *rows[at + 1 :]],
        [*rows, *rows],
        [*rows, *rows[:1]],
        [*rows[::-1]],
        [*rows, *rows[-1:] * MANY],
    ]
    if all(isinstance(row, int) for row in rows):
        ways += [[*rows, 77], [*rows, -1], [1, 2, 3, 4, 5], [*rows[:at], 7, *rows[at + 1 :]]]
    return random.choice(ways)


def edited(document: Any, random: Random) -> Any:
    """Return a JSON document with one change: another value, one that is missing, one too many, or one from another place."""
    document = copy.deepcopy(document)
    places = list(_places(document))
    if not places:
        return [document]
    path = random.choice(sorted({place[2] for place in places}))
    holder, name, _path = random.choice([place for place in places if place[2] == path])
    same = [place for place in places if place[2] == path and place[0] is not holder]
    drawn = random.random()
    if drawn < 0.1:
        del holder[name]
    elif drawn < 0.15 and isinstance(holder, dict):
        holder["more"] = 1
    elif drawn < 0.35 and same:
        other, place, _path = random.choice(same)
        holder[name], other[place] = other[place], holder[name]
    elif isinstance(holder[name], dict):
        holder[name] = random.choice((None, [], 1, {}))
    else:
        holder[name] = falsified(holder[name], str(name), random)
    return document


def _places(value: Any, path: tuple[str, ...] = ()) -> Iterator[Place]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in items:
        own = (*path, name) if isinstance(name, str) else path
        yield value, name, own
        yield from _places(item, own)
