# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Metadata logs made by hand: records as bytes, batches of them, and an active controller that gives them away."""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from kafka.protocol.consumer.fetch import FetchResponse
from kafka.record import MemoryRecords
from kafka.record.memory_records import MemoryRecordsBuilder

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.metadata_log_fetch import FetchSnapshotResponse
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError

ORDERS = "AAAAAAAAAAAAAAAAAAAAKg"
EPOCH = 5  # of the quorum


def unsigned(value: int) -> bytes:
    """A varint."""
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def text(value: str | None) -> bytes:
    """A compact string."""
    return unsigned(0) if value is None else unsigned(len(value.encode()) + 1) + value.encode()


def int32s(values: Sequence[int]) -> bytes:
    """A compact array."""
    return unsigned(len(values) + 1) + b"".join(struct.pack(">i", value) for value in values)


def topic_id(name: str) -> bytes:
    """The bytes of a topic id."""
    return base64.urlsafe_b64decode(name + "==")


def tagged(fields: dict[int, bytes]) -> bytes:
    """Tagged fields."""
    return unsigned(len(fields)) + b"".join(unsigned(tag) + unsigned(len(value)) + value for tag, value in fields.items())


def value(key: int, version: int, *fields: bytes, tags: dict[int, bytes] | None = None) -> bytes:
    """A record's value."""
    return unsigned(1) + unsigned(key) + unsigned(version) + b"".join(fields) + tagged(tags or {})


def topic(name: str = "orders", identity: str = ORDERS) -> bytes:
    """The topic is created."""
    return value(2, 0, text(name), topic_id(identity))


def removed(identity: str = ORDERS) -> bytes:
    """The topic is removed."""
    return value(9, 0, topic_id(identity))


def partition(
    isr: Sequence[int],
    leader: int,
    replicas: Sequence[int] = (1, 2, 3),
    epoch: int = 0,
    number: int = 0,
    version: int = 2,
    recovering: bool = False,
    adding: Sequence[int] = (),
) -> bytes:
    """A whole partition of the topic orders."""
    fields = [struct.pack(">i", number), topic_id(ORDERS), int32s(replicas), int32s(isr), int32s(()), int32s(adding)]
    fields += [struct.pack(">iii", leader, epoch, 0)]
    if version >= 1:
        fields.append(unsigned(len(replicas) + 1) + bytes(16 * len(replicas)))
    return value(3, version, *fields, tags={0: b"\x01"} if recovering else {})


def change(version: int = 2, number: int = 0, **fields: Any) -> bytes:
    """A change of the topic orders: isr, leader, replicas, adding, recovering, elr, directories."""
    tags = {}
    for tag, name in ((0, "isr"), (2, "replicas"), (4, "adding"), (6, "elr")):
        if name in fields:
            tags[tag] = int32s(fields[name])
    if "leader" in fields:
        tags[1] = struct.pack(">i", fields["leader"])
    if "recovering" in fields:
        tags[5] = struct.pack(">b", fields["recovering"])
    return value(5, version, struct.pack(">i", number), topic_id(ORDERS), tags=dict(sorted(tags.items())))


def config(name: str, setting: str | None, kind: int = 2, resource: str = "orders") -> bytes:
    """A change of an option, by default of the topic orders."""
    return value(4, 0, struct.pack(">b", kind), text(resource), text(name), text(setting))


def min_isr(setting: int | None, kind: int = 2, resource: str = "orders") -> bytes:
    """A change of min.insync.replicas."""
    return config("min.insync.replicas", None if setting is None else str(setting), kind, resource)


def feature(level: int, name: str = "metadata.version") -> bytes:
    """A change of a feature's level."""
    return value(12, 0, text(name), struct.pack(">h", level))


def batch(
    offset: int,
    values: Iterable[bytes],
    epoch: int = EPOCH,
    timestamp: int = 1000,
    control: bool = False,
    codec: int = 0,
    headers: Sequence[tuple[str, bytes]] = (),
) -> bytes:
    """A batch of the log. `codec`: 1 is gzip. `headers`: of each record."""
    builder = MemoryRecordsBuilder(magic=2, compression_type=codec, batch_size=1 << 27)
    for one in values:
        builder.append(timestamp, None, one, list(headers))
    builder.close()
    data = bytearray(builder.buffer())
    struct.pack_into(">q", data, 0, offset)
    struct.pack_into(">i", data, 12, epoch)
    if control:
        struct.pack_into(">h", data, 21, 0x20)
    return bytes(data)


@dataclass
class Active:
    """An active controller. `log`: its batches; `end`: its high watermark; `snapshot`: (end offset, epoch, bytes) in place of what was before.

    `refuse`: error code by the number of the request. It gives at most `piece` bytes at once, but a whole batch.
    """

    log: list[bytes] = field(default_factory=list)
    end: int = 0
    snapshot: tuple[int, int, bytes] | None = None
    piece: int = 1 << 20
    refuse: dict[int, int] = field(default_factory=dict)
    requests: list[Any] = field(default_factory=list)

    def active(self) -> tuple[Any, Any]:
        partition = SimpleNamespace(leader_epoch=EPOCH)
        return "bootstrap-0", SimpleNamespace(topics=[SimpleNamespace(partitions=[partition])])

    def ask(self, node: Any, make: Callable[[], Any]) -> Any:
        request = make()
        self.requests.append(request)
        return self._snapshot(request) if request.name == "FetchSnapshotRequest" else self._fetch(request)

    def _fetch(self, request: Any) -> Any:
        asked = request.topics[0].partitions[0]
        kind = FetchResponse.FetchableTopicResponse
        row = kind.PartitionData(error_code=self.refuse.get(len(self.requests), 0), high_watermark=self.end, records=b"")
        if self.snapshot is not None and asked.fetch_offset < self.snapshot[0]:
            row.snapshot_id = kind.PartitionData.SnapshotId(end_offset=self.snapshot[0], epoch=self.snapshot[1])
        else:
            left = [one for one in self.log if next(MemoryRecords(one)).next_offset > asked.fetch_offset]
            row.records = b"".join(left)[: max(self.piece, *map(len, left[:1]), 0)]
        return FetchResponse(error_code=0, responses=[kind(partitions=[row])])

    def _snapshot(self, request: Any) -> Any:
        assert self.snapshot is not None
        asked = request.topics[0].partitions[0]
        kind = FetchSnapshotResponse.TopicSnapshot
        row = kind.PartitionSnapshot(
            index=0,
            error_code=self.refuse.get(len(self.requests), 0),
            size=len(self.snapshot[2]),
            position=asked.position,
            unaligned_records=self.snapshot[2][asked.position : asked.position + self.piece],
        )
        return FetchSnapshotResponse(error_code=0, topics=[kind(name="__cluster_metadata", partitions=[row])])


class NoController:
    """No controller is active."""

    def active(self) -> tuple[Any, Any]:
        raise ClusterError("controller_bootstrap_servers: none of them is the active controller (); name all controllers")

    def ask(self, node: Any, make: Callable[[], Any]) -> Any:
        raise AssertionError("no controller is there to ask")
