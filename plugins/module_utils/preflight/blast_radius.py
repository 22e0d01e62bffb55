# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Blast radius: how far a recovery may reach without being told so, and whether brokers are as lost as their operator says.

The decisions are pure. Only `check`, `excess` and `look_for` ask the cluster.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport import connection_diagnosis
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import SpokenError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import UNFENCED, Node
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.quorum import Quorum

# What two brokers may lead, with room to spare; everything of a big cluster at once is more.
MAX_PARTITIONS = 10_000
# With three replicas a partition that can be recovered has lost two of them. More brokers at once are rather cut off than lost.
MAX_OFFLINE_BROKERS = 2
# Kafka's default of broker.session.timeout.ms. A dead broker is silent for so long before anybody calls it dead.
SILENT_FOR = 9.0
# A broker fetches the metadata log at least every 0.5 s, and finds a new leader of the quorum within seconds.
WATCH_SECONDS = 3.0


class BlastRadiusError(SpokenError):
    """A recovery would reach further than it may, or a broker is not as lost as was said; the text names the option and the number."""


@dataclass(frozen=True)
class Limits:
    """What one recovery of one cluster may do. `lost_brokers`: ids of brokers that are gone for good, as their operator says."""

    max_partitions: int = MAX_PARTITIONS
    max_offline_brokers: int = MAX_OFFLINE_BROKERS
    lost_brokers: tuple[int, ...] = ()

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> Limits:
        """Build from module parameters."""
        return cls(params["max_partitions"], params["max_offline_brokers"], tuple(params["lost_brokers"]))


class Sight(NamedTuple):
    """What is seen of one broker.

    `known`: registered, or in a replica set. `address`: host:port, None where the cluster does not tell it. `answers`: something accepts
    connections there. `silent_seconds`: since it last fetched the metadata log, None where it has not since `epoch` began. `epoch`: that of
    the quorum's leader at the end, None where it changed in between.
    """

    broker_id: int
    known: bool
    unfenced: bool
    address: str | None
    answers: bool
    silent_seconds: float | None
    epoch: int | None


def beyond(partitions: int, offline: Collection[int], limits: Limits, cluster: str | None) -> list[str]:
    """What goes beyond the limits, in words. `partitions` would be elected while the brokers `offline` are not there.

    `cluster`: its name in the inventory; None where no playbook sets these limits.
    """
    reasons = []
    if partitions > limits.max_partitions:
        reasons.append(
            f"{partitions} partitions would be elected, and max_partitions is {limits.max_partitions}: "
            f"if so many are meant, say so ({_saying('max_partitions', partitions, cluster)})"
        )
    if partitions and len(offline) > limits.max_offline_brokers:
        reasons.append(
            f"{len(offline)} brokers are offline ({_ids(offline)}), and max_offline_brokers is {limits.max_offline_brokers}: so many at once are "
            "rather cut off than lost, and bring their records with them when they return; "
            f"if they are lost, say so ({_saying('max_offline_brokers', len(offline), cluster)})"
        )
    return reasons


def _saying(option: str, number: int, cluster: str | None) -> str:
    return f"{option}: {number}" if cluster is None else f"playbooks: --limit {cluster} -e kafka_recovery_{option}={number}"


def signs_of_life(sight: Sight) -> list[str]:
    """Why a broker cannot be called lost, in words."""
    signs = []
    if not sight.known:
        return ["it is no broker of this cluster: neither registered nor in a replica set"]
    if sight.unfenced:
        signs.append("it is not fenced")
    if sight.answers:
        signs.append(f"its port {sight.address} accepts connections")
    if sight.epoch is None:
        signs.append("the leader of the metadata quorum changed while it was watched, so its silence proves nothing yet")
    elif sight.silent_seconds is not None and sight.silent_seconds <= SILENT_FOR:
        signs.append(f"it fetched the metadata log {sight.silent_seconds:.1f} s ago")
    return signs


def not_lost(sights: Iterable[Sight], lost: Collection[int]) -> list[str]:
    """Why the brokers named as lost are not all that are lost, or not lost at all, in words.

    All sights are looked at: the list has to be complete, since a broker that is offline and not on it is expected back with its
    records. One that shows life needs no name: partitions that it could lead without loss wait for it.
    """
    reasons = []
    for sight in sights:
        signs = signs_of_life(sight)
        if sight.broker_id in lost and signs:
            reasons.append(f"broker {sight.broker_id} is named in lost_brokers, but {', and '.join(signs)}")
        elif sight.broker_id not in lost and not signs:
            reasons.append(
                f"broker {sight.broker_id} is offline and silent, too, but not named in lost_brokers: name it if it is lost for good, "
                "or bring it back first"
            )
    return reasons


class Watched(Protocol):
    """What is needed of a cluster."""

    def registered(self) -> list[Node]: ...
    def quorum(self) -> Quorum: ...
    def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]: ...
    def broker_states(self, mentioned: Collection[int] = ()) -> list[dict[str, Any]]: ...


def look_for(cluster: Watched, lost: Collection[int], mentioned: Collection[int]) -> list[Sight]:
    """Watch for WATCH_SECONDS whether these brokers, or any that is registered or `mentioned` as a replica, show life."""
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
        Sight(
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


def check(
    cluster: Watched, name: str | None, replicas: Collection[int], entries: int, predicted: Callable[[], int], limits: Limits
) -> None:
    """Raise BlastRadiusError if electing would go beyond the limits, or if a lost broker shows life. Parameters: as for `excess`."""
    refuse(excess(cluster, name, replicas, entries, predicted, limits))


def refuse(reasons: Sequence[str]) -> None:
    """Raise BlastRadiusError if there are reasons."""
    if reasons:
        raise BlastRadiusError(f"nothing was elected: {'; '.join(reasons)}")


def excess(
    cluster: Watched, name: str | None, replicas: Collection[int], entries: int, predicted: Callable[[], int], limits: Limits
) -> list[str]:
    """Return what goes beyond the limits, and which lost brokers show life, in words. `name`: as for `beyond`.

    `entries` are to be elected, whose brokers are `replicas`. Some of them may be online by now, so before anything is refused they
    are counted again (`predicted`).
    """
    if not entries:
        return []
    offline = [row["broker_id"] for row in cluster.broker_states(replicas) if row["broker_state"] != UNFENCED]
    reasons = beyond(entries, offline, limits, name) and beyond(predicted(), offline, limits, name)
    if limits.lost_brokers:
        reasons += not_lost(look_for(cluster, limits.lost_brokers, replicas), limits.lost_brokers)
    return reasons


def _ids(brokers: Iterable[int]) -> str:
    ids = sorted(brokers)
    return ", ".join(map(str, ids[:20])) + (", …" if len(ids) > 20 else "")


def argument_spec() -> dict[str, Any]:
    """The options behind `Limits`."""
    return {
        "max_partitions": {"type": "int", "default": MAX_PARTITIONS},
        "max_offline_brokers": {"type": "int", "default": MAX_OFFLINE_BROKERS},
        "lost_brokers": {"type": "list", "elements": "int", "default": []},
    }


def rows(sights: Sequence[Sight], lost: Collection[int]) -> list[dict[str, Any]]:
    """The brokers named as lost, as `kafka_lost_broker_info` returns them."""
    return [
        {
            "broker_id": sight.broker_id,
            "address": sight.address,
            "silent_seconds": sight.silent_seconds,
            "signs_of_life": signs_of_life(sight),
        }
        for sight in sights
        if sight.broker_id in lost
    ]
