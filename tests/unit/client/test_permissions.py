# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Permissions: what the answers mean, and which topics are asked about. That brokers give these answers is tested with brokers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.protocol.admin import DescribeClusterRequest
from kafka.protocol.admin.acl import ACLOperation
from kafka.protocol.metadata import MetadataRequest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.permissions import (
    TOPIC_AUTHORIZATION_FAILED,
    operations,
    probe,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import readiness

ON_CLUSTER = ("ALTER", "DESCRIBE", "ALTER_CONFIGS", "DESCRIBE_CONFIGS")
READS, CONFIGS = ("READ", "DESCRIBE"), ("ALTER_CONFIGS", "DESCRIBE_CONFIGS")


def codes(names: Collection[str]) -> set[int]:
    return {int(ACLOperation[name]) for name in names}


def brokers(granted: Mapping[str, Collection[str]]) -> Callable[[Callable[[], Any]], Any]:
    """Brokers that answer what `granted` says of each topic, which each have a replica on a lost broker. They hide all other topics."""

    def ask(make: Callable[[], Any]) -> Any:
        request = make()
        if isinstance(request, DescribeClusterRequest):
            return SimpleNamespace(authorized_operations=codes(ON_CLUSTER))
        if not isinstance(request, MetadataRequest):
            return SimpleNamespace(groups=[])
        partitions = [SimpleNamespace(leader_id=-1, offline_replicas=[9])]
        asked = [topic for topic, names in granted.items() if names] if request.topics is None else [row.name for row in request.topics]
        return SimpleNamespace(
            topics=[
                SimpleNamespace(name=name, error_code=0, authorized_operations=codes(granted[name]), partitions=partitions)
                if granted.get(name)
                else SimpleNamespace(name=name, error_code=TOPIC_AUTHORIZATION_FAILED, authorized_operations=None, partitions=[])
                for name in asked
            ]
        )

    return ask


def missing(granted: Mapping[str, Collection[str]], topics: Collection[str] | None, *stages: str) -> list[tuple[str, str]]:
    """What a recovery of these topics (None: of all) with these stages would miss."""
    cluster: Any = SimpleNamespace(permissions=partial(probe, brokers(granted)), negotiate_backend=lambda *_: None, backend="compat")
    params = {
        "stages": [*stages],
        "elect": True,
        "backend": "compat",
        "get_replica_log_info_api_key": 95,
        "designated_election_type": 2,
        "request_limit_reached_error": 137,
        "controller_bootstrap_servers": [],
        "bootstrap_servers": ["b:9092"],
        "security_protocol": "PLAINTEXT",
        "sasl_mechanism": None,
    }
    rows = readiness.permissions(cluster, params, None if topics is None else [(topic, 0) for topic in topics])["missing"]
    return sorted((row["operation"], row["name"]) for row in rows)


def test_moves_take_permissions_on_all_topics_also_if_partitions_are_named() -> None:
    granted = {"orders": (*READS, *CONFIGS), "payments": READS, "audit": ("DESCRIBE", *CONFIGS)}
    for_all = [("ALTER_CONFIGS", "payments"), ("DESCRIBE", "*")]  # these brokers hide what this client may not see
    assert missing(granted, None, "collect", "reassign", "throttle") == [*for_all, ("READ", "audit")]
    assert missing(granted, {"orders"}, "collect", "reassign", "throttle") == for_all, "evidence is of orders alone"
    assert missing(granted, {"orders"}, "collect", "reassign") == [("DESCRIBE", "*")]


@pytest.mark.parametrize("topic", ["orders", "secret"])
def test_without_moves_named_partitions_take_permissions_on_their_topics_alone(topic: str) -> None:
    granted: Mapping[str, Collection[str]] = {"orders": READS, "payments": ("DESCRIBE",), "secret": ()}
    assert missing(granted, {topic}, "collect") == ([("READ", "secret")] if topic == "secret" else [])


def test_authorized_operations_have_kafkas_names() -> None:
    assert operations({3, 7, 8}) == {"READ", "ALTER", "DESCRIBE"}
    assert operations(set()) == frozenset()


def test_operations_of_later_releases_are_no_obstacle() -> None:
    assert operations({8, 30}) == {"DESCRIBE"}


def test_a_broker_that_does_not_report_permissions_does_not_deny_them() -> None:
    assert operations(None) is None
