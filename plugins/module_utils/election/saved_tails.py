# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Saves what the elections of one run would destroy, before the first request that changes the cluster. A partition that is not saved is held."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.kip1275_cluster import NativeCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import signals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Entry, Result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import ReasonCode
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.save import Saved, TailSaver
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.save_limits import Limits
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.saved_folder import folder_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tail_sizes import limit_warnings, log_sizes, total
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails import Tail, tails_of

REMEDY = "repair that and run again, or give these records up with save_records=false (kafka_recovery_save_records)"


class NotSaved(NamedTuple):
    """Entries that must not be elected now: those that are `held`, with their results, and those whose partitions have `changed` since the plan, or have
    logs that were not read. The guards may have better reasons against these."""

    held: list[Result]
    changed: list[Entry]


class RecordSaver:
    """Saves the tails of entries of one cluster and run. `header`: as in `part_writer.open_part`; `enabled`: whether anything is saved at all."""

    def __init__(self, cluster: NativeCluster, workdir: Path, header: Mapping[str, Any], enabled: bool, limits: Limits) -> None:
        self._cluster, self._header, self._enabled, self._limits = cluster, header, enabled, limits
        self._folder = folder_of(workdir, header["run_id"], header["cluster"])
        self._saved = Saved()
        self._tails: dict[Tail, None] = {}
        self._reasons: dict[Tail, str] = {}
        self._bytes_at_most: int | None = None
        self.warnings: list[str] = []

    def destroys(self, entry: Entry) -> bool:
        """Return whether the election of an entry destroys, or may destroy, records that have to be saved before."""
        return self._enabled and (any(True for _tail in _tails([entry])) or unread_logs(entry) is not None)

    def foreseen(self, entry: Entry, result: Result) -> Result:
        """Return the result of an entry whose guards foresee `result`: one that has a log that was not read is held."""
        unread = unread_logs(entry) if self._enabled and result.outcome == Outcome.ELECTED else None
        return result if unread is None else not_saved(entry, unread)

    def save(self, entries: Sequence[Entry]) -> tuple[list[Entry], NotSaved]:
        """Save what the elections of `entries` destroy. Return the entries of which all records are on the disk, and the others."""
        tails = list(_tails(entries)) if self._enabled else []
        self._tails |= dict.fromkeys(tails)
        try:
            if tails:
                self._save(tails)
        except RecoveryError as error:
            self._reasons |= dict.fromkeys(tails, str(error))
        complete = {*self._saved.complete}
        self._reasons = {tail: reason for tail, reason in (self._reasons | self._saved.refused).items() if tail not in complete}
        left = [tail for tail in tails if tail not in complete]
        reasons: dict[TopicPartition, list[str]] = {}
        for tail in left:
            if tail not in self._saved.changed:
                reasons.setdefault(tail.key, []).append(f"the log of broker {tail.broker_id}: {self._reasons.get(tail, 'it was not read')}")
        unread = {entry.key for entry in entries if self._enabled and unread_logs(entry)}
        changed = ({tail.key for tail in left} | unread) - reasons.keys()
        held = [not_saved(entry, "; ".join(reasons[entry.key])) for entry in entries if entry.key in reasons]
        return (
            [self._with_fenced(entry) for entry in entries if entry.key not in reasons and entry.key not in changed],
            NotSaved(held, [entry for entry in entries if entry.key in changed]),
        )

    def _with_fenced(self, entry: Entry) -> Entry:
        """Return the entry with the ends of what was saved of fenced brokers, whose logs may grow until the election."""
        ends = _fenced_ends(entry) if self._enabled else {}
        return replace(entry, saved_fenced=ends) if ends else entry

    def _save(self, tails: Sequence[Tail]) -> None:
        configs = self._cluster.topic_configs({tail.topic for tail in tails})
        if configs.refused:
            self.warnings.append(f"whether saved logs lack records is not checked where cleanup.policy is not known: {configs.problem()}")
        may_lack = {*configs.compacted, *configs.refused}
        saver = TailSaver(
            self._cluster,
            self._folder,
            self._header,
            self._limits,
            may_lack,
            states=self._cluster,
            asked_to_stop=signals.pending_signal,
            saved=self._saved,
        )
        saver.save(tails)

    def expect(self, entries: Sequence[Entry]) -> None:
        """Count what the elections of `entries` would save, without reading it, and ask brokers how large these logs are.

        `warnings` names the limits that it may exceed.
        """
        if self._enabled:
            self._tails |= dict.fromkeys(_tails(entries))
            with suppress(RecoveryError):
                sizes = log_sizes(self._cluster, self._tails)
                self._bytes_at_most = total(sizes, self._tails)
                self.warnings += limit_warnings(sizes, self._limits)

    def report(self) -> dict[str, Any]:
        """Return the field `saved_records` of the result: the folder (None if there is nothing to save), and counts of this run."""
        return {
            "path": str(self._folder) if self._tails else None,
            "replicas": len(self._tails),
            "saved": len(self._saved.complete),
            "not_saved": len(self._reasons) + sum(1 for tail in self._saved.changed if tail not in self._reasons),
            "offsets": sum(tail.end - (tail.start or 0) for tail in self._tails),
            "bytes": self._saved.size,
            "bytes_at_most": self._bytes_at_most,
        }


def not_saved(entry: Entry, reason: str) -> Result:
    """Return the HELD result of an entry whose election would destroy records that are not saved."""
    sentence = f"its election would destroy records that are not saved: {reason}; {REMEDY}"
    return Result.of(entry, Outcome.HELD, ReasonCode.TAIL_NOT_SAVED, sentence)


def unread_logs(entry: Entry) -> str | None:
    """Return which brokers will follow the new leader at once and truncate a log that is not known, as a reason; None if there are none."""
    logs = entry.live_evidence.logs if entry.live_evidence else ()
    brokers = [log.broker_id for log in logs if log.may_hold_more and not log.answered]
    if not brokers:
        return None
    stays = "if it stays so, stop that broker: its disk can then be saved after the election, with the playbook rescue"
    return f"the log of broker {brokers[0]}, which is alive or coming back, was not read ({stays})"


def _fenced_ends(entry: Entry) -> dict[int, int]:
    return {row["broker_id"]: row["log_end_offset"] for row in entry.fenced_truncated}


def _tails(entries: Sequence[Entry]) -> Iterator[Tail]:
    """Yield what survivors lose, and what fenced brokers that answer lose once they are back."""
    for entry in entries:
        place = entry.key, entry.topic_id, entry.leader_epoch
        ends = {broker: end for broker, (_epoch, end) in entry.survivors.items()}
        in_sync = (*entry.isr, *entry.eligible_leader_replicas)
        yield from tails_of(*place, ends, entry.truncated, entry.broker_epochs, in_sync)
        yield from tails_of(*place, _fenced_ends(entry), entry.fenced_truncated, entry.broker_epochs, in_sync)
