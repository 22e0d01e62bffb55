# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GroupOffsetAdmin: a cluster whose groups get other committed offsets, as with kafka-consumer-groups.sh."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.consumer_admin import ConsumerAdmin, Keys
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import CLIENT_IMPORT_ERROR
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import NO_ANSWER
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition

if CLIENT_IMPORT_ERROR is None:
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import consumer_groups, offset_commits


class GroupOffsetAdmin(ConsumerAdmin):
    """Reads logs, groups and transactions, and sets committed offsets. Opened like `Cluster`."""

    def stable_offsets(self, keys: Keys) -> consumer_groups.CommittedOffsets:
        """Return groups and committed offsets as `group_offsets` does, without offsets that a transaction may change which is not ended."""
        return self._group_offsets(keys, self._patience, self._unfenced(), stable=True)

    def commit(self, groups: Mapping[str, Mapping[TopicPartition, offset_commits.NewOffset]]) -> dict[tuple[str, TopicPartition], str]:
        """Commit offsets for groups without members. Return Kafka's error by group and partition for what was not committed."""
        errors: dict[tuple[str, TopicPartition], str] = {}
        for group, offsets in groups.items():
            error, node = offset_commits.read_coordinator(self._ask(partial(offset_commits.find_coordinator, group)))
            answers = [] if error else self._ask_each({node: [offset_commits.commit(group, offsets)]}).get(node, [])
            committed = offset_commits.read_commit(answers[0]) if answers else {}
            errors |= {(group, key): refused for key in offsets if (refused := committed.get(key, error or NO_ANSWER)) is not None}
        return errors
