# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which brokers are registered, and which of them are fenced, answer, or may still execute what they got."""

from __future__ import annotations

from abc import ABC
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.address_client import AddressClient
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.follower_client import fenced_with_address
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.partition_client import PartitionClient
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport import connection_diagnosis
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import CLIENT_IMPORT_ERROR, READ
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import AnswerError, ClusterError, quoted
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import BROKERS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import brokers

if CLIENT_IMPORT_ERROR is None:
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import (
        api_versions,
        broker_nodes,
        partition_states,
    )

FENCED_MS = 3000  # for an answer of a fenced broker: most of these are lost
OTHER_DESCRIBERS = 2  # brokers that are asked, too, which brokers are registered


class RegistrationClient(PartitionClient, ABC):
    """A client that knows the brokers of a cluster.

    `cluster_id`: Kafka's id. `lists_fenced`: whether the broker that described the cluster last lists fenced ones, as Kafka does from 4.0 on.
    `cut_off`: fenced brokers that run and do not come back, from the last `broker_states`: they answer, and do not fetch the metadata log.
    """

    def __init__(self, connection: Connection, servers: Sequence[str]) -> None:
        super().__init__(connection, servers)
        self.lists_fenced = False
        self.cluster_id = ""
        self.cut_off: set[int] = set()
        self._mute: set[int] = set()  # fenced brokers whose port accepts connections, and that have not answered

    def _refresh_nodes(self, nodes: Collection[int] | None = None) -> list[brokers.Node]:
        asked = self._current() if nodes is None else nodes
        alive = self._ask_of(asked, lambda: partition_states.metadata(()))
        first = self._last_nodes.get(READ)
        answer = self._ask_of(asked, broker_nodes.describe_cluster)
        self.lists_fenced = answer.API_VERSION >= 2
        # Other threads see the brokers of before, or all of these: Metadata alone leaves out the fenced ones.
        found = self._read_brokers(alive)
        if self.lists_fenced:
            found = self._read_brokers(answer)
            alive = broker_nodes.with_brokers(alive, fenced_with_address(found))
        self._manager.cluster.update_metadata(alive)
        self._describer = first if first == self._last_nodes.get(READ) else None
        self._nodes = found
        return found

    def _limit_ms(self, node: Any) -> int:
        fenced = any(one.fenced and one.broker_id == node for one in self._nodes)
        return min(self._timeout_ms, FENCED_MS) if fenced else self._timeout_ms

    def broker_states(self, mentioned: Collection[int] = ()) -> list[dict[str, Any]]:
        """State of every registered broker and of those `mentioned` as replicas; see `brokers.state_rows`."""
        if len(mentioned) > BROKERS:
            raise ClusterError(f"partitions have replicas on {len(mentioned)} brokers, more than {BROKERS}; look at the brokers' logs")
        nodes = self._refresh_nodes()
        answering = connection_diagnosis.fenced_that_answer(nodes)
        silence = self.quorum().silence()
        if not self._is_current():
            nodes = self._refresh_nodes()
            answering = connection_diagnosis.fenced_that_answer(nodes)
        cut_off = self._that_answer({broker for broker in answering if not brokers.fetches(broker, silence)})
        self.cut_off = cut_off
        return brokers.state_rows(nodes, mentioned, silence, answering, cut_off)

    def _that_answer(self, fenced: Collection[int]) -> set[int]:
        """Return which of these fenced brokers answer a request. One that hangs is asked once."""
        asked = {*fenced} - self._mute
        found = self._answering(asked)
        self._mute |= asked - found
        return found

    def _answering(self, asked: Collection[int]) -> set[int]:
        """Return which of these brokers answer a request. The others are not `unreachable` by that: a lost broker is expected not to answer."""
        answers = self._ask_each({broker: [api_versions.api_versions()] for broker in asked})
        found = {broker for broker in asked if answers.get(broker)}
        for broker in {*asked} - found:
            self.unreachable.pop(broker, None)
        return found

    def listed(self) -> set[int]:
        """Return the ids of the brokers that may get a request now."""
        return {node.broker_id for node in self._nodes}

    def silent(self, wanted: Collection[int] | None = None, listed: Collection[int] = ()) -> set[int]:
        """Return which of these brokers may still execute what they got. None: all that are registered, and those that were `listed` then.

        These neither answer nor refuse connections, and may hang; or they do not follow the active controller, and forward to it what they got (KIP-590) once
        they reach it. A broker whose registration has ended is not among them. Before Kafka 4.0, one that is fenced looks the same, and is.
        While only one of bootstrap_servers describes the cluster, and another one may hang, all of them may.
        ClusterError if no broker reaches the active controller.
        """
        nodes, are_listed, is_confirmed = self._registered_by_any()
        if not is_confirmed:
            return {*nodes, *listed} if wanted is None else {*wanted}
        asked = {*nodes} if wanted is None else {*wanted} & nodes.keys()
        several = {broker for broker in asked if len(nodes[broker]) > 1}
        answering = self._answering(asked - several) | self._answering_at_each_address(several, nodes)
        mute = asked - answering
        unknown = set() if are_listed else {*(listed if wanted is None else wanted)} - nodes.keys()
        refusing = connection_diagnosis.that_refuse(node for broker in mute for node in nodes[broker])
        return mute - refusing | unknown | self._behind(answering)

    def _answering_at_each_address(self, asked: Collection[int], nodes: Mapping[int, Collection[brokers.Node]]) -> set[int]:
        """Return which of these brokers answer at each address that `nodes` has of them, and of no other broker.

        Each listener states its own addresses. But one broker may state its own address as that of another one, too.
        """
        if not asked:
            return set()
        stated = Counter((node.host, node.port) for one in nodes.values() for node in one)
        addresses = {broker: {(node.host, node.port) for node in nodes[broker]} for broker in asked}
        with AddressClient(self._connection, set().union(*addresses.values())) as client:
            answering = {address for address in client.that_answer() if stated[address] == 1}
        return {broker for broker, own in addresses.items() if own <= answering}

    def confirm_cluster_id(self) -> None:
        """Raise AnswerError if another broker, or another one of bootstrap_servers, states another cluster id than the one that answered first."""
        # Those that bootstrap_servers names, too: a broker of another cluster names only brokers of that one.
        asked = {*self._named(), *self._apart_from(None)[:OTHER_DESCRIBERS]}
        for broker, answers in self._describe(asked, lambda answer: answer.cluster_id).items():
            for stated in answers:
                if stated != self.cluster_id:
                    raise AnswerError(
                        f"one broker states the cluster id {quoted(self.cluster_id, 100)}, and broker {broker} {quoted(stated or '', 100)}: one of the two is "
                        "broken, or of another cluster; check bootstrap_servers, and stop the one that is wrong"
                    )

    def _describe(self, nodes: Collection[Any], read: Callable[[Any], Any]) -> dict[Any, list[Any]]:
        """Return what `read` makes of the cluster as each of these describes it. One of bootstrap_servers has no id, so it is never `unreachable`."""
        answers = self._ask_each({node: [broker_nodes.describe_cluster()] for node in nodes}, read)
        for server in self._named():
            self.unreachable.pop(server, None)
        return answers

    def _registered_by_any(self) -> tuple[dict[int, list[brokers.Node]], bool, bool]:
        """Return the brokers that are registered by the word of the broker that describes them, or of others, with each address that these state.

        One alone may leave out one that hangs, or state a wrong address of it. It may also leave out all others: bootstrap_servers still names some.
        Also returns whether all of these brokers list fenced ones, and whether two of bootstrap_servers have described them, each at its own address, or all
        others of these refuse connections.
        """
        found = self._refresh_nodes()
        describer, lists_fenced = self._describer, self.lists_fenced
        servers = self._named()
        others = {node.broker_id: f"{node.host}:{node.port}" for node in (*found, *self._nodes)}
        asked = [*servers, *(node for node in self._apart_from(describer)[:OTHER_DESCRIBERS] if others[node] not in servers.values())]
        answers = self._describe(asked, lambda answer: (answer.API_VERSION >= 2, self._read_brokers(answer)))
        described = [(lists_fenced, found), *(one for rows in answers.values() for one in rows)]
        nodes: dict[int, list[brokers.Node]] = {}
        for node in (node for _lists_fenced, stated in described for node in stated):
            known = nodes.setdefault(node.broker_id, [])
            if (node.host, node.port) not in {(one.host, one.port) for one in known}:
                known.append(node)
        # A broker may state any address as its own, and have many.
        answered = {address for node, address in servers.items() if answers[node]}
        is_confirmed = len(answered) > 1 or _refuse({*servers.values()} - answered)
        return nodes, all(lists_fenced for lists_fenced, _stated in described), is_confirmed

    def unfenced(self) -> set[int]:
        """Return the ids of the brokers that are unfenced now."""
        return {node.broker_id for node in self._refresh_nodes() if not node.fenced}

    def registered(self) -> list[brokers.Node]:
        """Return the brokers that are registered now; before Kafka 4.0, those that are unfenced."""
        return list(self._refresh_nodes())

    def registered_ids(self) -> set[int] | None:
        """Return the ids of the brokers that are registered now, fenced ones too. None if the cluster lists no fenced ones (Kafka before 4.0)."""
        nodes = self._refresh_nodes()
        return {node.broker_id for node in nodes} if self.lists_fenced else None


def _refuse(servers: Collection[str]) -> bool:
    """Return whether each of these addresses refuses connections."""
    parts = [server.rpartition(":") for server in servers]
    nodes = [brokers.Node(place, host.strip("[]"), int(port), None, False) for place, (host, _colon, port) in enumerate(parts)]
    return len(connection_diagnosis.that_refuse(nodes)) == len(nodes)
