# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The story of a simulated history as sentences: its cluster, and what results of the product say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import phrases

if TYPE_CHECKING:
    from simulation.kraft import Key, Partition
    from simulation.logs import Batch
    from simulation.script import Script

NOTHING = "nothing"
# Names of runs and of control nodes, with what they are.
RUNS = {
    r"rehearsal": "a run that must change nothing, before the first one",
    r"wrong-\d+": "runs in check mode, before the first one, while a broker answers wrongly",
    r"metadata-\d+": "runs in check mode, before the first one, by metadata logs that no controller of today writes",
    r"preflight": "the check of permissions",
    r"commands": "records that are saved without an election",
    r"damaged": "elections by edited evidence and an edited plan",
    r"first": "the first recovery, or in a history of moves the first moves",
    r"second": "another control node that works at the same time",
    r"again": "the recovery after it, while what that one has sent may still be carried out",
    r"looks": "a run in check mode after a killed one",
    r"after": "the recovery after the moves, which removes a throttle that has expired",
    r"later-\d+": "recoveries after the first one, each with damage before it, faults, a kill or a signal",
    r"last-\d+": "recoveries, or moves, in peace: all faults have ended",
    r"operator": "a control node that runs other commands",
    r"named": "an election of leaders that an operator names, so that records can be replayed to these partitions",
    r"rescue(?:-early)?": "what the disks of lost brokers say",
    r"replay": "a replay of saved records while faults strike",
    r"last replay": "a replay in peace",
}


def opening(script: Script) -> str:
    """Return what is so before anything happens: the seed, the cluster, and how it is recovered."""
    topics = "; ".join(_topic(script, topic) for topic in script.topics)
    return (
        f"seed {script.seed}: {script.brokers} brokers of Kafka {script.kafka}, eligible leader replicas (ELR) {'on' if script.elr else 'off'}; {topics}; "
        f"{'replicas are moved, then ' if script.moves else ''}strategy {script.strategy}"
    )


def names_of_runs(story: Iterable[str]) -> Iterator[str]:
    """Yield what the names of runs and control nodes in a story mean."""
    text = "\n".join(story)
    for name, meaning in RUNS.items():
        found = re.search(
            rf"^t=\S+ (?:the (?:replay|impact|election) of )?({name})(?: \([a-z ]+\))? (?:ends|fails|is killed|gets SIGTERM|affects)",
            text,
            re.M,
        )
        if found:
            yield f"{re.sub(r'-[0-9]+$', '-N', found[1])}: {meaning}"


def written(key: Key, broker: int, batch: Batch, how: str = "writes") -> str:
    """Return what a broker appends to its log."""
    offsets = f"offset {batch.base}" if batch.base == batch.last else f"offsets {batch.base} to {batch.last}"
    return f"broker {broker} {how} {offsets} of {key[0]}-{key[1]}, epoch {batch.epoch}: {batch.name[:20]}"


def copied(key: Key, broker: int, batches: Sequence[Batch], leader: int) -> str:
    """Return what a follower copies from the leader."""
    return f"broker {broker} copies {key[0]}-{key[1]} from broker {leader}, up to offset {batches[-1].last}"


def truncated(key: Key, broker: int, batches: Sequence[Batch], leader: int) -> str:
    """Return what a follower truncates, because the leader does not have it."""
    names, epochs = numbers(batch.name[:20] for batch in batches), numbers(dict.fromkeys(batch.epoch for batch in batches))
    return (
        f"broker {broker} truncates {key[0]}-{key[1]} from offset {batches[0].base} on, as broker {leader} leads: {names}, epoch {epochs}"
    )


def lost(key: Key, broker: int, batches: Sequence[Batch]) -> str:
    """Return what a broker has lost from the end of a log, which its operating system had not written."""
    names = numbers(batch.name[:20] for batch in batches)
    return f"broker {broker} has lost {key[0]}-{key[1]} from offset {batches[0].base} on: {names}"


def changed(key: Key, before: Partition | None, after: Partition) -> str | None:
    """Return how the controller has changed the leader, the ISR or the ELR of a partition, None if it has changed none of them."""
    if before is not None and (before.leader, before.isr, before.elr) == (after.leader, after.isr, after.elr):
        return None
    leader = "no leader" if after.leader < 0 else f"leader {after.leader}"
    elr = f", ELR {numbers(after.elr)}" if after.elr else ""
    return f"{key[0]}-{key[1]}: {leader} in epoch {after.epoch}, ISR {numbers(after.isr) or 'empty'}{elr}"


def _topic(script: Script, topic: str) -> str:
    replicas = ", ".join(f"{topic}-{number} on {numbers(ids)}" for number, ids in enumerate(script.topics[topic]))
    return f"{replicas} (min.insync.replicas {script.min_isr[topic]}{', compacted' if topic in script.compacted else ''})"


def numbers(values: Iterable[object]) -> str:
    """Return numbers, such as the ids of brokers, or names as text."""
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
