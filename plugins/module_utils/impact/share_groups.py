# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The impact of an unclean election on share groups (KIP-932). Pure: no I/O, no Kafka client.

A share group has no committed offset with the epoch of a record. It has the offset below which all is acknowledged, the number of offsets that are
acknowledged from there on, and the epoch of the leader that wrote this state. A leader from before the election had the records that the group has read.
After the new leader has loaded the state, only what lies beyond the end of its log is proven.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.impact.analysis import Divergence, divergence, group_row
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumer_groups import Group, ShareOffset
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumers import LeaderLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.recovered_partition import RecoveredPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replayed_records import ReplayedRun

NO_EPOCH = -1


def share_divergence(share: ShareOffset, reached: int, before: RecoveredPartition, log: LeaderLog) -> Divergence | None:
    """Return where the log diverges from what a share group has read that has read up to `reached`, or None if it does not, as far as is known."""
    epoch = _epoch_before(share, before)
    parted = divergence(reached, epoch, before, log, predates=epoch >= 0)
    if epoch < 0:
        return parted
    # The epoch may have no record: then records of earlier epochs were read, and those that were committed are in the log.
    is_doubtful = parted is not None and not parted.certain and reached <= (before.committed_below or 0)
    return None if is_doubtful else parted


def _epoch_before(share: ShareOffset, before: RecoveredPartition) -> int:
    """Return the epoch of the leader whose log the group has read, NO_EPOCH if the state was written by a later leader than those from before the election."""
    return NO_EPOCH if before.leader_epoch is None or share.leader_epoch > before.leader_epoch else share.leader_epoch


def share_rows(
    shares: Iterable[ShareOffset],
    recovered: Mapping[TopicPartition, RecoveredPartition],
    logs: Mapping[TopicPartition, LeaderLog],
    groups: Mapping[str, Group],
    replayed: Mapping[TopicPartition, Sequence[ReplayedRun]] = MappingProxyType({}),
) -> Iterator[dict[str, Any]]:
    """Yield the same rows for share groups, without commands: Kafka's tool sets their offsets to those of a time only."""
    for share in shares:
        before, log = recovered.get(share.key), logs.get(share.key)
        if before is None or log is None or log.log_end_offset is None:
            continue
        reached = share.reached
        parted = share_divergence(share, reached, before, log)
        doubtful = parted is None
        if parted is None:
            # Records that were written meanwhile may hide some that are lost.
            reached = share.reached_at(log.high_watermark)
            parted = share_divergence(share, reached, before, log)
        if parted is None:
            continue
        parted = parted._replace(certain=parted.certain and not doubtful)
        place = share.group, groups.get(share.group, Group()), share.key
        row = group_row(*place, reached, _epoch_before(share, before), parted, log, replayed.get(share.key, ()), doubtful)
        if row["reset_to"] is not None:
            # Not all records from the start offset on need to be acknowledged.
            row["reset_to"] = max(log.log_start_offset or 0, min(row["reset_to"], share.start_offset))
        yield row
