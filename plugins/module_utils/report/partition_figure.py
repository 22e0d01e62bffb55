# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The replicas of a partition as shapes with places in pixels, for the SVG of the page (page/drawing.svg.j2). Shows what the drawing as text does. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.epoch_segments import Segment
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.offset_axis import OffsetAxis
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.partition_drawing import BODIES, MARKS, facts, marked_offsets
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.partition_replicas import (
    CommittedOffset,
    DrawnReplica,
    OffsetRange,
    ReplicaState,
    Role,
)

# Pixels: of the labels, of the axis, between two offsets at least, of the ruler, of a row, and of a digit.
LABEL, AXIS, ROOM, RULER, ROW, DIGIT = 170, 670, 14, 26, 34, 8
_MARKS = ("fork", "committed", "watermark")


def figure(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return size, `ticks`, `breaks`, `rows` and `legend` of a drawing. `rows`: replicas as `DrawnReplica.as_dict` returns them."""
    replicas = [replica_of(row) for row in rows]
    marks = [mark for replica in replicas if replica.was_read for mark in marked_offsets(replica)]
    axis = OffsetAxis([offset for _name, offset in marks], AXIS, ROOM)
    drawn = [_row(replica, axis, RULER + ROW * place) for place, replica in enumerate(replicas)]
    used = {shape["kind"] for row in drawn for shape in (*row["bars"], *row["marks"])}
    words = {name: words for name, (_sign, _ascii, words) in {**MARKS, **BODIES}.items()}
    return {
        "width": LABEL + AXIS + 20,
        "height": RULER + ROW * len(drawn) + 6,
        "ticks": list(_ticks(marks, axis)),
        "breaks": [LABEL + column for column in axis.breaks],
        "rows": drawn,
        "legend": {name: words[name] for name in words if name in used},
    }


def replica_of(row: Mapping[str, Any]) -> DrawnReplica:
    """Return a replica from what `DrawnReplica.as_dict` returned."""
    return DrawnReplica(**{
        **row,
        "state": ReplicaState(row["state"]),
        "role": Role(row["role"]) if row["role"] else None,
        "epochs": tuple(Segment(**segment) for segment in row["epochs"]),
        "fork_offsets": tuple(row["fork_offsets"]),
        "committed_offsets": tuple(CommittedOffset(**committed) for committed in row["committed_offsets"]),
        "saved": tuple(OffsetRange(**saved) for saved in row["saved"]),
    })  # fmt: skip


def _row(replica: DrawnReplica, axis: OffsetAxis, top: int) -> dict[str, Any]:
    text = f"broker {replica.broker_id}: {'; '.join(facts(replica))}"
    label = [f"broker {replica.broker_id}", *([replica.role.replace("_", " ")] if replica.role else [])]
    if replica.state != ReplicaState.ALIVE:
        label.append(replica.state.replace("_", " "))
    own = list(marked_offsets(replica)) if replica.was_read else []
    return {
        "top": top,
        "label": label[0],
        "note": ", ".join(label[1:]),
        "leads": replica.role is not None,
        "text": text,
        "bars": list(_bars(replica, axis, {offset for _name, offset in own})) if replica.was_read else [],
        "marks": [
            {"kind": name, "x": LABEL + axis.column(offset), "text": f"{MARKS[name][2]} {offset}"} for name, offset in own if name in _MARKS
        ],
    }


def _bars(replica: DrawnReplica, axis: OffsetAxis, drawn: set[int]) -> Iterator[dict[str, Any]]:
    """Yield the bars of a log, later ones above earlier ones. `drawn`: its offsets that have a place on the axis."""
    for segment in replica.epochs:
        known = segment.leader_epoch is not None
        words = f"leader epoch {segment.leader_epoch}" if known else BODIES["unknown"][2]
        yield _bar("known" if known else "unknown", segment.start, segment.end, words, axis, str(segment.leader_epoch) if known else "")
    end = replica.log_end_offset or 0
    cuts = [("cut", replica.truncated_from, end)] if replica.truncated_from is not None else []
    for kind, start, stop in (*cuts, *(("saved", saved.start, saved.end) for saved in replica.saved)):
        if start in drawn and stop in drawn:
            yield _bar(kind, start, stop, BODIES[kind][2], axis)


def _bar(kind: str, start: int, end: int, words: str, axis: OffsetAxis, number: str = "") -> dict[str, Any]:
    first, last = axis.column(start), axis.column(end)
    fits = last - first >= DIGIT * (len(number) + 1)
    return {
        "kind": kind, "x": LABEL + first, "width": max(1, last - first), "number": number if fits else "", "text": f"{words}, offsets {start} to {end}",
    }  # fmt: skip


def _ticks(marks: Sequence[tuple[str, int]], axis: OffsetAxis) -> Iterator[dict[str, Any]]:
    """Yield offsets with their places, the more important ones first, without those that would overlap them."""
    order = ("fork", "end", "watermark", "committed", "start", "boundary", "body")
    taken: list[tuple[int, int]] = []
    for _name, offset in sorted(marks, key=lambda mark: (order.index(mark[0]), -mark[1])):
        half, x = DIGIT * len(str(offset)) // 2 + 3, axis.column(offset)
        if all(x + half < left or right < x - half for left, right in taken):
            taken.append((x - half, x + half))
            yield {"x": LABEL + x, "offset": offset}
