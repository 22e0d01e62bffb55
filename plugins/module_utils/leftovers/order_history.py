# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Partitions that do not have the replica order any more that they got with their replicas, from the metadata log of the active controller.

An election of a killed run leaves such an order, and so does an operator who changes the order alone. The log does not tell them apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.controllers import Controllers
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.metadata_log_reader import LogRecord, MetadataLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import metadata_records
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.metadata_records import (
    PartitionChange,
    PartitionRegistration,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import limits
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.phrases import instant
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers.model import KEPT, ORDER, UNKNOWN, Leftover, replicas_text
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition

READ_SECONDS = 60.0
REASON = (
    "the metadata log shows that only its order was changed, as an election of a run does that was killed, or as an operator can. No journal here says which: "
    "if the change was not intended, set the order from before with kafka-reassign-partitions"
)


@dataclass
class _Order:
    """The replicas of a partition, and the order that they had when they were set as a whole. `changed`: ms since 1970, None if not known."""

    first: tuple[int, ...]
    present: tuple[int, ...]
    changed: int | None = None


def changed_orders(log: Iterable[LogRecord], states: Mapping[TopicPartition, PartitionState]) -> list[Leftover]:
    """Return one row per partition of `states` that still has the other order. Records that are not known are skipped.

    Raises ClusterError for a log that would take too much memory.
    """
    keys = {(state.topic_id, state.partition): key for key, state in states.items()}
    orders: dict[TopicPartition, _Order] = {}
    pending: list[tuple[LogRecord, metadata_records.Record]] | None = None
    for entry in log:
        try:
            record = metadata_records.decode(entry.value)
        except metadata_records.UnknownRecordError:
            continue
        if isinstance(record, metadata_records.TransactionStep):
            for past, one in pending or [] if record.step == "end" else []:
                _apply(orders, keys, past, one)
            pending = [] if record.step == "begin" else None
        elif record is not None and pending is not None:
            pending.append((entry._replace(value=b""), record))
            if len(pending) > limits.PARTITIONS:
                raise ClusterError(f"the metadata log has a transaction of more than {limits.PARTITIONS} changes at offset {entry.offset}")
        elif record is not None:
            _apply(orders, keys, entry, record)
    return [
        _row(key, order)
        for key, order in orders.items()
        if order.first != order.present == states[key].replicas and sorted(order.first) == sorted(order.present)
    ]


def _apply(
    orders: dict[TopicPartition, _Order], keys: Mapping[tuple[str, int], TopicPartition], entry: LogRecord, record: metadata_records.Record
) -> None:
    if not isinstance(record, (PartitionRegistration, PartitionChange)) or not record.replicas:
        return
    key = keys.get((record.topic_id, record.partition))
    if key is None:
        return
    known = orders.get(key)
    if isinstance(record, PartitionRegistration) or known is None or sorted(known.present) != sorted(record.replicas):
        orders[key] = _Order(record.replicas, record.replicas)
    elif known.present != record.replicas:
        known.present, known.changed = record.replicas, entry.timestamp


def _row(key: TopicPartition, order: _Order) -> Leftover:
    since = None if order.changed is None else instant(order.changed)
    present, original = replicas_text(order.present), replicas_text(order.first)
    return Leftover(ORDER, UNKNOWN, KEPT, REASON, *key, present=present, original=original, since=since)


def read(connection: Connection, states: Mapping[TopicPartition, PartitionState]) -> tuple[list[Leftover], str]:
    """Return what `changed_orders` finds in the log of the active controller, and a sentence on what the log does not show.

    Raises ClusterError if no controller can be read.
    """
    with Controllers(connection) as controllers:
        log = MetadataLog(controllers, READ_SECONDS)
        rows = changed_orders(log, states)
    if log.cut is not None:
        return rows, f"the metadata log could not be read to its end: {log.cut}"
    begins = "only since its snapshot" if log.snapshot else "from its beginning"
    return rows, f"the metadata log was read instead ({begins}), and changes of an order that others intended look the same"
