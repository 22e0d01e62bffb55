# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""RevivalCluster: a cluster whose lost partitions get empty leaders, and whose groups start at the beginning of these."""

from __future__ import annotations

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.group_offset_admin import GroupOffsetAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.reassignment_admin import ReassignmentAdmin


class RevivalCluster(ReassignmentAdmin, GroupOffsetAdmin):
    """Moves replicas, elects, reads logs, groups and transactions, and sets committed offsets. Opened like `Cluster`."""
