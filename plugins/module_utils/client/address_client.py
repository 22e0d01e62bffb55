# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""AddressClient: finds out which addresses of brokers answer. A broker has an address for each listener."""

from __future__ import annotations

from collections.abc import Collection

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import CLIENT_IMPORT_ERROR, NodeClient
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import is_address, joined_address

if CLIENT_IMPORT_ERROR is None:
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import api_versions

Address = tuple[str, int]  # host and port


class AddressClient(NodeClient):
    """Connections to these addresses, opened as a context manager."""

    def __init__(self, connection: Connection, addresses: Collection[Address]) -> None:
        valid = [(host, port) for host, port in addresses if is_address(host, port)]
        super().__init__(connection, [joined_address(host, port) for host, port in valid])
        self._addresses = {f"{host}:{port}": (host, port) for host, port in valid}

    def that_answer(self) -> set[Address]:
        """Return those of the addresses that answer a request."""
        nodes = self._named()
        answers = self._ask_each({node: [api_versions.api_versions()] for node in nodes})
        return {self._addresses[address] for node, address in nodes.items() if answers[node]}
