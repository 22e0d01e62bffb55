# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cluster: reads and changes the state of one cluster through its brokers, with kafka-python.

Brokers get their requests concurrently, each within its own `request_timeout`. A broker that does not answer is data (`unreachable`), never
an exception and never a hang. All methods may be called from several threads.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import unanswered_requests
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.follower_client import (
    HEDGE_AFTER,
    fenced_with_address,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.partition_client import PartitionClient
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.replica_log_client import ReplicaLogClient
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport import connection_diagnosis
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.kept_memory import KeptMemory
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import (
    CLIENT_IMPORT_ERROR,
    READ,
    REQUEST_LIMIT,
    TURNS,
    WRITE,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import deadline
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import AnswerError, ClusterError, quoted
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import BROKERS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import brokers, quorum, topic_configs
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    TopicPartition,
    chunks,
    has_live_leader,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.quorum import Quorum
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reassignment import OngoingReassignment

if CLIENT_IMPORT_ERROR is None:
    from kafka import errors

    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import coordinators
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import (
        api_versions,
        broker_nodes,
        configs,
        consumer_groups,
        error_codes,
        leader_elections,
        partition_states,
        reassignments,
    )

if TYPE_CHECKING:
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import acls

FENCED_MS = 3000  # for an answer of a fenced broker: most of these are lost
OTHER_DESCRIBERS = 2  # brokers that are asked, too, which brokers are registered
ONCE_SECONDS = 2.0  # after which a broker gets no change any more for which something was checked right before
LOADING_SECONDS = 5.0  # in which a newly elected coordinator loads its groups, unless there are very many


class Cluster(PartitionClient, ReplicaLogClient):
    """One Kafka cluster, opened as a context manager. Only brokers that follow the active controller are asked for its state.

    `cluster_id`: Kafka's id. `lists_fenced`: whether the broker that described the cluster last lists fenced ones, as Kafka does from 4.0 on.
    `unreachable`: broker id → why it did not answer its last request. `in_doubt`: the brokers, by partition, that got a request
    for another replica order and never answered it: a broker that hangs may still execute it, long afterwards.
    `elections_in_doubt`: partitions with an election that was never answered.
    `cut_off`: fenced brokers that run and do not come back, from the last `broker_states`: they answer, and do not fetch the metadata log.
    """

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection, connection.bootstrap_servers)
        self.lists_fenced = False
        self.cluster_id = ""
        self.in_doubt: dict[TopicPartition, set[int]] = {}
        self.elections_in_doubt: set[TopicPartition] = set()
        self.cut_off: set[int] = set()
        self._mute: set[int] = set()  # fenced brokers whose port accepts connections, and that have not answered
        self._mute_on_changes: set[int] = set()  # brokers that have not answered a change

    # --- requests -----------------------------------------------------------------------------------------------

    def _opened(self) -> None:
        try:
            answer = self._ask_any(lambda: partition_states.metadata(()), list(self._named()), 0.0)[1]
        except errors.KafkaError as error:
            raise ClusterError(connection_diagnosis.explain(self._connection, error)) from error
        self._nodes = self._take_brokers(answer)
        if answer.cluster_id is None:
            raise AnswerError(
                f"{', '.join(self._connection.bootstrap_servers)} answered with no cluster id, which every broker of Kafka has"
            )
        self.cluster_id = answer.cluster_id
        if not self._nodes:
            servers = ", ".join(self._connection.bootstrap_servers)
            raise ClusterError(f"{servers} answered, but lists no live broker yet; try again shortly")
        self._refresh_nodes(self._unfenced())

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

    def _ask(self, make: Callable[[], Any], hedge_after: float = HEDGE_AFTER) -> Any:
        """Send a request to any live broker that follows the active controller, as `_ask_of` does."""
        return self._ask_of(self._current(), make, hedge_after)

    def _send_write(
        self, make: Callable[[], Any], not_answered: Callable[[set[int]], None] = lambda _brokers: None, once: bool = False
    ) -> Any:
        """Return the answer to a change. See `_send_write_to`."""
        return self._send_write_to(make, not_answered, once)[1]

    def _send_write_to(self, make: Callable[[], Any], not_answered: Callable[[set[int]], None], once: bool = False) -> tuple[int, Any]:
        """Send a change to one broker, not to the one that reads use: a broker finishes the requests of a connection one by one. Return its id and answer.

        A broker that has answered before is preferred: a request that is never answered may be executed long afterwards (`in_doubt`). Each broker has
        `request_timeout`, all of them together have TURNS times as long, so one change never waits for a hundred brokers.
        `not_answered`: gets the ids of the brokers that got the change and have not answered, if there are any.
        `once`: no other broker gets it then, and no one after ONCE_SECONDS. What was checked before the change may not hold any more.
        """
        reader, writer = self._last_nodes.get(READ), self._last_nodes.get(WRITE)
        nodes = sorted(
            self._current(),
            key=lambda node: (
                node in self._mute_on_changes,
                node in self.unreachable,
                node not in self._responsive,
                node != writer,
                node == reader,
                node,
            ),
        )
        ask = self._answered_by_one if once else self._answered_by_any
        sent: list[tuple[int, Any]] = []
        answered_by = None
        try:
            with deadline.until(time.monotonic() + TURNS * self._connection.request_timeout):
                answered_by, answer = ask(make, nodes, sent)
            return answered_by, answer
        finally:
            if silent := unanswered_requests.unanswered(sent, answered_by):
                self._mute_on_changes |= silent
                not_answered(silent)

    def _answered_by_any(
        self, make: Callable[[], Any], nodes: Sequence[int], sent: list[tuple[int, Any]], written_by: float = math.inf
    ) -> tuple[int, Any]:
        """Return the first answer to a change, after its broker. `sent` gets the request of each broker that was asked. `written_by`: as for `_ask_any`."""
        made: list[Any] = []  # one for each of the first `nodes`: they are asked in this order

        def make_one() -> Any:
            made.append(make())
            return made[-1]

        try:
            answered: tuple[int, Any] = self._answered_by(make_one, nodes, self._connection.request_timeout, WRITE, written_by)
            return answered
        finally:
            sent += zip(nodes, made, strict=False)

    def _answered_by_one(self, make: Callable[[], Any], nodes: Sequence[int], sent: list[tuple[int, Any]]) -> tuple[int, Any]:
        """Return the answer of the first broker that gets a change, after its id. See `_answered_by_any`."""
        written_by = time.monotonic() + ONCE_SECONDS
        for node in nodes[:-1]:
            try:
                return self._answered_by_any(make, [node], sent, written_by)
            except ClusterError:
                if unanswered_requests.unanswered(sent, None):
                    raise
        return self._answered_by_any(make, nodes[-1:], sent, written_by)

    def _limit_ms(self, node: Any) -> int:
        fenced = any(one.fenced and one.broker_id == node for one in self._nodes)
        return min(self._timeout_ms, FENCED_MS) if fenced else self._timeout_ms

    def unreachable_rows(self) -> list[dict[str, Any]]:
        """Return the rows of modules' `unreachable_brokers`: `broker_id` and `reason`, sorted by id."""
        return [{"broker_id": broker, "reason": reason} for broker, reason in sorted(self.unreachable.items())]

    # --- state of the cluster ------------------------------------------------------------------------------------

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
        # One broker may state its own address as that of another one.
        answering = self._answering({broker for broker in asked if len(nodes[broker]) == 1})
        mute = asked - answering
        unknown = set() if are_listed else {*(listed if wanted is None else wanted)} - nodes.keys()
        refusing = connection_diagnosis.that_refuse(node for broker in mute for node in nodes[broker])
        return mute - refusing | unknown | self._behind(answering)

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
        Also returns whether all of these brokers list fenced ones, and whether two of bootstrap_servers have described them, or all others of these
        refuse connections.
        """
        found = self._refresh_nodes()
        describer, lists_fenced = self._describer, self.lists_fenced
        others = self._apart_from(describer)[:OTHER_DESCRIBERS]
        addresses = self._named() | {node.broker_id: f"{node.host}:{node.port}" for node in (*found, *self._nodes)}
        answered = {addresses[describer]} if describer in addresses else set()
        asked = {addresses[node]: node for node in (*self._named(), *others) if addresses[node] not in answered}
        answers = self._describe(asked.values(), lambda answer: (answer.API_VERSION >= 2, self._read_brokers(answer)))
        answered |= {address for address, node in asked.items() if answers[node]}
        described = [(lists_fenced, found), *(one for rows in answers.values() for one in rows)]
        nodes: dict[int, list[brokers.Node]] = {}
        for node in (node for _lists_fenced, stated in described for node in stated):
            known = nodes.setdefault(node.broker_id, [])
            if (node.host, node.port) not in {(one.host, one.port) for one in known}:
                known.append(node)
        servers = {*self._named().values()}  # one broker may have many other addresses
        is_confirmed = len(servers & answered) > 1 or _refuse(servers - answered)
        return nodes, all(lists_fenced for lists_fenced, _stated in described), is_confirmed

    def unfenced(self) -> set[int]:
        """Return the ids of the brokers that are unfenced now."""
        return {node.broker_id for node in self._refresh_nodes() if not node.fenced}

    def registered(self) -> list[brokers.Node]:
        """Return the brokers that are registered now; before Kafka 4.0, those that are unfenced."""
        return list(self._refresh_nodes())

    def quorum_timeouts(self, found: Quorum) -> dict[int, dict[str, int]]:
        """Return the `controller.quorum.*` timeouts in ms, by id, of voters that are brokers too, and of the broker that answered last.

        Other brokers get no request: they have no vote, and one that hangs would delay the others.
        """
        from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import quorum_timeouts

        voters = {voter.replica_id for voter in found.voters if quorum.behind(voter, found.leader_id) is None}
        nodes = self._unfenced() & {*voters, self._last_nodes.get(READ)}
        answers = self._ask_each({node: [quorum_timeouts.describe([node])] for node in nodes})
        return {node: quorum_timeouts.read(own[0])[1] for node, own in answers.items() if own}

    def registered_ids(self) -> set[int] | None:
        """Return the ids of the brokers that are registered now, fenced ones too. None if the cluster lists no fenced ones (Kafka before 4.0)."""
        nodes = self._refresh_nodes()
        return {node.broker_id for node in nodes} if self.lists_fenced else None

    def permissions(self, topics: Collection[str] | None, moves: bool = False) -> acls.Permissions:
        """Return the permissions of this client; see `permissions.probe`."""
        from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import permissions

        # Any live broker: the missing permission may be the one that finding followers of the active controller needs.
        return permissions.probe(lambda make: self._ask_of(self._unfenced(), make), topics, moves)

    def reassignments(self) -> dict[TopicPartition, OngoingReassignment]:
        """Return every reassignment under way by partition. ClusterError without DESCRIBE on the cluster."""
        answer = self._ask(lambda: reassignments.list_reassignments(self._timeout_ms))
        refused = error_codes.error_name(answer.error_code)
        if refused:
            raise ClusterError(f"reassignments cannot be listed: {refused}; grant DESCRIBE on the cluster", refused)
        return reassignments.read_reassignments(answer)

    def reassigning(self) -> set[TopicPartition]:
        """Return the partitions with a reassignment under way. ClusterError without DESCRIBE on the cluster."""
        return {*self.reassignments()}

    def topic_configs(self, topics: Collection[str]) -> topic_configs.TopicConfigs:
        """Return the configs that decide when these topics can be written, and which leaders the controller elects by itself."""
        # Not with librdkafka: it fetches all configs of each topic, and logs in at any address that a broker names (docs/contributing.md).
        requests = [partial(configs.describe_topics, chunk) for chunk in chunks(sorted(topics), REQUEST_LIMIT)]
        return topic_configs.merge((configs.read_topics(self._ask(make)) for make in requests), topics)

    def feature_level(self, feature: str) -> int | None:
        """Return the finalized level of a feature; see `api_versions.read_feature_level`."""
        return api_versions.read_feature_level(self._ask(api_versions.api_versions), feature)

    def committed_offsets(self, keys: Collection[TopicPartition], seconds: float, missed: list[str]) -> list[consumer_groups.Committed]:
        """Return the offsets that groups committed on these partitions, sorted. They may be incomplete.

        `missed` gets a sentence for each reason why there may be more of them. `seconds`: for all requests to one broker.
        """
        unfenced = self._unfenced()
        silent = unfenced & self.unreachable.keys()
        committed = self._group_offsets(keys, seconds, unfenced - silent, seconds)
        missed += [*committed.blind, *(f"broker {node} does not answer" for node in sorted(silent))]
        return committed.offsets

    def _group_offsets(
        self, keys: Collection[TopicPartition], seconds: float, nodes: set[int], patience: float = LOADING_SECONDS, stable: bool = False
    ) -> consumer_groups.CommittedOffsets:
        """Return groups and their committed offsets. `patience` and `stable`: as `Coordinators` has them."""
        states = self.partitions_of(consumer_groups.GROUP_TOPIC)
        names = consumer_groups.one_group_each(len(states))
        probes = {node: [names[key[1]] for key in states if key[1] < len(names) and states[key].leader == node] for node in nodes}
        coordinating = coordinators.Coordinators(self._ask_each, keys, seconds, min(seconds, patience), probes, stable)
        return coordinating.read(nodes, self._leaderless(states))

    def _ask_all(
        self, nodes: set[int], make: Callable[[], Any], blind: list[str], read: Callable[[Any], Any], kept: KeptMemory
    ) -> dict[int, list[Any]]:
        """Send one request to each of these brokers. `blind` gets a sentence for each broker that does not answer."""
        answers = {node: rows for node, rows in self._ask_each({node: [make()] for node in nodes}, read, kept).items() if rows}
        blind += [f"broker {node} does not answer" for node in sorted(nodes - answers.keys())]
        return answers

    def _leaderless(self, states: Mapping[TopicPartition, PartitionState]) -> list[str]:
        """Return a sentence if partitions of a coordinators' topic have no leader: then their content cannot be read."""
        unfenced = self._unfenced()
        without = [topic for (topic, _partition), state in states.items() if not has_live_leader(state, unfenced)]
        return [f"{len(without)} partitions of {without[0]} have no leader"] if without else []

    # --- changes -------------------------------------------------------------------------------------------------

    def reorder(self, orders: Mapping[TopicPartition, Sequence[int]]) -> dict[TopicPartition, Refusal | None]:
        """Give each partition the same replicas in a new order (KIP-455). Return Kafka's refusal (None: done) by partition.

        The controller refuses another number of replicas if the broker offers KIP-860.
        """

        def doubt(keys: Collection[TopicPartition], brokers: Collection[int]) -> None:
            for key in keys:
                self.in_doubt[key] = {*self.in_doubt.get(key, ()), *brokers}

        broker, answer = self._send_write_to(
            lambda: reassignments.reassign(orders, self._timeout_ms, allow_replication_factor_change=False), partial(doubt, orders)
        )
        refused = error_codes.refusal(answer.error_code, answer.error_message)
        answers = reassignments.read_refusals(answer)
        if refused:
            answers = dict.fromkeys(orders, refused)
        doubt(unanswered_requests.timeouts(answers), {broker})
        return answers

    def elect_unclean(self, keys: Collection[TopicPartition]) -> dict[TopicPartition, Refusal | None]:
        """Elect the first live replica of partitions without a clean one. Return Kafka's refusal (None: elected) by partition."""
        return self.elect("unclean", keys)

    def elect(self, election_type: str, keys: Collection[TopicPartition]) -> dict[TopicPartition, Refusal | None]:
        """Elect leaders (KIP-460): `preferred` or `unclean`. Return Kafka's refusal (None: elected) by partition."""
        answer = self._send_write(
            lambda: leader_elections.elect(election_type, keys, self._timeout_ms),
            lambda _brokers: self.elections_in_doubt.update(keys),
            once=election_type == "unclean",
        )
        return self._election_answers(answer, keys)

    def _election_answers(self, answer: Any, keys: Collection[TopicPartition]) -> dict[TopicPartition, Refusal | None]:
        """Return Kafka's refusals from an answer to an election. Those that have timed out are in doubt."""
        refused = error_codes.refusal(answer.error_code, None)
        answers: dict[TopicPartition, Refusal | None] = {}
        answers |= dict.fromkeys(keys, refused) if refused else leader_elections.read_election(answer)
        self.elections_in_doubt.update(unanswered_requests.timeouts(answers))
        return answers


def _refuse(servers: Collection[str]) -> bool:
    """Return whether each of these addresses refuses connections."""
    parts = [server.rpartition(":") for server in servers]
    nodes = [brokers.Node(place, host.strip("[]"), int(port), None, False) for place, (host, _colon, port) in enumerate(parts)]
    return len(connection_diagnosis.that_refuse(nodes)) == len(nodes)
