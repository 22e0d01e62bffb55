# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All partitions that a run leaves without a leader, in a few lines for a terminal. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate, pairwise
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import printable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count, number, verb
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import WITHOUT_LEADER
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, in_recovery_order

WIDTH = 120
INDENT, DEEPER = "  ", "    "
SHORT = 60


def offline_list(cluster: str, results: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the lines of the list, none if every partition has a leader. Partitions with the same outcome and reason code form one group.

    cluster  its name in the inventory
    results  the rows of a results file
    """
    groups: dict[tuple[str, str], list[TopicPartition]] = {}
    for row in results:
        if row["outcome"] in WITHOUT_LEADER:
            groups.setdefault((row["outcome"], row["reason_code"] or "unknown"), []).append((row["topic"], row["partition"]))
    if not groups:
        return []
    total = sum(map(len, groups.values()))
    lines = [f"{printable(cluster)}: {count(total, 'partition')} {verb(total, 'has', 'have')} no leader after the election:"]
    for (outcome, code), keys in sorted(groups.items(), key=lambda item: (WITHOUT_LEADER.index(item[0][0]), -len(item[1]), item[0][1])):
        lines += _wrapped(
            f"{outcome} ({printable(code)}), {number(len(keys))}: ", (text for text, _count in _pieces(sorted(keys, key=in_recovery_order)))
        )
    return lines


def ranges(numbers: Iterable[int]) -> list[str]:
    """Return numbers in ascending order as texts: `0..17` for three or more in a row, `19` for others."""
    return [text for text, _count in _counted_ranges(numbers)]


def short_list(keys: Iterable[TopicPartition], longest: int = SHORT, uncounted: int = 0) -> str:
    """Return partitions as `orders-0..17,19 audit-2`, in recovery order.

    If that has more than `longest` characters, it ends with a number: `orders-0..17 and 2 others`. The first range is there, however long.
    `uncounted`: others that are not among `keys`.
    """
    pieces = list(_pieces(sorted(set(keys), key=in_recovery_order)))
    shown = max(1, sum(1 for length in accumulate(len(text) for text, _count in pieces) if length - 1 <= longest))
    others = uncounted + sum(number for _text, number in pieces[shown:])
    return _joined(pieces[:shown]) + (f" and {count(others, 'other')}" if others else "")


def _joined(pieces: Iterable[tuple[str, int]]) -> str:
    return "".join(text for text, _count in pieces).rstrip(", ")


def _counted_ranges(numbers: Iterable[int]) -> list[tuple[str, int]]:
    ordered = sorted(set(numbers))
    ends = [0, *(place for place, (one, other) in enumerate(pairwise(ordered), 1) if other != one + 1), len(ordered)]
    runs = [ordered[begin:end] for begin, end in pairwise(ends)] if ordered else []
    return [part for run in runs for part in ([(f"{run[0]}..{run[-1]}", len(run))] if len(run) > 2 else [(str(one), 1) for one in run])]


def _pieces(keys: Iterable[TopicPartition]) -> Iterator[tuple[str, int]]:
    """Yield texts that must not be broken over lines, and how many partitions each names: each range, the first of a topic with its name."""
    topics: dict[str, list[int]] = {}
    for topic, partition in keys:
        topics.setdefault(topic, []).append(partition)
    for topic, partitions in topics.items():
        found = _counted_ranges(partitions)
        texts = [f"{printable(topic)}-{found[0][0]}", *(text for text, _count in found[1:])]
        ends = [","] * (len(texts) - 1) + [" "]
        yield from ((text + end, number) for text, end, (_text, number) in zip(texts, ends, found, strict=True))


def _wrapped(head: str, pieces: Iterable[str]) -> Iterator[str]:
    line = INDENT + head
    begun = False
    for piece in pieces:
        if begun and len(line) + len(piece.rstrip()) > WIDTH:
            yield line.rstrip()
            line = DEEPER
        line += piece
        begun = True
    yield line.rstrip()
