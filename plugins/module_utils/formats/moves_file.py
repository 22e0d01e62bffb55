# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file of moves that are reviewed: which replicas partitions of one cluster get, and at which rate. Sealed with its sha256 as a plan file is.

It is made of a file of kafka_redundancy_plan, which operators may edit until then. `version`, and of each partition `topic`, `partition` and `replicas`,
are those of kafka-reassign-partitions.sh, so Kafka's tool can read it. A plan file is never a valid file of moves, nor the reverse.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import read_regular
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import (
    BROKER,
    OFFSET,
    ContentError,
    IntRange,
    Name,
    Optional,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats.plan_file import sha256
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import can_be_partition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.throttle_rate import LEAST_RATE

# Of kafka-reassign-partitions.sh, and of the fields that this collection adds.
VERSION, MOVES_VERSION = 1, 1
_RATE = IntRange(LEAST_RATE, OFFSET.high)
_ROW = {"topic": str, "partition": int, "replicas": [BROKER]}
_PLANNED: dict[str, Any] = {
    "version": int,
    "plan_id": Name(),
    "cluster": Name(),
    "cluster_id": Name(),
    "run_id": Name(),
    "created_at": Name(),
    "partitions": [{**_ROW, "replicas_before": [BROKER], "topic_id": Name(), "bytes": Optional(OFFSET)}],
    "held": [{**_ROW, "reason_code": Name(), "explanation": str}],
    "brokers": [{"broker_id": BROKER, "broker_state": Name(), "rack": Optional(str)}],
}
_SHAPE = {**_PLANNED, "moves_version": int, "throttle": Optional(_RATE), "sha256": str}


class MovesError(RecoveryError):
    """A file of moves cannot be used. The message names the file, the position in it and the remedy."""


def sealed(content: bytes, source: str | Path, throttle: int | None) -> bytes:
    """Return the file of moves for review. `content`: a file of kafka_redundancy_plan. `throttle`: bytes per second, None for no limit.

    Raises MovesError if the content cannot be used; `source` names it.
    """
    planned = _parsed(content, source)
    try:
        strict_json.check(planned, _PLANNED)
        document = {name: _only(planned[name], shape) for name, shape in _PLANNED.items()} | {
            "moves_version": MOVES_VERSION,
            "throttle": throttle,
        }
        document["sha256"] = sha256(document)
        _check(document)
    except ContentError as error:
        raise MovesError(f"{source}: {error}; make it again with kafka_redundancy_plan") from error
    return (json.dumps(document, indent=1) + "\n").encode()


def load(path: str | Path) -> dict[str, Any]:
    """Return the checked content of a file of moves. Raises MovesError if it cannot be read or used."""
    try:
        content = read_regular(Path(path))
    except OSError as error:
        raise MovesError(f"{path}: cannot be read: {error.strerror}") from error
    return parse(content, path)


def parse(content: bytes, source: str | Path) -> dict[str, Any]:
    """Return the checked moves that `content` holds. `source`: the name of the file in errors.

    Raises MovesError if it is not JSON, has a value of a wrong type, an unknown field or another version, does not match its sha256, or names a
    partition or a broker twice.
    """
    document = _parsed(content, source)
    try:
        _check(document)
    except ContentError as error:
        raise MovesError(f"{source}: {error}; propose the moves again with this version of the collection") from error
    return document


def essence(document: Mapping[str, Any]) -> Any:
    """Return what a file of moves decides, without ids, times and sizes, which differ if the same moves are planned again."""
    return document and [
        [document[name] for name in ("cluster", "cluster_id", "run_id", "throttle")],
        [[row[name] for name in ("topic", "partition", "topic_id", "replicas_before", "replicas")] for row in document["partitions"]],
        [[row[name] for name in ("topic", "partition", "reason_code")] for row in document["held"]],
    ]


def _parsed(content: bytes, source: str | Path) -> dict[str, Any]:
    try:
        document = strict_json.parse(content)
    except ContentError as error:
        raise MovesError(f"{source}: {error}") from error
    if not isinstance(document, dict):
        raise MovesError(f"{source}: expected an object with partitions, found {strict_json.type_name(document)}")
    return document


def _only(value: Any, shape: Any) -> Any:
    """Return a value without the fields that its shape lacks."""
    if isinstance(shape, list) and isinstance(shape[0], dict):
        return [{name: row[name] for name in shape[0]} for row in value]
    return value


def _check(document: dict[str, Any]) -> None:
    for name, only in (("version", VERSION), ("moves_version", MOVES_VERSION)):
        if type(document.get(name)) is not int or document[name] != only:
            raise ContentError(f"{name} {strict_json.shortened(document.get(name))} is not {only}")
    strict_json.check(document, _SHAPE)
    if document != {name: _only(document[name], shape) for name, shape in _SHAPE.items()}:
        # What the page for reviewers does not show must not be in it.
        raise ContentError("it has a field that files of moves do not have")
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
    for index, row in enumerate(document["partitions"]):
        for name in ("replicas", "replicas_before"):
            if not row[name] or len(set(row[name])) != len(row[name]):
                raise ContentError(f"partitions[{index}]: {name} {strict_json.shortened(row[name])} are not brokers, each once")
