# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes selected records to a private file, as JSON lines or Parquet. A file that has the same content already is left as it is."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import stat
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import (
    FileError,
    check_directory,
    check_inside,
    is_below,
    opened_regular,
    refuse_link,
    replacing,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.saved_folder import no_room
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.selection import SelectedRecord

with suppress(ImportError):  # optional_imports.py says why
    import orjson
    import pyarrow
    import pyarrow.parquet

_CHUNK = 1 << 20
# A row group of Parquet is written after so many records or bytes, which are in memory until then.
_GROUP_ROWS, _GROUP_BYTES = 20_000, 8 << 20
# Bytes that a header takes in memory beside its name and value.
_HEADER_BYTES = 128
_TIMESTAMP_TYPES = {False: "create", True: "append"}


class Content(NamedTuple):
    """The content of a file. `private`: whether only its owner may read and write it."""

    size: int
    sha256: str
    private: bool = True


class Exported(NamedTuple):
    """The file before and after an export, `before` None if there was none."""

    before: Content | None
    after: Content

    @property
    def changed(self) -> bool:
        """Return whether the export changes the file."""
        return self.before != self.after


def check_path(path: Path, workdir: Path) -> None:
    """Raise FileError if no private file can be written at `path`: its folder is missing or unsafe, or has saved records."""
    if is_below(workdir / "saved", path):
        raise FileError(f"{path} is among the saved records: name a file in another folder")
    try:
        check_inside(workdir, path)
        check_directory(path.parent)
        refuse_link(path)
    except FileNotFoundError:
        raise FileError(f"{path.parent} does not exist: create it, or name a file in another folder") from None
    except FileError as error:
        raise FileError(
            f"export to {path} is refused, as it would have the content of topics: {error}; or name a file in another folder"
        ) from error


def export(path: Path, fill: Callable[[BinaryIO], None], overwrite: bool, dry_run: bool) -> Exported:
    """Write a file whose content `fill` writes to a stream. Return what was there, and what is now. With `dry_run` nothing is written.

    Raises FileError if the file has another content and `overwrite` is false, or if it cannot be written.
    """
    before = _content(path)
    try:
        if dry_run:
            return _compared(path, before, _filled(None, path.parent, fill), overwrite)
        with replacing(path) as stream:
            exported = _compared(path, before, _filled(stream, path.parent, fill), overwrite)
            if not exported.changed:
                raise _SameContentError(exported)
    except _SameContentError as same:
        return same.exported
    return exported


class _SameContentError(Exception):
    """The file has this content already, so it is not replaced."""

    def __init__(self, exported: Exported) -> None:
        super().__init__()
        self.exported = exported


def _compared(path: Path, before: Content | None, after: Content, overwrite: bool) -> Exported:
    if before is not None and before[:2] != after[:2] and not overwrite:
        raise FileError(f"{path} exists with other content: set overwrite to replace it, or name another file")
    return Exported(before, after)


def _content(path: Path) -> Content | None:
    try:
        with opened_regular(path, follow=False) as stream:
            digest, size = hashlib.sha256(), 0
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
                size += len(chunk)
            status = os.fstat(stream.fileno())
            return Content(size, digest.hexdigest(), stat.S_IMODE(status.st_mode) == 0o600)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FileError(f"{path} cannot be replaced: {error.strerror}; name another file") from error


def _filled(stream: BinaryIO | None, folder: Path, fill: Callable[[BinaryIO], None]) -> Content:
    sink = _Sink(stream, folder)
    fill(sink)  # type: ignore[arg-type]
    return Content(sink.size, sink.digest.hexdigest())


class _Sink(io.RawIOBase):
    """A stream that counts and digests what is written to it. Closing it leaves the stream behind it open, which is a file in `folder`."""

    def __init__(self, stream: BinaryIO | None, folder: Path) -> None:
        super().__init__()
        self._stream, self._folder, self.digest, self.size = stream, folder, hashlib.sha256(), 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.size

    def write(self, data: Any) -> int:
        self.digest.update(data)
        if self._stream is not None:
            if reason := no_room(self._folder, len(data)):
                raise FileError(f"{reason}: make room, or name a file on another file system")
            self._stream.write(data)
        self.size += len(data)
        return len(data)


def write_jsonl(stream: BinaryIO, records: Iterable[SelectedRecord]) -> None:
    """Write one JSON object per record and line. Bytes that are not UTF-8 are base64, as the field `<name>_encoding` says. Lines are ASCII."""
    for selected in records:
        record = selected.record
        row = {
            **dict(zip(_FIELDS, _values(selected), strict=True)),
            **_text("key", record.key),
            **_text("value", record.value),
            "headers": [{**_text("key", name), **_text("value", value)} for name, value in record.headers],
        }
        stream.write(_line(row))


def _line(row: Mapping[str, Any]) -> bytes:
    """Return a line of JSON that a terminal can show: what is not ASCII, and the control character of ASCII that JSON allows, are escaped."""
    line = orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
    line = line if line.isascii() else json.dumps(row, separators=(",", ":")).encode() + b"\n"
    return line.replace(b"\x7f", b"\\u007f")


def write_parquet(stream: BinaryIO, records: Iterable[SelectedRecord]) -> None:
    """Write one row per record. Keys, values and headers are binary."""
    schema = _schema()
    with pyarrow.parquet.ParquetWriter(stream, schema, compression="zstd") as writer:
        rows: list[tuple[Any, ...]] = []
        size = 0

        def write_group() -> None:
            columns = zip(zip(*rows, strict=True), schema, strict=True)
            arrays = [pyarrow.array(column, field.type) for column, field in columns]
            writer.write_batch(pyarrow.RecordBatch.from_arrays(arrays, schema=schema))

        for selected in records:
            record = selected.record
            rows.append((*_values(selected), record.key, record.value, record.headers))
            size += (
                len(record.key or b"")
                + len(record.value or b"")
                + sum(_HEADER_BYTES + len(name) + len(value or b"") for name, value in record.headers)
            )
            if size >= _GROUP_BYTES or len(rows) >= _GROUP_ROWS:
                write_group()
                rows, size = [], 0
        if rows:
            write_group()


WRITERS = {"jsonl": write_jsonl, "parquet": write_parquet}


_FIELDS = (
    "topic", "partition", "topic_id", "broker_id", "offset", "leader_epoch", "timestamp", "timestamp_type", "producer_id", "producer_epoch",
    "transaction",
)  # fmt: skip


def _values(selected: SelectedRecord) -> tuple[Any, ...]:
    """Return the values of _FIELDS."""
    replica, batch, transaction, append_time, record = selected
    producer = (batch.producer_id, batch.producer_epoch) if batch.producer_id >= 0 else (None, None)
    return (
        replica.topic, replica.partition, replica.topic_id, replica.broker_id, record.offset, batch.epoch, record.timestamp,
        _TIMESTAMP_TYPES[append_time], *producer, transaction,
    )  # fmt: skip


def _text(name: str, data: bytes | None) -> dict[str, str | None]:
    """Return bytes as text, with the encoding in which it has them."""
    if data is None:
        return {name: None, f"{name}_encoding": None}
    try:
        return {name: data.decode(), f"{name}_encoding": "utf-8"}
    except UnicodeDecodeError:
        return {name: base64.b64encode(data).decode(), f"{name}_encoding": "base64"}


def _schema() -> Any:
    binary, text, int32, int64 = pyarrow.binary(), pyarrow.string(), pyarrow.int32(), pyarrow.int64()
    types = (text, int32, text, int32, int64, int32, pyarrow.timestamp("ms", tz="UTC"), text, int64, int32, text)
    headers = pyarrow.list_(pyarrow.struct([("key", binary), ("value", binary)]))
    return pyarrow.schema([*zip(_FIELDS, types, strict=True), ("key", binary), ("value", binary), ("headers", headers)])
