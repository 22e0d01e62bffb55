# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts of sentences: numbers of things, lists of brokers, proofs, times. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from datetime import UTC, datetime, timedelta

# The Gregorian calendar repeats itself after 400 years. A datetime ends with the year 9999, a timestamp of Kafka is any int64.
_CYCLE_YEARS, _CYCLE_SECONDS = 400, 146_097 * 86_400
_LAST_YEAR_OF_FOUR_DIGITS = 9999
LONGEST_NAME, _PLAIN_NAME = 100, re.compile(r"[A-Za-z0-9_.-]+")
_TIME, _TIME_FORMAT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII), "%Y-%m-%dT%H:%M:%SZ"


def plural(count: int, one: str, many: str) -> str:
    """Return `one` for a count of 1, else `many`."""
    return one if count == 1 else many


def comma_list(numbers: Collection[int]) -> str:
    """Return numbers as "1, 2, 3"."""
    return ", ".join(map(str, numbers))


def broker_list(brokers: Collection[int]) -> str:
    """Return brokers as "broker 1" or "brokers 1, 2"."""
    return plural(len(brokers), "broker ", "brokers ") + comma_list(brokers)


def client_name(name: str) -> str:
    """Return the name of a consumer group, which its clients choose: as it is if it is plain, else in quotes, and cut.

    Explanations join sentences by semicolons. A quoted name has none, so no part of it can be read as a sentence.
    """
    if len(name) <= LONGEST_NAME and _PLAIN_NAME.fullmatch(name):
        return name
    cut = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
    return json.dumps(cut, ensure_ascii=False).replace(";", "\\u003b")


def proof_text(source: str, name: str, holder: int) -> str:
    """Return what proves records committed: the `source` of a proof, its `name`, and the broker that holds the records."""
    if source == "consumer_group":
        return f"the offset that consumer group {client_name(name)} committed"
    if source == "healthy_snapshot":
        return f"the high watermark in the healthy snapshot {name}"
    return f"the high watermark of broker {holder}"


def instant(milliseconds: int) -> str:
    """Return milliseconds since 1970 as a time in UTC, in whole seconds."""
    cycles, seconds = divmod(milliseconds // 1000, _CYCLE_SECONDS)
    time = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    year = time.year + cycles * _CYCLE_YEARS
    sign = "+" if year > _LAST_YEAR_OF_FOUR_DIGITS else ""
    return f"{sign}{year:04}{time:-%m-%dT%H:%M:%SZ}"


def milliseconds(text: str) -> int:
    """Return a time in UTC, in whole seconds, as milliseconds since 1970. ValueError for any other text."""
    if _TIME.fullmatch(text) is None:
        raise ValueError("not a time in UTC")
    return int(datetime.strptime(text, _TIME_FORMAT).replace(tzinfo=UTC).timestamp()) * 1000
