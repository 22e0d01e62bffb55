# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests to brokers that follow the active controller. A broker that is cut off from the controllers answers with what it knew before."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from itertools import takewhile
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.log_dir_admin import LogDirClient
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport import connection_diagnosis
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import (
    CLIENT_IMPORT_ERROR,
    READ,
    error_message,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import deadline
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import is_address
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import quorum as model_quorum
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import Node

if CLIENT_IMPORT_ERROR is None:
    from kafka import errors

    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import core

HEDGE_AFTER = 1.0  # seconds after which the next broker is asked the same question
# Without an active controller no broker describes the quorum: so many are asked, the last one within so many seconds.
QUORUM_NODES, QUORUM_HEDGES = 20, 2.0
KNOWN_SECONDS = 60.0  # for so long brokers count as following once the active controller has named them
# After an election of controllers brokers fetch from the new one within 0.5 s.
FOLLOWING_SECONDS, FOLLOWING_PAUSE = model_quorum.BEHIND_AFTER, 0.5
REMEDY = "mend the connection between brokers and controllers, or name other brokers in bootstrap_servers"


class UnsupportedRequestError(ClusterError):
    """No broker that answers takes a request of this kind."""


def fenced_with_address(nodes: Iterable[Node]) -> list[Node]:
    """Return the fenced brokers that can be connected to."""
    return [node for node in nodes if node.fenced and is_address(node.host, node.port)]


class FollowerClient(LogDirClient, ABC):
    """Nodes of which those that follow the active controller are asked for the state of the cluster.

    `last_quorum`: the metadata quorum as it was described last, None before.
    """

    def __init__(self, connection: Connection, servers: Sequence[str]) -> None:
        super().__init__(connection, servers)
        self._nodes: list[Node] = []
        self._describer: Any = None  # the node that described `_nodes`
        self._followers: set[int] = set()
        self._followers_until = 0.0
        self._brief: set[int] = set()  # brokers whose pages of partitions end early
        self.last_quorum: model_quorum.Quorum | None = None

    @abstractmethod
    def _refresh_nodes(self, nodes: Collection[int] | None = None) -> list[Node]:
        """Ask one of these brokers (None: of those that follow the active controller) which brokers are registered, and which of them are fenced."""

    def quorum(self) -> model_quorum.Quorum:
        """The metadata quorum as its leader describes it. ClusterError where no leader answers, quorum.Refused where one may not ask."""
        nodes = self._quorum_nodes()
        self.last_quorum = model_quorum.read(self._describe_quorum(nodes))
        self._followers, self._followers_until = self.last_quorum.followers(), time.monotonic() + KNOWN_SECONDS
        # A broker takes the requests of a connection one by one: behind one that it never answers it would give no other answer.
        home = self._last_nodes[READ]
        for node in takewhile(lambda node: node != home, nodes):
            if node not in self._followers:
                self._manager.call_soon(partial(self._manager.close, node))
        return self.last_quorum

    def _quorum_nodes(self) -> list[Any]:
        """The nodes that are asked to describe the quorum, in turn."""
        # Brokers pass it on to the active controller. Where there is none, each of them waits for one and gives no answer at all. So does one that is cut
        # off. All that it calls alive may be lost, and what it calls fenced may be alive.
        known = {f"{node.host}:{node.port}" for node in self._nodes if not node.fenced}
        named = [node for node, address in self._named().items() if address not in known]
        fenced = [node.broker_id for node in self._fenced_nodes()]
        unfenced = sorted(self._in_turn(self._unfenced()), key=lambda node: node not in self._followers)
        return [*unfenced[:QUORUM_NODES], *named[:QUORUM_NODES], *fenced[:QUORUM_NODES]]

    def _describe_quorum(self, nodes: Sequence[Any]) -> Any:
        answer = self._answered(core.describe_quorum, nodes, min(HEDGE_AFTER, QUORUM_HEDGES / max(1, len(nodes) - 1)), READ)
        said = "so brokers that are coming back cannot be told from lost ones"
        refused = core.error_name(answer.error_code)
        if refused:
            raise model_quorum.Refused(
                f"the metadata quorum cannot be described ({refused}), {said}; grant DESCRIBE on the cluster", refused
            )
        refused = core.error_name(core.quorum_partition(answer).error_code)
        if refused:
            raise ClusterError(f"the metadata quorum cannot be described ({refused}), {said}; wait until the quorum has a leader")
        return answer

    def _unfenced(self) -> set[int]:
        """Ids of the brokers that were unfenced when that was asked the last time."""
        return {node.broker_id for node in self._nodes if not node.fenced}

    def _fenced_nodes(self) -> list[Node]:
        return fenced_with_address(self._nodes)

    def _current_ids(self) -> set[int]:
        return self._unfenced() & self._followers

    def _is_current(self) -> bool:
        """Whether the brokers were described by one that follows the active controller."""
        return self._describer in self._followers

    def _current(self) -> set[int]:
        """Ids of the unfenced brokers that follow the active controller. ClusterError if there is none."""
        if not self._nodes:
            return set()
        if time.monotonic() > self._followers_until or not self._current_ids():
            self._find_followers()
        if not self._current_ids():
            raise ClusterError(
                f"{self._origin()} answers, but does not fetch the metadata log from the active controller, and no broker that it names does. "
                f"So what it knows of the cluster may be old; {REMEDY}"
            )
        if not self._is_current():
            self._refresh_nodes(self._current_ids())
        return self._current_ids()

    def _find_followers(self) -> None:
        """Find out which brokers follow the active controller."""
        until = time.monotonic() + min(FOLLOWING_SECONDS, self._connection.request_timeout)
        while True:
            try:
                self.quorum()
            except model_quorum.Refused:
                self._follow_refusing_broker()
                return
            except UnsupportedRequestError:
                raise
            except ClusterError as error:
                raise ClusterError(
                    f"{self._origin()} answers, but no broker gets an answer from the active controller, so what it knows of the cluster may be old; "
                    f"{REMEDY} ({error})",
                    error.error,
                ) from error
            self._meet_others()
            if self._current_ids() or time.monotonic() > until or deadline.has_passed():
                return
            time.sleep(FOLLOWING_PAUSE)

    def _follow_refusing_broker(self) -> None:
        """Without DESCRIBE on the cluster it is not known who follows. The active controller refuses it, so the broker that passed it on reaches it."""
        describer = {self._describer} - {self._last_nodes[READ]}
        self._meet_others()
        self._followers, self._followers_until = self._unfenced() - describer, time.monotonic() + KNOWN_SECONDS

    def _meet_others(self) -> None:
        """If the node that answered is not known to be alive, take the brokers that it knows."""
        home = self._last_nodes[READ]
        if home not in self._unfenced():
            self._nodes = self._take_brokers(self._answered(lambda: core.metadata(()), [home], HEDGE_AFTER, READ))

    def _origin(self) -> str:
        """The broker that described the others, as messages name it."""
        for node in self._nodes:
            if node.broker_id == self._describer:
                return f"broker {node.broker_id} ({node.host}:{node.port})"
        return ", ".join(self._connection.bootstrap_servers)

    def _take_brokers(self, metadata: Any) -> list[Node]:
        """The brokers that are alive, known to the client from here on. ConnectionOptionError if the login must not be sent to one."""
        nodes = self._read_brokers(metadata)
        self._manager.cluster.update_metadata(metadata)
        return nodes

    def _read_brokers(self, answer: Any) -> list[Node]:
        """The brokers that an answer names. ConnectionOptionError if the login must not be sent to one."""
        nodes = core.read_nodes(answer)
        self._connection.check_plaintext(f"{node.host}:{node.port}" for node in nodes)
        return nodes

    def _in_turn(self, nodes: Collection[int]) -> list[int]:
        """Sort: the broker that answered last time first, those with short pages and those that did not answer last."""
        home = self._last_nodes.get(READ)
        return sorted(nodes, key=lambda node: (node in self.unreachable, node in self._brief, node != home, node))

    def _ask_of(self, nodes: Collection[int], make: Callable[[], Any], hedge_after: float = HEDGE_AFTER) -> Any:
        """Ask one of these: the one that answered last time first, the next one too when it takes longer than `hedge_after` seconds."""
        return self._answered(make, self._in_turn(nodes), hedge_after, READ)

    def _answered(self, make: Callable[[], Any], nodes: Sequence[Any], hedge_after: float, purpose: str) -> Any:
        if not nodes:
            servers = ", ".join(self._connection.bootstrap_servers)
            raise ClusterError(f"{servers} answered, but knows no broker that is alive any more; try again shortly")
        try:
            return self._ask_any(make, nodes, hedge_after, purpose)
        except errors.IncompatibleBrokerVersion as error:
            raise UnsupportedRequestError(
                f"no broker takes this request: {error_message(error)} Is bootstrap_servers a cluster of a supported Kafka release, and is no proxy in between?"
            ) from error
        except errors.KafkaError as error:
            limit = self._connection.request_timeout
            raise ClusterError(f"no broker answered {make().name} (request_timeout {limit:g} s): {self._why(error)}") from error

    def _why(self, error: Exception) -> str:
        """A broker that hangs has taken its time already. One that refuses is looked at: it may have been advertised by a wrong name."""
        if isinstance(error, (errors.KafkaTimeoutError, errors.RequestTimedOutError)):
            return error_message(error)
        return connection_diagnosis.reasons(
            self._connection, [f"{node.host}:{node.port}" for node in self._nodes if not node.fenced], error
        )
