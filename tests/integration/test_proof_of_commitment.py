# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A consumer group's committed offset, with the epoch of the last record read, shows which branch of a fork was committed."""

from __future__ import annotations

from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka import TopicPartition as Committed
from confluent_kafka.admin import AdminClient
from integration.support import Operator, by_partition

AHEAD, BEHIND = 2, 3
GROUP = "billing"
# The last record before it was written in epoch 1, by the leader that broker 2 copied and broker 3 did not.
OFFSET, EPOCH = 120, 1


def commit(east: Operator) -> None:
    offsets = [Committed("proven", partition, OFFSET, leader_epoch=EPOCH) for partition in range(4)]
    admin = AdminClient({"bootstrap.servers": east.cluster.bootstrap_servers, "log_level": 2})
    for future in admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(GROUP, offsets)]).values():
        assert all(partition.error is None for partition in future.result().topic_partitions)


def test_a_committed_offset_singles_out_one_branch_of_a_fork(east: Operator) -> None:
    commit(east)
    east.snapshot("1", ["proven"])
    proofs = {(one["partition"], proof["broker_id"]): proof for one in east.documents("1") for proof in one["proofs"]}
    assert len(proofs) == 4 * 2
    for (_, broker), row in proofs.items():
        assert (row["source"], row["name"], row["offset"], row["leader_epoch"]) == ("consumer_group", GROUP, OFFSET, EPOCH)
        assert row["held"] == (broker == AHEAD)

    east.plan("1", strategy="balanced")
    held = by_partition(east.read("plans", "1")["held"])
    assert {(row["reason_code"], row["candidate"]) for row in held.values()} == {("forked_proven", AHEAD)}
    assert all(GROUP in row["explanation"] for row in held.values())

    results = east.recover("2", ["proven"], strategy="aggressive")
    assert {(row["outcome"], row["leader"], row["evidence"]) for row in results.values()} == {("elected", AHEAD, "forked_proven")}
