# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which values the fields of evidence documents and headers may have: bounds, and a check for each kind of field.

Pure, and nothing but Python's standard library: this travels to the workers of Spark by value.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeGuard

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.phrases import milliseconds

UINT32 = 2**32 - 1
INT16, INT32, INT64 = 2**15 - 1, 2**31 - 1, 2**63 - 1
LONGEST_INTEGER = 20  # digits, with the sign: no int64 has more
MOST_REPLICAS = 32
MOST_CHANGES, MOST_PROOFS = 20_000, 5_000
LONGEST_TEXT = 4096
MOST_PATHS, LONGEST_PATH = 8, 255
COMPAT, NATIVE = BACKENDS = ("compat", "native")
MOST_BROKERS, MOST_ABSENT = 10_000, 500_000
# As Kafka's Topic.validate: "." and ".." are not valid names.
_TOPIC = re.compile(r"(?!\.{1,2}\Z)[a-zA-Z0-9._-]{1,249}")
_TOPIC_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
# JSON can write half a character, which no file or terminal takes.
_SURROGATE = re.compile(r"[\ud800-\udfff]")

Check = Callable[[Any], bool]


def whole(low: int, high: int) -> Check:
    """Return a check that accepts integers from `low` to `high`."""
    return lambda value: type(value) is int and low <= value <= high


def is_id(value: Any) -> TypeGuard[int]:
    """Return whether this can be the id of a broker, or the number of a partition."""
    return type(value) is int and 0 <= value <= INT32


# Most fields may be null. These checks do what `maybe` would do, without a second call for each of millions of values.


def whole_or_null(low: int, high: int) -> Check:
    """Return a check that accepts integers from `low` to `high`, and None."""
    return lambda value: value is None or (type(value) is int and low <= value <= high)


def maybe(check: Check) -> Check:
    """Return a check that accepts None, and what `check` accepts."""
    return lambda value: value is None or check(value)


def is_boolean(value: Any) -> bool:
    """Return whether this is true or false."""
    return type(value) is bool


def is_text(value: Any) -> bool:
    """Return whether this is a text of at most LONGEST_TEXT characters that files and terminals take."""
    return type(value) is str and len(value) <= LONGEST_TEXT and (value.isascii() or _SURROGATE.search(value) is None)


def boolean_or_null(value: Any) -> bool:
    """Return whether this is true, false or None."""
    return value is None or type(value) is bool


def text_or_null(value: Any) -> bool:
    """Return whether this is a text (see `is_text`) or None."""
    return value is None or is_text(value)


def brokers_at_most(most: int) -> Check:
    """Return a check that accepts lists of at most `most` broker ids, none of them twice."""

    def check(value: Any) -> bool:
        if type(value) is not list or len(value) > most:
            return False
        return not value or (all(map(is_id, value)) and len({*value}) == len(value))

    return check


def paths_or_null(value: Any) -> bool:
    """Return whether these are at most MOST_PATHS printable paths, or None."""
    if value is None:
        return True
    return (
        type(value) is list
        and len(value) <= MOST_PATHS
        and all(is_text(path) and len(path) <= LONGEST_PATH and path.isprintable() for path in value)
    )


def is_number(value: Any) -> bool:
    """Return whether this is a number from 0 to INT64."""
    return type(value) in (int, float) and 0 <= value <= INT64


def is_topic(value: Any) -> TypeGuard[str]:
    """Return whether Kafka could have a topic of this name."""
    return type(value) is str and _TOPIC.fullmatch(value) is not None


def is_topic_id(value: Any) -> bool:
    """Return whether this can be the id of a topic: a UUID as Kafka's tools write it."""
    return type(value) is str and _TOPIC_ID.fullmatch(value) is not None


def is_time(value: Any) -> bool:
    """Return whether this is a time in UTC, as `timestamps` writes it, after 1970."""
    try:
        return type(value) is str and milliseconds(value) > 0
    except ValueError:
        return False


def are_options(value: Any) -> bool:
    """Return whether these are options of a collection of evidence, as the header of a landing file names them."""
    if type(value) is not dict or not value.keys() <= {"duration", "named"}:
        return False
    return is_number(value.get("duration", 0)) and is_boolean(value.get("named", False))


def list_at_most(most: int) -> Check:
    """Return a check that accepts lists of at most `most` values, whatever these are."""
    return lambda value: type(value) is list and len(value) <= most


int32, offset = whole(-1, INT32), whole(0, INT64)
brokers = brokers_at_most(MOST_REPLICAS)
id_or_null, epoch_or_null = whole_or_null(0, INT32), whole_or_null(-1, INT32)
offset_or_null, moment_or_null = whole_or_null(0, INT64), whole_or_null(-INT64, INT64)
