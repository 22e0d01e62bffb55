# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts of messages that name partitions and count results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count


def names(rows: Iterable[Mapping[str, Any]], total: int) -> str:
    """Return "orders-0, orders-1 and 3 more". `rows`: the first of `total` partitions."""
    shown = [f"{row['topic']}-{row['partition']}" for row in rows]
    return ", ".join(shown) + (f" and {total - len(shown)} more" if total > len(shown) else "")


def summary(counts: Mapping[str, int]) -> str:
    """Return "2 elected, 1 stale" for the number of partitions by outcome; empty if there are none."""
    return ", ".join(f"{number} {outcome}" for outcome, number in counts.items() if number)


def dry_run(done: str, counts: Mapping[str, int], otherwise: str) -> str:
    """Return "Dry run, nothing was moved. It would be: 2 moved". `done`: such as "moved"; `otherwise`: why nothing would be done, if nothing would."""
    return f"Dry run, nothing was {done}" + (f". It would be: {would}" if (would := summary(counts)) else f": {otherwise}")


def step_lines(steps: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each next step of a module, and its command on the next line, so that it can be copied."""
    lines = []
    for step in steps:
        cluster = f" in cluster {step['cluster']}" if "cluster" in step else ""
        lines.append(f"Next, for {count(step['partitions'], 'partition')}{cluster}: {step['step']}")
        if step["command"]:
            lines.append(step["command"])
    return lines
