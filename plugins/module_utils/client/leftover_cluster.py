# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""LeftoverCluster: a cluster on which what killed runs have left is found and removed."""

from __future__ import annotations

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.consumer_admin import ConsumerAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.reassignment_admin import ReassignmentAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumers import Transaction


class LeftoverCluster(ReassignmentAdmin, ConsumerAdmin):
    """Moves replicas, changes configs, and reads transactions. Opened like `Cluster`."""

    def open_transactions(self) -> tuple[list[Transaction], list[str]]:
        """Return the transactions that are not ended, of the coordinators that answer, and sentences on why there may be others.

        Transactional ids without DESCRIBE are left out in silence.
        """
        blind: list[str] = []
        return self._transactions((), blind), blind
