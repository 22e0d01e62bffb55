# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GroupOffsetAdmin: a cluster whose groups get other committed offsets, as with kafka-consumer-groups.sh."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.consumer_admin import Keys
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transaction_end_admin import TransactionEndAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import CLIENT_IMPORT_ERROR
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import NO_ANSWER
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition

if CLIENT_IMPORT_ERROR is None:
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import consumer_groups, offset_commits


class GroupOffsetAdmin(TransactionEndAdmin):
    """Reads logs, groups and transactions, and sets committed offsets. Opened like `Cluster`."""

    def stable_offsets(self, keys: Keys) -> consumer_groups.CommittedOffsets:
        """Return groups and committed offsets as `group_offsets` does, without offsets that a transaction may change which is not ended."""
        return self._group_offsets(keys, self._patience, self._unfenced(), stable=True)

    def commit(
        self, groups: Mapping[str, Mapping[TopicPartition, offset_commits.NewOffset]], forward: bool = False
    ) -> dict[tuple[str, TopicPartition], str]:
        """Commit offsets for groups without members. Return Kafka's error by group and partition for what was not committed.

        `forward`: offsets that a group has passed are left out, without an error. Its offsets are read right before each commit.
        """
        errors: dict[tuple[str, TopicPartition], str] = {}
        for group, offsets in groups.items():
            error, node = offset_commits.read_coordinator(self._ask(partial(offset_commits.find_coordinator, group)))
            new = dict(offsets)
            if forward and error is None:
                error, before = self._committed(node, group, offsets)
                new = {key: one for key, one in new.items() if before.get(key, -1) < one.offset}
            answers = [] if error or not new else self._ask_each({node: [offset_commits.commit(group, new)]}).get(node, [])
            committed = offset_commits.read_commit(answers[0]) if answers else {}
            errors |= {(group, key): refused for key in new if (refused := committed.get(key, error or NO_ANSWER)) is not None}
        return errors

    def _committed(self, node: int, group: str, keys: Keys) -> tuple[str | None, dict[TopicPartition, int]]:
        """Return Kafka's error, or the offsets that a group has committed on these partitions and that no transaction may change."""
        answers = self._ask_each({node: [consumer_groups.fetch_offsets([group], stable=True)]}).get(node, [])
        if not answers or group not in {one.group_id for one in answers[0].groups}:
            return NO_ANSWER, {}
        rows = consumer_groups.Reader(keys, [group])(answers[0])
        return consumer_groups.read_refused_groups(answers[0]).get(group), {key: offset for _group, key, offset, _epoch in rows}
