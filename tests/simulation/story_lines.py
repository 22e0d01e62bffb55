# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The story of a simulated history as sentences: its cluster, and what results of the product say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import phrases

if TYPE_CHECKING:
    from simulation.script import Script

NOTHING = "nothing"


def opening(script: Script) -> str:
    """Return what is so before anything happens: the seed, the cluster, and how it is recovered."""
    topics = "; ".join(_topic(script, topic) for topic in script.topics)
    return (
        f"seed {script.seed}: {script.brokers} brokers of Kafka {script.kafka}, eligible leader replicas (ELR) {'on' if script.elr else 'off'}; {topics}; "
        f"{'replicas are moved, then ' if script.moves else ''}strategy {script.strategy}"
    )


def _topic(script: Script, topic: str) -> str:
    replicas = ", ".join(f"{topic}-{number} on {numbers(ids)}" for number, ids in enumerate(script.topics[topic]))
    return f"{replicas} (min.insync.replicas {script.min_isr[topic]}{', compacted' if topic in script.compacted else ''})"


def numbers(values: Iterable[int]) -> str:
    """Return numbers, such as the ids of brokers, as text."""
    return ",".join(map(str, values))


def counts(values: Mapping[str, Any] | None) -> str:
    """Return counts that are not zero: `2 elected, 1 held`."""
    shown = [
        f"{counts(value)} ({kind})" if isinstance(value, Mapping) else f"{value} {phrases.spaced(str(kind))}"
        for kind, value in (values or {}).items()
        if value
    ]
    return ", ".join(shown) or NOTHING


def options(values: Mapping[str, Any]) -> str:
    """Return options of a module as an operator sees them: `topics orders, brokers 1 2`."""
    return ", ".join(f"{name} {_value(value)}" for name, value in values.items()) or "no options"


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "-".join(map(str, value.values()))
    return " ".join(map(_value, value)) or "(empty)" if isinstance(value, list) else str(value)


def configs(values: Mapping[str, str]) -> str:
    """Return configs that were set: `retention.ms=5`."""
    return ", ".join(f"{name}={value or '(empty)'}" for name, value in values.items()) or "the defaults"


def elections(result: Mapping[str, Any]) -> str:
    """Return how an election ends, partition by partition."""
    return "; ".join(map(_election, result["results"])) or "no partition is without a leader"


def _election(row: Mapping[str, Any]) -> str:
    end = row["reason_code"] if row["leader"] is None else f"broker {row['leader']}"
    return f"{row['topic']}-{row['partition']} {phrases.spaced(row['outcome'])} ({end}, {row['evidence'] or 'no evidence'})"


def ending(result: Mapping[str, Any]) -> str:
    """Return the counts of a result, its message and its warnings."""
    return "; ".join(
        one for one in (counts(result.get("summary") or result.get("counts")), result.get("msg"), *result.get("warnings", ())) if one
    )


def disk(broker: int, result: Mapping[str, Any]) -> str:
    """Return what a comparison says of the disk of a lost broker."""
    logs = ", ".join(_log(row) for row in result["partitions"]) or "no logs"
    reasons = "; ".join(("", *result["reasons"]))
    return f"the disk of broker {broker} is {'safe' if result['safe_to_start'] else 'not safe'} to start: {logs}{reasons}"


def _log(row: Mapping[str, Any]) -> str:
    saved = "" if row["saved"] is None else ", saved" if row["saved"] else ", not saved"
    return f"{row['topic']}-{row['partition']} {phrases.spaced(row['relation'])}{saved}"


def impact(run_id: str, rows: Iterable[Mapping[str, Any]]) -> str:
    """Return which groups an election affects."""
    groups = ", ".join(f"{row['group']} at {row['topic']}-{row['partition']} ({phrases.spaced(row['reason'])})" for row in rows)
    return f"the election of {run_id} affects {groups or 'no group'}"


def replay(run_id: str, result: Mapping[str, Any]) -> str:
    """Return how a replay ends."""
    found = {kind: number for kind, number in result["counts"].items() if kind not in ("partitions", "records")}
    skipped = found.pop("skipped")
    parts = [counts(found | {f"skipped: {reason}": number for reason, number in skipped.items()})]
    parts += [row["reason"] for row in result["partitions"] if row["reason"]]
    records, partitions = (phrases.count(result["counts"][f"{what}s"], what) for what in ("record", "partition"))
    return f"the replay of {run_id} ends: of {records} in {partitions} {'; '.join(parts)}"
