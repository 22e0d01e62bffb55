# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The replicas of a partition drawn as lines of text on one axis of offsets, with a line of facts for each, and a legend. Pure.

Only what is known is drawn. A leader epoch that is not known is a row of dots.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise
from textwrap import wrap

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import quoted
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import lasting
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.offset_axis import OffsetAxis
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.partition_replicas import (
    DrawnReplica,
    ReplicaState,
    Role,
)

NARROWEST, WIDEST = 60, 1000
# Committed offsets that are drawn in one log, the greatest first.
MOST_COMMITTED = 3
LONGEST_NAME = 60
# Signs by name: the character, the one of ASCII, and what the legend says. Of two marks in one column the earlier one of this list is drawn.
MARKS = {
    "fork": ("╬", "X", "fork"),
    "committed": ("◆", "*", "committed offset"),
    "watermark": ("▲", "^", "high watermark"),
    "end": ("┤", "]", "log end"),
    "boundary": ("┼", "+", "next leader epoch"),
    "start": ("├", "[", "log start"),
}
BODIES = {
    "known": ("─", "-", "leader epoch, with its number"),
    "unknown": ("·", ".", "leader epoch not known"),
    "saved": ("▓", "=", "truncated by the election, and saved"),
    "cut": ("▒", "#", "truncated by the election"),
    "cut_unknown": ("░", ":", "truncated by the election, leader epoch not known"),
    "break": ("≈", "/", "the axis is broken"),
    "unread": ("?", "?", "log not read"),
    "tick": ("┬", "+", ""),
    "axis": ("─", "-", ""),
}
ROLES: dict[str, tuple[str, str, str]] = {
    Role.LEADER: ("★", ">", "leader"),
    Role.DESIGNATED: ("★", ">", "designated leader"),
    Role.CANDIDATE: ("☆", "~", "candidate"),
}
SIGNS: dict[str, tuple[str, str, str]] = {**MARKS, **BODIES, **ROLES}
_STATES = {
    ReplicaState.ALIVE: "alive",
    ReplicaState.FENCED: "fenced, and answers",
    ReplicaState.READ_FROM_DISK: "lost, its disk was read",
    ReplicaState.LOST: "lost: fenced, and not read",
    ReplicaState.COMING_BACK: "coming back, not read",
    ReplicaState.SILENT: "alive, and did not answer",
    ReplicaState.DISK_FAILED: "its disk has failed",
    ReplicaState.ERROR: "not read",
    ReplicaState.NOT_READ: "not in the evidence",
}


def harmless(text: str, ascii_only: bool = False, longest: int | None = None) -> str:
    """Return an untrusted text as one line whose letters have one column each and go from left to right; others are escaped.

    `longest`: the number of letters after which it is cut, None for all.
    """
    line = quoted(text, len(text) if longest is None else longest)
    line = "".join(letter if _is_narrow(letter) else ascii(letter)[1:-1] for letter in line)
    return "".join(letter if letter.isascii() else ascii(letter)[1:-1] for letter in line.replace("…", "...")) if ascii_only else line


def _is_narrow(letter: str) -> bool:
    if letter.isascii():
        return True
    sideways = unicodedata.bidirectional(letter) in ("R", "AL", "AN") or unicodedata.category(letter).startswith("M")
    return not sideways and unicodedata.east_asian_width(letter) not in ("W", "F")


def paragraph(text: str, width: int, ascii_only: bool = False) -> list[str]:
    """Return an untrusted text as lines of at most `width` columns."""
    return wrap(harmless(text, ascii_only), width, break_on_hyphens=False)


def draw(replicas: Sequence[DrawnReplica], width: int = 100, ascii_only: bool = False) -> list[str]:
    """Return the axis, one line for each replica, a blank line, their facts, a blank line, and the legend of what is drawn."""
    labels = [_label(replica, ascii_only) for replica in replicas]
    margin = max(map(len, labels), default=0) + 1
    axis, rows = rows_of(replicas, width - margin)
    signs = {name: each[1 if ascii_only else 0] for name, each in SIGNS.items()}
    lines = [" " * margin + line for line in _ruler(axis, replicas, width - margin, signs)]
    drawn: set[str] = {replica.role for replica in replicas if replica.role}
    for replica, label, row in zip(replicas, labels, rows, strict=True):
        lines.append((label.ljust(margin) + "".join(signs.get(cell, cell) for cell in row)).rstrip())
        drawn |= {*row} & {*SIGNS}
        if not replica.was_read:
            drawn.add("unread")
            lines[-1] = f"{label.ljust(margin)}{signs['unread']}"
    fact_lines = [line for replica in replicas for line in _facts_lines(replica, width, ascii_only)]
    return [line.rstrip() for line in [*lines, "", *fact_lines, "", *_legend(drawn, signs, width)]]


