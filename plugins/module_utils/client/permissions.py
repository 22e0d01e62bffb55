# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What this client may do on a cluster, asked without trying any of it.

Brokers tell it as bit fields (KIP-430), or by the error with which they answer a question about a name that nobody uses:
an authorizer that hides a resource says so before it says that there is none.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from functools import cache
from typing import Any

with suppress(ImportError):  # libraries.py says why
    from kafka.protocol.admin import DescribeClusterRequest, DescribeGroupsRequest
    from kafka.protocol.admin.acl import ACLOperation
    from kafka.protocol.metadata import MetadataRequest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.acls import Held

Ask = Callable[[Callable[[], Any]], Any]

UNKNOWN_TOPIC = 3  # whoever works with it will say so
TOPIC_AUTHORIZATION_FAILED, GROUP_AUTHORIZATION_FAILED = 29, 30


def probe(ask: Ask, topics: Collection[str] | None, moves: bool = False) -> Held:
    """Return what this client may do. `topics`: those of the partitions that were named, None where all of the cluster's matter.

    `moves`: replicas are to be moved, of all topics, whichever were named. `ask` puts a request to any broker. Answers of brokers from Kafka 2.8 on are
    understood.
    """
    described = ask(lambda: DescribeClusterRequest(include_cluster_authorized_operations=True, endpoint_type=1))
    sees_all = topics is None or moves
    named = [] if topics is None else _rows(ask, topics)
    names = {row.name for row in named}
    others = [row for row in _rows(ask, None) if row.name not in names] if sees_all else []
    rows = [*named, *others]
    return Held(
        cluster=operations(described.authorized_operations),
        topics={
            row.name: frozenset() if row.error_code == TOPIC_AUTHORIZATION_FAILED else operations(row.authorized_operations) for row in rows
        },
        reading={row.name for row in rows if any(partition.leader_id < 0 for partition in row.partitions)},
        any_topic=_any_topic(ask) if sees_all else None,
        any_group=_any_group(ask),
        moving=names | {row.name for row in others if any(partition.offline_replicas for partition in row.partitions)},
        named=None if topics is None else names,
    )


def _rows(ask: Ask, topics: Collection[str] | None) -> list[Any]:
    return [row for row in ask(lambda: _metadata(topics)).topics if row.error_code != UNKNOWN_TOPIC]


@cache
def _known() -> frozenset[int]:
    return frozenset(int(operation) for operation in ACLOperation)


def operations(codes: Collection[int] | None) -> frozenset[str] | None:
    """Read a field of authorized operations (KIP-430), which kafka-python gives as the codes of AclOperations. None: the broker did not tell."""
    return None if codes is None else frozenset(ACLOperation(code).name for code in codes if code in _known())


def _metadata(topics: Iterable[str] | None) -> MetadataRequest:
    wanted = None if topics is None else [MetadataRequest.MetadataRequestTopic(name=topic) for topic in sorted(topics)]
    return MetadataRequest(topics=wanted, allow_auto_topic_creation=False, include_topic_authorized_operations=True)


def _any_topic(ask: Ask) -> bool:
    answer = ask(lambda: _metadata([_nobodys_name()]))
    return all(row.error_code != TOPIC_AUTHORIZATION_FAILED for row in answer.topics)


def _any_group(ask: Ask) -> bool:
    # Any broker will do: it looks at the permission before it looks for the group's coordinator.
    answer = ask(lambda: DescribeGroupsRequest(groups=[_nobodys_name()], include_authorized_operations=False))
    return all(row.error_code != GROUP_AUTHORIZATION_FAILED for row in answer.groups)


def _nobodys_name() -> str:
    return f"streamops-kafka-recovery-{uuid.uuid4()}"
