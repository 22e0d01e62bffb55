# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Saves what the elections of one run would destroy, before the first request that changes the cluster. A partition that is not saved is held."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.kip1275_cluster import NativeCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import signals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Entry, Result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import ReasonCode
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.save import Limits, Saved, TailSaver
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.store import folder_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails import Tail, tails_of

REMEDY = "repair that and run again, or give these records up with save_records=false (kafka_recovery_save_records)"


class RecordSaver:
    """Saves the tails of entries of one cluster and run. `header`: as in `store.open_part`; `enabled`: whether anything is saved at all."""

    def __init__(self, cluster: NativeCluster, workdir: Path, header: Mapping[str, Any], enabled: bool, max_bytes: int | None) -> None:
        self._cluster, self._header, self._enabled = cluster, header, enabled
        self._folder = folder_of(workdir, header["run_id"], header["cluster"])
        self._limits = Limits(run_bytes=max_bytes)
        self._saved = Saved()
        self._tails: dict[Tail, None] = {}

    def save(self, entries: Sequence[Entry]) -> tuple[list[Entry], list[Result]]:
        """Save what the elections of `entries` destroy. Return the entries that may be elected, and the HELD results of the others.

        If files cannot be written, every entry that destroys records is held. Partitions that have changed since the plan stay with the guards.
        """
        tails = list(_tails(entries)) if self._enabled else []
        self._tails |= dict.fromkeys(tails)
        reasons: dict[TopicPartition, str] = {}
        try:
            if tails:
                self._save(tails)
            reasons = {tail.key: f"the log of broker {tail.broker_id}: {reason}" for tail, reason in self._saved.refused.items()}
        except RecoveryError as error:
            reasons = {tail.key: str(error) for tail in tails}
        held = [
            Result.of(entry, Outcome.HELD, ReasonCode.TAIL_NOT_SAVED, _sentence(reasons[entry.key]))
            for entry in entries
            if entry.key in reasons
        ]
        return [entry for entry in entries if entry.key not in reasons], held

    def _save(self, tails: Sequence[Tail]) -> None:
        compacted = self._cluster.topic_configs({tail.topic for tail in tails}).compacted
        saver = TailSaver(
            self._cluster, self._folder, self._header, self._limits, compacted, asked_to_stop=signals.pending_signal, saved=self._saved
        )
        saver.save(tails)

    def expect(self, entries: Sequence[Entry]) -> None:
        """Count what the elections of `entries` would save, without reading it."""
        if self._enabled:
            self._tails |= dict.fromkeys(_tails(entries))

    def report(self) -> dict[str, Any]:
        """Return the field `saved_records` of the result: the folder (None if there is nothing to save), and counts of this run."""
        return {
            "path": str(self._folder) if self._tails else None,
            "replicas": len(self._tails),
            "saved": len(self._saved.complete),
            "not_saved": len(self._saved.refused),
            "offsets": sum(tail.end - (tail.start or 0) for tail in self._tails),
            "bytes": self._saved.size,
        }


def _tails(entries: Sequence[Entry]) -> Iterator[Tail]:
    for entry in entries:
        ends = {broker: end for broker, (_epoch, end) in entry.survivors.items()}
        yield from tails_of(entry.key, entry.topic_id, entry.leader_epoch, ends, entry.truncated)


def _sentence(reason: str) -> str:
    return f"its election would destroy records that are not saved: {reason}; {REMEDY}"
