# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What became of the records that an election costs: four numbers, which add up to all of them. Pure.

An election costs what logs of replicas have, and the log of the elected leader does not. Records are counted as offsets, each once, however many replicas
had it. So markers of transactions count, too, and offsets that compaction has removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count, number
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.epoch_segments import Segment

# Stands for a leader epoch that is not known.
_NO_EPOCH = -2


class LostRecords(NamedTuple):
    """Offsets by what became of them.

    replayed  a replay has written the record to its partition again
    saved     it is in the saved records, and was not replayed
    on_disk   only the disk of a lost broker has it
    gone      a survivor has truncated it, and it was not saved
    """

    replayed: int = 0
    saved: int = 0
    on_disk: int = 0
    gone: int = 0

    @property
    def total(self) -> int:
        """Return what the election costs."""
        return sum(self)


NUMBERS = (*LostRecords._fields, "total")


def lost_records(
    truncated: Mapping[int, tuple[int, int]],
    saved: Mapping[int, Iterable[Segment]],
    on_disk: Iterable[Segment] = (),
    replayed: Iterable[Segment] = (),
) -> LostRecords | None:
    """Return the four numbers of one partition, or None if they are not known: whether a record that was not saved is the same as another one.

    truncated  offsets that each survivor truncates, from the first one to the log end, by broker
    saved      saved records, by the broker whose log had them
    on_disk    what only disks of lost brokers have
    replayed   records that were replayed, at the offsets that they were saved from
    """
    kept = {broker: list(segments) for broker, segments in saved.items()}
    not_saved = [left for broker, (start, end) in truncated.items() for left in _without(start, end, kept.get(broker, ()))]
    known = [list(replayed), [one for segments in kept.values() for one in segments], list(on_disk)]
    others = [one for segments in known for one in segments if one.start < one.end]
    for place, one in enumerate(not_saved):
        if any(one.start < other.end and other.start < one.end for other in (*others, *not_saved[:place])):
            return None
    return LostRecords(*_counted([*known, not_saved]))


def _without(start: int, end: int, segments: Iterable[Segment]) -> Iterator[Segment]:
    """Yield the offsets of a range that no segment has."""
    for segment in sorted(segments, key=lambda one: one.start):
        if segment.start >= end:
            break
        if start < segment.start:
            yield Segment(start, segment.start, None)
        start = max(start, segment.end)
    if start < end:
        yield Segment(start, end, None)


def _counted(kinds: list[list[Segment]]) -> list[int]:
    """Return how many offsets are of each kind. What is of several kinds counts for the first of them."""
    edges = sorted(
        (_NO_EPOCH if segment.leader_epoch is None else segment.leader_epoch, offset, kind, step)
        for kind, segments in enumerate(kinds)
        for segment in segments
        for offset, step in ((segment.start, 1), (segment.end, -1))
        if segment.start < segment.end
    )
    counts, open_segments, before = [0] * len(kinds), [0] * len(kinds), 0
    for _epoch, offset, kind, step in edges:
        first = next((place for place, number in enumerate(open_segments) if number), None)
        if first is not None:
            counts[first] += offset - before
        open_segments[kind] += step
        before = offset
    return counts


def sums(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return the four numbers over partitions whose numbers are known, their total, and the numbers of partitions.

    `not_known`: partitions without numbers. `unread`: partitions of which the disk of a lost broker, that was not read, may have more.
    """
    found = {"partitions": 0, **dict.fromkeys(NUMBERS, 0), "not_known": 0, "unread": 0}
    for row in rows:
        found["partitions"] += 1
        found["not_known"] += row["total"] is None
        found["unread"] += row["unread_brokers"] != []
        for name in NUMBERS:
            found[name] += row[name] or 0
    return found


def most_first(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the partitions whose numbers are not known, then those with most records that only a disk has, or that are gone."""
    return sorted(rows, key=lambda row: (row["total"] is not None, -(row["on_disk"] or 0), -(row["gone"] or 0), -(row["total"] or 0)))


def sentence(counts: Mapping[str, int]) -> str:
    """Return the sums as a sentence without a full stop, an empty text if no election has cost a record. `counts`: as `sums` returns them."""
    if not counts["partitions"]:
        return ""
    parts = f"{number(counts['replayed'])} replayed, {number(counts['saved'])} saved, {number(counts['on_disk'])} only on a disk, {number(counts['gone'])} gone"
    text = f"{count(counts['total'], 'lost record')} of {count(counts['partitions'], 'partition')}: {parts}"
    if counts["not_known"]:
        text += f"; not known for {count(counts['not_known'], 'partition')}"
    if counts["unread"]:
        text += f"; for {count(counts['unread'], 'partition')} the disk of a lost broker was not read, and may have more"
    return text
