# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stretches of a log with one leader epoch. An epoch has one leader, so epoch and offset name a record, whichever log has it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Segment(NamedTuple):
    """Offsets of a log from `start` to `end` (the offset after the last one), and the leader epoch of all of them, None if it is not known."""

    start: int
    end: int
    leader_epoch: int | None


def merged(pieces: Iterable[Segment]) -> Iterator[Segment]:
    """Yield the segments of one log that are not empty, neighbours of one epoch as one. `pieces`: in the order of their offsets."""
    last: Segment | None = None
    for piece in pieces:
        if piece.start >= piece.end:
            continue
        if last is not None and (last.leader_epoch, last.end) == (piece.leader_epoch, piece.start):
            last = last._replace(end=piece.end)
            continue
        if last is not None:
            yield last
        last = piece
    if last is not None:
        yield last
