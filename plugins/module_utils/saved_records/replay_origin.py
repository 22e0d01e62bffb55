# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a replayed record was before: headers that a replay adds to it, and that the next one reads. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numbers import whole_number

PREFIX = "kafka_recovery_"


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


_NAMES = {(PREFIX + name).encode(): place for place, name in enumerate(Origin._fields)}


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
    parsed = [whole_number(text or "") for text in numbers]
    if not cluster_id or not topic_id or None in parsed:
        return None
    partition, offset, leader_epoch, broker_id = (number or 0 for number in parsed)
    return Origin(cluster_id, topic_id, partition, offset, leader_epoch, broker_id)
