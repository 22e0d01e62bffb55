# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The leak check: every throttle config on every broker and every topic, asked of Kafka without the code that is tested.

No broker reports the configs of a dead broker, so all brokers have to be alive: what is not seen is not called gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kafka.protocol.admin import DescribeConfigsRequest, IncrementalAlterConfigsRequest

from rig import KafkaCluster
from rig.rpc import Unanswered, ask

TOPIC, BROKER = 2, 4
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
LEADER_RATE, FOLLOWER_RATE = "leader.replication.throttled.rate", "follower.replication.throttled.rate"
LEADER_REPLICAS, FOLLOWER_REPLICAS = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"
NAMES = (LEADER_RATE, FOLLOWER_RATE, LEADER_REPLICAS, FOLLOWER_REPLICAS)
SET_BY_SOMEBODY = (1, 2, 3)  # dynamic configs: of a topic, of a broker, of all brokers
EVERY_BROKER = ""  # the name of what is set for all brokers
SECONDS = 20.0


class ThrottleConfig(NamedTuple):
    """A throttle config that is set, an empty one too: `resource` is `broker <id>`, `brokers` (all of them) or `topic <name>`."""

    resource: str
    config: str
    value: str


def throttles(cluster: KafkaCluster) -> set[ThrottleConfig]:
    """Every throttle config in the cluster. The test fails where a broker is not alive."""
    missing = set(cluster.brokers) - cluster.unfenced()
    assert not missing, f"brokers {sorted(missing)} are not alive, and no other broker reports their configs"
    found: set[ThrottleConfig] = set()
    for broker in cluster.brokers:
        names = {"brokers": EVERY_BROKER, f"broker {broker}": str(broker)}
        for resource, name in names.items():
            found |= _described(cluster, broker, resource, BROKER, name)
        # Each broker by itself: one that lags behind must not hide what another one still acts on.
        for topic in sorted({state.topic for state in cluster.describe()}):
            found |= _described(cluster, broker, f"topic {topic}", TOPIC, topic)
    return found


def wait_for_throttles(cluster: KafkaCluster, expected: set[ThrottleConfig] = frozenset()) -> None:  # type: ignore[assignment]
    """Wait until exactly these are set: a broker shows a change a moment after the controller has made it, and listens a moment after it is unfenced."""

    def differing() -> str:
        try:
            found = throttles(cluster)
        except Unanswered as problem:
            return str(problem)
        return "" if found == expected else f"{sorted(found ^ expected)}"

    cluster.wait_until(differing, "throttle configs differ", 15)


def _described(cluster: KafkaCluster, broker: int, resource: str, kind: int, name: str) -> set[ThrottleConfig]:
    entry = DescribeConfigsRequest.DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=list(NAMES))
    request = DescribeConfigsRequest[4](resources=[entry], include_synonyms=True, include_documentation=False)
    (row,) = ask(_address(cluster, broker), request, SECONDS).results
    assert row.error_code == 0, (resource, row)
    # What hides behind the value that holds is set as well.
    return {
        ThrottleConfig("brokers" if synonym.source == 3 else resource, config.name, synonym.value)
        for config in row.configs
        for synonym in config.synonyms
        if synonym.source in SET_BY_SOMEBODY
    }


def alter(cluster: KafkaCluster, to: int, kind: int, name: str, changes: Mapping[str, tuple[int, str | None]]) -> Any:
    """Change configs as an operator would: `changes` is (operation, value) by config. Returns the answer's row."""
    entry = IncrementalAlterConfigsRequest.AlterConfigsResource
    configs = [
        entry.AlterableConfig(name=config, config_operation=operation, value=value) for config, (operation, value) in changes.items()
    ]
    resource = entry(resource_type=kind, resource_name=name, configs=configs)
    (row,) = ask(_address(cluster, to), IncrementalAlterConfigsRequest[1](resources=[resource], validate_only=False), SECONDS).responses
    return row


def set_by_operator(cluster: KafkaCluster, kind: int, name: str, **values: str) -> None:
    """Set throttle configs, named `leader_rate` and so on."""
    to = int(name) if kind == BROKER and name else min(cluster.unfenced())
    row = alter(cluster, to, kind, name, {globals()[config.upper()]: (SET, value) for config, value in values.items()})
    assert row.error_code == 0, row


def clear(cluster: KafkaCluster) -> None:
    """Remove every throttle config, whichever tool set it."""
    for found in throttles(cluster):
        kind, _, name = found.resource.partition(" ")
        to = int(name) if kind == "broker" else min(cluster.unfenced())
        alter(cluster, to, TOPIC if kind == "topic" else BROKER, name, {found.config: (DELETE, None)})
    wait_for_throttles(cluster)


def _address(cluster: KafkaCluster, broker: int) -> tuple[str, int]:
    return "127.0.0.1", cluster.brokers[broker].replication_port or 0
