# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What hostile or broken files hold: values of the wrong kind, names that lead elsewhere, text that is none, JSON that says things twice."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from random import Random
from typing import Any

from hypothesis import strategies as st

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError

NESTED = 3000
# Stands in a JSON value for what Python's writer would not write: NESTED lists in each other.
DEEP = "\0deep\0"

TEXTS = (
    "", " ", "..", "../../etc/passwd", "/dev/null", "a\nb", "\r\n", "\x1b[31mred\x1b[0m", "\x07", "\x00", "\u202eoup", "\ud800", "\ufeff", "ö",
    "x" * 300, "x" * 70_000, "NaN", "-1", "0", "null", "__cluster_metadata", "orders ", "{{ 1 + 1 }}", "%s%n", "'; --", "$(id)",
)  # fmt: skip
NUMBERS = (0, -1, 1, 2, 3, 7, 2**31 - 1, 2**31, -(2**31), 2**63 - 1, 2**63, 2**200, 10**4000, 0.5, 1e308, -0.0, float("nan"), float("inf"))
OTHERS: tuple[Any, ...] = (None, True, False, [], {}, [[]], {"a": [None]}, [2, 2], DEEP)

Place = tuple[Any, Any]


def places(value: Any) -> list[Place]:
    """Every (container, key) in a JSON value."""
    found: list[Place] = []
    if isinstance(value, (dict, list)):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            found += [(value, key), *places(value[key])]
    return found


def mutate(rng: Random, value: Any, most: int = 3) -> Any:
    """A copy of a JSON value, some places of it changed: replaced, removed, doubled, swapped with another, given one key more."""
    value = copy.deepcopy(value)
    for _ in range(rng.randint(1, most)):
        everywhere = places(value)
        if not everywhere:
            break
        container, key = rng.choice(everywhere)
        how = rng.choice(("replace", "replace", "remove", "double", "swap", "add"))
        if how == "replace":
            container[key] = _anything(rng)
        elif how == "remove":
            del container[key]
        elif how == "double" and isinstance(container, list):
            container.insert(key, copy.deepcopy(container[key]))
        elif how == "swap":
            other, place = rng.choice(everywhere)
            container[key], other[place] = copy.deepcopy(other[place]), copy.deepcopy(container[key])
        elif isinstance(container, dict):
            container[rng.choice(TEXTS)] = _anything(rng)
    return value


def _anything(rng: Random) -> Any:
    return copy.deepcopy(rng.choice(rng.choice((TEXTS, NUMBERS, OTHERS))))


def mutated(value: Any) -> st.SearchStrategy[Any]:
    """Copies of a JSON value, see `mutate`."""
    return st.randoms(use_true_random=False).map(lambda rng: mutate(rng, value))


def encoded(value: Any) -> bytes:
    """JSON as anybody might write it, NaN and lone surrogates too."""
    return json.dumps(value).replace(json.dumps(DEEP), "[" * NESTED + "]" * NESTED).encode()


def _twice(content: bytes, place: int) -> bytes:
    begin = content.find(b"{", place % max(1, len(content)))
    return content[: begin + 1] + b'"topic":"a","topic":"b",' + content[begin + 1 :] if begin >= 0 else content


WAYS: dict[str, Callable[[bytes, int], bytes]] = {
    "as it is": lambda content, _: content,
    "cut off": lambda content, place: content[: place % max(1, len(content))],
    "byte order mark": lambda content, _: b"\xef\xbb\xbf" + content,
    "another encoding": lambda content, _: content.decode(errors="replace").encode("utf-16"),
    "no UTF-8": lambda content, place: content[: place % max(1, len(content))] + b"\xff\xc0" + content[place % max(1, len(content)) :],
    "a zero byte": lambda content, place: content[: place % max(1, len(content))] + b"\0" + content[place % max(1, len(content)) :],
    "a key twice": _twice,
    "more behind it": lambda content, _: content + b"{}",
    "twice": lambda content, _: content * 2,
}


def damage(rng: Random, content: bytes) -> bytes:
    """Content that is damaged in one more way, or in none."""
    return WAYS[rng.choice(list(WAYS))](content, rng.randrange(1 << 20))


def damaged(contents: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    """Contents, see `damage`."""
    return st.builds(damage, st.randoms(use_true_random=False), contents)


def assert_spoken(error: RecoveryError, file: str) -> None:
    """The error names the file and is one line that a terminal takes as text."""
    assert file in str(error)
    assert str(error).isprintable(), ascii(str(error))
    assert len(str(error)) < len(file) + 2000
