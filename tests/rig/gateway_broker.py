"""What a gateway does in place of a broker and its controller, on the real ones behind it: KIP-1275's GetReplicaLogInfo and designated elections."""

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from kafka.protocol.admin import (
    AlterPartitionReassignmentsRequest,
    DescribeClusterRequest,
    DescribeQuorumRequest,
    ElectLeadersRequest,
)
from kafka.protocol.consumer import ListOffsetsRequest
from kafka.protocol.metadata import MetadataRequest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.metadata_log_reader import MetadataLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import metadata_log_fetch
from rig.config import HOST, Node
from rig.errors import RigError
from rig.gateway_rules import TopicPartition
from rig.rpc import ask

CLIENT_ID = "gateway"
SECONDS = 30.0
POLL_SECONDS = 0.02
DEBUGGING_REPLICA, LATEST = -2, -1
UNCLEAN = 1
REGISTER_BROKER = 0
(
    OK, UNKNOWN_TOPIC_OR_PARTITION, INVALID_REPLICA_ASSIGNMENT, INVALID_REQUEST, ELIGIBLE_LEADERS_NOT_AVAILABLE, ELECTION_NOT_NEEDED,
    UNKNOWN_TOPIC_ID,
) = 0, 3, 39, 42, 83, 84, 100  # fmt: skip


class LogEnd(NamedTuple):
    """What a real broker says of one of its replicas: Kafka's error code, or 0."""

    error: int
    log_end_offset: int
    leader_epoch: int


def topic_names(broker: Node, topic_ids: Iterable[Any]) -> dict[Any, str]:
    """Names by topic id, as this broker knows them. Unknown ids are left out."""
    kind = MetadataRequest.MetadataRequestTopic
    wanted = [kind(topic_id=topic_id, name=None) for topic_id in topic_ids if topic_id is not None]
    answer = _ask(broker, MetadataRequest[12](topics=wanted, allow_auto_topic_creation=False)) if wanted else None
    return {topic.topic_id: topic.name for topic in answer.topics if not topic.error_code} if answer else {}


def log_ends(broker: Node, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, LogEnd]:
    """Where this broker's own replicas end."""
    kind = ListOffsetsRequest.ListOffsetsTopic
    rows = [
        kind(
            name=topic,
            partitions=[kind.ListOffsetsPartition(partition_index=key[1], timestamp=LATEST, current_leader_epoch=-1) for key in keys],
        )
        for topic, keys in _by_topic(partitions)
    ]
    answer = _ask(broker, ListOffsetsRequest[6](replica_id=DEBUGGING_REPLICA, isolation_level=0, topics=rows)) if rows else None
    return {
        (topic.name, row.partition_index): LogEnd(row.error_code, row.offset, row.leader_epoch)
        for topic in (answer.topics if answer else ())
        for row in topic.partitions
    }


class BrokerEpochs:
    """Epochs of the brokers' registrations, read from the metadata log of the active controller, again whenever a broker was started."""

    def __init__(self, controllers: Mapping[int, Node], pid: Callable[[int], int]) -> None:
        """`pid`: process id of a broker."""
        self._controllers, self._pid = controllers, pid
        self._known: dict[int, tuple[int, int]] = {}
        self._lock = threading.Lock()

    def of(self, broker_id: int) -> int:
        with self._lock:
            pid = self._pid(broker_id)
            if self._known.get(broker_id, (None, -1))[0] != pid:
                self._known |= {broker: (self._pid(broker), epoch) for broker, epoch in self._registered().items()}
            return self._known[broker_id][1]

    def _registered(self) -> dict[int, int]:
        log = MetadataLog(self, limit_seconds=SECONDS)
        found = dict(row for entry in log if (row := _registration(entry.value)))
        if log.cut:
            raise RigError(f"broker epochs: {log.cut}")
        return found

    def active(self) -> tuple[Node, Any]:
        """The active controller, and how it describes the quorum."""
        topic = DescribeQuorumRequest.TopicData
        for node in self._controllers.values():
            metadata = topic(topic_name="__cluster_metadata", partitions=[topic.PartitionData(partition_index=0)])
            answer = _ask(node, DescribeQuorumRequest[1](topics=[metadata]))
            if not answer.error_code and not answer.topics[0].partitions[0].error_code:
                return node, answer
        raise RigError("broker epochs: no controller is active")

    def ask(self, node: Node, make: Callable[[], Any]) -> Any:
        """Ask a controller for a piece of its log."""
        request = make()
        request.API_VERSION = metadata_log_fetch.FETCH_VERSIONS[0] if request.API_KEY == 1 else 0
        return _ask(node, request)


def _registration(value: bytes) -> tuple[int, int] | None:
    """Broker id and epoch of a RegisterBroker record: BrokerId, since v2 IsMigratingZkBroker, IncarnationId, BrokerEpoch."""
    _frame, key, version = value[:3]
    if key != REGISTER_BROKER:
        return None
    at = 3 + 4 + (1 if version >= 2 else 0) + 16
    return int.from_bytes(value[3:7], "big"), int.from_bytes(value[at : at + 8], "big")


