# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""RevivalCluster: a cluster whose lost partitions get empty leaders, and whose groups start at the beginning of these."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.consumer_admin import ConsumerAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.reassignment_admin import ReassignmentAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import CLIENT_IMPORT_ERROR
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import NO_ANSWER
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition

if CLIENT_IMPORT_ERROR is None:
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import offset_commits


class RevivalCluster(ReassignmentAdmin, ConsumerAdmin):
    """Moves replicas, elects, reads logs, groups and transactions, and sets committed offsets. Opened like `Cluster`."""

    def commit(self, groups: Mapping[str, Mapping[TopicPartition, int]]) -> dict[tuple[str, TopicPartition], str]:
        """Commit offsets for groups without members. Return Kafka's error by group and partition for what was not committed."""
        errors: dict[tuple[str, TopicPartition], str] = {}
        for group, offsets in groups.items():
            error, node = offset_commits.read_coordinator(self._ask(partial(offset_commits.find_coordinator, group)))
            answers = [] if error else self._ask_each({node: [offset_commits.commit(group, offsets)]}).get(node, [])
            committed = offset_commits.read_commit(answers[0]) if answers else {}
            errors |= {(group, key): refused for key in offsets if (refused := committed.get(key, error or NO_ANSWER)) is not None}
        return errors
