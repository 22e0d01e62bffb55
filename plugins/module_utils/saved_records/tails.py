# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What replicas lose when the designated leaders of a plan are elected: each truncates its log to the new leader's. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition


class Tail(NamedTuple):
    """The records of one replica, on broker `broker_id`, from offset `start` to its log end `end` (the offset after its last record).

    `start` is None if the plan does not know where its log leaves the leader's: then all of the log counts. `topic_id`, `leader_epoch`: as in the plan.
    `broker_epoch`: of its broker (KIP-966), None if the broker did not state it. Only the native backend knows it.
    `in_sync`: whether the replica was in the ISR or ELR when the partition lost its leader, False if that is not known.
    """

    topic: str
    partition: int
    topic_id: str
    leader_epoch: int
    broker_id: int
    start: int | None
    end: int
    broker_epoch: int | None = None
    in_sync: bool = False

    @property
    def key(self) -> TopicPartition:
        """Return the topic and the number of the partition."""
        return self.topic, self.partition

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} on broker {self.broker_id}"


def tails_of_plan(plan: Mapping[str, Any]) -> Iterator[Tail]:
    """Yield the tails that the elections of a checked plan file destroy, in its order.

    Raises RecoveryError for a bare KIP-1275 file: it does not say what survivors hold.
    """
    if "plan_id" not in plan:
        raise RecoveryError("a bare KIP-1275 file does not say what each survivor holds: save with a plan of kafka_recovery_plan")
    for entry in plan["partitions"]:
        yield from tails_of_entry(entry)


def tails_of_entry(entry: Mapping[str, Any]) -> Iterator[Tail]:
    """Yield what survivors lose by the election of an entry of a plan, and what fenced brokers that answer lose once they are back."""
    guards, fenced = entry["guards"], entry["fenced_truncated"]
    ends = {row["broker_id"]: row["log_end_offset"] for row in (*guards["survivors"], *fenced)}
    epochs = {survivor["broker_id"]: survivor["broker_epoch"] for survivor in guards["survivors"]}
    place = (entry["topic"], entry["partition"]), guards["topic_id"], guards["leader_epoch"]
    yield from tails_of(*place, ends, (*entry["truncated"], *fenced), epochs, (*entry["isr"], *entry["eligible_leader_replicas"]))


def tails_of(
    key: TopicPartition,
    topic_id: str,
    leader_epoch: int,
    ends: Mapping[int, int],
    truncated: Iterable[Mapping[str, Any]],
    broker_epochs: Mapping[int, int | None],
    in_sync: Collection[int],
) -> Iterator[Tail]:
    """Yield the tails of one partition. `ends`: log end offsets, by broker. `truncated`: as in a plan. `broker_epochs`: by broker.

    in_sync  brokers in the ISR or ELR
    """
    for row in truncated:
        end = ends.get(row["broker_id"], 0)
        if (row["offset"] or 0) < end:
            broker = row["broker_id"]
            yield Tail(*key, topic_id, leader_epoch, broker, row["offset"], end, broker_epochs.get(broker), broker in in_sync)
