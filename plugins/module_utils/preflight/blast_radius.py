# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Blast radius: limits of one recovery, and checks that brokers which an operator names as lost show no signs of life.

The rules are pure. Only `check`, `find_violations` and `watch_brokers` send requests to the cluster.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport import connection_diagnosis
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count, verb
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import UNFENCED, Node
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionSource
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.quorum import Quorum
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.recovery_limits import (
    MAX_OFFLINE_BROKERS,
    MAX_PARTITIONS,
    PARTITIONS,
    broker_ids,
    exceeded_limits,
)

# Kafka's default of broker.session.timeout.ms: the controller fences a broker that has been silent for so long.
SILENCE_SECONDS = 9.0
# A live broker fetches the metadata log at least every 0.5 s, and finds a new leader of the quorum within seconds.
WATCH_SECONDS = 3.0


@dataclass(frozen=True)
class BlastRadiusLimits:
    """Limits of one recovery of one cluster. `lost_brokers`: ids of brokers that the operator names as permanently lost."""

    max_partitions: int = MAX_PARTITIONS
    max_offline_brokers: int = MAX_OFFLINE_BROKERS
    lost_brokers: tuple[int, ...] = ()

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> BlastRadiusLimits:
        """Return the limits that module parameters name (see `argument_spec`)."""
        return cls(params["max_partitions"], params["max_offline_brokers"], tuple(params["lost_brokers"]))


class BrokerLiveness(NamedTuple):
    """Signs of life of one broker.

    known           whether it is registered, or in a replica set
    address         host:port, None if the cluster does not list it
    answers         whether something accepts connections at `address`
    silent_seconds  seconds since it last fetched the metadata log, None if it has not fetched since `epoch` began
    epoch           epoch of the quorum's leader, None if it changed during the watch
    """

    broker_id: int
    known: bool
    unfenced: bool
    address: str | None
    answers: bool
    silent_seconds: float | None
    epoch: int | None


def limit_violations(partitions: int, offline: Collection[int], limits: BlastRadiusLimits, cluster: str | None) -> list[str]:
    """Return a sentence for each limit that an election of so many `partitions` exceeds. `offline`: ids of all brokers that are not unfenced.

    `cluster`: its name in the inventory, None if no playbook sets these limits. The remedy then names the module's option.
    """
    reasons = []
    for exceeded in exceeded_limits(partitions, len(offline), limits.max_partitions, limits.max_offline_brokers):
        setting = _setting(exceeded.option, exceeded.needed, cluster)
        if exceeded.option == PARTITIONS:
            reasons.append(
                f"{count(partitions, 'partition')} would be elected, and {exceeded.option} is {exceeded.limit}: to allow so many, {setting}"
            )
        else:
            reasons.append(
                f"{count(len(offline), 'broker')} {verb(len(offline), 'is', 'are')} offline ({broker_ids(offline)}), and {exceeded.option} is "
                f"{exceeded.limit}: this looks like a network partition, not broker loss, and they return with their records; "
                f"if they are lost, {setting}"
            )
    return reasons


def _setting(option: str, number: int, cluster: str | None) -> str:
    return f"set {option}: {number}" if cluster is None else f"run with --limit {cluster} -e kafka_recovery_{option}={number}"


def signs_of_life(broker: BrokerLiveness) -> list[str]:
    """Return the reasons why a broker cannot count as lost, as parts of a sentence; empty if it shows no signs of life.

    Silence counts after SILENCE_SECONDS, and only if the quorum kept its leader during the watch.
    """
    signs = []
    if not broker.known:
        return ["it is not a broker of this cluster: neither registered nor in a replica set"]
    if broker.unfenced:
        signs.append("it is not fenced")
    if broker.answers:
        signs.append(f"its port {broker.address} accepts connections")
    if broker.epoch is None:
        signs.append("the leader of the metadata quorum changed during the watch, so its silence proves nothing yet")
    elif broker.silent_seconds is not None and broker.silent_seconds <= SILENCE_SECONDS:
        signs.append(f"it fetched the metadata log {broker.silent_seconds:.1f} s ago")
    return signs


def lost_broker_mismatches(brokers: Iterable[BrokerLiveness], lost: Collection[int]) -> list[str]:
    """Return a sentence for each broker in `lost` (ids) that shows signs of life, and for each broker without signs of life that is not in `lost`.

    The list must be complete: a broker that is offline and not on it is expected back with its records. A broker that shows signs of life
    need not be named: partitions that it could lead without loss wait for it.
    """
    reasons = []
    for broker in brokers:
        signs = signs_of_life(broker)
        if broker.broker_id in lost and signs:
            reasons.append(f"broker {broker.broker_id} is named in lost_brokers, but {', and '.join(signs)}")
        elif broker.broker_id not in lost and not signs:
            reasons.append(
                f"broker {broker.broker_id} is offline and silent, too, but not named in lost_brokers: name it if it is lost for good, "
                "or bring it back first"
            )
    return reasons


class BrokerSource(PartitionSource, Protocol):
    """The parts of a cluster that these checks use."""

    lists_fenced: bool

    def quorum(self) -> Quorum: ...
    def registered(self) -> list[Node]: ...
    def broker_states(self, mentioned: Collection[int] = ()) -> list[dict[str, Any]]: ...


