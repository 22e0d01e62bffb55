# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts of saved records that were forged: other batches, or batches of other places, with an index, digests and a seal that fit them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import BatchError, stored_batches
from simulation.sealed_lines import sealed
from simulation.wrong_batches import FIRST_TIME, LAST_TIME, LENGTH, cut_apart, with_field, with_other_byte, with_other_field

OTHER_BROKER = 77
OTHER_TOPICS = "__transaction_state", "nothing"


class Piece(NamedTuple):
    """A row of an index, and its batches."""

    row: dict[str, Any]
    batches: list[bytes]


def forge(index: Path, random: Random) -> str | None:
    """Forge a part. `index`: of it. Return what was done, None if it has no piece that can be read."""
    part = index.with_suffix(".batches")
    try:
        header, *rows, end, _seal = map(json.loads, index.read_bytes().splitlines())
        data = part.read_bytes()
    except (ValueError, OSError):
        return None
    pieces = [Piece(row, cut_apart(data[row["position"] : row["position"] + row["bytes"]])) for row in rows]
    if not pieces:
        return None
    what = random.choice([*_WAYS])
    at = random.randrange(len(pieces))
    pieces[at : at + 1] = _WAYS[what](pieces[at], random)
    written, lines = b"", []
    for piece in pieces:
        content = b"".join(piece.batches)
        lines.append({**piece.row, "position": len(written), "bytes": len(content)})
        written += content
    part.write_bytes(written)
    end |= {"bytes": len(written), "sha256": hashlib.sha256(written).hexdigest()}
    index.write_bytes(sealed([header, *lines, end]))
    return what


def _listed(row: Mapping[str, Any], batches: list[bytes], start: int | None = None) -> Piece:
    """Return a piece whose row has these batches. A row stays as it is if they cannot be read."""
    try:
        found = list(stored_batches(b"".join(batches)))
    except BatchError:
        return Piece(dict(row), batches)
    if not found:
        return Piece(dict(row), batches)
    place = {"start_offset": found[0].base_offset if start is None else start, "end_offset": found[-1].last_offset + 1}
    return Piece({**row, **place, "batches": [list(one) for one in found]}, batches)


def _changed(change: Callable[[bytes, Random], bytes], lists: bool) -> Callable[[Piece, Random], list[Piece]]:
    """Return a way to change one batch. `lists`: whether the index has the changed one."""

    def forged(piece: Piece, random: Random) -> list[Piece]:
        at = random.randrange(len(piece.batches))
        batches = [change(one, random) if number == at else one for number, one in enumerate(piece.batches)]
        return [_listed(piece.row, batches, piece.row["start_offset"]) if lists else Piece(piece.row, batches)]

    return forged


def _without_times(batch: bytes, _random: Random) -> bytes:
    return with_field(with_field(batch, FIRST_TIME, -1), LAST_TIME, -1)


def _longer(batch: bytes, _random: Random) -> bytes:
    return with_field(batch, LENGTH, len(batch))


def _twice(piece: Piece, _random: Random) -> list[Piece]:
    return [piece, piece]


def _of_another_broker(piece: Piece, random: Random) -> list[Piece]:
    """Return what the producers have sent, and from another broker other records with the same numbers."""
    other = [with_other_byte(one, random) for one in piece.batches]
    return [piece, _listed({**piece.row, "broker_id": OTHER_BROKER}, other, piece.row["start_offset"])]


def _overlapping(piece: Piece, _random: Random) -> list[Piece]:
    first, second = piece.batches[:2], piece.batches[1:]
    return [_listed(piece.row, first, piece.row["start_offset"]), _listed(piece.row, second)] if second else [piece, piece]


def _with_gap(piece: Piece, _random: Random) -> list[Piece]:
    if len(piece.batches) < 3:
        return [piece]
    return [_listed(piece.row, piece.batches[:1], piece.row["start_offset"]), _listed(piece.row, piece.batches[2:])]


def _of_another_topic(piece: Piece, random: Random) -> list[Piece]:
    return [Piece({**piece.row, "topic": random.choice(OTHER_TOPICS)}, piece.batches)]


def _elsewhere(piece: Piece, random: Random) -> list[Piece]:
    """Return a piece whose row has other offsets than its batches."""
    name = random.choice(("start_offset", "end_offset"))
    return [Piece({**piece.row, name: piece.row[name] + random.choice((-1, 1, 100))}, piece.batches)]


_WAYS: Mapping[str, Callable[[Piece, Random], list[Piece]]] = {
    "a batch has another header": _changed(with_other_field, True),
    "a batch has another header, which its index lacks": _changed(with_other_field, False),
    "a batch has other records": _changed(with_other_byte, True),
    "a batch has no times": _changed(_without_times, True),
    "a batch is longer than it is": _changed(_longer, False),
    "a piece is there twice": _twice,
    "another broker has other records of the same producers": _of_another_broker,
    "pieces overlap": _overlapping,
    "a batch is missing": _with_gap,
    "a piece is of another topic": _of_another_topic,
    "a piece has other offsets": _elsewhere,
}
