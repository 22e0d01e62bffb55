# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the searches cover on whose states `decide` itself is called, and what it elects and loses there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import decide
from model.answers import BALANCED, answer_all
from model.compaction import loses_a_key, removes
from model.comparison import batch_by_batch
from model.evidence import evidence
from model.figures import row, share
from model.partition import Bounds
from model.search import Findings, search

SMALL: dict[str, Any] = {"records": 2, "epochs": 2}
EVERYTHING: dict[str, Any] = {"power_cuts": True, "unclean_elections": True, "min_isr_changes": True, "eligible_leader_replicas": True}
# What can happen besides.
VARIANTS = {
    "power cuts": Bounds(2, power_cuts=True, **SMALL),
    "unclean elections": Bounds(2, unclean_elections=True, **SMALL),
    "min ISR goes from 2 to 1 and back": Bounds(2, min_isr_changes=True, **SMALL),
    "ELR": Bounds(2, eligible_leader_replicas=True, **SMALL),
    "3 epochs, power cuts, ELR": Bounds(2, records=1, epochs=3, power_cuts=True, eligible_leader_replicas=True),
    "4 replicas, 3 epochs, power cuts": Bounds(2, replicas=4, records=1, epochs=3, power_cuts=True),
    "4 replicas, 3 epochs, power cuts, ELR": Bounds(2, replicas=4, records=1, epochs=3, power_cuts=True, eligible_leader_replicas=True),
    "3 epochs, all of these": Bounds(2, records=1, epochs=3, **EVERYTHING),
    "min ISR 1, unclean elections": Bounds(1, unclean_elections=True, **SMALL),
    "4 replicas, min ISR 3": Bounds(3, replicas=4, **SMALL),
    "Kafka before 3.7": Bounds(2, records=2, epochs=3, commit_needs_min_isr=False),
}

# Compacted topics. Of which records have one key depends what the cleaner may remove: two letters, two keys.
COMPACTED = {
    "2 records of one key": Bounds(2, keys=("aa",), records=2, epochs=3),
    "3 records, the middle one of another key": Bounds(2, keys=("aba",), records=3, epochs=2),
    "keys that differ by epoch, min ISR 1": Bounds(1, keys=("ba", "aa", "aa"), records=2, epochs=3),
    "2 records of one key, ELR": Bounds(2, keys=("aa",), eligible_leader_replicas=True, **SMALL),
    "2 records of one key, min ISR goes from 2 to 1 and back": Bounds(2, keys=("aa",), min_isr_changes=True, **SMALL),
}
# The same, for the long tests.
COMPACTED_LARGER = {
    "2 records of one key, min ISR 1": Bounds(1, keys=("aa",), records=2, epochs=3),
    "3 records, the middle one of another key, min ISR 1": Bounds(1, keys=("aba",), records=3, epochs=2),
    "3 records of one key": Bounds(2, keys=("aaa",), records=3, epochs=2),
    "4 replicas, 2 records of one key": Bounds(2, keys=("aa",), replicas=4, **SMALL),
}
# There Kafka itself gives up committed records, before the partition lies without a leader.
COMPACTED_AFTER_LOSS = {
    "2 records of one key, power cuts": Bounds(2, keys=("aa",), power_cuts=True, **SMALL),
    "2 records of one key, unclean elections": Bounds(2, keys=("aa",), unclean_elections=True, **SMALL),
    "keys that differ by epoch, min ISR 1, unclean elections": Bounds(1, keys=("ba", "aa"), unclean_elections=True, **SMALL),
}
# Every search after which `decide` is called.
PLAIN = {
    "3 records, 4 epochs, min ISR 1": Bounds(1),
    "3 records, 4 epochs": Bounds(2),
    "4 replicas": Bounds(2, replicas=4, **SMALL),
    **VARIANTS,
}
ALL_COMPACTED = {**COMPACTED, **COMPACTED_LARGER, **COMPACTED_AFTER_LOSS}


def measured(bounds: Bounds) -> Counter[str]:
    """Search within the bounds, call `decide` on every state without a leader, and count."""
    findings = search(bounds)
    counted = answer_all(findings, bounds).losing()
    counted |= Counter(
        {"states": findings.states, "steps": findings.steps, "offline": len(findings.offline), "contradictions": findings.contradictions}
    )
    if bounds.keys:
        counted += compacted(findings, bounds)
    return counted


def compacted(findings: Findings, bounds: Bounds) -> Counter[str]:
    """Count what is particular about compacted logs: how many states were held while batches alone were compared, and in how many the winner has no
    record of a key of which another survivor still has an older one than was committed last."""
    counted: Counter[str] = Counter()
    for lost in findings.offline:
        placed = dict(enumerate(lost.survivors))
        known = evidence(placed)
        by_epochs, by_batches = decide(known, BALANCED), decide(evidence(placed, compare=batch_by_batch), BALANCED)
        counted["elected by batches"] += bool(by_batches.choices)
        counted["held by batches, elected"] += bool(by_epochs.choices) and not by_batches.choices
        counted["elected by batches, held"] += bool(by_batches.choices) and not by_epochs.choices
        counted["cleaned differently"] += len({(one.cleaned, len(one.log)) for one in lost.survivors}) > 1
        counted["without a key"] += any(loses_a_key(lost, winner, bounds.keys) for winner in by_epochs.choices)
        counted["removed"] += any(removes(lost, winner, bounds.keys) for winner in by_epochs.choices)
        counted[f"held: {by_epochs.reason}"] += by_epochs.reason is not None
    return counted


def coverage_table(found: Mapping[str, Counter[str]]) -> str:
    """What was looked at, and what `balanced` elects and destroys there."""
    head = ["", "states with a leader", "steps", "states without", "elected by logs", "elected with ISR history", "destroys"]
    return _table(
        head,
        found,
        lambda counted: [share(counted["elected by logs"], counted["offline"]), share(counted["elected by history"], counted["offline"])],
    )


def compacted_table(found: Mapping[str, Counter[str]]) -> str:
    """The same for compacted topics, with what was elected while batches alone were compared."""
    head = ["", "states with a leader", "steps", "states without", "cleaned differently"]
    head += ["elected before", "elected", "held before, elected now", "destroys"]
    return _table(
        head,
        found,
        lambda counted: [
            f"{counted['cleaned differently']:,}",
            share(counted["elected by batches"], counted["offline"]),
            share(counted["elected by logs"], counted["offline"]),
            f"{counted['held by batches, elected']:,}",
        ],
    )


def waiting_table(*found: tuple[Counter[str], Sequence[object]]) -> str:
    """How many registrations of a partition, with states of its brokers, were looked at, and how many of those that wait do so in vain."""
    rows = [row("", "cases", "wait", "in vain"), "|---|---|---|---|"]
    for title, (counted, in_vain) in zip(("disks that work", "disks that may fail"), found, strict=True):
        rows.append(row(title, f"{counted.total():,}", f"{counted['wait_for_clean_leader']:,}", f"{len(in_vain):,}"))
    return "\n".join(rows)


def _table(head: Sequence[str], found: Mapping[str, Counter[str]], cells: Callable[[Counter[str]], list[str]]) -> str:
    rows = [row(*head), "|---" * len(head) + "|"]
    for title, counted in found.items():
        seen = [f"{counted[name]:,}" for name in ("states", "steps", "offline")]
        rows.append(row(title, *seen, *cells(counted), f"{max(counted['lost by logs'], counted['lost by history']):,}"))
    return "\n".join(rows)
