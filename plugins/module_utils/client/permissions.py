# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the permissions of this client on a cluster, without trying them.

Brokers answer with bit fields (KIP-430), or with an error to a request about a name that does not exist: Kafka checks the permission before
it checks whether the resource exists. Librdkafka does not show which replicas are offline, and needs the topics' names (docs/contributing.md),
so it is not used here.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from functools import cache
from typing import Any

with suppress(ImportError):  # optional_imports.py says why
    from kafka.protocol.admin import DescribeClusterRequest, DescribeGroupsRequest
    from kafka.protocol.admin.acl import ACLOperation
    from kafka.protocol.metadata import MetadataRequest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.acls import Permissions

Ask = Callable[[Callable[[], Any]], Any]

UNKNOWN_TOPIC = 3  # the step that uses the topic reports it
TOPIC_AUTHORIZATION_FAILED, GROUP_AUTHORIZATION_FAILED = 29, 30


def probe(ask: Ask, topics: Collection[str] | None, moves: bool = False) -> Permissions:
    """Return the permissions of this client. `topics`: those of the selected partitions, None for all topics of the cluster.

    `moves`: replicas of all topics are to be moved, whichever topics were selected. `ask` sends a request to any broker. It needs Kafka 2.8 or newer.
    """
    on_cluster = cluster_operations(ask)
    sees_all = topics is None or moves
    named = [] if topics is None else _rows(ask, topics)
    names = {row.name for row in named}
    others = [row for row in _rows(ask, None) if row.name not in names] if sees_all else []
    rows = [*named, *others]
    return Permissions(
        cluster=on_cluster,
        topics={
            row.name: frozenset() if row.error_code == TOPIC_AUTHORIZATION_FAILED else operations(row.authorized_operations) for row in rows
        },
        reading={row.name for row in rows if any(partition.leader_id < 0 for partition in row.partitions)},
        any_topic=_any_topic(ask) if sees_all else None,
        any_group=_any_group(ask),
        moving=names | {row.name for row in others if any(partition.offline_replicas for partition in row.partitions)},
        named=None if topics is None else names,
    )


def cluster_operations(ask: Ask) -> frozenset[str] | None:
    """Return the operations on the cluster that brokers allow this client, None if they do not state them."""
    described = ask(lambda: DescribeClusterRequest(include_cluster_authorized_operations=True, endpoint_type=1))
    return operations(described.authorized_operations)


def _rows(ask: Ask, topics: Collection[str] | None) -> list[Any]:
    return [row for row in ask(lambda: _metadata(topics)).topics if row.error_code != UNKNOWN_TOPIC]


@cache
def _known() -> frozenset[int]:
    return frozenset(int(operation) for operation in ACLOperation)


def operations(codes: Collection[int] | None) -> frozenset[str] | None:
    """Return the names of authorized operations (KIP-430) from the codes that kafka-python reads. None: the broker did not answer them."""
    return None if codes is None else frozenset(ACLOperation(code).name for code in codes if code in _known())


def _metadata(topics: Iterable[str] | None) -> MetadataRequest:
    rows = None if topics is None else [MetadataRequest.MetadataRequestTopic(name=topic) for topic in sorted(topics)]
    return MetadataRequest(topics=rows, allow_auto_topic_creation=False, include_topic_authorized_operations=True)


def _any_topic(ask: Ask) -> bool:
    answer = ask(lambda: _metadata([_unused_name()]))
    return all(row.error_code != TOPIC_AUTHORIZATION_FAILED for row in answer.topics)


def _any_group(ask: Ask) -> bool:
    # Any broker can answer: it checks the permission before it checks whether it coordinates the group.
    answer = ask(lambda: DescribeGroupsRequest(groups=[_unused_name()], include_authorized_operations=False))
    return all(row.error_code != GROUP_AUTHORIZATION_FAILED for row in answer.groups)


def _unused_name() -> str:
    return f"streamops-kafka-recovery-{uuid.uuid4()}"
