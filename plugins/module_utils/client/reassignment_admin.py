# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ReassignmentAdmin: changes where a cluster's replicas are (KIP-455)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.config_admin import ConfigAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import CLIENT_IMPORT_ERROR
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition

if CLIENT_IMPORT_ERROR is None:
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import error_codes
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import reassignments as move_protocol


class ReassignmentAdmin(ConfigAdmin):
    """A cluster whose replicas can be moved. Opened like `Cluster`."""

    def reassign(self, targets: Mapping[TopicPartition, Sequence[int]]) -> dict[TopicPartition, move_protocol.Answer]:
        """Give partitions these replicas, in one request. Return the controller's answers by partition; some may be missing.

        ClusterError if no broker answers: one that hangs may still forward the request, long afterwards.
        """
        return self._alter(targets)

    def cancel(self, keys: Iterable[TopicPartition]) -> dict[TopicPartition, move_protocol.Answer]:
        """Cancel the reassignments of these partitions, with the result of `reassign`. Original replicas stay, maybe in another order."""
        return self._alter(dict.fromkeys(keys))

    def _alter(self, targets: Mapping[TopicPartition, Sequence[int] | None]) -> dict[TopicPartition, move_protocol.Answer]:
        answer = self._send_write(lambda: move_protocol.reassign(targets, self._timeout_ms))
        refused = error_codes.refusal(answer.error_code, answer.error_message)
        if refused:
            return dict.fromkeys(targets, move_protocol.Answer(*refused))
        return move_protocol.read_answers(answer)