def rows_of(replicas: Sequence[DrawnReplica], width: int) -> tuple[OffsetAxis, list[list[str]]]:
    """Return the axis and the cells of each replica, empty if its log was not read. A cell is the name of a sign of SIGNS, a blank or a digit."""
    epochs = [segment.leader_epoch for replica in replicas for segment in replica.epochs if segment.leader_epoch is not None]
    offsets = [offset for replica in replicas if replica.was_read for _name, offset in marked_offsets(replica)]
    axis = OffsetAxis(offsets, width, room=2 + len(str(max(epochs, default=0))))
    return axis, [_cells(replica, axis, width) if replica.was_read else [] for replica in replicas]


def marked_offsets(replica: DrawnReplica) -> Iterator[tuple[str, int]]:
    """Yield what has a place of its own: offsets with the name of their mark (MARKS), or `body` where the body changes. Only of a log that was read."""
    yield "start", replica.start
    known_ends = {segment.end for segment in replica.epochs if segment.leader_epoch is not None}
    for segment in replica.epochs[1:]:
        yield "boundary" if segment.start in known_ends and segment.leader_epoch is not None else "body", segment.start
    yield "end", replica.log_end_offset or 0
    inside = range(replica.start, (replica.log_end_offset or 0) + 1)
    if replica.high_watermark and replica.high_watermark in inside:
        yield "watermark", replica.high_watermark
    yield from (("committed", each.offset) for each in replica.committed_offsets[:MOST_COMMITTED] if each.offset in inside)
    yield from (("fork", offset) for offset in replica.fork_offsets if offset in inside)
    for offsets in ((replica.truncated_from,), *((saved.start, saved.end) for saved in replica.saved)):
        yield from (("body", offset) for offset in offsets if offset is not None and offset in inside)


def _cells(replica: DrawnReplica, axis: OffsetAxis, width: int) -> list[str]:
    cells, marks = [" "] * width, [*marked_offsets(replica)]
    last = axis.column(replica.log_end_offset or 0)
    for segment in replica.epochs:
        first, end = axis.column(segment.start), axis.column(segment.end)
        cells[first:end] = ["unknown" if segment.leader_epoch is None else "known"] * (end - first)
    if replica.truncated_from is not None and ("body", replica.truncated_from) in marks:
        for place in range(axis.column(replica.truncated_from), last):
            cells[place] = "cut" if cells[place] == "known" else "cut_unknown"
    for saved in replica.saved:
        if ("body", saved.start) in marks and ("body", saved.end) in marks:
            first, end = axis.column(saved.start), axis.column(saved.end)
            cells[first:end] = ["saved"] * (end - first)
    taken = {axis.column(offset) for name, offset in marks if name in MARKS}
    for segment in replica.epochs:
        _write_epoch(cells, segment.leader_epoch, range(axis.column(segment.start), axis.column(segment.end)), taken, axis.breaks)
    for place in axis.breaks:
        if axis.column(replica.start) <= place < last:
            cells[place : place + 2] = ["break"] * 2
    for mark in reversed(MARKS):
        for name, offset in marks:
            if name == mark:
                cells[axis.column(offset)] = mark
    return cells


def _write_epoch(cells: list[str], epoch: int | None, columns: range, taken: set[int], breaks: Sequence[int]) -> None:
    """Write the number of an epoch into the widest stretch of its segment without a mark, in the middle, if it fits."""
    stops = sorted(
        {columns.start - 1, columns.stop, *(taken & {*columns}), *(at + add for at in breaks for add in (0, 1) if at in columns)}
    )
    room, after = max(((end - start - 1, start) for start, end in pairwise(stops)), default=(0, 0))
    digits = "" if epoch is None else str(epoch)
    if digits and room >= len(digits):
        place = after + 1 + (room - len(digits)) // 2
        cells[place : place + len(digits)] = digits


