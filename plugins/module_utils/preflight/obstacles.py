# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What stops a recovery before it starts. Pure. The messages with the remedies are in `role_messages/readiness.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum, auto
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import UNFENCED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.recovery_limits import ExceededLimit, exceeded_limits
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.quorum_stability import STABLE


class Kind(Enum):
    """Why a cluster must not be recovered now."""

    MISSING_PERMISSIONS = auto()
    UNSTABLE_QUORUM = auto()
    UNREAD = auto()
    EXCEEDED_LIMITS = auto()
    WRONG_LOST_BROKERS = auto()


class Obstacle(NamedTuple):
    """`unread`: names of the parts that were not read, with UNREAD. `exceeded`: with EXCEEDED_LIMITS."""

    kind: Kind
    unread: Sequence[str] = ()
    exceeded: Sequence[ExceededLimit] = ()


def first_obstacle(
    readiness: Mapping[str, Any], max_partitions: int | None = None, max_offline_brokers: int | None = None
) -> Obstacle | None:
    """Return the first obstacle to a recovery of a cluster, None if there is none.

    readiness            the result of `kafka_recovery_evidence_info` or `kafka_readiness_info`, or the parts of it to check. A part that was not
                         read is None: after a missing permission nothing else is read, after an unstable quorum no partitions, and after any
                         obstacle no evidence
    max_partitions       limit of the partitions without a live leader, None for no limit
    max_offline_brokers  limit of the brokers that are not unfenced, None for no limit
    """
    if missing_permissions(readiness):
        return Obstacle(Kind.MISSING_PERMISSIONS)
    quorum = readiness.get("quorum")
    if quorum is not None and quorum["verdict"] != STABLE:
        return Obstacle(Kind.UNSTABLE_QUORUM)
    if unread := _unread(readiness, "permissions", "quorum", "partitions"):
        return Obstacle(Kind.UNREAD, unread=unread)
    if "partitions" in readiness:
        offline = len(offline_brokers(readiness["partitions"]))
        if exceeded := exceeded_limits(readiness["partitions"]["count"], offline, max_partitions, max_offline_brokers):
            return Obstacle(Kind.EXCEEDED_LIMITS, exceeded=exceeded)
    if readiness.get("lost_broker_objections"):
        return Obstacle(Kind.WRONG_LOST_BROKERS)
    unread = _unread(readiness, "evidence")
    return Obstacle(Kind.UNREAD, unread=unread) if unread else None


def missing_permissions(readiness: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the rows of permissions that a recovery needs and this client lacks."""
    permissions = readiness.get("permissions")
    return [] if permissions is None else [row for row in permissions["missing"] if row["required"]]


def offline_brokers(partitions: Mapping[str, Any]) -> list[int]:
    """Return the ids of the brokers that are not unfenced. `partitions`: as `kafka_readiness_info` returns it."""
    return [row["broker_id"] for row in partitions["brokers"] if row["broker_state"] != UNFENCED]


def _unread(readiness: Mapping[str, Any], *parts: str) -> list[str]:
    return [part for part in parts if part in readiness and readiness[part] is None]
