# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cluster: reads and changes the state of one cluster through its brokers, with kafka-python.

Brokers get their requests concurrently, each within its own `request_timeout`. A broker that does not answer is data (`unreachable`), never
an exception and never a hang. All methods may be called from several threads.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import unanswered_requests
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.change_client import ChangeClient
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.follower_client import (
    HEDGE_AFTER,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.registration_client import RegistrationClient
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.replica_log_client import ReplicaLogClient
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport import connection_diagnosis
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.kept_memory import KeptMemory
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import (
    CLIENT_IMPORT_ERROR,
    READ,
    REQUEST_LIMIT,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import AnswerError, ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import quorum, topic_configs
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
        configs,
        consumer_groups,
        error_codes,
        leader_elections,
        partition_states,
        reassignments,
    )

if TYPE_CHECKING:
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import acls

LOADING_SECONDS = 5.0  # in which a newly elected coordinator loads its groups, unless there are very many


class Cluster(RegistrationClient, ReplicaLogClient, ChangeClient):
    """One Kafka cluster, opened as a context manager. Only brokers that follow the active controller are asked for its state.

    `unreachable`: broker id → why it did not answer its last request. `in_doubt`: the brokers, by partition, that got a request
    for another replica order and never answered it: a broker that hangs may still execute it, long afterwards.
    `elections_in_doubt`: partitions with an election that was never answered.
    """

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection, connection.bootstrap_servers)
        self.in_doubt: dict[TopicPartition, set[int]] = {}
        self.elections_in_doubt: set[TopicPartition] = set()

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

    def _ask(self, make: Callable[[], Any], hedge_after: float = HEDGE_AFTER) -> Any:
        """Send a request to any live broker that follows the active controller, as `_ask_of` does."""
        return self._ask_of(self._current(), make, hedge_after)

    def unreachable_rows(self) -> list[dict[str, Any]]:
        """Return the rows of modules' `unreachable_brokers`: `broker_id` and `reason`, sorted by id."""
        return [{"broker_id": broker, "reason": reason} for broker, reason in sorted(self.unreachable.items())]

    # --- state of the cluster ------------------------------------------------------------------------------------

    def quorum_timeouts(self, found: Quorum) -> dict[int, dict[str, int]]:
        """Return the `controller.quorum.*` timeouts in ms, by id, of voters that are brokers too, and of the broker that answered last.

        Other brokers get no request: they have no vote, and one that hangs would delay the others.
        """
        from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import quorum_timeouts

        voters = {voter.replica_id for voter in found.voters if quorum.behind(voter, found.leader_id) is None}
        nodes = self._unfenced() & {*voters, self._last_nodes.get(READ)}
        answers = self._ask_each({node: [quorum_timeouts.describe([node])] for node in nodes})
        return {node: quorum_timeouts.read(own[0])[1] for node, own in answers.items() if own}

    def permissions(self, topics: Collection[str] | None, moves: bool = False) -> acls.Permissions:
        """Return the permissions of this client; see `permissions.probe`."""
        from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import permissions

        # Any live broker: the missing permission may be the one that finding followers of the active controller needs.
        return permissions.probe(lambda make: self._ask_of(self._unfenced(), make), topics, moves)

    def operations(self) -> frozenset[str] | None:
        """Return the operations on the cluster that brokers allow this client, None if they do not state them."""
        from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import permissions

        return permissions.cluster_operations(self._ask)

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

    def elect_unclean(self, keys: Collection[TopicPartition], written_by: float | None = None) -> dict[TopicPartition, Refusal | None]:
        """Elect the first live replica of partitions without a clean one. Return Kafka's refusal (None: elected) by partition.

        `written_by`: as for `_send_write_to`.
        """
        return self._elect("unclean", keys, written_by)

    def elect(self, election_type: str, keys: Collection[TopicPartition]) -> dict[TopicPartition, Refusal | None]:
        """Elect leaders (KIP-460): `preferred` or `unclean`. Return Kafka's refusal (None: elected) by partition."""
        return self._elect(election_type, keys, None)

    def _elect(
        self, election_type: str, keys: Collection[TopicPartition], written_by: float | None
    ) -> dict[TopicPartition, Refusal | None]:
        answer = self._send_write(
            lambda: leader_elections.elect(election_type, keys, self._timeout_ms),
            lambda _brokers: self.elections_in_doubt.update(keys),
            once=election_type == "unclean",
            written_by=written_by,
        )
        return self._election_answers(answer, keys)

    def _election_answers(self, answer: Any, keys: Collection[TopicPartition]) -> dict[TopicPartition, Refusal | None]:
        """Return Kafka's refusals from an answer to an election. Those that have timed out are in doubt."""
        refused = error_codes.refusal(answer.error_code, None)
        answers: dict[TopicPartition, Refusal | None] = {}
        answers |= dict.fromkeys(keys, refused) if refused else leader_elections.read_election(answer)
        self.elections_in_doubt.update(unanswered_requests.timeouts(answers))
        return answers
