# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers that describe partitions: what no cluster has is refused."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from kafka.protocol.admin import DescribeTopicPartitionsResponse

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import partition_states
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import AnswerError


def described(**fields: Any) -> Any:
    """A DescribeTopicPartitions answer with one partition."""
    topic = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
    given = {"partition_index": 0, "leader_id": 1, "leader_epoch": 0, "replica_nodes": [1], "isr_nodes": [1], "offline_replicas": []}
    name, identity = fields.pop("name", "orders"), fields.pop("topic_id", uuid.UUID(int=7))
    row = topic.DescribeTopicPartitionsResponsePartition(**{**given, **fields})
    return DescribeTopicPartitionsResponse(topics=[topic(name=name, topic_id=identity, partitions=[row])])


def test_a_topic_id_of_zeros_is_an_id() -> None:
    (state,) = partition_states.read_topic_partitions(described(topic_id=None))
    assert state.topic_id == "A" * 22


@pytest.mark.parametrize(
    "fields",
    [{"name": None}, {"name": "a\x1b[2J"}, {"name": "x" * 250}, {"name": ".."}, {"partition_index": -1}, {"leader_epoch": -2}]
    + [{"replica_nodes": []}, {"replica_nodes": [1, -1]}]
    + [{name: ids} for name in ("replica_nodes", "isr_nodes", "offline_replicas", "last_known_elr") for ids in ([1, 1], list(range(33)))],
)
def test_a_partition_that_no_cluster_has_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(AnswerError, match="a broker describes partition"):
        partition_states.read_topic_partitions(described(**fields))
