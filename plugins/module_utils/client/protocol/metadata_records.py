# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decodes the records of the metadata log that a partition's history consists of. Pure: no I/O, no client.

Layouts and keys are those of `common/metadata/*.json` in Kafka's metadata jar, versions as of Kafka 3.3 (the first KRaft release for
production) to 4.3. A record that is not known raises UnknownRecordError.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import NamedTuple, TypeAlias, TypeVar

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import BROKERS, STRING_BYTES
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TOPIC_NAME

NO_LEADER = -1
# Keys of records without leaders, ISRs or min.insync.replicas: registration and fencing of brokers (separate records have the effect on
# partitions), access, quotas, producer ids, delegation tokens, SCRAM, idle ticks, migration, controllers.
IRRELEVANT = frozenset((0, 1, 7, 8, 10, 11, 14, 15, 16, 17, 18, 19, 20, 21, 22, 26, 27))
TOPIC_RESOURCE, BROKER_RESOURCE = 2, 4
BROKER_ID = re.compile("[0-9]{0,10}")  # empty: all brokers

Value = TypeVar("Value")


class UnknownRecordError(ValueError):
    """The key, version or layout of a record is not known; the text names it."""


class TopicCreated(NamedTuple):
    """A topic was created. `topic_id`: in Kafka's base64 form, here and below."""

    name: str
    topic_id: str


class TopicRemoved(NamedTuple):
    """A topic was deleted, with its configuration."""

    topic_id: str


class PartitionRegistration(NamedTuple):
    """A whole partition, when it is created and in a snapshot."""

    topic_id: str
    partition: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    eligible_leader_replicas: tuple[int, ...]
    recovering: bool
    reassigning: bool


class PartitionChange(NamedTuple):
    """A change of a partition; fields that did not change are None. A `leader` that is not None begins a new leader epoch, even if it is the same.

    `recovering` (Kafka's leader recovery state): true if the leader comes from an unclean election. `reassigning`: whether replicas are being
    added or removed from now on.
    """

    topic_id: str
    partition: int
    replicas: tuple[int, ...] | None
    isr: tuple[int, ...] | None
    leader: int | None
    eligible_leader_replicas: tuple[int, ...] | None
    recovering: bool | None
    reassigning: bool | None


class ConfigChange(NamedTuple):
    """A change of a config. `value`: None if it was removed. `resource`: a topic, a broker id, or empty for the whole cluster."""

    resource_type: int
    resource: str
    name: str
    value: str | None


class FeatureLevel(NamedTuple):
    """The cluster's level of a feature from now on, for example of `metadata.version`."""

    name: str
    level: int


class EligibleReplicasCleared(NamedTuple):
    """The eligible leader replicas of a topic, or of all topics (empty), were cleared (KIP-966)."""

    topic: str


class TransactionStep(NamedTuple):
    """A step of a metadata transaction (KIP-868): begin, end or abort. Records between begin and abort do not count."""

    step: str


Record: TypeAlias = (
    "TopicCreated | TopicRemoved | PartitionRegistration | PartitionChange | "
    "ConfigChange | FeatureLevel | EligibleReplicasCleared | TransactionStep"
)


