# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The landing file: what one cluster's survivors answered, as JSON lines between a header and a seal.

Line 1 is the header, the last line the seal with the number of lines above it and the sha256 of their bytes. A file
without a valid seal was cut off, edited or belongs to something else: nobody may decide on it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.errors import SpokenError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.files import replacing

SCHEMA = 1
HEADER_FIELDS = ("schema", "cluster", "cluster_id", "run_id", "collected_at", "backend")
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


class SnapshotError(SpokenError):
    """A landing file cannot be trusted; the text says why."""


def write(path: Path, header: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> int:
    """Write header, rows and seal beside `path`, then rename. Returns the number of rows (header and seal not counted)."""
    digest = hashlib.sha256()
    count = 0
    with replacing(path) as stream:
        for row in ({"kind": "header", "schema": SCHEMA, **header}, *rows):
            line = (_encode(row) + "\n").encode()
            digest.update(line)
            stream.write(line)
            count += 1
        stream.write((_encode({"kind": "seal", "rows": count, "sha256": digest.hexdigest()}) + "\n").encode())
    return count - 1


def check(path: Path) -> dict[str, Any]:
    """Prove the seal of a landing file and return its header.

    Raises SnapshotError for a file that is missing, unreadable, truncated, changed after it was sealed, or of another kind or schema.
    """
    digest = hashlib.sha256()
    first = last = b""
    lines = 0
    try:
        with path.open("rb") as stream:
            for line in stream:
                if lines:
                    digest.update(last)
                else:
                    first = line
                last = line
                lines += 1
    except FileNotFoundError:
        raise SnapshotError("there is no landing file") from None
    except OSError as error:
        raise SnapshotError(f"cannot be read: {error.strerror}") from error
    header = _object(first, "header")
    seal = _object(last, "seal") if last.endswith(b"\n") and lines > 1 else {}
    if header.get("schema") != SCHEMA:
        raise SnapshotError(f"schema {header.get('schema')!r} is not {SCHEMA}: written by another version of the collection")
    missing = [field for field in HEADER_FIELDS if not isinstance(header.get(field), str if field != "schema" else int)]
    if missing:
        raise SnapshotError(f"the header lacks {', '.join(missing)}")
    if not seal:
        raise SnapshotError("no seal at its end: the file was cut off while it was written or copied")
    if seal.get("rows") != lines - 1 or seal.get("sha256") != digest.hexdigest():
        raise SnapshotError("the seal does not fit the content: the file was changed after it was written")
    return header


def _object(line: bytes, kind: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        value = None
    if isinstance(value, dict) and value.get("kind") == kind:
        return value
    if kind == "header":
        raise SnapshotError("it does not begin with the header of a landing file")
    return {}
