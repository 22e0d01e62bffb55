# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How far one tail is read, and whether the batches of an answer are the next ones of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import BatchError, StoredBatch
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails import Tail


@dataclass
class Reading:
    """A tail that is being read: the next offset, and the bytes and last batch so far."""

    tail: Tail
    next_offset: int
    size: int = 0
    last: StoredBatch | None = None

    def check(self, batches: Sequence[StoredBatch], again: str) -> None:
        """Raise BatchError if these are not the next batches of the tail. `again`: the remedy if the log has changed. Gaps are not errors here."""
        if batches[0].last_offset < self.next_offset or (self.last is not None and batches[0].epoch < self.last.epoch):
            raise BatchError(
                f"the broker answers with the batch at offset {batches[0].base_offset}, which cannot be at offset {self.next_offset}"
            )
        if batches[-1].last_offset >= self.tail.end:
            raise BatchError(f"its log has offset {batches[-1].last_offset}, and must end at {self.tail.end}: {again}")

    def add(self, batches: Sequence[StoredBatch], size: int) -> None:
        """Go on behind these batches, which have `size` bytes."""
        self.size, self.last, self.next_offset = self.size + size, batches[-1], batches[-1].last_offset + 1


def first_gap(batches: Iterable[StoredBatch], offset: int) -> str | None:
    """Return which offsets from `offset` on these batches lack first, None if they have all."""
    for batch in batches:
        if batch.base_offset > offset:
            return f"offsets {offset} to {batch.base_offset - 1} are missing, and cleanup.policy is not compact"
        if batch.records <= batch.last_offset - batch.base_offset:
            return f"the batch at offset {batch.base_offset} lacks records, and cleanup.policy is not compact"
        offset = batch.last_offset + 1
    return None
