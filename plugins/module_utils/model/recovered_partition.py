# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A partition that a recovery gave a leader. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition


class Fork(NamedTuple):
    """The log of a survivor forks from the new leader's at `offset`. `last_written_epoch`: the last epoch of its branch (None: not known)."""

    broker_id: int
    offset: int
    last_written_epoch: int | None


class Truncation(NamedTuple):
    """What a survivor truncates for the new leader: offsets from `start` to `end` (exclusive), both None if that is not known."""

    broker_id: int
    start: int | None
    end: int | None


@dataclass(frozen=True)
class RecoveredPartition:
    """One partition that a run gave a leader.

    `topic_id` and `leader_epoch`: from before the election, None if no plan has them. `forks`: empty if not the designated broker was elected,
    since they are then not known. `committed_below`: every record below was committed when the evidence was collected, so every later leader
    had it, too; None if not known (see `with_evidence`). `leader`: None if the results have none. `truncated`: None if not known. `lost_replicas`: brokers of
    replicas that were no survivors, None if no plan has them.
    """

    topic: str
    partition: int
    outcome: str
    topic_id: str | None = None
    leader_epoch: int | None = None
    forks: tuple[Fork, ...] = ()
    committed_below: int | None = None
    leader: int | None = None
    truncated: tuple[Truncation, ...] | None = None
    lost_replicas: tuple[int, ...] | None = None

    @property
    def key(self) -> TopicPartition:
        """Return the topic and the number of the partition."""
        return self.topic, self.partition
