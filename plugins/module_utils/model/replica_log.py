# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The log of one replica, as its broker describes it. Pure."""

from __future__ import annotations

from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import kafka_errors
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import LastBatch

NOT_HOSTED, STORAGE_ERROR = kafka_errors.NOT_LEADER_OR_FOLLOWER, kafka_errors.KAFKA_STORAGE_ERROR


class ReplicaLog(NamedTuple):
    """One survivor's log. Offsets in records; `last_written_epoch` is -1 for an empty log and None if no batch could be read.

    The native backend knows the `broker_epoch` (KIP-966: another one means that the broker has restarted since), and the log end even if the
    last batch cannot be read: `probe_error` has the reason. `failed_log_dirs`: with the error DISK_FAILED, as in evidence documents.
    `read_from_disk_at`: when the log was read from the disk of a lost broker (milliseconds since 1970), None if its broker answered.
    """

    error: str | None
    log_start_offset: int | None = None
    log_end_offset: int | None = None
    high_watermark: int | None = None
    partition_leader_epoch: int | None = None
    last_batch: LastBatch | None = None
    broker_epoch: int | None = None
    probe_error: str | None = None
    failed_log_dirs: tuple[str, ...] = ()
    read_from_disk_at: int | None = None

    @property
    def empty(self) -> bool:
        """Return whether the log has no records. False if its end is not known."""
        return self.log_end_offset is not None and self.log_end_offset in (0, self.log_start_offset)

    @property
    def last_written_epoch(self) -> int | None:
        """Return the leader epoch of the last batch (KIP-966's LastWrittenLeaderEpoch): -1 for an empty log, None if not known."""
        if self.last_batch is not None:
            return self.last_batch.epoch
        return -1 if self.empty else None
