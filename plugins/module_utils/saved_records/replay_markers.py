# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""COMMIT markers that only saved records have, for transactions that the elected log has open. Pure.

Without its marker such a transaction stays open forever: consumers with read_committed do not get past it, and to abort it would destroy what was committed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumers import Producer
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_records import Marker

COMMIT = "commit"


class OpenCommit(NamedTuple):
    """A transaction that is open in the elected log, with the saved marker that commits it. `doubt`: why the marker must not be written, or None."""

    marker: Marker
    start_offset: int
    doubt: str | None


def open_commits(
    saved: Mapping[int, Collection[Marker]], producers: Iterable[Producer], fork: int, writers: Collection[int]
) -> list[OpenCommit]:
    """Return the open transactions of a partition that a saved marker commits.

    saved      by producer id: markers behind the fork, of all saved logs of the partition
    producers  as the leader describes them
    fork       the offset at which the saved logs leave the elected log
    writers    ids of the producers that have written to the elected log behind the fork
    """
    found = []
    for producer in producers:
        if not 0 <= producer.start_offset < fork:
            continue
        markers = [
            marker
            for marker in saved.get(producer.producer_id, ())
            if marker.producer_epoch in (producer.producer_epoch, producer.producer_epoch + 1) and marker.kind in (COMMIT, "abort")
        ]
        if not markers:
            continue
        # The first marker behind the fork ends the transaction that began below it.
        first = min(marker.offset for marker in markers)
        ends = {marker.kind: marker for marker in markers if marker.offset == first}
        if COMMIT not in ends:
            continue
        doubt = None
        if len(ends) > 1:
            doubt = "saved logs disagree whether it was committed"
        elif producer.producer_id in writers:
            doubt = "its producer has written more since the election, which the marker would commit, too"
        found.append(OpenCommit(ends[COMMIT], producer.start_offset, doubt))
    return found
