# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Transactions of replays that were killed. Kafka aborts them by itself."""

from __future__ import annotations

from collections.abc import Iterable

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.phrases import instant
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers.model import KEPT, KILLED_RUN, TRANSACTION, Leftover
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumers import REPLAY_TRANSACTIONAL_IDS, Transaction


def rows(transactions: Iterable[Transaction]) -> list[Leftover]:
    """Return one row per transaction of a replay that is not ended. The replay may be running."""
    found = []
    for one in transactions:
        if not one.transactional_id.startswith(REPLAY_TRANSACTIONAL_IDS):
            continue
        topic, partition = min(one.partitions, default=(None, None))
        since = None if one.started_at < 0 else instant(one.started_at)
        reason = (
            f"the transaction {one.transactional_id} of a replay is open, and readers of committed records wait behind it: unless the replay is running, Kafka "
            f"aborts it {one.timeout / 1000:g} s after it began; kafka_record_replay with the same run id goes on"
        )
        found.append(Leftover(TRANSACTION, KILLED_RUN, KEPT, reason, topic, partition, present=one.state, since=since))
    return found
