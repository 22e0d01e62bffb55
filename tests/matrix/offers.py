# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What brokers and controllers of a running cluster say that they offer: asked of them, never looked up."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from typing import Any

from kafka.protocol.admin import DescribeClusterRequest
from kafka.protocol.metadata import ApiVersionsRequest

from rig import KafkaCluster, config, java
from rig.admin import Address
from rig.rpc import ask

SECONDS = 20.0
UNSUPPORTED_VERSION = 35
# Messages that the collection sends, by API key.
TO_BROKERS = {
    "Fetch": 1,
    "ListOffsets": 2,
    "Metadata": 3,
    "OffsetFetch": 9,
    "ListGroups": 16,
    "DescribeConfigs": 32,
    "ElectLeaders": 43,
    "AlterPartitionReassignments": 45,
    "ListPartitionReassignments": 46,
    "DescribeQuorum": 55,
    "DescribeCluster": 60,
    "DescribeTopicPartitions": 75,
}
TO_CONTROLLERS = {"Fetch": 1, "Vote": 52, "DescribeQuorum": 55, "FetchSnapshot": 59}
# The key that an unreleased Kafka once gave to KIP-1275's GetReplicaLogInfo.
KEY_93 = 93
ELR, METADATA_VERSION = "eligible.leader.replicas.version", "metadata.version"

Versions = tuple[int, int] | None


@dataclass(frozen=True)
class Offers:
    """Lowest and highest version of each message (None: not offered), and of each feature; levels that the cluster works at.

    `elr_by_default`: the level of the feature that formatting gives by itself (None: the release has no such feature).
    `described`: broker id to (host and port or "", fenced or None where the cluster does not say), as DescribeCluster lists them.
    """

    to_brokers: dict[str, Versions]
    to_controllers: dict[str, Versions]
    key_93: Versions
    supported: dict[str, tuple[int, int]]
    finalized: dict[str, int]
    metadata_version: str
    elr_by_default: int | None
    described: dict[int, tuple[str, bool | None]]


def of(cluster: KafkaCluster, broker_id: int) -> Offers:
    """Ask this broker and the first controller."""
    broker = (config.HOST, cluster.brokers[broker_id].replication_port or 0)
    controller = next(iter(cluster.controllers.values()))
    reported = _reported(broker)
    known = _versions(reported)
    led = _versions(_reported((config.HOST, controller.port)))
    described = known[TO_BROKERS["DescribeCluster"]]
    return Offers(
        {name: known.get(key) for name, key in TO_BROKERS.items()},
        {name: led.get(key) for name, key in TO_CONTROLLERS.items()},
        known.get(KEY_93),
        {row.name: (row.min_version, row.max_version) for row in reported.supported_features or ()},
        {row.name: row.max_version_level for row in reported.finalized_features or ()},
        _metadata_version(controller.log_file.read_text()),
        _elr_by_default(cluster),
        _described(broker, described[1]),
    )


def _reported(node: Address) -> Any:
    """What a node says to ApiVersions. Before v4 it does not name a feature whose lowest level is 0; one that knows no v4 answers with v0."""
    for version in (4, 3):
        answer = ask(node, ApiVersionsRequest[version](client_software_name="rig", client_software_version="1"), SECONDS)
        if answer.error_code != UNSUPPORTED_VERSION:
            return answer
    raise AssertionError("this node refuses ApiVersions v3")


def _versions(answer: object) -> dict[int, tuple[int, int]]:
    return {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}  # type: ignore[attr-defined]


def _metadata_version(log: str) -> str:
    """The name that the controller has for the level it works at."""
    # Kafka 3.9 and newer, 3.4 to 3.8, 3.3
    texts = rf"setting {re.escape(METADATA_VERSION)} to ", r"Features\(version=", rf"at {re.escape(METADATA_VERSION)} "
    found = next(filter(None, (re.findall(rf"{text}(\S+-IV\d+)", log) for text in texts)), None)
    assert found, "the controller did not log its metadata version"
    return str(found[-1])


def _elr_by_default(cluster: KafkaCluster) -> int | None:
    """What StorageTool says of the release's newest metadata version. (3.9's has no such command, and no such feature.)"""
    argv = java.command(cluster.libs, "kafka.tools.StorageTool", "version-mapping", jvm_options=["-XX:TieredStopAtLevel=1"])
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    found = re.search(rf"(?m)^{re.escape(ELR)}=(\d+)$", done.stdout)
    return int(found.group(1)) if found else None


def _described(broker: tuple[str, int], version: int) -> dict[int, tuple[str, bool | None]]:
    chosen = min(version, 2)
    fields = {"include_cluster_authorized_operations": False, "endpoint_type": 1, "include_fenced_brokers": True}
    known = list(fields)[: chosen + 1]
    answer = ask(broker, DescribeClusterRequest[chosen](**{name: fields[name] for name in known}), SECONDS)
    return {
        row.broker_id: (f"{row.host}:{row.port}" if row.host else "", bool(row.is_fenced) if chosen >= 2 else None)
        for row in answer.brokers
    }
