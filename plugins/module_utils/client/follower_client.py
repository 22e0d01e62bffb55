# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sends requests to brokers that follow the active controller. A broker without connection to the controllers answers with an old state."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from itertools import takewhile
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.log_dir_client import LogDirClient
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport import connection_diagnosis
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import (
    CLIENT_IMPORT_ERROR,
    READ,
    error_message,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import deadline
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError, UnsupportedRequestError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import is_address
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import quorum
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import Node

if CLIENT_IMPORT_ERROR is None:
    from kafka import errors

    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import (
        broker_nodes,
        error_codes,
        partition_states,
        quorum_state,
    )

HEDGE_AFTER = 1.0  # seconds after which the next broker gets the same request
# Without an active controller no broker describes the quorum: the number of brokers that get the request, and the seconds until the last one gets it.
QUORUM_NODES, QUORUM_HEDGES = 20, 2.0
KNOWN_SECONDS = 60.0  # for which brokers count as following after the active controller named them
# After an election of controllers brokers fetch from the new one within 0.5 s.
FOLLOWING_SECONDS, FOLLOWING_PAUSE = quorum.BEHIND_AFTER, 0.5
OLDEST_KAFKA = "3.3"  # the first that describes when brokers last fetched the metadata log
REMEDY = "fix the connection between brokers and controllers, or name other brokers in bootstrap_servers"


def fenced_with_address(nodes: Iterable[Node]) -> list[Node]:
    """Return the fenced brokers that can be connected to."""
    return [node for node in nodes if node.fenced and is_address(node.host, node.port)]


class FollowerClient(LogDirClient, ABC):
    """A client that reads the state of the cluster only from brokers that follow the active controller.

    `last_quorum`: the last description of the metadata quorum, None before the first one.
    """

    def __init__(self, connection: Connection, servers: Sequence[str]) -> None:
        super().__init__(connection, servers)
        self._nodes: list[Node] = []
        self._describer: Any = None  # the node that described `_nodes`
        self._followers: set[int] = set()
        self._followers_until = 0.0
        self._brief: set[int] = set()  # brokers whose pages of partitions end early
        self.last_quorum: quorum.Quorum | None = None

    @abstractmethod
    def _refresh_nodes(self, nodes: Collection[int] | None = None) -> list[Node]:
        """Ask one of these brokers (None: of those that follow the active controller) which brokers are registered, and which of them are fenced."""

    def quorum(self) -> quorum.Quorum:
        """Return the metadata quorum as its leader describes it. ClusterError if no leader answers, quorum.QuorumAccessError without permission."""
        nodes = self._quorum_nodes()
        self.last_quorum = quorum.read(self._describe_quorum(nodes))
        self._followers, self._followers_until = self.last_quorum.followers(), time.monotonic() + KNOWN_SECONDS
        # A broker answers the requests of a connection one by one: after one that it never answers it would answer no other.
        answering = self._last_nodes[READ]
        for node in takewhile(lambda node: node != answering, nodes):
            if node not in self._followers:
                self._manager.call_soon(partial(self._manager.close, node))
        return self.last_quorum

    def _quorum_nodes(self) -> list[Any]:
        """Return the nodes that get the request to describe the quorum, in this order."""
        # A broker forwards the request to the active controller. If there is none, or if it cannot reach it, it waits and gives no answer. The brokers
        # that such a broker lists as alive may be lost, and those that it lists as fenced may be alive.
        known = {f"{node.host}:{node.port}" for node in self._nodes if not node.fenced}
        named = [node for node, address in self._named().items() if address not in known]
        fenced = [node.broker_id for node in self._fenced_nodes()]
        unfenced = sorted(self._in_turn(self._unfenced()), key=lambda node: node not in self._followers)
        return [*unfenced[:QUORUM_NODES], *named[:QUORUM_NODES], *fenced[:QUORUM_NODES]]

    def _describe_quorum(self, nodes: Sequence[Any]) -> Any:
        answer = self._answered(quorum_state.describe_quorum, nodes, min(HEDGE_AFTER, QUORUM_HEDGES / max(1, len(nodes) - 1)), READ)
        effect = "so brokers that are coming back cannot be distinguished from lost ones"
        refused = error_codes.error_name(answer.error_code)
        if refused:
            raise quorum.QuorumAccessError(
                f"the metadata quorum cannot be described ({refused}), {effect}; grant DESCRIBE on the cluster", refused
            )
        refused = error_codes.error_name(quorum_state.quorum_partition(answer).error_code)
        if refused:
            raise ClusterError(f"the metadata quorum cannot be described ({refused}), {effect}; wait until the quorum has a leader")
        return answer

    def _unfenced(self) -> set[int]:
        """Return the ids of the brokers that were unfenced in the last answer."""
        return {node.broker_id for node in self._nodes if not node.fenced}

    def _fenced_nodes(self) -> list[Node]:
        return fenced_with_address(self._nodes)

    def _current_ids(self) -> set[int]:
        return self._unfenced() & self._followers

    def _is_current(self) -> bool:
        """Return whether the broker that described the others follows the active controller."""
        return self._describer in self._followers

    def _current(self) -> set[int]:
        """Return the ids of the unfenced brokers that follow the active controller. ClusterError if there is none."""
        if not self._nodes:
            return set()
        if time.monotonic() > self._followers_until or not self._current_ids():
            self._find_followers()
        if not self._current_ids():
            raise ClusterError(
                f"{self._origin()} answers, but does not fetch the metadata log from the active controller, and no broker that it names does. "
                f"So its state of the cluster may be old; {REMEDY}"
            )
        if not self._is_current():
            self._refresh_nodes(self._current_ids())
        return self._current_ids()

    def _behind(self, brokers: set[int]) -> set[int]:
        """Return which of these brokers do not follow the active controller now. ClusterError if no broker reaches it."""
        if brokers:
            self._find_followers()
        return brokers - self._followers

    def _find_followers(self) -> None:
        """Find the brokers that follow the active controller. ClusterError if no broker reaches it."""
        until = time.monotonic() + min(FOLLOWING_SECONDS, self._connection.request_timeout)
        while True:
            try:
                self.quorum()
            except quorum.QuorumAccessError:
                self._follow_refusing_broker()
                return
            except UnsupportedRequestError:
                raise
            except ClusterError as error:
                raise ClusterError(
                    f"{self._origin()} answers, but no broker gets an answer from the active controller, so its state of the cluster may be old; "
                    f"{REMEDY} ({error})",
                    error.error,
                ) from error
            self._meet_others()
            if self._current_ids() or time.monotonic() > until or deadline.has_passed():
                return
            time.sleep(FOLLOWING_PAUSE)

    def _follow_refusing_broker(self) -> None:
        """Find followers without DESCRIBE on the cluster. The active controller refuses it, so the broker that forwarded the request reaches it."""
        describer = {self._describer} - {self._last_nodes[READ]}
        self._meet_others()
        self._followers, self._followers_until = self._unfenced() - describer, time.monotonic() + KNOWN_SECONDS

    def _meet_others(self) -> None:
        """If the node that answered is not listed as alive, take over the brokers that it lists."""
        answering = self._last_nodes[READ]
        if answering not in self._unfenced():
            self._nodes = self._take_brokers(self._answered(lambda: partition_states.metadata(()), [answering], HEDGE_AFTER, READ))

    def _origin(self) -> str:
        """Return the name, for messages, of the broker that described the others."""
        for node in self._nodes:
            if node.broker_id == self._describer:
                return f"broker {node.broker_id} ({node.host}:{node.port})"
        return ", ".join(self._connection.bootstrap_servers)

    def _take_brokers(self, metadata: Any) -> list[Node]:
        """Return the live brokers of a Metadata answer, and make them known to the client. RecoveryError as in `_read_brokers`."""
        nodes = self._read_brokers(metadata)
        self._manager.cluster.update_metadata(metadata)
        return nodes

    def _read_brokers(self, answer: Any) -> list[Node]:
        """Return the brokers of an answer. RecoveryError if the login must not be sent to one of them."""
        nodes = broker_nodes.read_nodes(answer)
        self._connection.check_plaintext(f"{node.host}:{node.port}" for node in nodes)
        return nodes

    def _in_turn(self, nodes: Collection[int]) -> list[int]:
        """Return these nodes in the order of requests: the one that answered last, others, those with short pages, those that did not answer."""
        preferred = self._last_nodes.get(READ)
        return sorted(nodes, key=lambda node: (node in self.unreachable, node in self._brief, node != preferred, node))

    def _ask_of(self, nodes: Collection[int], make: Callable[[], Any], hedge_after: float = HEDGE_AFTER) -> Any:
        """Send a request to the first of these nodes `_in_turn`, and to the next one if that takes longer than `hedge_after` seconds."""
        return self._answered(make, self._in_turn(nodes), hedge_after, READ)

    def _answered(self, make: Callable[[], Any], nodes: Sequence[Any], hedge_after: float, purpose: str) -> Any:
        return self._answered_by(make, nodes, hedge_after, purpose)[1]

    def _answered_by(
        self, make: Callable[[], Any], nodes: Sequence[Any], hedge_after: float, purpose: str, written_by: float = math.inf
    ) -> tuple[Any, Any]:
        """Return the first answer, after its node. ClusterError if no node answers. `written_by`: as for `_ask_any`."""
        if not nodes:
            servers = ", ".join(self._connection.bootstrap_servers)
            raise ClusterError(f"{servers} answered, but lists no live broker any more; try again shortly")
        try:
            return self._ask_any(make, nodes, hedge_after, purpose, written_by)
        except errors.KafkaError as error:
            raise self._no_answer(make, error) from error

    def _no_answer(self, make: Callable[[], Any], error: Exception) -> ClusterError:
        """Return the error of a request that no broker has answered. `error`: kafka-python's."""
        if isinstance(error, errors.IncompatibleBrokerVersion):
            return UnsupportedRequestError(
                f"no broker supports this request: {error_message(error)} Kafka must be {OLDEST_KAFKA} or newer and run with KRaft: upgrade the brokers. "
                "If they are, a proxy answers: name the brokers themselves in bootstrap_servers"
            )
        limit = self._connection.request_timeout
        return ClusterError(f"no broker answered {make().name} (request_timeout {limit:g} s): {self._reason(error)}")

    def _reason(self, error: Exception) -> str:
        """Return why brokers do not answer. After a timeout no more time is spent; other failures are diagnosed: a listener may be wrong."""
        if isinstance(error, (errors.KafkaTimeoutError, errors.RequestTimedOutError)):
            return error_message(error)
        return connection_diagnosis.diagnose(
            self._connection, [f"{node.host}:{node.port}" for node in self._nodes if not node.fenced], error
        )
