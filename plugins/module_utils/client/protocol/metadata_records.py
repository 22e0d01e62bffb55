# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decodes the records of the metadata log that a partition's history consists of. Pure: no I/O, no client.

Layouts and keys are those of `common/metadata/*.json` in Kafka's metadata jar, versions as of Kafka 3.3 (the first KRaft release for
production) to 4.4. A record that is not known raises UnknownRecordError.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias, TypeVar

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import BROKERS, STRING_BYTES
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TOPIC_NAME

NO_LEADER = -1
# Keys of records without leaders, ISRs or min.insync.replicas: registration and fencing of brokers (separate records have the effect on
# partitions), access, quotas, producer ids, delegation tokens, SCRAM, idle ticks, migration, controllers.
IRRELEVANT = frozenset((0, 1, 7, 8, 10, 11, 14, 15, 16, 17, 18, 19, 20, 21, 22, 26, 27, 29))
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


def _present(value: Value | None) -> Value:
    if value is None:
        raise UnknownRecordError("it has null where Kafka allows none")
    return value


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
            if byte < 0x80 and not value >> 32:
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
        return _present(self.text_or_none())

    def _items(self, item: Callable[[], Value]) -> list[Value] | None:
        count = self.unsigned() - 1
        if count > BROKERS:  # all lists are of replicas
            raise UnknownRecordError(f"it has a list of {count}")
        return None if count < 0 else [item() for _time in range(count)]

    def int32s(self) -> tuple[int, ...]:
        return tuple(_present(self._items(self.int32)))

    def uuids(self) -> tuple[str, ...]:
        return tuple(_present(self._items(self.uuid)))

    def int32s_or_none(self) -> tuple[int, ...] | None:
        found = self._items(self.int32)
        return None if found is None else tuple(found)

    def uuids_or_none(self) -> tuple[str, ...] | None:
        found = self._items(self.uuid)
        return None if found is None else tuple(found)

    def known_tags(self, known: Mapping[int, Callable[[_Reader], Any]]) -> dict[int, Any]:
        """Return the values of the tagged fields, which end a message. UnknownRecordError for one that is not known, or that is there twice."""
        values: dict[int, Any] = {}
        for _time in range(self.unsigned()):
            tag, field = self.unsigned(), _Reader(self.take(self.unsigned()))
            if tag not in known or tag in values:
                raise UnknownRecordError(f"tagged field {tag}")
            values[tag] = known[tag](field)
            field.end()
        return values

    def end(self) -> None:
        """Raise UnknownRecordError if bytes follow."""
        if self._at != len(self._data):
            raise UnknownRecordError("it is longer than its layout")


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
    reader.known_tags({})
    return record


def _removed(reader: _Reader, version: int) -> Record:
    record = TopicRemoved(reader.uuid())
    reader.known_tags({})
    return record


_LISTS = _Reader.int32s_or_none
# The tagged fields of PartitionRecord and PartitionChangeRecord, by version.
_PARTITION_TAGS = ({0: _Reader.int8},) * 2 + ({0: _Reader.int8, 1: _LISTS, 2: _LISTS},)
_FIRST_CHANGE_TAGS = {0: _LISTS, 1: _Reader.int32, 2: _LISTS, 3: _LISTS, 4: _LISTS, 5: _Reader.int8}
_CHANGE_TAGS = (
    _FIRST_CHANGE_TAGS,
    _FIRST_CHANGE_TAGS | {8: _Reader.uuids_or_none},
    _FIRST_CHANGE_TAGS | {8: _Reader.uuids_or_none, 6: _LISTS, 7: _LISTS},
)


def _partition(reader: _Reader, version: int) -> Record:
    number, topic_id, replicas, isr = reader.int32(), reader.uuid(), reader.int32s(), reader.int32s()
    removing, adding = reader.int32s(), reader.int32s()
    leader, leader_epoch, _partition_epoch = reader.int32(), reader.int32(), reader.int32()
    if version >= 1:
        reader.uuids()  # directories
    tags = reader.known_tags(_PARTITION_TAGS[version])
    recovering, eligible = tags.get(0, 0) != 0, tags.get(1) or ()
    return PartitionRegistration(topic_id, number, replicas, isr, leader, leader_epoch, eligible, recovering, bool(removing or adding))


def _change(reader: _Reader, version: int) -> Record:
    number, topic_id = reader.int32(), reader.uuid()
    tags = reader.known_tags(_CHANGE_TAGS[version])
    leader, recovery = tags.get(1, -2), tags.get(5, -1)
    moving = [found for found in (tags.get(3), tags.get(4)) if found is not None]
    return PartitionChange(
        topic_id,
        number,
        replicas=tags.get(2),
        isr=tags.get(0),
        leader=None if leader == -2 else leader,
        eligible_leader_replicas=tags.get(6),
        recovering=None if recovery < 0 else recovery != 0,
        reassigning=any(moving) if moving else None,
    )


def _config(reader: _Reader, version: int) -> Record:
    record = ConfigChange(reader.int8(), reader.text(), reader.text(), reader.text_or_none())
    if record.resource_type == TOPIC_RESOURCE and not TOPIC_NAME.fullmatch(record.resource):
        raise UnknownRecordError("it has a topic name that Kafka does not allow")
    if record.resource_type == BROKER_RESOURCE and not BROKER_ID.fullmatch(record.resource):
        raise UnknownRecordError("it has a broker id that Kafka does not allow")
    reader.known_tags({})
    return record


def _feature(reader: _Reader, version: int) -> Record:
    record = FeatureLevel(reader.text(), reader.integer(2))
    reader.known_tags({})
    return record


def _cleared(reader: _Reader, version: int) -> Record:
    record = EligibleReplicasCleared(reader.text())
    reader.known_tags({})
    return record


def _transaction(step: str) -> Callable[[_Reader, int], Record]:
    known = {} if step == "end" else {0: _Reader.text_or_none}  # a name or a reason

    def read(reader: _Reader, version: int) -> Record:
        reader.known_tags(known)
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