def _ruler(axis: OffsetAxis, replicas: Sequence[DrawnReplica], width: int, signs: dict[str, str]) -> list[str]:
    """Return a line of offsets and a line of ticks below them, nothing if no log was read."""
    if not axis.offsets:
        return []
    numbers, ticks = [" "] * width, ["axis"] * (axis.column(axis.offsets[-1]) + 1)
    found = [each for replica in replicas if replica.was_read for each in marked_offsets(replica)]
    order = ("fork", "end", "watermark", "committed", "start", "boundary", "body")
    for _name, offset in sorted(found, key=lambda each: (order.index(each[0]), -each[1])):
        text, column = str(offset), axis.column(offset)
        place = max(0, min(column, width - len(text)))
        around = numbers[max(0, place - 1) : place + len(text) + 1]
        if ticks[column] == "axis" and not "".join(around).strip():
            numbers[place : place + len(text)], ticks[column] = text, "tick"
    for place in axis.breaks:
        ticks[place : place + 2] = ["break"] * 2
    return ["".join(numbers), "".join(signs[tick] for tick in ticks)]


def _label(replica: DrawnReplica, ascii_only: bool) -> str:
    sign = ROLES[replica.role][1 if ascii_only else 0] if replica.role else " "
    state = "" if replica.state == ReplicaState.ALIVE else f" {replica.state.replace('_', ' ')}"
    return f"{sign} broker {replica.broker_id}{state}"


def _facts_lines(replica: DrawnReplica, width: int, ascii_only: bool) -> list[str]:
    text = harmless(f"broker {replica.broker_id}: {'; '.join(facts(replica, ascii_only))}", ascii_only)
    return wrap(text, width, subsequent_indent="  ", break_on_hyphens=False)


def facts(replica: DrawnReplica, ascii_only: bool = False) -> Iterator[str]:
    """Yield what is known of a replica, as parts of a sentence."""
    yield _STATES[replica.state]
    if replica.error:
        yield f"error {harmless(replica.error, ascii_only, LONGEST_NAME)}"
    if replica.silent_seconds is not None and replica.state in (
        ReplicaState.FENCED,
        ReplicaState.READ_FROM_DISK,
        ReplicaState.LOST,
        ReplicaState.COMING_BACK,
    ):
        yield f"silent for {lasting(replica.silent_seconds)}"
    lists = ((replica.in_isr, "ISR"), (replica.in_elr, "ELR"), (replica.in_last_known_elr, "last known ELR"))
    if any(listed for listed, _name in lists):
        yield f"in {' and '.join(name for listed, name in lists if listed)}"
    if replica.role:
        yield replica.role.replace("_", " ")
    if replica.was_read:
        empty = replica.start == replica.log_end_offset
        yield f"empty, at offset {replica.start}" if empty else f"offsets {replica.start} to {replica.log_end_offset}"
    if replica.high_watermark is not None:
        yield f"high watermark {replica.high_watermark}"
    for each in replica.committed_offsets[:MOST_COMMITTED]:
        name = harmless(each.name or "", ascii_only, LONGEST_NAME)
        yield f"committed offset {each.offset} ({each.source.replace('_', ' ')} {name})".replace(" )", ")")
    if len(replica.committed_offsets) > MOST_COMMITTED:
        yield f"{len(replica.committed_offsets) - MOST_COMMITTED} more committed offsets"
    if replica.fork_offsets:
        yield f"forks at {', '.join(map(str, replica.fork_offsets))}"
    if replica.truncates:
        yield "truncates a part that is not known" if replica.truncated_from is None else f"truncates from {replica.truncated_from} on"
    for saved in replica.saved:
        yield f"saved {saved.start} to {saved.end}"


def _legend(drawn: set[str], signs: dict[str, str], width: int) -> list[str]:
    """Return what each sign that is drawn means, in lines. Of two marks in one column the one that comes first here is drawn."""
    entries = [f"{signs[name]} {words}" for name, (_sign, _ascii, words) in SIGNS.items() if name in drawn and words]
    lines: list[str] = []
    for entry in entries:
        if lines and len(lines[-1]) + 3 + len(entry) <= width:
            lines[-1] += f"   {entry}"
        else:
            lines.append(entry)
    return [*lines, "(of marks in one column, the first of this list is drawn)"] if {*MARKS} & drawn else lines
