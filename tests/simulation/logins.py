# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Logins of control nodes that lack permissions: what nodes answer to them, as Kafka's authorizer has it.

A login that lacks an operation has all others, also those that include it: Kafka has a rule that denies it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from random import Random
from typing import TYPE_CHECKING, Any

from simulation.kafka_errors import code

if TYPE_CHECKING:
    from simulation.cluster import SimulatedCluster

# What a login may lack: the operations of Kafka, on the resource behind them. Those of topics but the configs' are of one topic (`hidden_topics`).
DESCRIBE_CONFIGS, CONFIGS_OF_BROKERS, ALTER_CONFIGS = "DESCRIBE_CONFIGS topic", "DESCRIBE_CONFIGS cluster", "ALTER_CONFIGS"
DESCRIBE_CLUSTER, DESCRIBE_TOPIC, DESCRIBE_GROUP = "DESCRIBE cluster", "DESCRIBE topic", "DESCRIBE group"
CLUSTER_ACTION, ALTER, UNREPORTED = "CLUSTER_ACTION cluster", "ALTER cluster", "operations are not reported"
READ_TOPIC, DESCRIBE_TRANSACTION = "READ topic", "DESCRIBE transactional id"
LACKING = (
    DESCRIBE_CONFIGS, DESCRIBE_CONFIGS, CONFIGS_OF_BROKERS, ALTER_CONFIGS, DESCRIBE_CLUSTER, DESCRIBE_TOPIC, DESCRIBE_GROUP, CLUSTER_ACTION, ALTER,
    READ_TOPIC, READ_TOPIC, UNREPORTED
)  # fmt: skip
OF_MOVES = ALTER_CONFIGS, ALTER_CONFIGS, ALTER, UNREPORTED, DESCRIBE_CLUSTER, DESCRIBE_CONFIGS, CONFIGS_OF_BROKERS
# Without CLUSTER_ACTION alone, or DESCRIBE on the cluster alone, a login reads all that it reads with it in a replay.
OF_REPLAYS = (
    (DESCRIBE_TOPIC,), (DESCRIBE_TOPIC, CLUSTER_ACTION), (READ_TOPIC,), (DESCRIBE_GROUP,), (DESCRIBE_GROUP, DESCRIBE_CLUSTER),
    (DESCRIBE_TRANSACTION,), (DESCRIBE_CONFIGS,)
)  # fmt: skip
ALTER_OPERATION = 7
TOPIC_OPERATIONS = {READ_TOPIC: 3, DESCRIBE_CONFIGS: 10, ALTER_CONFIGS: 11}
CLUSTER_ACTION_OPERATION = 9  # the only one of these that a topic does not have
TRANSACTION = "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"
TOPIC, GROUP, CLUSTER = "TOPIC_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"
OF_TOPIC = 2  # a resource whose configs are described
OF_TRANSACTIONS = 1  # a key of FindCoordinator
METADATA_LOG = "a fetch of the metadata log"

Change = Callable[["SimulatedCluster", Any, Any], None]


def draw_lacking(random: Random, lacking: Sequence[str]) -> tuple[str, ...]:
    """Draw what a login lacks, among these."""
    return tuple(sorted({random.choice(lacking) for _ in range(random.choice((1, 1, 2)))}))


def permitted(cluster: SimulatedCluster, what: str, request: Any, answer: Any) -> Any:
    """Return the answer to a request of a login that lacks something. Changes are refused before they are made (`change_answers.py`).

    what  the name of the request, or METADATA_LOG
    """
    if answer is None or not cluster.lacking:
        return answer
    for lacked, change in _ANSWERS.get(what, ()):
        if lacked <= {*cluster.lacking}:
            change(cluster, request, answer)
    return answer


def hidden_topics(cluster: SimulatedCluster) -> Set[str]:
    """Return the topic that the login may not describe, if any: the last one, so that others are left if there are several."""
    return {_last_topic(cluster)} if DESCRIBE_TOPIC in cluster.lacking else frozenset()


