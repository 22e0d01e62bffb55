# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""COMMIT markers that only saved records have, for transactions that the elected log has open, or has aborted since. Pure.

Without its marker a transaction stays open forever: consumers with read_committed do not get past it, and to abort it would destroy what was committed.
A coordinator that does not know of the commit may do just that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumers import Producer
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_records import Marker
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_log import COMMIT, is_of_note
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replicas import Contents

ABORT = "abort"
ENDS = (COMMIT, ABORT)
WRITTEN_SINCE = "its producer has written more since the election, which the marker would commit, too"


class OpenCommit(NamedTuple):
    """A transaction that is open in the elected log, with the saved marker that commits it. `doubt`: why the marker must not be written, or None."""

    marker: Marker
    start_offset: int
    doubt: str | None

    def row(self, written: bool, reason: str | None) -> dict[str, Any]:
        """Return what the module returns of it."""
        return _row(self.marker, self.start_offset, written, reason)


class AbortedCommit(NamedTuple):
    """A transaction that the elected log has aborted, with the saved marker that commits it. `doubt`: why that is not known for sure, or None."""

    marker: Marker
    abort: Marker
    doubt: str | None

    def row(self, start_offset: int | None) -> dict[str, Any]:
        """Return what the module returns of it. `start_offset`: the first offset of the transaction in the elected log, None if it is not known."""
        doubt, since = self.doubt, "" if start_offset is None else f" from offset {start_offset} on"
        if doubt is None and start_offset is None:
            doubt = "the leader does not say yet which records that aborted: run again when no transaction is open before it"
        reason = (
            f"the cluster has aborted it since (offset {self.abort.offset}), although it was committed: consumers with read_committed do not get its "
            f"records before that{since}, read them with isolation.level=read_uncommitted"
        )
        if doubt is not None:
            reason = f"the cluster has aborted it since (offset {self.abort.offset}), and it may have been committed before: {doubt}"
        return _row(self.marker, start_offset, False, reason, self.abort.offset)


def _row(marker: Marker, start_offset: int | None, written: bool, reason: str | None, abort_offset: int | None = None) -> dict[str, Any]:
    return {
        "producer_id": marker.producer_id, "producer_epoch": marker.producer_epoch, "coordinator_epoch": marker.coordinator_epoch,
        "start_offset": start_offset, "abort_offset": abort_offset, "written": written, "reason": reason,
    }  # fmt: skip


def open_commits(
    saved: Iterable[tuple[Contents, Collection[Marker]]],
    producers: Iterable[Producer],
    fork: int,
    writers: Collection[int],
    under_way: Mapping[int, int | None],
    blind: str | None,
) -> list[OpenCommit]:
    """Return the open transactions of a partition that a saved marker commits.

    saved      what is saved of each replica, and all of its markers
    producers  as the leader describes them
    fork       the offset at which the saved logs leave the elected log
    writers    ids of the producers that have written to the elected log behind the fork
    under_way  by id of the producers that coordinators describe: when the transaction began that they have on the partition and that is not ended (ms since
               1970, -1 if it is not known), None if they have none
    blind      why some of these may be missing, None if none are
    """
    logs, found = [*saved], []
    for producer in producers:
        if not 0 <= producer.start_offset < fork or is_of_note(producer.producer_id):
            continue
        commit, doubt = _saved_commit(logs, producer.producer_id, (producer.producer_epoch, producer.producer_epoch + 1), fork)
        if commit is None:
            continue
        if doubt is None:
            doubt = _hindrance(commit, writers, under_way, blind)
        found.append(OpenCommit(commit, producer.start_offset, doubt))
    return found


def aborted_commits(
    saved: Iterable[tuple[Contents, Collection[Marker]]], first_ends: Mapping[int, Marker], fork: int
) -> list[AbortedCommit]:
    """Return the transactions of a partition that a saved marker commits, and the elected log aborts behind the fork.

    saved       as in `open_commits`
    first_ends  of the elected log from the fork on, as `TargetLog.first_ends`

    The caller compares the first offset of each one in the elected log with the fork: the transaction may have begun behind it.
    """
    logs, found = [*saved], []
    for producer_id, end in first_ends.items():
        if end.kind != ABORT or is_of_note(producer_id):
            continue
        # Of a log that was saved from behind this marker on, the first end may be that of the next transaction.
        since = [(contents, markers) for contents, markers in logs if contents.start <= end.offset]
        commit, doubt = _saved_commit(since, producer_id, range(end.producer_epoch - 1, end.producer_epoch + 2), fork)
        if commit is not None:
            found.append(AbortedCommit(commit, end, doubt))
    return found


def _hindrance(commit: Marker, writers: Collection[int], under_way: Mapping[int, int | None], blind: str | None) -> str | None:
    """Return why the cluster does not allow to commit an open transaction, None if it does."""
    if commit.producer_id in writers:
        return WRITTEN_SINCE
    if commit.producer_id not in under_way and blind:
        return f"it is not known whether its coordinator has a transaction of its producer under way ({blind}): run again"
    began = under_way.get(commit.producer_id)
    # One that began before the COMMIT is the one that it ends: a coordinator that lost what it knew of the end still has it under way.
    if began is not None and not 0 <= began < commit.timestamp:
        return (
            "its coordinator has a newer transaction of its producer under way on the partition, whose records the marker would commit, too: run again once "
            "that has ended, and do not abort the transaction"
        )
    return None


def _saved_commit(
    logs: Iterable[tuple[Contents, Collection[Marker]]], producer_id: int, epochs: Collection[int], fork: int
) -> tuple[Marker | None, str | None]:
    """Return the saved COMMIT of the transaction that a producer had open at the fork, None if it has none, and why that is in doubt."""
    ends: list[Marker] = []
    doubtful: list[Marker] = []
    for contents, markers in logs:
        first = _first_end(markers, producer_id, epochs, fork)
        if first is not None:
            (doubtful if contents.has_gap(fork, first.offset) else ends).append(first)
    commits = [marker for marker in ends or doubtful if marker.kind == COMMIT]
    doubt = None
    if not ends:
        doubt = "saved records are missing before its COMMIT, which may be that of a later transaction"
    elif len(commits) < len(ends):
        doubt = "saved logs disagree whether it was committed"
    return (commits[0] if commits else None), doubt


def _first_end(markers: Iterable[Marker], producer_id: int, epochs: Collection[int], fork: int) -> Marker | None:
    """Return the first marker of a producer behind the fork: it ends the transaction that began below it."""
    own = (
        marker
        for marker in markers
        if marker.offset >= fork and marker.producer_id == producer_id and marker.producer_epoch in epochs and marker.kind in ENDS
    )
    return min(own, key=lambda marker: marker.offset, default=None)
