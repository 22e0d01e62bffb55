# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a start of the broker would keep of a log, by the rule of Kafka's own recovery of logs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.disk_files import DiskFile
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.segment import (
    CUT,
    Fault,
    Walk,
    goes_on,
    kafka_cuts,
    kafka_start_fails,
)


class Segment(NamedTuple):
    """A segment that was walked over.

    name          of its file
    indexed       whether it has an offset index
    cut           whether Kafka's recovery truncates it at `walk.fault`, None if it has none or that is not known
    start_fails   whether Kafka cannot load it with `walk.header_fault` after a clean shutdown
    goes_on       whether there may be records behind `walk.fault`
    """

    base_offset: int
    name: str
    indexed: bool
    walk: Walk
    cut: bool | None
    start_fails: bool
    goes_on: bool


def judged(base_offset: int, file: DiskFile, indexed: bool, walk: Walk) -> Segment:
    """Return a segment with what Kafka does about what is wrong in it. `file`: it, open."""
    cut = kafka_cuts(file, walk.fault.position) if walk.fault else None
    start_fails = bool(walk.header_fault and kafka_start_fails(file, walk.header_fault))
    return Segment(base_offset, file.name, indexed, walk, cut, start_fails, bool(walk.fault and goes_on(file, walk.fault, walk.end_offset)))


class Kept(NamedTuple):
    """What a start keeps. `end_offset`: None if it is not known, then `doubt` says why. `checked`: whether all that Kafka checks was checked."""

    end_offset: int | None
    checked: bool
    doubt: str | None = None


def kept_after_start(segments: Sequence[Segment], first_checked: int, clean_shutdown: bool) -> Kept:
    """Return what a start keeps of the segments that were walked over, which end with the last one of the log.

    first_checked   base offset of the first segment that Kafka checks without a clean shutdown: the one that has the recovery point
    clean_shutdown  whether the broker has marked that it was shut down cleanly. Then only a segment without an offset index is checked

    Without a clean shutdown each segment is read batch by batch, truncated at the first batch whose length or crc is wrong, and later ones are deleted.
    """
    last = segments[-1]
    if clean_shutdown and last.indexed:
        return _kept_unchecked(last)
    checked = [last] if clean_shutdown else [segment for segment in segments if segment.base_offset >= first_checked]
    whole = clean_shutdown or segments[0].base_offset <= first_checked
    complete = whole and all(segment.walk.start == 0 and segment.walk.crc_from <= 0 for segment in checked)
    for segment in checked:
        fault = segment.walk.fault
        if fault is None:
            continue
        if segment.cut:
            return Kept(segment.walk.end_offset, complete)
        return Kept(None, False, f"{_place(segment, fault)}; Kafka does not check this, and keeps it")
    return Kept(last.walk.header_end_offset, complete)


def _kept_unchecked(last: Segment) -> Kept:
    """Return what is kept after a clean shutdown: Kafka takes the end from the headers of the last segment."""
    fault = last.walk.header_fault
    if fault is None or fault.why == CUT:
        return Kept(last.walk.header_end_offset, True)
    then = "does not repair this, and fails to start" if last.start_fails else "does not check this"
    return Kept(None, False, f"{_place(last, fault)}; the broker was shut down cleanly, so Kafka {then}")


def _place(segment: Segment, fault: Fault) -> str:
    return f"{segment.name}, byte {fault.position}: {fault.reason}"