def unread_topics(cluster: SimulatedCluster) -> Set[str]:
    """Return the topic whose records the login may not read, or that it may not describe, if any."""
    return {_last_topic(cluster)} if {READ_TOPIC, DESCRIBE_TOPIC} & {*cluster.lacking} else frozenset()


def topic_operations(cluster: SimulatedCluster, topic: str) -> frozenset[int] | None:
    """Return the operations on a topic that brokers report (KIP-430), None if they report none."""
    if UNREPORTED in cluster.lacking:
        return None
    lacked = {
        TOPIC_OPERATIONS[one] for one in cluster.lacking if one in TOPIC_OPERATIONS and (one != READ_TOPIC or topic == _last_topic(cluster))
    }
    return frozenset(range(3, 12)) - {CLUSTER_ACTION_OPERATION, *lacked}


def _last_topic(cluster: SimulatedCluster) -> str:
    return max(key[0] for key in cluster.controller.partitions)


def _hide_offsets(cluster: SimulatedCluster, _request: Any, answer: Any) -> None:
    for topic in answer.topics:
        for row in topic.partitions if topic.name == _last_topic(cluster) else ():
            row.error_code, row.offset, row.leader_epoch = code(TOPIC), -1, -1


def _refuse_records(cluster: SimulatedCluster, request: Any, answer: Any) -> None:
    """Refuse a client's fetch. One of a follower needs CLUSTER_ACTION instead; the product sends none: ids below 0 are no followers'."""
    for topic in answer.responses if request.replica_id < 0 else ():
        for row in topic.partitions if topic.topic == _last_topic(cluster) else ():
            row.error_code, row.records, row.high_watermark, row.last_stable_offset, row.log_start_offset = code(TOPIC), b"", -1, -1, -1
            row.diverging_epoch.epoch, row.diverging_epoch.end_offset, row.aborted_transactions = -1, -1, None


def _refuse_metadata_log(_cluster: SimulatedCluster, _request: Any, answer: Any) -> None:
    """Refuse a controller's log. Since version 13 of Fetch the error has no rows."""
    answer.error_code, answer.responses = code(CLUSTER), []


def _refuse_configs(of_topics: bool) -> Change:
    def refuse(_cluster: SimulatedCluster, _request: Any, answer: Any) -> None:
        for row in answer.results:
            if (row.resource_type == OF_TOPIC) == of_topics:
                row.error_code, row.configs = code(TOPIC if of_topics else CLUSTER), []

    return refuse


def _refuse_cluster(rows: str) -> Change:
    """Return what refuses a request of the cluster. `rows`: the field that is empty then."""

    def refuse(_cluster: SimulatedCluster, _request: Any, answer: Any) -> None:
        answer.error_code = code(CLUSTER)
        setattr(answer, rows, [])

    return refuse


def _refuse_producers(cluster: SimulatedCluster, _request: Any, answer: Any) -> None:
    for topic in answer.topics:
        for row in topic.partitions if topic.name == _last_topic(cluster) else ():
            row.error_code, row.active_producers = code(TOPIC), []


def _refuse_epochs(cluster: SimulatedCluster, _request: Any, answer: Any) -> None:
    for topic in answer.topics:
        for row in topic.partitions if topic.topic == _last_topic(cluster) else ():
            row.error_code, row.leader_epoch, row.end_offset = code(TOPIC), -1, -1


def _hide_transactions(_cluster: SimulatedCluster, _request: Any, answer: Any) -> None:
    answer.transaction_states = []


def _refuse_transactions(_cluster: SimulatedCluster, _request: Any, answer: Any) -> None:
    for row in answer.transaction_states:
        row.error_code, row.topics, row.transaction_state = code(TRANSACTION), [], ""
        row.producer_id = row.producer_epoch = row.transaction_timeout_ms = row.transaction_start_time_ms = 0


def _hide_topics_of_transactions(cluster: SimulatedCluster, _request: Any, answer: Any) -> None:
    for row in answer.transaction_states:
        row.topics = [topic for topic in row.topics if topic.topic != _last_topic(cluster)]


def _hide_groups(_cluster: SimulatedCluster, _request: Any, answer: Any) -> None:
    answer.groups = []


