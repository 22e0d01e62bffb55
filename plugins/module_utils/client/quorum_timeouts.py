# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds and reads DescribeConfigs for the `controller.quorum.*` timeouts; controllers answer it since KIP-919. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import configs
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.error_codes import error_name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numbers import whole_number
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import BROKER, Resource
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.quorum_risks import DEFAULT_TIMEOUTS

# A node's error for the id of another node: it describes only itself.
NOT_ITSELF = "INVALID_REQUEST"


def describe(node_ids: Iterable[int]) -> Any:
    """Build a request for a node's timeouts. One of `node_ids` is its own, so the answer also shows which node it is."""
    return configs.describe([Resource(BROKER, str(node_id)) for node_id in sorted(node_ids)], DEFAULT_TIMEOUTS)


def read(answer: Any) -> tuple[int | None, dict[str, int], str | None]:
    """Return the id of the node that answers (None: none of the requested ones), its timeouts in ms by name, and why they are not known."""
    for row in answer.results:
        node = whole_number(row.resource_name)
        if row.error_code == 0 and node is not None:
            values = {config.name: whole_number(config.value or "") for config in row.configs}
            known = {name: number for name in DEFAULT_TIMEOUTS if (number := values.get(name)) is not None}
            return node, known, None
    refusals = {name for row in answer.results if (name := error_name(row.error_code)) and name != NOT_ITSELF}
    return None, {}, ", ".join(sorted(refusals)) or "it is not a voter"
