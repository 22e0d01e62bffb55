# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Brokers that are alive, or are to be started, although the last verdict on their disks was not "safe to start": they truncate what only they have."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import COMING_BACK, UNFENCED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import disk_verdict


class BrokerSource(Protocol):
    """The parts of a cluster that this file uses."""

    @property
    def cluster_id(self) -> str: ...
    def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]: ...
    def broker_states(self, mentioned: Collection[int] = ()) -> list[dict[str, Any]]: ...


def returned_text(broker_id: int, verdict: Mapping[str, Any] | None, path: Path, state: str = UNFENCED) -> str | None:
    """Return why a broker should not be alive, or coming back, None if its verdict or its state says nothing against it. `path`: of the verdict."""
    if verdict is None or verdict["safe_to_start"]:
        return None
    judged = f"and at {verdict['judged_at']} it was not safe to start ({'; '.join(verdict['reasons'])})"
    if state == COMING_BACK:
        return f"broker {broker_id} is coming back, {judged}: it destroys records that only its disk has. Stop it, and save them first (playbook rescue)"
    if state == UNFENCED:
        return (
            f"broker {broker_id} is alive, {judged}: records that only its disk had are lost, or will be. Stop it if its logs are not truncated yet. When this "
            f"is settled, remove {path}"
        )
    return None


def unsafe_brokers(cluster: BrokerSource, verdicts: Mapping[int, Mapping[str, Any]]) -> list[int]:
    """Return the brokers that are not safe to start. `verdicts`: by broker. Raises ClusterError if the cluster is asked and does not answer."""
    keys = {key for verdict in verdicts.values() if not verdict["safe_to_start"] for key in disk_verdict.epoch_keys(verdict)}
    states = cluster.partitions(keys) if keys else {}
    return [broker for broker, verdict in verdicts.items() if disk_verdict.is_in_force(verdict, states)]


def warnings(cluster: BrokerSource, workdir: Path, name: str) -> list[str]:
    """Return a warning for each such broker of a cluster. The cluster is asked only if a broker was not safe to start.

    name  of the cluster in the inventory
    A verdict that cannot be read is a warning, too. Raises ClusterError if the cluster does not answer.
    """
    unread: list[str] = []
    verdicts = disk_verdict.read_all(workdir, name, cluster.cluster_id, unread)
    unsafe = unsafe_brokers(cluster, verdicts)
    states = {row["broker_id"]: row["broker_state"] for row in cluster.broker_states(unsafe)} if unsafe else {}
    texts = (returned_text(broker, verdicts[broker], disk_verdict.path_of(workdir, name, broker), states[broker]) for broker in unsafe)
    return [*unread, *(text for text in texts if text)]


def with_safety(
    rows: Iterable[Mapping[str, Any]], workdir: Path, name: str, cluster_id: str, cluster: BrokerSource | None = None
) -> list[dict[str, Any]]:
    """Return rows of lost brokers, each with `save_first`: whether records that only the disk of that broker has must, or may have to, be saved first.

    rows     each has a `broker_id`
    name     of the cluster in the inventory
    cluster  asked whether partitions of the disks were elected, or replicas came back, since the verdicts. Without it, partitions of disks that were never
             read count as elected, and a verdict that a broker is safe to start counts

    A verdict that cannot be read counts as not safe. Raises ClusterError if the cluster is asked and does not answer.
    """
    rows = [*rows]
    verdicts: dict[int, Mapping[str, Any]] = {}
    unsafe = set[int]()
    for broker in (row["broker_id"] for row in rows):
        try:
            verdict = disk_verdict.read_own(workdir, name, cluster_id, broker)
        except FileError:
            unsafe.add(broker)
            continue
        if verdict is not None:
            verdicts[broker] = verdict
    if cluster is None:
        unsafe.update(one for one, verdict in verdicts.items() if not verdict["safe_to_start"])
    else:
        unsafe.update(unsafe_brokers(cluster, verdicts))
        unsafe.update(_outdated(cluster, verdicts))
    return [{**row, "save_first": row["broker_id"] in unsafe} for row in rows]


def _outdated(cluster: BrokerSource, verdicts: Mapping[int, Mapping[str, Any]]) -> list[int]:
    """Return the brokers that were safe to start when their disks were read, and may not be any more."""
    safe = {broker: verdict for broker, verdict in verdicts.items() if verdict["safe_to_start"]}
    keys = {key for verdict in safe.values() for key in disk_verdict.epoch_keys(verdict)}
    if not keys:
        return []
    states = cluster.partitions(keys)
    unfenced = {row["broker_id"] for row in cluster.broker_states() if row["broker_state"] == UNFENCED}
    return [
        broker
        for broker, verdict in safe.items()
        if disk_verdict.elected_since(verdict, states) or disk_verdict.returned_since(verdict, states, unfenced)
    ]
