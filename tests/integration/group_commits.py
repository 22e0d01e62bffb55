# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Offsets that groups commit, with and without members, with librdkafka."""

from __future__ import annotations

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from rig import KafkaCluster


def consumer(cluster: KafkaCluster, group: str) -> Consumer:
    return Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": group, "enable.auto.commit": False, "log_level": 2})


def commit(cluster: KafkaCluster, group: str, topic: str, offset: int, epoch: int | None = None) -> None:
    """Commit an offset for a group without members. `epoch`: of the last record that it has read."""
    own = consumer(cluster, group)
    where = TopicPartition(topic, 0, offset) if epoch is None else TopicPartition(topic, 0, offset, leader_epoch=epoch)
    own.commit(offsets=[where], asynchronous=False)
    own.close()


def member(cluster: KafkaCluster, group: str, topic: str) -> Consumer:
    """A consumer that has joined the group."""
    own = consumer(cluster, group)
    own.subscribe([topic])
    while not own.assignment():
        own.poll(0.2)
    return own


def committed(cluster: KafkaCluster, group: str, topic: str) -> TopicPartition:
    """The committed offset, with its leader epoch and metadata."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 2})
    request = [ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0)])]
    (future,) = admin.list_consumer_group_offsets(request).values()
    found: TopicPartition = future.result().topic_partitions[0]
    return found