def watch_brokers(cluster: BrokerSource, lost: Collection[int], mentioned: Collection[int]) -> list[BrokerLiveness]:
    """Watch the brokers for WATCH_SECONDS: those in `lost`, those that are registered, and those `mentioned` in replica sets.

    Returns one row for each, by id. Raises ClusterError if the quorum cannot be described.
    """
    first = cluster.quorum().leader_epoch
    time.sleep(WATCH_SECONDS)
    quorum = cluster.quorum()
    nodes = {node.broker_id: node for node in cluster.registered()}
    known = {*nodes, *mentioned}
    if not known.issuperset(lost):
        # Kafka before 4.0 does not list fenced brokers, but replica sets name them.
        known |= {broker for state in cluster.partitions().values() for broker in state.replicas}
    answering = connection_diagnosis.fenced_that_answer(nodes.values())
    silence = quorum.silence()
    epoch = quorum.leader_epoch if quorum.leader_epoch == first else None
    return [
        BrokerLiveness(
            broker,
            broker in known,
            broker in nodes and not nodes[broker].fenced,
            f"{nodes[broker].host}:{nodes[broker].port}" if broker in nodes else None,
            broker in answering,
            silence.get(broker),
            epoch,
        )
        for broker in sorted({*known, *lost})
    ]


def watch_all_brokers(cluster: BrokerSource, lost: Collection[int]) -> list[BrokerLiveness]:
    """Watch the brokers as `watch_brokers` does, with those in the replica sets of all partitions."""
    return watch_brokers(cluster, lost, {broker for state in cluster.partitions().values() for broker in state.replicas})


def check(
    cluster: BrokerSource,
    name: str | None,
    replicas: Collection[int],
    entries: int,
    predicted: Callable[[], int],
    limits: BlastRadiusLimits,
) -> None:
    """Raise RecoveryError if an election exceeds the limits, or if the lost brokers are not exactly those without signs of life.

    Parameters and other errors are those of `find_violations`.
    """
    raise_if_any(find_violations(cluster, name, replicas, entries, predicted, limits))


def raise_if_any(reasons: Sequence[str]) -> None:
    """Raise RecoveryError with these reasons (of `find_violations`), if there are any."""
    if reasons:
        raise RecoveryError(f"nothing was elected: {'; '.join(reasons)}")


def broker_states(cluster: BrokerSource, replicas: Collection[int]) -> tuple[list[dict[str, Any]], Collection[int]]:
    """Return the states of all brokers, and the ids that the sets of replicas name. `replicas`: those of the partitions that matter.

    Before Kafka 4.0 fenced brokers are not listed, so the sets of all partitions are read. Raises ClusterError if the cluster does not answer.
    """
    rows = cluster.broker_states(replicas)
    if cluster.lists_fenced:
        return rows, replicas
    replicas = {*replicas}.union(*(state.replicas for state in cluster.partitions().values()))
    return cluster.broker_states(replicas), replicas


def find_violations(
    cluster: BrokerSource,
    name: str | None,
    replicas: Collection[int],
    entries: int,
    predicted: Callable[[], int],
    limits: BlastRadiusLimits,
) -> list[str]:
    """Return a sentence for each limit that an election exceeds, and for each mismatch of `limits.lost_brokers`.

    name       the cluster, as for `limit_violations`
    replicas   ids of the brokers of the partitions to elect. Before Kafka 4.0 those of all partitions count
    entries    how many partitions are to be elected
    predicted  counts them again. Some may be online by now, so it is called before a limit counts as exceeded
    Takes WATCH_SECONDS if brokers are named as lost. Raises ClusterError if the cluster does not answer.
    """
    if not entries:
        return []
    rows, replicas = broker_states(cluster, replicas)
    offline = [row["broker_id"] for row in rows if row["broker_state"] != UNFENCED]
    reasons = limit_violations(entries, offline, limits, name) and limit_violations(predicted(), offline, limits, name)
    if limits.lost_brokers:
        reasons += lost_broker_mismatches(watch_brokers(cluster, limits.lost_brokers, replicas), limits.lost_brokers)
    return reasons


def argument_spec() -> dict[str, Any]:
    """Return the argument spec of the options that `BlastRadiusLimits.from_params` reads."""
    return {
        "max_partitions": {"type": "int", "default": MAX_PARTITIONS},
        "max_offline_brokers": {"type": "int", "default": MAX_OFFLINE_BROKERS},
        "lost_brokers": {"type": "list", "elements": "int", "default": []},
    }


def rows(brokers: Sequence[BrokerLiveness], lost: Collection[int]) -> list[dict[str, Any]]:
    """Return a row for each of the brokers in `lost` (ids): `broker_id`, `address`, `silent_seconds` and the sentences `signs_of_life`."""
    return [
        {
            "broker_id": broker.broker_id,
            "address": broker.address,
            "silent_seconds": broker.silent_seconds,
            "signs_of_life": signs_of_life(broker),
        }
        for broker in brokers
        if broker.broker_id in lost
    ]
