# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Logins of control nodes that lack permissions: what brokers answer to them, as Kafka's authorizer has it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Any

from simulation.kafka_errors import code

if TYPE_CHECKING:
    from simulation.cluster import SimulatedCluster

# What a login may lack: the operations of Kafka, on the resource behind them.
DESCRIBE_CONFIGS, CONFIGS_OF_BROKERS, ALTER_CONFIGS = "DESCRIBE_CONFIGS topic", "DESCRIBE_CONFIGS cluster", "ALTER_CONFIGS"
DESCRIBE_CLUSTER, DESCRIBE_TOPIC, DESCRIBE_GROUP = "DESCRIBE cluster", "DESCRIBE topic", "DESCRIBE group"
CLUSTER_ACTION, ALTER, UNREPORTED = "CLUSTER_ACTION cluster", "ALTER cluster", "operations are not reported"
READ_TOPIC, DESCRIBE_TRANSACTION = "READ topic", "DESCRIBE transactional id"
LACKING = (
    DESCRIBE_CONFIGS, DESCRIBE_CONFIGS, CONFIGS_OF_BROKERS, ALTER_CONFIGS, DESCRIBE_CLUSTER, DESCRIBE_TOPIC, DESCRIBE_GROUP, CLUSTER_ACTION, ALTER,
    UNREPORTED
)  # fmt: skip
OF_MOVES = ALTER_CONFIGS, ALTER_CONFIGS, ALTER, UNREPORTED, DESCRIBE_CLUSTER, DESCRIBE_CONFIGS, CONFIGS_OF_BROKERS
OF_REPLAYS = DESCRIBE_TOPIC, READ_TOPIC, DESCRIBE_GROUP, DESCRIBE_TRANSACTION, DESCRIBE_CONFIGS
ALTER_OPERATION = 7
TRANSACTION = "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"
TOPIC, GROUP, CLUSTER = "TOPIC_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"
OF_TOPIC = 2  # a resource whose configs are described


def draw_lacking(random: Random, lacking: Sequence[str]) -> tuple[str, ...]:
    """Draw what a login lacks, among these."""
    return tuple(sorted({random.choice(lacking) for _ in range(random.choice((1, 1, 2)))}))


def permitted(cluster: SimulatedCluster, request: Any, answer: Any) -> Any:
    """Return the answer to a request of a login that lacks something. Changes are refused before they are made (`change_answers.py`)."""
    if answer is None or not cluster.lacking or request.name not in _ANSWERS:
        return answer
    for lacked, change in _ANSWERS[request.name].items():
        if lacked in cluster.lacking:
            change(cluster, answer)
    return answer


def _hidden(cluster: SimulatedCluster) -> str:
    """Return the topic that the login may not describe: the last one, so that others are left if there are several."""
    return max(key[0] for key in cluster.controller.partitions)


def _hide_partitions(cluster: SimulatedCluster, answer: Any) -> None:
    for row in answer.topics:
        if row.name == _hidden(cluster):
            row.error_code, row.partitions, row.topic_id = code(TOPIC), [], uuid.UUID(int=0)


def _hide_offsets(cluster: SimulatedCluster, answer: Any) -> None:
    _refuse_rows(answer.topics, lambda topic: topic.name == _hidden(cluster))


def _refuse_records(_cluster: SimulatedCluster, answer: Any) -> None:
    """Followers may fetch with CLUSTER_ACTION alone."""
    for topic in answer.responses:
        for row in topic.partitions:
            row.error_code, row.records, row.high_watermark, row.last_stable_offset, row.log_start_offset = code(TOPIC), b"", -1, -1, -1
            row.diverging_epoch.epoch, row.diverging_epoch.end_offset, row.aborted_transactions = -1, -1, None


def _refuse_rows(topics: Any, is_refused: Callable[[Any], bool]) -> None:
    for topic in topics:
        for row in topic.partitions if is_refused(topic) else ():
            row.error_code, row.offset, row.leader_epoch = code(TOPIC), -1, -1


def _refuse_configs(of_topics: bool) -> Callable[[SimulatedCluster, Any], None]:
    def refuse(_cluster: SimulatedCluster, answer: Any) -> None:
        for row in answer.results:
            if (row.resource_type == OF_TOPIC) == of_topics:
                row.error_code, row.configs = code(TOPIC if of_topics else CLUSTER), []

    return refuse


def _refuse_log_dirs(_cluster: SimulatedCluster, answer: Any) -> None:
    answer.error_code, answer.results = code(CLUSTER), []


def _refuse_producers(_cluster: SimulatedCluster, answer: Any) -> None:
    for topic in answer.topics:
        for row in topic.partitions:
            row.error_code, row.active_producers = code(TOPIC), []


def _refuse_epochs(cluster: SimulatedCluster, answer: Any) -> None:
    for topic in answer.topics:
        for row in topic.partitions if topic.topic == _hidden(cluster) else ():
            row.error_code, row.leader_epoch, row.end_offset = code(TOPIC), -1, -1


def _hide_transactions(_cluster: SimulatedCluster, answer: Any) -> None:
    answer.transaction_states = []


def _refuse_transactions(_cluster: SimulatedCluster, answer: Any) -> None:
    for row in answer.transaction_states:
        row.error_code, row.topics = code(TRANSACTION), []


def _hide_groups(_cluster: SimulatedCluster, answer: Any) -> None:
    answer.groups = []


def _refuse_groups(_cluster: SimulatedCluster, answer: Any) -> None:
    for row in answer.groups:
        row.error_code = code(GROUP)
        if hasattr(row, "topics"):
            row.topics = []


def _report(operations: Callable[[frozenset[int]], Any]) -> Callable[[SimulatedCluster, Any], None]:
    def report(_cluster: SimulatedCluster, answer: Any) -> None:
        if isinstance(answer.authorized_operations, (set, frozenset)):
            answer.authorized_operations = operations(frozenset(answer.authorized_operations))

    return report


_ANSWERS: Mapping[str, Mapping[str, Callable[[SimulatedCluster, Any], None]]] = {
    "DescribeTopicPartitionsRequest": {DESCRIBE_TOPIC: _hide_partitions},
    "ListOffsetsRequest": {DESCRIBE_TOPIC: _hide_offsets},
    "FetchRequest": {CLUSTER_ACTION: _refuse_records},
    "DescribeConfigsRequest": {DESCRIBE_CONFIGS: _refuse_configs(True), CONFIGS_OF_BROKERS: _refuse_configs(False)},
    "DescribeLogDirsRequest": {DESCRIBE_CLUSTER: _refuse_log_dirs},
    "DescribeProducersRequest": {READ_TOPIC: _refuse_producers},
    "ListTransactionsRequest": {DESCRIBE_TRANSACTION: _hide_transactions},
    "DescribeTransactionsRequest": {DESCRIBE_TRANSACTION: _refuse_transactions},
    "OffsetForLeaderEpochRequest": {DESCRIBE_TOPIC: _refuse_epochs},
    "ListGroupsRequest": {DESCRIBE_GROUP: _hide_groups},
    "OffsetFetchRequest": {DESCRIBE_GROUP: _refuse_groups},
    "DescribeGroupsRequest": {DESCRIBE_GROUP: _refuse_groups},
    "DescribeClusterRequest": {ALTER: _report(lambda given: given - {ALTER_OPERATION}), UNREPORTED: _report(lambda _given: None)},
}
