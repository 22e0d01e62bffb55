# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that are reviewed before they are applied: of one cluster, sealed with their sha256 as a plan file is.

What the page for reviewers does not show must not be in such a file, so a field that its format does not have is refused. A file of one kind is never a
valid file of another.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import read_regular
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import ContentError, Name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats.plan_file import sha256
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import can_be_partition

HEADER: dict[str, Any] = {"plan_id": Name(), "cluster": Name(), "cluster_id": Name(), "run_id": Name(), "created_at": Name()}
_NOTHING: Callable[[Mapping[str, Any]], None] = lambda _document: None  # noqa: E731


class ReviewedFileError(RecoveryError):
    """A file cannot be used. The message names the file, the position in it and the remedy."""


@dataclass(frozen=True)
class ReviewedFormat:
    """The format of one kind of file.

    noun      for messages
    shape     of the document, beside HEADER, `versions` and `sha256`; `partitions` and `held` are lists of objects with `topic` and `partition`
    versions  fields that have one value
    deciding  names of the fields that the file decides: of the document, and of each partition. Others differ if the same is planned again
    check     raises ContentError for what the shape does not express
    """

    noun: str
    shape: Mapping[str, Any]
    versions: Mapping[str, int]
    deciding: tuple[tuple[str, ...], tuple[str, ...]]
    check: Callable[[Mapping[str, Any]], None] = field(default=_NOTHING)

    def sealed(self, document: Mapping[str, Any], source: str | Path) -> bytes:
        """Return the file. Fields that its shape lacks are left out. Raises ReviewedFileError if the document cannot be used; `source` names it."""
        shape = {**HEADER, **self.shape}
        try:
            strict_json.check(document, shape)
            for name, only in self.versions.items():
                if document.get(name, only) != only:
                    raise ContentError(f"{name} {strict_json.shortened(document[name])} is not {only}")
            found = {**self.versions, **{name: _only(document[name], part) for name, part in shape.items()}}
            found["sha256"] = sha256(found)
            self._check(found)
        except ContentError as error:
            raise ReviewedFileError(f"{source}: {error}; plan the {self.noun} again") from error
        return (json.dumps(found, indent=1) + "\n").encode()

    def load(self, path: str | Path) -> dict[str, Any]:
        """Return the checked content of a file. Raises ReviewedFileError if it cannot be read or used."""
        try:
            content = read_regular(Path(path))
        except OSError as error:
            raise ReviewedFileError(f"{path}: cannot be read: {error.strerror}") from error
        return self.parse(content, path)

    def parse(self, content: bytes, source: str | Path) -> dict[str, Any]:
        """Return the checked document that `content` holds. `source`: the name of the file in errors.

        Raises ReviewedFileError if it is not JSON, has a value of a wrong type, an unknown field or another version, does not match its sha256, or names
        a partition twice.
        """
        document = json_object(content, source)
        try:
            self._check(document)
        except ContentError as error:
            raise ReviewedFileError(f"{source}: {error}; propose the {self.noun} again with this version of the collection") from error
        return document

    def essence(self, document: Mapping[str, Any]) -> Any:
        """Return what a file decides, without ids, times and sizes, which differ if the same is planned again."""
        fields, of_partition = self.deciding
        return document and [
            [document[name] for name in ("cluster", "cluster_id", "run_id", *fields)],
            [[row[name] for name in ("topic", "partition", "topic_id", *of_partition)] for row in document["partitions"]],
            [[row["topic"], row["partition"], row.get("reason_code")] for row in document["held"]],
        ]

    def _check(self, document: dict[str, Any]) -> None:
        for name, only in self.versions.items():
            if type(document.get(name)) is not int or document[name] != only:
                raise ContentError(f"{name} {strict_json.shortened(document.get(name))} is not {only}")
        shape = {**dict.fromkeys(self.versions, int), **HEADER, **self.shape, "sha256": str}
        strict_json.check(document, shape)
        if document != {name: _only(document[name], part) for name, part in shape.items()}:
            raise ContentError(f"it has a field that files of {self.noun} do not have")
        if document["sha256"] != sha256(document):
            raise ContentError("its sha256 does not match: the file was edited by hand")
        seen = set()
        for section in ("partitions", "held"):
            for index, row in enumerate(document[section]):
                key = row["topic"], row["partition"]
                if not can_be_partition(*key):
                    raise ContentError(f"{section}[{index}]: {strict_json.shortened(key)} cannot be a partition of Kafka")
                if key in seen:
                    raise ContentError(f"{section}[{index}]: {key[0]}-{key[1]} is named twice")
                seen.add(key)
        self.check(document)


def json_object(content: bytes, source: str | Path) -> dict[str, Any]:
    """Return a JSON object. Raises ReviewedFileError for other content."""
    try:
        document = strict_json.parse(content)
    except ContentError as error:
        raise ReviewedFileError(f"{source}: {error}") from error
    if not isinstance(document, dict):
        raise ReviewedFileError(f"{source}: expected an object with partitions, found {strict_json.type_name(document)}")
    return document


def check_replicas(document: Mapping[str, Any]) -> None:
    """Raise ContentError for a partition whose replicas, new or before, are not brokers, each once."""
    for index, row in enumerate(document["partitions"]):
        for name in ("replicas", "replicas_before"):
            if not row[name] or len(set(row[name])) != len(row[name]):
                raise ContentError(f"partitions[{index}]: {name} {strict_json.shortened(row[name])} are not brokers, each once")


def _only(value: Any, shape: Any) -> Any:
    """Return a value without the fields that its shape lacks."""
    if isinstance(shape, dict):
        return {name: _only(value[name], part) for name, part in shape.items()}
    if isinstance(shape, list) and isinstance(shape[0], dict):
        return [_only(row, shape[0]) for row in value]
    return value
