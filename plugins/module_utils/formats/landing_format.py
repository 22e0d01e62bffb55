# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The format of landing files (evidence) and its seal: header, rows, seal, in JSON Lines. Layout files and healthy snapshots have it, too.

Line 1 is the header. The last line is the seal: the number of lines above it and the sha256 of their bytes. A file without a valid seal
was truncated, edited or is of another kind, and must not be used for a decision.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

with suppress(ImportError):  # optional_imports.py says why
    import orjson

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.optional_imports import import_error
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import opened_regular, replacing
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import ContentError, Name

SCHEMA = 4
HEADER_FIELDS = ("cluster", "cluster_id", "run_id", "collected_at", "backend")
# Bytes. Much longer than the document of any partition.
LONGEST_LINE = 1 << 24


class SnapshotError(RecoveryError):
    """A sealed file cannot be used. The message gives the reason."""


def write(path: Path, header: Mapping[str, Any], rows: Iterable[Mapping[str, Any]], new: bool = False) -> int:
    """Replace `path` with header, rows and seal, whole or not at all. Returns the number of rows without header and seal.

    `header`: has HEADER_FIELDS at least; `kind` and `schema` are added. `new`: as `private_files.replacing` has it. Raises SnapshotError without
    orjson, FileError as `private_files.replacing` does.
    """
    if import_error("orjson"):
        raise SnapshotError(f"{path} cannot be written without the Python library orjson: pip install orjson")
    digest = hashlib.sha256()
    count = 0
    with replacing(path, new) as stream:
        for row in chain([{"kind": "header", "schema": SCHEMA, **header}], rows):
            line = _line(path, row)
            digest.update(line)
            stream.write(line)
            count += 1
        stream.write(_line(path, {"kind": "seal", "rows": count, "sha256": digest.hexdigest()}))
    return count - 1


def _line(path: Path, row: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError as error:
        raise SnapshotError(f"{path} cannot be written, because a broker has sent an impossible value: {error}") from error


def check(path: Path) -> dict[str, Any]:
    """Check the seal of a file and return its header.

    Raises SnapshotError if the file is missing, unreadable, truncated, changed after it was sealed, or of another kind or schema.
    """
    digest = hashlib.sha256()
    first = last = b""
    lines = 0
    try:
        with opened_regular(path, follow=False) as stream:
            while line := stream.readline(LONGEST_LINE + 1):
                if len(line) > LONGEST_LINE:
                    raise SnapshotError(f"line {lines + 1} is longer than {LONGEST_LINE} bytes: no collected row is so long")
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
    header = _header(first)
    seal = _seal(last) if lines > 1 else None
    if seal is None:
        raise SnapshotError("no seal at its end: the file was cut off while it was written or copied")
    if seal != {"kind": "seal", "rows": lines - 1, "sha256": digest.hexdigest()}:
        raise SnapshotError("the seal does not match the content: the file was changed after it was written")
    return header


def header_of(path: Path) -> dict[str, Any]:
    """Return the header of a file without a check of its seal. Raises SnapshotError if the file cannot be read or has no valid header."""
    try:
        with opened_regular(path, follow=False) as stream:
            return _header(stream.readline(LONGEST_LINE))
    except OSError as error:
        raise SnapshotError(f"cannot be read: {error.strerror}") from error


def _header(line: bytes) -> dict[str, Any]:
    try:
        header = strict_json.parse(line)
    except ContentError as error:
        raise SnapshotError(f"it does not begin with the header of a landing file: {error}") from error
    if not isinstance(header, dict) or header.get("kind") != "header":
        raise SnapshotError("it does not begin with the header of a landing file")
    schema = header.get("schema")
    if schema != SCHEMA or isinstance(schema, bool):
        raise SnapshotError(
            f"schema {strict_json.shortened(schema)} is not {SCHEMA}: written by another version of the collection; set the file aside and collect again"
        )
    missing = [field for field in HEADER_FIELDS if field not in header]
    if missing:
        raise SnapshotError(f"the header lacks {', '.join(missing)}")
    try:
        strict_json.check(header, dict.fromkeys(HEADER_FIELDS, Name()))
    except ContentError as error:
        raise SnapshotError(f"the header, {error}") from error
    return header


def _seal(line: bytes) -> dict[str, Any] | None:
    try:
        seal = strict_json.parse(line)
    except ContentError:
        return None
    return seal if line.endswith(b"\n") and isinstance(seal, dict) and seal.get("kind") == "seal" else None
