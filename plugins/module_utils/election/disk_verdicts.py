# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Verdicts on the disks of lost brokers, which elections change: a new leader may lack records that such a disk has."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Entry
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionSource,
    TopicPartition,
    without_live_leader,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import disk_verdict, last_in_sync

ELECTED_SINCE = "partitions that it has were elected since: read its disk again"


class Part(disk_verdict.ToElect, last_in_sync.Elected, Protocol):
    """A partition before its election: its state, or the entry of a plan."""


class VerdictCluster(PartitionSource, Protocol):
    """The parts of a cluster that this file uses."""

    elections_in_doubt: set[TopicPartition]

    @property
    def cluster_id(self) -> str: ...
    def unfenced(self) -> set[int]: ...


class DiskVerdicts:
    """The verdicts of a cluster during one run. `name`: of the cluster in the inventory. `warnings`: verdicts that cannot be used, and why."""

    def __init__(self, cluster: VerdictCluster, workdir: Path, name: str, run_id: str) -> None:
        self._cluster, self._workdir, self._name, self._run_id = cluster, workdir, name, run_id
        self._withdrawn: set[TopicPartition] = set()
        self._expected: dict[int, set[TopicPartition]] = {}
        self._of_earlier_runs: set[int] = set()
        self.warnings: list[str] = []

    def withdraw_for(self, entries: Sequence[Entry]) -> None:
        """Call `withdraw` for entries of a plan. Logs that fenced brokers have shown are saved before an election, if it would destroy records."""
        logs = {entry.key: entry.live_evidence.logs for entry in entries if entry.live_evidence is not None}
        answered = {key: {log.broker_id for log in found if log.answered and log.read_from_disk_at is None} for key, found in logs.items()}
        self.withdraw(entries, answered)

    def withdraw(self, parts: Sequence[Part], answered: Mapping[TopicPartition, Collection[int]] | None = None) -> None:
        """Say that brokers are not safe to start which are lost replicas of partitions to elect. Call it before each election.

        answered  fenced brokers whose logs are known, by partition. They need no verdict if they have none

        Raises FileError if a verdict cannot be written, ClusterError if the cluster does not answer.
        """
        parts = [part for part in parts if part.key not in self._withdrawn]
        self._withdrawn.update(part.key for part in parts)
        self._note_in_sync(parts)
        safe, unread = self._brokers({broker for part in parts for broker in part.replicas})
        unfenced = self._cluster.unfenced() if safe or unread else set()
        if safe:
            offline = without_live_leader(self._cluster.partitions({part.key for part in parts}), unfenced)
            for broker in sorted(safe & {broker for state in offline for broker in state.replicas} - unfenced):
                disk_verdict.withdraw(self._workdir, self._name, self._cluster.cluster_id, self._run_id, broker, ELECTED_SINCE)
        for broker in sorted(unread - unfenced):
            if own := [part for part in parts if broker in part.replicas and broker not in (answered or {}).get(part.key, ())]:
                disk_verdict.expect_loss(self._workdir, self._name, self._cluster.cluster_id, self._run_id, broker, own)
                self._expected.setdefault(broker, set()).update(part.key for part in own)

    def _note_in_sync(self, parts: Sequence[Part]) -> None:
        """Keep which replicas are in sync, for their disks: after the election the cluster does not know it any more."""
        try:
            last_in_sync.note(self._workdir, self._name, self._cluster.cluster_id, parts)
        except FileError as error:
            self.warnings.append(str(error))

    def _brokers(self, replicas: Collection[int]) -> tuple[set[int], set[int]]:
        """Return the brokers that were safe to start, and those whose disks were never read."""
        safe, unread = set[int](), set[int]()
        for broker in sorted(replicas):
            path = disk_verdict.path_of(self._workdir, self._name, broker)
            try:
                verdict = disk_verdict.read(self._workdir, path)
            except FileError as error:
                self.warnings.append(str(error))
                continue
            if verdict is None or disk_verdict.is_of_no_disk(verdict):
                unread.add(broker)
                if verdict is not None and broker not in self._expected:
                    self._of_earlier_runs.add(broker)
            elif verdict["cluster_id"] != self._cluster.cluster_id:
                self.warnings.append(
                    f"{path} is of another cluster, {verdict['cluster_id']}, so nothing warns of broker {broker} if it comes back: move that file away"
                )
            elif verdict["safe_to_start"]:
                safe.add(broker)
        return safe, unread

    def settle(self, elected: Collection[TopicPartition]) -> None:
        """After the elections, remove the verdicts of brokers whose disks were never read if none of their partitions was elected after all.

        elected  partitions that are elected, or may be

        The verdict stays if an election was never answered: a broker that hangs may still carry it out. A run that was killed may have sent one, too,
        so verdicts of earlier runs stay. They say nothing as long as none of their partitions is elected (`disk_verdict.is_in_force`).
        """
        kept = {*elected, *self._cluster.elections_in_doubt}
        brokers = [broker for broker in sorted(self._expected.keys() - self._of_earlier_runs) if self._expected[broker].isdisjoint(kept)]
        try:
            states = self._cluster.partitions(set().union(*(self._expected[broker] for broker in brokers))) if brokers else {}
            for broker in brokers:
                disk_verdict.forget_unless_elected(self._workdir, self._name, broker, states)
        except RecoveryError as error:
            self.warnings.append(f"whether partitions of brokers {brokers} were elected without them is not known: {error}")
