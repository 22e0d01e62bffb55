# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Controllers: what the metadata quorum's own nodes tell, each asked by itself on the controllers' listener.

Controllers answer neither Metadata nor a request that is meant for another one of them, so they are known by the addresses that were
given and nothing else. Which of them is active is found by asking them all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import CLIENT_IMPORT_ERROR, NodeClient
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.quorum import PRE_VOTE_SINCE, Quorum

if CLIENT_IMPORT_ERROR is None:
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import quorum_timeouts
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import core

NOT_ACTIVE = "NOT_LEADER_OR_FOLLOWER"  # a controller that does not lead the quorum does not describe it


class Controllers(NodeClient):
    """The controllers behind `controller_bootstrap_servers`, opened as a context manager. `unreachable`: node → why it did not answer."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection, connection.controller_bootstrap_servers)

    def active(self) -> tuple[Any, Any]:
        """Return the active controller's node and its DescribeQuorum answer. ClusterError where none of the addresses is the active one."""
        nodes = self._named()
        answers = self._ask_each({node: [core.describe_quorum()] for node in nodes})
        told = {node: answer for node, found in answers.items() for answer in found}
        refusals = {}
        for node, answer in told.items():
            refused = core.quorum_error(answer)
            if refused is None:
                return node, answer
            refusals[nodes[node]] = refused
        refusals |= {nodes[node]: reason for node, reason in self.unreachable.items()}
        said = "; ".join(f"{server}: {reason}" for server, reason in sorted(refusals.items()))
        raise ClusterError(f"controller_bootstrap_servers: none of them is the active controller ({said}); name all controllers")

    def rows(self, quorum: Quorum | None) -> list[dict[str, Any]]:
        """What each of them answers, by address: `node_id`, `active` (leads the quorum), Vote versions, `pre_vote` (KIP-996), `timeouts`.

        What is not known is None or empty, and `error` or `timeouts_error` says why. `quorum`: the voters that they are matched to.
        """
        nodes = self._named()
        answers = self._ask_each({node: [core.api_versions(), core.describe_quorum()] for node in nodes})
        unreachable = dict(self.unreachable)
        # One voter is the active controller, which is known without asking.
        ids = [voter.replica_id for voter in quorum.voters] if quorum and len(quorum.voters) > 1 else []
        # In requests of their own: a controller that refuses them has answered the others.
        asked = [node for node, own in answers.items() if ids and own and core.DESCRIBE_CONFIGS in core.read_versions(own[0])]
        configs = self._ask_each({node: [quorum_timeouts.describe(ids)] for node in asked})
        rows = []
        for node, address in sorted(nodes.items(), key=lambda item: item[1]):
            row = _row(address, answers[node], unreachable.get(node))
            own = configs.get(node)
            node_id, timeouts, refused = quorum_timeouts.read(own[0]) if own else (None, {}, self.unreachable.get(node))
            if node_id is None and quorum is not None:
                node_id = quorum.leader_id if row["active"] else quorum.addresses.get(address)
            rows.append({**row, "node_id": node_id, "timeouts": timeouts, "timeouts_error": None if timeouts else refused})
        return rows

    def ask(self, node: Any, make: Callable[[], Any]) -> Any:
        """Ask one controller. ClusterError where it does not answer."""
        answers = self._ask_each({node: [make()]})[node]
        if not answers:
            raise ClusterError(f"controller_bootstrap_servers: {self._named()[node]} does not answer: {self.unreachable[node]}")
        return answers[0]


def _row(address: str, answers: list[Any], unreachable: str | None) -> dict[str, Any]:
    vote = core.read_vote_versions(answers[0]) if answers else None
    refused = core.quorum_error(answers[1]) if len(answers) == 2 else unreachable
    follows = refused == NOT_ACTIVE
    return {
        "address": address,
        "active": True if refused is None else False if follows else None,
        "vote_min_version": vote[0] if vote else None,
        "vote_max_version": vote[1] if vote else None,
        "pre_vote": vote[1] >= PRE_VOTE_SINCE if vote else None,
        "error": None if follows else refused,
    }
