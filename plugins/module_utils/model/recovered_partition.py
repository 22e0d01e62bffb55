# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A partition that a recovery gave a leader. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition


class Fork(NamedTuple):
    """The log of a survivor parts from the new leader's at `offset`; its own branch was written up to `last_written_epoch` (None: not known)."""

    broker_id: int
    offset: int
    last_written_epoch: int | None


@dataclass(frozen=True)
class Recovered:
    """One partition that a run gave a leader.

    `topic_id` and `leader_epoch` are those from before the election, None where no plan tells. `forks` are empty where another than the
    designated broker was elected: then they are not known. `committed_below`: every record below was committed when the evidence was
    gathered, so whoever led later had it too; None where that is not known (see `with_evidence`). `leader`: None where the results tell none.
    """

    topic: str
    partition: int
    outcome: str
    topic_id: str | None = None
    leader_epoch: int | None = None
    forks: tuple[Fork, ...] = ()
    committed_below: int | None = None
    leader: int | None = None

    @property
    def key(self) -> TopicPartition:
        """(topic, partition)."""
        return self.topic, self.partition
