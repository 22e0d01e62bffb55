# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What consumer groups have committed, asked through librdkafka: it finds the groups and their coordinators by itself."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.asking import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.partitions import TopicPartition

Committed = tuple[str, TopicPartition, int, int | None]


def committed(connection: Connection, keys: Collection[TopicPartition]) -> list[Committed]:
    """Offsets that groups committed on these partitions: (group, partition, offset, leader epoch of the last record read), sorted.

    Groups whose coordinator does not answer are absent: a committed offset proves something, its absence proves nothing.
    """
    client, confluent = _librdkafka(connection)
    timeout = connection.request_timeout
    found = []
    try:
        groups = [group.group_id for group in client.list_consumer_groups(request_timeout=timeout).result().valid]
    except confluent.KafkaException:
        return []
    topics = {topic for topic, _ in keys}
    asked = [
        client.list_consumer_group_offsets([confluent.ConsumerGroupTopicPartitions(group)], request_timeout=timeout)[group]
        for group in groups
    ]
    for future in asked:
        try:
            answer = future.result()
        except confluent.KafkaException:
            continue
        found += [
            (answer.group_id, (row.topic, row.partition), row.offset, row.leader_epoch)
            for row in answer.topic_partitions
            if row.topic in topics and (row.topic, row.partition) in keys and row.offset >= 0
        ]
    return sorted(found, key=lambda row: row[:3])


def _librdkafka(connection: Connection) -> tuple[Any, Any]:
    # Imported where it is needed: most tasks do without it.
    try:
        import confluent_kafka as confluent
        from confluent_kafka import admin
    except ImportError as error:
        raise ClusterError("the Python library confluent-kafka is missing: pip install 'confluent-kafka>=2.16,<3'") from error
    return admin.AdminClient(connection.for_librdkafka()), confluent