def _refuse_offsets(_cluster: SimulatedCluster, _request: Any, answer: Any) -> None:
    for row in answer.groups:
        row.error_code, row.topics = code(GROUP), []


def _hide_topics_of_groups(cluster: SimulatedCluster, request: Any, answer: Any) -> None:
    """Leave out offsets of a topic. Those of a topic that is named are refused; the product names none."""
    assert all(row.topics is None for row in request.groups)
    for row in answer.groups:
        row.topics = [topic for topic in row.topics if topic.name != _last_topic(cluster)]


def _refuse_groups(_cluster: SimulatedCluster, _request: Any, answer: Any) -> None:
    for row in answer.groups:
        row.error_code, row.group_state, row.protocol_type, row.members = code(GROUP), "", "", []


def _refuse_coordinator(of_transactions: bool) -> Change:
    def refuse(_cluster: SimulatedCluster, request: Any, answer: Any) -> None:
        if (request.key_type == OF_TRANSACTIONS) == of_transactions:
            error = TRANSACTION if of_transactions else GROUP
            answer.error_code, answer.error_message, answer.node_id, answer.host, answer.port = code(error), error, -1, "", -1

    return refuse


def _report(operations: Callable[[frozenset[int]], Any]) -> Change:
    def report(_cluster: SimulatedCluster, _request: Any, answer: Any) -> None:
        if isinstance(answer.authorized_operations, (set, frozenset)):
            answer.authorized_operations = operations(frozenset(answer.authorized_operations))

    return report


# By request: which operations must be lacking together, and what becomes of its answer then. What lists topics leaves them out itself (metadata_answers.py).
_ANSWERS: Mapping[str, Sequence[tuple[Set[str], Change]]] = {
    "ListOffsetsRequest": [({DESCRIBE_TOPIC}, _hide_offsets)],
    "FetchRequest": [({READ_TOPIC}, _refuse_records)],
    METADATA_LOG: [({CLUSTER_ACTION}, _refuse_metadata_log)],
    "DescribeConfigsRequest": [({DESCRIBE_CONFIGS}, _refuse_configs(True)), ({CONFIGS_OF_BROKERS}, _refuse_configs(False))],
    "DescribeQuorumRequest": [({DESCRIBE_CLUSTER}, _refuse_cluster("topics"))],
    "ListPartitionReassignmentsRequest": [({DESCRIBE_CLUSTER}, _refuse_cluster("topics"))],
    "DescribeLogDirsRequest": [({DESCRIBE_CLUSTER}, _refuse_cluster("results"))],
    "DescribeProducersRequest": [({READ_TOPIC}, _refuse_producers)],
    "ListTransactionsRequest": [({DESCRIBE_TRANSACTION}, _hide_transactions)],
    "DescribeTransactionsRequest": [({DESCRIBE_TRANSACTION}, _refuse_transactions), ({DESCRIBE_TOPIC}, _hide_topics_of_transactions)],
    "OffsetForLeaderEpochRequest": [({DESCRIBE_TOPIC, CLUSTER_ACTION}, _refuse_epochs)],
    "ListGroupsRequest": [({DESCRIBE_GROUP, DESCRIBE_CLUSTER}, _hide_groups)],
    "OffsetFetchRequest": [({DESCRIBE_GROUP}, _refuse_offsets), ({DESCRIBE_TOPIC}, _hide_topics_of_groups)],
    "DescribeGroupsRequest": [({DESCRIBE_GROUP}, _refuse_groups)],
    "FindCoordinatorRequest": [({DESCRIBE_GROUP}, _refuse_coordinator(False)), ({DESCRIBE_TRANSACTION}, _refuse_coordinator(True))],
    "DescribeClusterRequest": [
        ({ALTER}, _report(lambda given: given - {ALTER_OPERATION})),
        ({CLUSTER_ACTION}, _report(lambda given: given - {CLUSTER_ACTION_OPERATION})),
        ({DESCRIBE_CLUSTER}, _report(lambda _given: frozenset())),
        ({UNREPORTED}, _report(lambda _given: None)),
    ],
}
