# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a replayed record was before: headers that a replay adds to it, and that the next one reads. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numbers import MOST_INT32, MOST_INT64, whole_number

PREFIX = "kafka_recovery_"
PRODUCER = PREFIX + "producer"


class Origin(NamedTuple):
    """The place of a record in the log of which it was saved. Its first five fields name the record, whichever broker it was saved from."""

    cluster_id: str
    topic_id: str
    partition: int
    offset: int
    leader_epoch: int
    broker_id: int

    def headers(self) -> list[tuple[str, bytes]]:
        """Return the headers that a replay adds."""
        return [(PREFIX + name, str(value).encode()) for name, value in self._asdict().items()]


class Sent(NamedTuple):
    """How an idempotent producer numbers a batch: it sends it again with the same numbers."""

    producer_id: int
    producer_epoch: int
    base_sequence: int
    last_delta: int


class Numbered(NamedTuple):
    """The numbers of the batch that a record was in, and the place of that batch: its leader epoch is that of the origin."""

    sent: Sent
    base_offset: int

    def headers(self) -> list[tuple[str, bytes]]:
        """Return the header that a replay adds."""
        return [(PRODUCER, " ".join(map(str, (*self.sent, self.base_offset))).encode())]


_NAMES = {(PREFIX + name).encode(): place for place, name in enumerate(Origin._fields)}
# A replay writes its own, and drops those that a record got elsewhere.
OWN_NAMES = frozenset({*_NAMES, PRODUCER.encode()})


def origin_of(headers: Sequence[tuple[bytes, bytes | None]]) -> Origin | None:
    """Return the origin in the headers of a record, None if one of them is missing, is there twice, or is not what a replay writes."""
    values: list[str | None] = [None] * len(_NAMES)
    for name, value in headers:
        place = _NAMES.get(name)
        if place is None:
            continue
        if values[place] is not None or value is None or not value.isascii():
            return None
        values[place] = value.decode()
    cluster_id, topic_id, *numbers = values
    limits = (MOST_INT32, MOST_INT64, MOST_INT32, MOST_INT32)
    parsed = [whole_number(text or "", most) for text, most in zip(numbers, limits, strict=True)]
    if not cluster_id or not topic_id or None in parsed:
        return None
    partition, offset, leader_epoch, broker_id = (number or 0 for number in parsed)
    return Origin(cluster_id, topic_id, partition, offset, leader_epoch, broker_id)


def numbered_of(headers: Sequence[tuple[bytes, bytes | None]]) -> Numbered | None:
    """Return what the header says of the record's producer, None if there is none, or not what a replay writes."""
    values = [value for name, value in headers if name == PRODUCER.encode()]
    if len(values) != 1 or values[0] is None or not values[0].isascii():
        return None
    numbers = [number for text in values[0].decode().split(" ") if (number := whole_number(text, MOST_INT64)) is not None]
    return Numbered(Sent(*numbers[:4]), numbers[4]) if len(numbers) == len(Sent._fields) + 1 else None
