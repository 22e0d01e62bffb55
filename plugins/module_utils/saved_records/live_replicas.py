# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What live replicas lose when a lost broker starts that is the clean leader of their partitions: it leads again, and they truncate their logs to its log."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition, named
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.disk_comparison import DiskLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.save import Saved
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails import Tail

Replica = tuple[TopicPartition, int]


class LiveTails(NamedTuple):
    """What live replicas have that the log on the disk lacks: `tails`. `compared`: these replicas; `unread`: those of which it is not known, and why."""

    compared: dict[TopicPartition, list[int]]
    tails: list[Tail]
    unread: dict[Replica, str]


# For the id of a lost broker, its logs of partitions that it leads again, and the states of these.
FindLiveTails = Callable[[int, Sequence[DiskLog], Mapping[TopicPartition, PartitionState]], LiveTails]


def not_saved(live: LiveTails, saved: Saved) -> dict[Replica, str]:
    """Return the replicas whose records are not saved, and why."""
    complete, refused = {*saved.complete}, saved.changed | saved.refused
    later = "run again, without check mode"
    reasons = {(tail.key, tail.broker_id): refused.get(tail, later) for tail in live.tails if tail not in complete}
    return {**live.unread, **reasons}


def rows(live: LiveTails, saved: Saved) -> dict[TopicPartition, list[dict[str, Any]]]:
    """Return what the module documents of live replicas, by partition."""
    left, found = not_saved(live, saved), dict[TopicPartition, list[dict[str, Any]]]()
    for tail in live.tails:
        reason = left.get((tail.key, tail.broker_id))
        row = {"broker_id": tail.broker_id, "start_offset": tail.start, "end_offset": tail.end, "saved": reason is None, "reason": reason}
        found.setdefault(tail.key, []).append(row)
    for (key, broker), reason in live.unread.items():
        row = {"broker_id": broker, "start_offset": None, "end_offset": None, "saved": False, "reason": reason}
        found.setdefault(key, []).append(row)
    return found


def obstacles(live: LiveTails, saved: Saved, led_again: Collection[TopicPartition]) -> Iterator[str]:
    """Yield why the broker must not be started yet. `led_again`: partitions that it leads once it is started, without those that are given up."""
    left = {replica: reason for replica, reason in not_saved(live, saved).items() if replica[0] in led_again}
    if left:
        keys = sorted({key for key, _broker in left})
        (key, broker), reason = next(iter(left.items()))
        yield (
            f"{count(len(keys), 'partition')} ({named(keys)}): this broker leads again when it starts, and live replicas truncate what its log lacks, which "
            f"is not saved: {key[0]}-{key[1]} on broker {broker}: {reason}"
        )
