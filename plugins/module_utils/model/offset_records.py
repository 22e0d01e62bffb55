# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The records of `__consumer_offsets` with committed offsets (OffsetCommitKey and OffsetCommitValue of Kafka's group coordinator). Pure.

Clients choose the names of groups and the metadata. So every length is checked before it is used.
"""

from __future__ import annotations

import base64
import struct
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TOPIC_NAME, TopicPartition

# Versions of a key: those of an offset, and the first one of another record (the members of a group and so on).
OFFSET_KEYS, FIRST_OTHER_KEY = (0, 1), 2
TOPIC_ID_TAG = 0
_ZERO_ID = bytes(16)


class OffsetRecordError(ValueError):
    """The content of a record is not what Kafka writes; the text says what is wrong."""


class SavedOffset(NamedTuple):
    """What a group has committed on a partition, and when (ms since 1970).

    `leader_epoch`: of the last record that it has read, -1 if not known. `topic_id`: None if not known.
    """

    offset: int
    leader_epoch: int
    metadata: str
    topic_id: str | None
    committed_at: int


def key_of(key: bytes) -> tuple[str, TopicPartition] | None:
    """Return group and partition in the key of a record, None for a record of another kind. Raises OffsetRecordError."""
    reader = _Reader(key)
    if reader.number(">h") not in OFFSET_KEYS:
        return None
    group, topic, partition = reader.text(), reader.text(), reader.number(">i")
    reader.end()
    if not TOPIC_NAME.fullmatch(topic) or partition < 0:
        raise OffsetRecordError("it has a partition that Kafka does not allow")
    return group, (topic, partition)


def value_of(value: bytes) -> SavedOffset:
    """Return what a record's value says. Raises OffsetRecordError, also for a version that is not known."""
    reader = _Reader(value)
    version = reader.number(">h")
    if not 0 <= version <= 4:
        raise OffsetRecordError(f"its value has version {version}, and 0 to 4 are known")
    offset = reader.number(">q")
    epoch = reader.number(">i") if version >= 3 else -1
    metadata = reader.compact_text() if version >= 4 else reader.text()
    committed_at = reader.number(">q")
    if version == 1:
        reader.number(">q")  # the time at which it expires
    tags = reader.tags() if version >= 4 else {}
    reader.end()
    if offset < 0 or epoch < -1:
        raise OffsetRecordError("it has an offset or leader epoch that Kafka does not allow")
    topic_id = tags.get(TOPIC_ID_TAG, _ZERO_ID)
    if len(topic_id) != len(_ZERO_ID):
        raise OffsetRecordError("its topic id has not 16 bytes")
    text = None if topic_id == _ZERO_ID else base64.urlsafe_b64encode(topic_id).decode().rstrip("=")
    return SavedOffset(offset, epoch, metadata, text, committed_at)


class _Reader:
    """Reads fields one after the other. Raises OffsetRecordError if they are cut off."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, length: int) -> bytes:
        if not 0 <= length <= len(self._data) - self._at:
            raise OffsetRecordError("it is cut off")
        self._at += length
        return self._data[self._at - length : self._at]

    def number(self, form: str) -> int:
        return int(struct.unpack(form, self.take(struct.calcsize(form)))[0])

    def unsigned(self) -> int:
        value = 0
        for shift in range(0, 35, 7):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80 and value < 1 << 32:
                return value
        raise OffsetRecordError("it has a length of more than 32 bits")

    def text(self) -> str:
        return self._text(self.number(">h"))

    def compact_text(self) -> str:
        return self._text(self.unsigned() - 1)

    def _text(self, length: int) -> str:
        try:
            return self.take(length).decode()
        except UnicodeDecodeError as error:
            raise OffsetRecordError("it has a text that is not UTF-8") from error

    def tags(self) -> dict[int, bytes]:
        return {self.unsigned(): self.take(self.unsigned()) for _time in range(self.unsigned())}

    def end(self) -> None:
        if self._at != len(self._data):
            raise OffsetRecordError("bytes follow its last field")