class _Reader:
    """Reads fields in Kafka's flexible encoding, one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, length: int) -> bytes:
        if length < 0 or self._at + length > len(self._data):
            raise UnknownRecordError("it ends too early")
        self._at += length
        return self._data[self._at - length : self._at]

    def integer(self, length: int) -> int:
        return int.from_bytes(self.take(length), "big", signed=True)

    def int8(self) -> int:
        return self.integer(1)

    def int32(self) -> int:
        return self.integer(4)

    def unsigned(self) -> int:
        value = 0
        for shift in range(0, 35, 7):  # five bytes hold 32 bits; longer ones take time that grows with the square of their length
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise UnknownRecordError("it has an integer of more than 32 bits")

    def uuid(self) -> str:
        return base64.urlsafe_b64encode(self.take(16)).decode().rstrip("=")

    def text_or_none(self) -> str | None:
        length = self.unsigned() - 1
        if length > STRING_BYTES:
            raise UnknownRecordError(f"it has a text of {length} bytes")
        return None if length < 0 else self.take(length).decode()

    def text(self) -> str:
        return self.text_or_none() or ""

    def _items(self, item: Callable[[], Value]) -> list[Value] | None:
        count = self.unsigned() - 1
        if count > BROKERS:  # all lists are of replicas
            raise UnknownRecordError(f"it has a list of {count}")
        return None if count < 0 else [item() for _time in range(count)]

    def int32s(self) -> tuple[int, ...]:
        return tuple(self._items(self.int32) or ())

    def uuids(self) -> tuple[str, ...]:
        return tuple(self._items(self.uuid) or ())

    def int32s_or_none(self) -> tuple[int, ...] | None:
        found = self._items(self.int32)
        return None if found is None else tuple(found)

    def tagged(self) -> dict[int, _Reader]:
        """Return the tagged fields, which end a message."""
        fields = {}
        for _time in range(self.unsigned()):
            tag = self.unsigned()
            fields[tag] = _Reader(self.take(self.unsigned()))
        return fields

    def end(self) -> None:
        """Raise UnknownRecordError if bytes follow."""
        if self._at != len(self._data):
            raise UnknownRecordError("it is longer than its layout")

    def untagged_end(self) -> None:
        """Read the end of a message without tagged fields."""
        if self.tagged():
            raise UnknownRecordError("it has a tagged field that is not known")


def decode(value: bytes) -> Record | None:
    """Decode the value of a record of the metadata log. None if it does not concern partitions; UnknownRecordError if it is not known."""
    reader = _Reader(value)
    frame, key, version = reader.unsigned(), reader.unsigned(), reader.unsigned()
    if frame != 1:
        raise UnknownRecordError(f"frame version {frame}")
    if key in IRRELEVANT:
        return None
    newest, read = READERS.get(key, (-1, None))
    if read is None or version > newest:
        raise UnknownRecordError(f"record key {key}, version {version}")
    try:
        record = read(reader, version)
        reader.end()
        return record
    except (UnknownRecordError, ValueError) as error:
        raise UnknownRecordError(f"record key {key}, version {version}: {error}") from None


def _topic(reader: _Reader, version: int) -> Record:
    record = TopicCreated(reader.text(), reader.uuid())
    if not TOPIC_NAME.fullmatch(record.name):
        raise UnknownRecordError("it has a topic name that Kafka does not allow")
    reader.untagged_end()
    return record


def _removed(reader: _Reader, version: int) -> Record:
    record = TopicRemoved(reader.uuid())
    reader.untagged_end()
    return record


def _known(tags: dict[int, _Reader], known: frozenset[int]) -> dict[int, _Reader]:
    if tags.keys() - known:
        raise UnknownRecordError(f"tagged field {min(tags.keys() - known)}")
    return tags


def _partition(reader: _Reader, version: int) -> Record:
    number, topic_id, replicas, isr = reader.int32(), reader.uuid(), reader.int32s(), reader.int32s()
    removing, adding = reader.int32s(), reader.int32s()
    leader, leader_epoch, _partition_epoch = reader.int32(), reader.int32(), reader.int32()
    if version >= 1:
        reader.uuids()  # directories
    tags = _known(reader.tagged(), frozenset((0, 1, 2)))
    recovering = 0 in tags and tags[0].int8() != 0
    eligible = tags[1].int32s() if 1 in tags else ()
    return PartitionRegistration(topic_id, number, replicas, isr, leader, leader_epoch, eligible, recovering, bool(removing or adding))


def _change(reader: _Reader, version: int) -> Record:
    number, topic_id = reader.int32(), reader.uuid()
    tags = _known(reader.tagged(), frozenset(range(9)))
    recovery = tags[5].int8() if 5 in tags else -1

    def brokers(tag: int) -> tuple[int, ...] | None:
        return tags[tag].int32s_or_none() if tag in tags else None

    leader = tags[1].int32() if 1 in tags else -2
    moving = [found for found in (brokers(3), brokers(4)) if found is not None]
    return PartitionChange(
        topic_id,
        number,
        replicas=brokers(2),
        isr=brokers(0),
        leader=None if leader == -2 else leader,
        eligible_leader_replicas=brokers(6),
        recovering=None if recovery < 0 else recovery != 0,
        reassigning=any(moving) if moving else None,
    )


def _config(reader: _Reader, version: int) -> Record:
    record = ConfigChange(reader.int8(), reader.text(), reader.text(), reader.text_or_none())
    if record.resource_type == TOPIC_RESOURCE and not TOPIC_NAME.fullmatch(record.resource):
        raise UnknownRecordError("it has a topic name that Kafka does not allow")
    if record.resource_type == BROKER_RESOURCE and not BROKER_ID.fullmatch(record.resource):
        raise UnknownRecordError("it has a broker id that Kafka does not allow")
    reader.untagged_end()
    return record


def _feature(reader: _Reader, version: int) -> Record:
    record = FeatureLevel(reader.text(), reader.integer(2))
    reader.untagged_end()
    return record


def _cleared(reader: _Reader, version: int) -> Record:
    record = EligibleReplicasCleared(reader.text())
    reader.untagged_end()
    return record


def _transaction(step: str) -> Callable[[_Reader, int], Record]:
    def read(reader: _Reader, version: int) -> Record:
        reader.tagged()  # a name or a reason
        return TransactionStep(step)

    return read


# By key: the newest version that is supported, and its reader.
READERS: dict[int, tuple[int, Callable[[_Reader, int], Record]]] = {
    2: (0, _topic),
    3: (2, _partition),
    4: (0, _config),
    5: (2, _change),
    9: (0, _removed),
    12: (0, _feature),
    23: (0, _transaction("begin")),
    24: (0, _transaction("end")),
    25: (0, _transaction("abort")),
    28: (0, _cleared),
}
