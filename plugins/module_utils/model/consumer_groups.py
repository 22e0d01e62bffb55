# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Consumer groups. Pure: no I/O, no Kafka client."""

from __future__ import annotations

from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numbers import MOST_INT64
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition

SHARE = "share"  # group type of KIP-932
UNKNOWN_LAG = -1


class Group(NamedTuple):
    """A group as its coordinator lists it: `state` and `type` as Kafka writes them, empty if the broker is too old."""

    state: str = ""
    type: str = ""

    @property
    def is_share(self) -> bool:
        """Return whether it is a share group (KIP-932), which commits no offsets."""
        return self.type.lower() == SHARE


class ShareOffset(NamedTuple):
    """How far a share group has read a partition, as its coordinator describes it (KIP-932, KIP-1226).

    start_offset  all records below it are acknowledged
    leader_epoch  of the leader that has written this state. The new leader writes it, too, when it loads the state: it shows nothing about records
    lag           high watermark - start_offset - acknowledged offsets from there on. -1 if the coordinator does not know it; None if the broker is too old
    high_watermark  of the leader, read before the lag; None if it is not known
    """

    group: str
    key: TopicPartition
    start_offset: int
    leader_epoch: int
    lag: int | None = None
    high_watermark: int | None = None

    @property
    def reached(self) -> int:
        """Return the offset up to which the group has read at least: as many as it has acknowledged from the start offset on, one after the other."""
        known = self.lag is not None and self.lag != UNKNOWN_LAG and self.high_watermark is not None
        return self.reached_at(self.high_watermark) if known else self.start_offset

    def reached_at(self, high_watermark: int | None) -> int:
        """Return the same for another high watermark. One that was read after the lag can be too great, and so can be the result."""
        if self.lag is None or high_watermark is None:
            return self.start_offset
        return min(MOST_INT64, max(self.start_offset, high_watermark - self.lag))
