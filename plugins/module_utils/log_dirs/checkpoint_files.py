# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The small text files of a log dir and of a partition's folder. Pure."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, TypeVar

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numbers import MOST_INT64, whole_number
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, can_be_partition

# Bytes. Offsets of 200,000 partitions with the longest names take 50 MB; 10,000 changes of a partition's leader take 128 kB.
MOST_OFFSETS, MOST_EPOCHS, MOST_IDS = 64 << 20, 1 << 17, 1 << 16
# Rows. A short one takes forty times its bytes once it is read.
MOST_ROWS = 200_000
_UUID = re.compile(r"[A-Za-z0-9_-]{22}")
K = TypeVar("K")
V = TypeVar("V")


class Malformed(ValueError):
    """The content of a file is not what Kafka writes. The text says what is wrong."""


class Metadata(NamedTuple):
    """A meta.properties file. `directory_id`: None before KIP-858."""

    version: int
    cluster_id: str
    node_id: int
    directory_id: str | None


def meta_properties(content: bytes) -> Metadata:
    """Return what a meta.properties file of version 0 (ZooKeeper) or 1 (KRaft) has. Raises Malformed."""
    values: dict[str, str] = {}
    for line in _lines(content):
        name, sign, value = line.partition("=")
        if not line.strip() or line.lstrip().startswith(("#", "!")):
            continue
        if not sign or name.strip() in values:
            raise Malformed(f"line {line[:60]!r} is not one more setting")
        values[name.strip()] = re.sub(r"\\(.)", r"\1", value.strip())
    version = whole_number(values.get("version", ""))
    if version not in (0, 1):
        raise Malformed(f"version is {values.get('version', 'missing')[:60]!r}, not 0 or 1")
    name = "node.id" if version else "broker.id"
    node_id = whole_number(values.get(name, ""))
    if node_id is None:
        raise Malformed(f"{name} is {values.get(name, 'missing')[:60]!r}, not a number")
    cluster_id = values.get("cluster.id", "")
    if not re.fullmatch(r"[\x21-\x7e]{1,255}", cluster_id):
        raise Malformed(f"cluster.id is {cluster_id[:60]!r}, not the id of a cluster")
    directory_id = values.get("directory.id")
    if directory_id is not None and not is_uuid(directory_id):
        raise Malformed(f"directory.id is {directory_id[:60]!r}, not an id")
    return Metadata(version, cluster_id, node_id, directory_id)


def offset_checkpoint(content: bytes) -> dict[TopicPartition, int]:
    """Return the offsets of a checkpoint file for many partitions. Raises Malformed."""

    def row(line: str) -> tuple[TopicPartition, int]:
        topic, partition, offset = line.split(" ")
        number, value = whole_number(partition), whole_number(offset, MOST_INT64)
        if number is None or value is None or not can_be_partition(topic, number):
            raise ValueError
        return (topic, number), value

    return _rows(content, row)


def epoch_checkpoint(content: bytes) -> dict[int, int]:
    """Return the start offset of each leader epoch of a leader-epoch-checkpoint file. Raises Malformed, also if epochs or offsets go backwards."""

    def row(line: str) -> tuple[int, int]:
        epoch, offset = line.split(" ")
        number, value = whole_number(epoch), whole_number(offset, MOST_INT64)
        if number is None or value is None:
            raise ValueError
        return number, value

    epochs = _rows(content, row)
    if list(epochs) != sorted(epochs) or list(epochs.values()) != sorted(epochs.values()):
        raise Malformed("epochs or their start offsets go backwards")
    return epochs


@lru_cache(1000)  # many partitions have the same one
def topic_id(content: bytes) -> str:
    """Return the topic id of a partition.metadata file. Raises Malformed."""
    found = re.fullmatch(r"version: 0\r?\ntopic_id: (\S{22})\s*", _text(content))
    if found is None or not is_uuid(found[1]):
        raise Malformed("it is not version 0 with a topic_id")
    return found[1]


def is_uuid(text: str) -> bool:
    """Return whether a text is an id as Kafka writes them: 16 bytes in base64 for URLs."""
    try:
        return _UUID.fullmatch(text) is not None and len(base64.urlsafe_b64decode(text + "==")) == 16
    except (binascii.Error, ValueError):
        return False


def _rows(content: bytes, row: Callable[[str], tuple[K, V]]) -> dict[K, V]:
    """Return the rows of a checkpoint file, behind its version and their number. Kafka creates it without content, and such a file has no rows."""
    if not content:
        return {}
    if content.count(b"\n") > MOST_ROWS + 2:
        raise Malformed(f"it has more than the {MOST_ROWS} rows that are read")
    lines = _text(content).rstrip("\n").split("\n")
    version, number, lines = lines[0], lines[1] if len(lines) > 1 else "", lines[2:]
    if version != "0":
        raise Malformed(f"its version is {version[:60]!r}, not 0")
    if whole_number(number) != len(lines):
        raise Malformed(f"it has {len(lines)} rows, and says that it has {number[:60]!r}")
    rows: dict[K, V] = {}
    for place, line in enumerate(lines, start=3):
        try:
            key, value = row(line)
        except ValueError:
            raise Malformed(f"line {place} is {line[:60]!r}") from None
        if key in rows:
            raise Malformed(f"line {place} repeats {line[:60]!r}")
        rows[key] = value
    return rows


def _lines(content: bytes) -> list[str]:
    return _text(content).split("\n")


def _text(content: bytes) -> str:
    try:
        return content.decode("ascii")
    except UnicodeDecodeError as error:
        raise Malformed(f"byte {error.start} is not ASCII") from None
