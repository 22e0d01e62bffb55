# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""COMMIT markers that only saved records have, for transactions that the elected log has open. Pure.

Without its marker such a transaction stays open forever: consumers with read_committed do not get past it, and to abort it would destroy what was committed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumers import Producer
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_records import Marker
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_log import COMMIT, is_of_note
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replicas import Contents

ENDS = (COMMIT, "abort")
WRITTEN_SINCE = "its producer has written more since the election, which the marker would commit, too"


class OpenCommit(NamedTuple):
    """A transaction that is open in the elected log, with the saved marker that commits it. `doubt`: why the marker must not be written, or None."""

    marker: Marker
    start_offset: int
    doubt: str | None

    def row(self, written: bool, reason: str | None) -> dict[str, Any]:
        """Return what the module returns of it."""
        return {
            "producer_id": self.marker.producer_id, "producer_epoch": self.marker.producer_epoch,
            "coordinator_epoch": self.marker.coordinator_epoch, "start_offset": self.start_offset, "written": written, "reason": reason,
        }  # fmt: skip


def open_commits(
    saved: Iterable[tuple[Contents, Collection[Marker]]],
    producers: Iterable[Producer],
    fork: int,
    writers: Collection[int],
    under_way: Mapping[int, bool],
    blind: str | None,
) -> list[OpenCommit]:
    """Return the open transactions of a partition that a saved marker commits.

    saved      what is saved of each replica, and all of its markers
    producers  as the leader describes them
    fork       the offset at which the saved logs leave the elected log
    writers    ids of the producers that have written to the elected log behind the fork
    under_way  by id of the producers that coordinators describe: whether they have a transaction on the partition that is not ended
    blind      why some of these may be missing, None if none are
    """
    logs, found = [*saved], []
    for producer in producers:
        if not 0 <= producer.start_offset < fork or is_of_note(producer.producer_id):
            continue
        ends: list[Marker] = []
        doubtful: list[Marker] = []
        for contents, markers in logs:
            first = _first_end(markers, producer, fork)
            if first is not None:
                (doubtful if contents.has_gap(fork, first.offset) else ends).append(first)
        commits = [marker for marker in ends or doubtful if marker.kind == COMMIT]
        if not commits:
            continue
        doubt = None
        if not ends:
            doubt = "saved records are missing before its COMMIT, which may be that of a later transaction"
        elif len(commits) < len(ends):
            doubt = "saved logs disagree whether it was committed"
        elif producer.producer_id in writers:
            doubt = WRITTEN_SINCE
        elif producer.producer_id not in under_way and blind:
            doubt = f"it is not known whether its coordinator has a transaction of its producer under way ({blind}): run again"
        elif under_way.get(producer.producer_id):
            doubt = (
                "its coordinator has a transaction of its producer under way on the partition, whose records the marker would commit, too"
            )
        found.append(OpenCommit(commits[0], producer.start_offset, doubt))
    return found


def _first_end(markers: Iterable[Marker], producer: Producer, fork: int) -> Marker | None:
    """Return the first marker of a producer behind the fork: it ends the transaction that began below it."""
    epochs = (producer.producer_epoch, producer.producer_epoch + 1)
    own = (
        marker
        for marker in markers
        if marker.offset >= fork and marker.producer_id == producer.producer_id and marker.producer_epoch in epochs and marker.kind in ENDS
    )
    return min(own, key=lambda marker: marker.offset, default=None)
