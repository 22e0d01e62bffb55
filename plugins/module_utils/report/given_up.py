# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many records elections gave up, in one form for all places of the page. Pure: no I/O.

Two facts are joined. Bounds are of committed records, and come from plans. Records that were read are in logs that were truncated, or on disks of lost
brokers, committed or not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count, loss, number, range_of, verb
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome

Counts = Mapping[str, Any]
EVERYTHING_READ = "every log and disk was read"
NOTHING_PROVEN = "no loss is proven, and no upper bound is known"


def read_records(lost_records: Counts, outcomes: Mapping[str, int], given: int, cluster: str | None = None) -> dict[str, Any]:
    """Return `total`, the number of lost records that were read, and whether that is `all` of them.

    lost_records  the key of the document
    outcomes      partitions by outcome, of the cluster or of all clusters
    given         partitions that got a leader. The files count no record of those that the controller elected by itself
    cluster       None for all clusters
    """
    own = [row for row in lost_records["clusters"] if cluster in (None, row["cluster"])]
    warned = any(cluster in (None, row["cluster"]) for row in lost_records["warnings"])
    is_all = bool(own) and not warned and outcomes.get(Outcome.ELECTED, 0) == given
    total = sum(row["total"] for row in own) if cluster else lost_records["totals"]["total"]
    return {"total": total, "all": is_all and not any(row["not_known"] or row["unread"] for row in own)}


def value(bounds: Counts) -> str:
    """Return the number as a short text. `bounds`: as `phrases.total` returns them, and `read`, as `read_records` does, if elections have given up any."""
    total = _read(bounds)
    if _is_exact(bounds):
        return number(total)
    if not bounds["partitions"] or bounds["upper_bound_known"] == bounds["partitions"]:
        return range_of(bounds)
    least = max(bounds["lower_bound"] or 0, total)
    return f"{number(least)} or more" if least else "unknown"


def note(bounds: Counts) -> str:
    """Return for how many partitions the bounds are known, and what was read."""
    if _is_exact(bounds):
        return EVERYTHING_READ
    upper, partitions, total = bounds["upper_bound_known"], bounds["partitions"], _read(bounds)
    parts = [f"{number(total)} {verb(total, 'was', 'were')} read in logs or on disks, committed or not"] if total else []
    if not upper:
        parts.append("no upper bound is known" if bounds["lower_bound"] or total else NOTHING_PROVEN)
    elif upper == partitions:
        parts.append("an upper bound is known for all")
    else:
        parts.append(
            f"at most {number(bounds['upper_bound'])} in {number(upper)} of {number(partitions)} partitions, unknown in the others"
        )
    if bounds["estimate_known"]:
        parts.append(f"estimate {number(bounds['estimate'])} for {number(bounds['estimate_known'])}")
    return "; ".join(parts)


def text(bounds: Counts) -> str:
    """Return the sentence of the bounds, with the records that were read first."""
    sentence, total = loss(bounds), _read(bounds)
    if _is_exact(bounds):
        return f"{count(total, 'record')}, committed or not: {EVERYTHING_READ}"
    if not total:
        return sentence
    return (
        f"{count(total, 'record')} {verb(total, 'was', 'were')} read in logs or on disks, committed or not. Committed records: {sentence}"
    )


def _read(bounds: Counts) -> int:
    return int(bounds["read"]["total"]) if "read" in bounds else 0


def _is_exact(bounds: Counts) -> bool:
    # A consumer may have committed an offset that no log and no disk reaches.
    return bool(bounds["partitions"]) and "read" in bounds and bounds["read"]["all"] and _read(bounds) >= (bounds["lower_bound"] or 0)
