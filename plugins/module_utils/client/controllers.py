# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Controllers: reads the state of each node of the metadata quorum, on the controllers' listener.

Controllers answer neither Metadata nor requests for another controller, so only the configured addresses identify them. The active
controller is found with a request to each of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import (
    CLIENT_IMPORT_ERROR,
    WRITE,
    NodeClient,
    error_message,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import kafka_errors
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.quorum import PRE_VOTE_SINCE, Quorum

if CLIENT_IMPORT_ERROR is None:
    from kafka import errors

    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import quorum_timeouts
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import api_versions, quorum_state

NOT_DESCRIBED = "it does not describe its configs, which Kafka before 3.7 does not"
NOT_ACTIVE = kafka_errors.NOT_LEADER_OR_FOLLOWER  # a controller that does not lead the quorum does not describe it


class Controllers(NodeClient):
    """The controllers behind `controller_bootstrap_servers`, opened as a context manager. `unreachable`: node → why it did not answer."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection, connection.controller_bootstrap_servers)

    def active(self) -> tuple[Any, Any]:
        """Return the active controller's node and its DescribeQuorum answer. ClusterError if no address is that of the active controller."""
        nodes = self._named()
        answers = self._ask_each({node: [quorum_state.describe_quorum()] for node in nodes})
        descriptions = {node: answer for node, own in answers.items() for answer in own}
        refusals = {}
        for node, answer in descriptions.items():
            refused = quorum_state.quorum_error(answer)
            if refused is None:
                return node, answer
            refusals[nodes[node]] = refused
        refusals |= {nodes[node]: reason for node, reason in self.unreachable.items()}
        reasons = "; ".join(f"{server}: {reason}" for server, reason in sorted(refusals.items()))
        raise ClusterError(f"controller_bootstrap_servers: none of them is the active controller ({reasons}); name all controllers")

    def rows(self, quorum: Quorum | None) -> list[dict[str, Any]]:
        """Return a row for each controller, sorted by `address`: `node_id`, `active` (leads the quorum), Vote versions, `pre_vote` (KIP-996), `timeouts`.

        Unknown values are None or empty, and `error` or `timeouts_error` says why. `quorum`: its voters give the node ids. Timeouts are in ms.
        """
        nodes = self._named()
        answers = self._ask_each({node: [api_versions.api_versions(), quorum_state.describe_quorum()] for node in nodes})
        unreachable = dict(self.unreachable)
        # A single voter is the active controller: that is known without a request.
        ids = [voter.replica_id for voter in quorum.voters] if quorum and len(quorum.voters) > 1 else []
        # In separate requests: a controller that refuses them has answered the others.
        describing = [
            node for node, own in answers.items() if ids and own and api_versions.DESCRIBE_CONFIGS in api_versions.read_versions(own[0])
        ]
        configs = self._ask_each({node: [quorum_timeouts.describe(ids)] for node in describing})
        rows = []
        for node, address in sorted(nodes.items(), key=lambda item: item[1]):
            row = _row(address, answers[node], unreachable.get(node))
            own = configs.get(node)
            silent = self.unreachable.get(node) or (NOT_DESCRIBED if ids and answers[node] else None)
            node_id, timeouts, refused = quorum_timeouts.read(own[0]) if own else (None, {}, silent)
            if node_id is None and quorum is not None:
                node_id = quorum.leader_id if row["active"] else quorum.addresses.get(address)
            rows.append({**row, "node_id": node_id, "timeouts": timeouts, "timeouts_error": None if timeouts else refused})
        return rows

    def ask(self, node: Any, make: Callable[[], Any]) -> Any:
        """Send a request to one controller and return the answer. ClusterError if it does not answer."""
        answers = self._ask_each({node: [make()]})[node]
        if not answers:
            raise self._no_answer(node, self.unreachable[node])
        return answers[0]

    def ask_until(self, node: Any, make: Callable[[], Any], written_by: float) -> Any:
        """Ask as `ask` does, but the controller does not get the request after `written_by`, of the monotonic clock."""
        try:
            return self._ask_any(make, [node], self._connection.request_timeout, WRITE, written_by)[1]
        except errors.KafkaError as error:
            raise self._no_answer(node, error_message(error)) from error

    def _no_answer(self, node: Any, reason: str) -> ClusterError:
        return ClusterError(f"controller_bootstrap_servers: {self._named()[node]} does not answer: {reason}")


def _row(address: str, answers: list[Any], unreachable: str | None) -> dict[str, Any]:
    vote = api_versions.read_vote_versions(answers[0]) if answers else None
    refused = quorum_state.quorum_error(answers[1]) if len(answers) == 2 else unreachable
    follows = refused == NOT_ACTIVE
    return {
        "address": address,
        "active": True if refused is None else False if follows else None,
        "vote_min_version": vote[0] if vote else None,
        "vote_max_version": vote[1] if vote else None,
        "pre_vote": vote[1] >= PRE_VOTE_SINCE if vote else None,
        "error": None if follows else refused,
    }
