# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build DescribeCluster, and read brokers from its answer or from that of Metadata. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import AnswerError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import BROKERS, NAME_LETTERS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import Node

with suppress(ImportError):  # optional_imports.py says why
    from kafka.protocol.admin import DescribeClusterRequest
    from kafka.protocol.metadata import MetadataResponse


def describe_cluster() -> DescribeClusterRequest:
    """Build a DescribeCluster request that includes fenced brokers if the broker supports it (v2, Kafka 4.0)."""
    return DescribeClusterRequest(include_cluster_authorized_operations=False, endpoint_type=1, include_fenced_brokers=True)


def read_nodes(answer: Any) -> list[Node]:
    """Return the nodes of a DescribeCluster or Metadata answer. AnswerError for repeated or negative ids and for oversized names."""
    described = answer.name == "DescribeClusterResponse"
    knows_fenced = described and answer.API_VERSION >= 2
    ids = [row.broker_id if described else row.node_id for row in answer.brokers]
    if len(ids) > BROKERS or len(set(ids)) < len(ids) or min(ids, default=0) < 0:
        raise AnswerError(f"{answer.name} names {len(ids)} brokers, {len(set(ids))} different ones, the lowest {min(ids)}")
    for broker_id, row in zip(ids, answer.brokers, strict=True):
        if len(row.host) > NAME_LETTERS or len(row.rack or "") > NAME_LETTERS:
            raise AnswerError(
                f"{answer.name} gives broker {broker_id} a host of {len(row.host)} letters and a rack of {len(row.rack or '')}; "
                f"the limit is {NAME_LETTERS}"
            )
    return [
        Node(row.broker_id if described else row.node_id, row.host, row.port, row.rack, bool(row.is_fenced) if knows_fenced else None)
        for row in answer.brokers
    ]


def with_brokers(metadata: Any, nodes: Iterable[Node]) -> Any:
    """Add these nodes to the brokers of a Metadata answer, which names live brokers only. Return the answer."""
    kind = MetadataResponse.MetadataResponseBroker
    version, named = metadata.API_VERSION, {row.node_id for row in metadata.brokers}
    more = [kind(node.broker_id, node.host, node.port, node.rack, version=version) for node in nodes if node.broker_id not in named]
    metadata.brokers = [*metadata.brokers, *more]
    return metadata
