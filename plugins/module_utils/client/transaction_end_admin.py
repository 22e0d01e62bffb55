# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""TransactionEndAdmin: the ends of transactions in the logs of leaders, written and read."""

from __future__ import annotations

from functools import partial

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.consumer_admin import ConsumerAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import CLIENT_IMPORT_ERROR
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import NO_ANSWER
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_records import Marker

if CLIENT_IMPORT_ERROR is None:
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import consumers, transactional_writes


class TransactionEndAdmin(ConsumerAdmin):
    """Reads logs, groups and transactions, and writes COMMIT markers. Opened like `Cluster`."""

    def write_commit(self, key: TopicPartition, leader: int, marker: Marker) -> str | None:
        """Write a COMMIT marker with the ids and epochs of a saved one to a partition. Return Kafka's error, None if it is written."""
        answers = self._ask_each({leader: [transactional_writes.write_commit(key, marker)]}, transactional_writes.read_written)
        return answers[leader][0].get(key, NO_ANSWER) if answers.get(leader) else NO_ANSWER

    def aborted_start(self, key: TopicPartition, leader: int, marker: Marker) -> int | None:
        """Return the first offset of the transaction that an ABORT marker has ended, -1 if it had no records, None if the leader does not say."""
        read = partial(consumers.read_aborted, marker.producer_id, marker.offset)
        answers = self._ask_each({leader: [consumers.fetch_aborted(key, marker.offset)]}, read)
        return answers[leader][0].get(key) if answers.get(leader) else None
