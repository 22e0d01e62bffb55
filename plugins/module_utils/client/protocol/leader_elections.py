# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build and read ElectLeaders of released Kafka (KIP-460). Pure: no I/O."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.error_codes import refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.topic_rows import by_topic
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition

with suppress(ImportError):  # optional_imports.py says why
    from kafka.protocol.admin import ElectLeadersRequest

ELECTION_TYPES = {"preferred": 0, "unclean": 1}  # KIP-460


def elect(election_type: str, keys: Iterable[TopicPartition], timeout_ms: int) -> ElectLeadersRequest:
    """Build an election of these partitions (KIP-460). `election_type`: one of ELECTION_TYPES."""
    topics = [ElectLeadersRequest.TopicPartitions(topic=topic, partitions=numbers) for topic, numbers in by_topic(keys).items()]
    return ElectLeadersRequest(election_type=ELECTION_TYPES[election_type], topic_partitions=topics, timeout_ms=timeout_ms)


def read_election(answer: Any) -> dict[TopicPartition, Refusal | None]:
    """Return Kafka's refusal by partition, None if a leader was elected."""
    return {
        (topic.topic, row.partition_id): refusal(row.error_code, row.error_message)
        for topic in answer.replica_election_results
        for row in topic.partition_result
    }
