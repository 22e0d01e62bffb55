# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build and read DescribeQuorum (KIP-595): the state of the metadata quorum. Pure: no I/O."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import quorum_checks
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.error_codes import error_name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.topic_rows import only_row

with suppress(ImportError):  # optional_imports.py says why
    from kafka.protocol.admin import DescribeQuorumRequest

OLDEST_VERSION = 1  # KIP-836, Kafka 3.3: when each node last fetched. Kafka 3.2 does not even name brokers


def describe_quorum() -> DescribeQuorumRequest:
    """Build a request for the state of the metadata quorum, in which brokers are observers (KIP-595, KIP-836)."""
    kind = DescribeQuorumRequest.TopicData
    topics = [kind(topic_name="__cluster_metadata", partitions=[kind.PartitionData(partition_index=0)])]
    return DescribeQuorumRequest(topics=topics, min_version=OLDEST_VERSION)


def quorum_partition(answer: Any) -> Any:
    """Return DescribeQuorum's row of the metadata log, its only partition. AnswerError if the answer contradicts itself."""
    row = only_row(answer, answer.topics)
    quorum_checks.check(answer, row)
    return row


def quorum_error(answer: Any) -> str | None:
    """Return the error (Kafka's name) with which a node refuses to describe the quorum, None if it describes it."""
    return error_name(answer.error_code) or error_name(quorum_partition(answer).error_code)
