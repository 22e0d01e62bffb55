# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows the progress of saving records from the disk of a lost broker."""

from __future__ import annotations

from ansible_collections.streamops.kafka_recovery.plugins.action.kafka_replica_records import ActionModule as SaveAction


class ActionModule(SaveAction):
    """The action of modules that save records."""
