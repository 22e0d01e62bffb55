# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sentences of reports. Pure: no I/O.

An unknown value never counts as zero: sums name for how many partitions they are known, and for how many they are not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import timestamps


def number(value: int) -> str:
    """Return 1234567 as 1,234,567."""
    return f"{value:,}"


def spaced(word: str) -> str:
    """Return a code of the files, such as `no_survivor`, with spaces for underscores."""
    return word.replace("_", " ")


def count(value: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun: "1 partition", "2 partitions". `many`: the plural, None for `one` with an s."""
    return f"{number(value)} {one if value == 1 else many or one + 's'}"


def in_bytes(count: float) -> str:
    """Return a number of bytes as text with a decimal unit: 1 kB is 1,000 bytes, as Kafka's throttle rates are decimal, too."""
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count:.0f} B"


def verb(value: int, one: str, many: str) -> str:
    """Return the form of a verb that agrees with a number."""
    return one if value == 1 else many


def instant(value: datetime | None) -> str | None:
    """Return a time in the format of all files; None stays None. Times from Spark have no zone, and are in this machine's."""
    return None if value is None else timestamps.written(value)


def lasting(seconds: float) -> str:
    """Return a time span as text with its two largest units, such as "2 hours 5 minutes". A negative one is "0 seconds"."""
    rest = max(0, int(seconds))
    parts = []
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second")):
        amount, rest = divmod(rest, size)
        if amount:
            parts.append(count(amount, unit))
    return " ".join(parts[:2]) or "0 seconds"


def total(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Add up rows of `recovery_queries.by_outcome`, which count partitions of one outcome. The result has the keys of a row.

    `lower_bound`, `upper_bound` and `estimate` are sums over the partitions for which they are known, None if there are none;
    `<name>_known` counts these partitions. `lower_bound_where_upper` sums lower bounds only if the upper bound is known, too.
    """
    added: dict[str, Any] = {"partitions": sum(row["partitions"] for row in rows)}
    for name in ("lower_bound", "upper_bound", "estimate"):
        added[f"{name}_known"] = sum(row[f"{name}_known"] for row in rows)
        added[name] = sum(row[name] or 0 for row in rows) if added[f"{name}_known"] else None
    added["lower_bound_where_upper"] = sum(row["lower_bound_where_upper"] or 0 for row in rows) if added["upper_bound_known"] else None
    for name in ("truncated_records", "truncated_unknown"):
        added[name] = sum(row[name] for row in rows)
    added["with_gaps"] = sum(row["with_gaps"] for row in rows)
    added["beyond_consumers"] = sum(row["beyond_consumers"] for row in rows)
    return added


def bounds_of(loss: Mapping[str, Any]) -> dict[str, int]:
    """Return the bounds of the loss of one partition of a plan, for `range_of`. Their sums over several partitions are theirs."""
    return {
        "partitions": 1,
        **{name: loss[name] or 0 for name in ("lower_bound", "upper_bound")},
        **{f"{name}_known": int(loss[name] is not None) for name in ("lower_bound", "upper_bound")},
    }


def range_of(bounds: Mapping[str, Any]) -> str:
    """Return the bounds of rows of `total`, or of `bounds_of`, as a short text, `unknown` if none are known."""
    if not bounds["partitions"]:
        return "none"
    if not bounds["lower_bound_known"] and not bounds["upper_bound_known"]:
        return "unknown"
    least = number(bounds["lower_bound"] or 0)
    if bounds["upper_bound_known"] < bounds["partitions"]:
        return f"{least} or more"
    return least if bounds["upper_bound"] == bounds["lower_bound"] else f"{least} to {number(bounds['upper_bound'])}"


def loss(added: Mapping[str, Any]) -> str:
    """Return one sentence with the bounds of a loss, in records. `added`: as `total` returns it. Unknown bounds are named, never shown as 0."""
    partitions, upper = added["partitions"], added["upper_bound_known"]
    if not partitions:
        return "no partition to count"
    parts = []
    if upper:
        least = added["lower_bound_where_upper"] or 0
        among = _all(partitions) if upper == partitions else count(upper, "partition")
        parts.append(f"at least {number(least)}, at most {number(added['upper_bound'])} records for {among}")
    if upper < partitions:
        rest = (added["lower_bound"] or 0) - (added["lower_bound_where_upper"] or 0)
        others = _all(partitions) if not upper else count(partitions - upper, "other partition")
        # A partition of which nothing is known adds nothing to the lower bound, so the sum is true for it, too.
        if rest:
            parts.append(f"at least {number(rest)} for {others}, and no upper bound is known")
        else:
            parts.append(f"unknown for {others}: no loss of committed records is proven, and no upper bound is known")
    text = "; ".join(parts)
    if added["estimate_known"]:
        text += f". Estimate, by the rate of the last healthy snapshot: {number(added['estimate'])} for {count(added['estimate_known'], 'partition')}"
    if truncated := truncation(added):
        text += f". {capital(truncated)}"
    if added["with_gaps"]:
        text += f". In {number(added['with_gaps'])} of them there may be fewer records than offsets (compaction, transactions)"
    return text


def truncation(added: Mapping[str, Any]) -> str:
    """Return how many records survivors truncate, as a part of a sentence; empty if none. `added`: as `total` returns it."""
    known, unknown = added["truncated_records"], added["truncated_unknown"]
    parts = [count(known, "record")] if known else []
    parts += [f"an unknown number on {count(unknown, 'replica')}"] if unknown else []
    return f"truncated from survivors: {' and '.join(parts)}" if parts else ""


def _all(partitions: int) -> str:
    return "the one partition" if partitions == 1 else f"all {number(partitions)} partitions"


def capital(text: str) -> str:
    """Return a text with a capital first letter. The rest stays as it is, for example names of clusters."""
    return text[:1].upper() + text[1:]
