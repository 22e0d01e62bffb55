# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replication: everything that one cluster can be asked or told about where its replicas are, on top of `Cluster`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.config_admin import ConfigAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import CLIENT_IMPORT_ERROR
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reassignment import Ongoing

if CLIENT_IMPORT_ERROR is None:
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import core
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import reassignments as move_protocol


class ReassignmentAdmin(ConfigAdmin):
    """A cluster whose replicas are moved. Opened like `Cluster`."""

    def reassignments(self) -> dict[TopicPartition, Ongoing]:
        """Every reassignment under way. ClusterError where one may not ask."""
        answer = self._ask(lambda: move_protocol.list_reassignments(self._timeout_ms))
        refused = core.error_name(answer.error_code)
        if refused:
            raise ClusterError(f"reassignments cannot be listed: {refused}; grant DESCRIBE on the cluster")
        return move_protocol.read_reassignments(answer)

    def reassign(self, targets: Mapping[TopicPartition, Sequence[int]]) -> dict[TopicPartition, move_protocol.Answer]:
        """Give partitions these replicas, in one request. Returns what the controller says of each; some may be missing.

        ClusterError where no broker answers: one that hangs may still pass the request on, long afterwards.
        """
        return self._altered(targets)

    def cancel(self, keys: Iterable[TopicPartition]) -> dict[TopicPartition, move_protocol.Answer]:
        """End the reassignments of these partitions: added replicas go, those from before stay, maybe in another order. Otherwise as `reassign`."""
        return self._altered(dict.fromkeys(keys))

    def _altered(self, targets: Mapping[TopicPartition, Sequence[int] | None]) -> dict[TopicPartition, move_protocol.Answer]:
        answer = self._send_write(lambda: move_protocol.reassign(targets, self._timeout_ms))
        refused = core.error_name(answer.error_code)
        if refused:
            return dict.fromkeys(targets, move_protocol.Answer(refused, answer.error_message))
        return move_protocol.read_answers(answer)
