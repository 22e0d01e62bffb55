# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts the memory that configs of topics take. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Iterable

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.kept_memory import size_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import limits
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Settings


class ConfigBudget:
    """Counts the bytes of the configs of all topics that are kept together."""

    def __init__(self) -> None:
        self._bytes = self._topics = 0
        self._largest = (-1, "")

    def add(self, topic: str, settings: Settings, names: Iterable[str]) -> None:
        """Count the configs `names` of a topic. ClusterError if all topics together exceed limits.CONFIGS_BYTES; it names the largest topic."""
        size = size_of(settings)
        self._bytes += size
        self._topics += 1
        self._largest = max(self._largest, (size, topic))
        if self._bytes > limits.CONFIGS_BYTES:
            raise ClusterError(
                f"{', '.join(names)} of {self._topics} topics take more than {limits.CONFIGS_BYTES >> 20} MiB; "
                f"check topic {self._largest[1]} with kafka-configs.sh --describe, or select fewer partitions"
            )