class Controller:
    """KIP-1275's rules for designated elections. The election itself is made of today's messages: the order of replicas is changed for the moment."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def elect(self, broker: Node, leaders: Mapping[TopicPartition, int], timeout_ms: int) -> dict[TopicPartition, int]:
        """Elect these leaders through this broker. Error codes by partition."""
        with self._lock:
            states = _states(broker, leaders)
            unfenced = _unfenced(broker)
            errors = {key: _refusal(states.get(key), leader, unfenced) for key, leader in leaders.items()}
            ready = [key for key, error in errors.items() if error == OK]
            if not ready:
                return errors
            orders = {key: tuple(states[key].replica_nodes) for key in ready}
            first = {key: (leaders[key], *(broker_id for broker_id in order if broker_id != leaders[key])) for key, order in orders.items()}
            try:
                errors |= _reorder(broker, first, timeout_ms)
                ready = [key for key in ready if errors[key] == OK]
                errors |= elect(broker, UNCLEAN, ready, timeout_ms)
            finally:
                _reorder(broker, orders, timeout_ms)
            elected = {key: leaders[key] for key in ready if errors[key] == OK}
            return errors | self._not_elected(broker, elected, orders, timeout_ms)

    def _not_elected(
        self, broker: Node, elected: Mapping[TopicPartition, int], orders: Mapping[TopicPartition, Sequence[int]], timeout_ms: int
    ) -> dict[TopicPartition, int]:
        """Wait until this broker knows the leaders and the old orders; if another broker leads, a clean leader was faster."""
        deadline = time.monotonic() + timeout_ms / 1000
        while True:
            states = _states(broker, elected)
            if all(states[key].leader_id >= 0 and tuple(states[key].replica_nodes) == orders[key] for key in elected):
                return {key: ELECTION_NOT_NEEDED for key, leader in elected.items() if states[key].leader_id != leader}
            if time.monotonic() > deadline:
                raise RigError(f"gateway of broker {broker.node_id}: elected leaders do not become visible")
            time.sleep(POLL_SECONDS)


def elect(broker: Node, election_type: int, partitions: Iterable[TopicPartition] | None, timeout_ms: int) -> dict[TopicPartition, int]:
    """KIP-460's election of these partitions, or of all (None). Error codes by partition."""
    kind = ElectLeadersRequest.TopicPartitions
    topics = [kind(topic=topic, partitions=[key[1] for key in keys]) for topic, keys in _by_topic(partitions or ())]
    request = ElectLeadersRequest[2](
        election_type=election_type, topic_partitions=None if partitions is None else topics, timeout_ms=timeout_ms
    )
    answer = _ask(broker, request)
    if answer.error_code:
        return dict.fromkeys(partitions or (), answer.error_code)
    return {(topic.topic, row.partition_id): row.error_code for topic in answer.replica_election_results for row in topic.partition_result}


def _refusal(state: Any, leader: int, unfenced: set[int]) -> int:
    """The KIP: only where there is no leader, and only who "is in the replica set, is unfenced and has an online replica". It names no errors
    for the others: these are what Kafka has for a replica list that makes no sense, and if no replica could be elected."""
    if state is None:
        return UNKNOWN_TOPIC_OR_PARTITION
    if state.leader_id >= 0:
        return ELECTION_NOT_NEEDED
    if leader not in state.replica_nodes:
        return INVALID_REPLICA_ASSIGNMENT
    if leader not in unfenced or leader in state.offline_replicas:
        return ELIGIBLE_LEADERS_NOT_AVAILABLE
    return OK


def _states(broker: Node, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Any]:
    kind = MetadataRequest.MetadataRequestTopic
    topics = sorted({topic for topic, _partition in partitions})
    answer = _ask(broker, MetadataRequest[12](topics=[kind(topic_id=None, name=name) for name in topics], allow_auto_topic_creation=False))
    return {(topic.name, row.partition_index): row for topic in answer.topics for row in topic.partitions}


def _unfenced(broker: Node) -> set[int]:
    return {row.broker_id for row in _ask(broker, DescribeClusterRequest[0](include_cluster_authorized_operations=False)).brokers}


def _reorder(broker: Node, orders: Mapping[TopicPartition, Sequence[int]], timeout_ms: int) -> dict[TopicPartition, int]:
    kind = AlterPartitionReassignmentsRequest.ReassignableTopic
    topics = [
        kind(name=topic, partitions=[kind.ReassignablePartition(partition_index=key[1], replicas=list(orders[key])) for key in keys])
        for topic, keys in _by_topic(orders)
    ]
    answer = _ask(broker, AlterPartitionReassignmentsRequest[0](topics=topics, timeout_ms=timeout_ms))
    if answer.error_code:
        return dict.fromkeys(orders, answer.error_code)
    return {(topic.name, row.partition_index): row.error_code for topic in answer.responses for row in topic.partitions}


def _by_topic(partitions: Iterable[TopicPartition]) -> list[tuple[str, list[TopicPartition]]]:
    return [(topic, list(keys)) for topic, keys in groupby(sorted(partitions), key=lambda key: key[0])]


def _ask(node: Node, request: Any) -> Any:
    return ask((HOST, node.replication_port or node.port), request, SECONDS, client_id=CLIENT_ID)
