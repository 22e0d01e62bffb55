"""What the rig asks of a cluster, and sends to it, through the admin protocol. Stateless: every call names the node it speaks to."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka.errors import for_code
from kafka.protocol.admin import (
    AlterPartitionReassignmentsRequest,
    AlterReplicaLogDirsRequest,
    CreateTopicsRequest,
    DescribeClusterRequest,
    DescribeQuorumRequest,
    DescribeTopicPartitionsRequest,
)
from kafka.protocol.consumer import ListOffsetsRequest
from kafka.protocol.metadata import MetadataRequest

from rig.errors import RigError
from rig.rpc import ask

Address = tuple[str, int]
TopicPartition = tuple[str, int]
DEBUGGING_REPLICA = -2  # a follower answers this one
LATEST_OFFSET = -1
PARTITIONS_PER_REQUEST = 2000  # more makes a controller's single batch of records too big


@dataclass(frozen=True)
class NewTopic:
    """A topic to create: one list of replicas per partition."""

    name: str
    assignments: Sequence[Sequence[int]]
    config: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class PartitionState:
    """What the cluster says about a partition. `leader` is -1 where there is none."""

    topic: str
    partition: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    eligible_leader_replicas: tuple[int, ...]
    last_known_elr: tuple[int, ...]
    offline_replicas: tuple[int, ...]

    @property
    def clean_candidates(self) -> frozenset[int]:
        """Replicas that could become leader without losing a record."""
        return frozenset((*self.isr, *self.eligible_leader_replicas, *self.last_known_elr))


def unfenced_brokers(node: Address, seconds: float) -> set[int]:
    """Ids of the brokers that this node knows as unfenced."""
    answer = ask(node, DescribeClusterRequest[0](include_cluster_authorized_operations=False), seconds)
    _raise_for(answer, "describing the cluster")
    return {broker.broker_id for broker in answer.brokers}


def observer_fetch_times(node: Address, seconds: float) -> dict[int, int]:
    """When each broker last fetched the metadata log: milliseconds since 1970 by broker id, as the active controller saw it."""
    topic = DescribeQuorumRequest.TopicData
    metadata = topic(topic_name="__cluster_metadata", partitions=[topic.PartitionData(partition_index=0)])
    answer = ask(node, DescribeQuorumRequest[1](topics=[metadata]), seconds)
    _raise_for(answer, "describing the quorum")
    times: dict[int, int] = {}
    for observer in answer.topics[0].partitions[0].observers:
        times[observer.replica_id] = max(observer.last_fetch_timestamp, times.get(observer.replica_id, -1))
    return times


def describe(node: Address, topics: Iterable[str], seconds: float) -> list[PartitionState]:
    """State of every partition of these topics (none named: of all), by topic and partition. Raises RigError for an unknown topic."""
    kind = DescribeTopicPartitionsRequest
    wanted = [kind.TopicRequest(name=name) for name in sorted(set(topics))]
    states: list[PartitionState] = []
    cursor = None
    while True:
        answer = ask(node, kind[0](topics=wanted, response_partition_limit=2000, cursor=cursor), seconds)
        for topic in answer.topics:
            _raise_for(topic, f"describing topic {topic.name}")
            states += [_state(topic.name, row) for row in topic.partitions]
        if answer.next_cursor is None:
            return _in_order(states)
        cursor = kind.Cursor(topic_name=answer.next_cursor.topic_name, partition_index=answer.next_cursor.partition_index)
        wanted = [topic for topic in wanted if topic.name >= cursor.topic_name]


def describe_with_metadata(node: Address, topics: Iterable[str], seconds: float) -> list[PartitionState]:
    """The same from a node of Kafka before 3.8, which does not know DescribeTopicPartitions. It has no eligible leader replicas either."""
    names = sorted(set(topics))
    wanted = [MetadataRequest.MetadataRequestTopic(name=name) for name in names] if names else None
    answer = ask(node, MetadataRequest[8](topics=wanted, allow_auto_topic_creation=False), seconds)
    for topic in answer.topics:
        _raise_for(topic, f"describing topic {topic.name}")
    return _in_order(_state(topic.name, row) for topic in answer.topics for row in topic.partitions)


def log_end_offsets(node: Address, partitions: Iterable[TopicPartition], seconds: float) -> dict[TopicPartition, int]:
    """Where this broker's own replicas end, also where it is no leader."""
    kind = ListOffsetsRequest.ListOffsetsTopic
    rows = [
        kind(
            name=topic,
            partitions=[
                kind.ListOffsetsPartition(partition_index=index, timestamp=LATEST_OFFSET, current_leader_epoch=-1) for _topic, index in keys
            ],
        )
        for topic, keys in itertools.groupby(sorted(partitions), key=lambda key: key[0])
    ]
    answer = ask(node, ListOffsetsRequest[6](replica_id=DEBUGGING_REPLICA, isolation_level=0, topics=rows), seconds)
    ends = {}
    for topic in answer.topics:
        for row in topic.partitions:
            _raise_for(row, f"asking for the end of {topic.name}-{row.partition_index}")
            ends[topic.name, row.partition_index] = row.offset
    return ends


def create_topics(node: Address, topics: Sequence[NewTopic], seconds: float) -> None:
    """Create topics with exactly these assignments. Raises RigError naming the first topic that was refused."""
    for batch in _batches(topics, lambda topic: len(topic.assignments)):
        rows = [_creatable(topic) for topic in batch]
        answer = ask(node, CreateTopicsRequest[5](topics=rows, timeout_ms=int(seconds * 1000), validate_only=False), seconds)
        for row in answer.topics:
            _raise_for(row, f"creating topic {row.name}")


def reorder_replicas(node: Address, orders: Mapping[TopicPartition, Sequence[int]], seconds: float) -> None:
    """Give partitions a new order of their same replicas (the first one is the preferred leader)."""
    kind = AlterPartitionReassignmentsRequest.ReassignableTopic
    for batch in _batches(sorted(orders), lambda key: 1):
        rows = [
            kind(name=topic, partitions=[kind.ReassignablePartition(partition_index=key[1], replicas=list(orders[key])) for key in keys])
            for topic, keys in itertools.groupby(batch, key=lambda key: key[0])
        ]
        answer = ask(node, AlterPartitionReassignmentsRequest[0](topics=rows, timeout_ms=int(seconds * 1000)), seconds)
        _raise_for(answer, "reordering replicas")
        for topic in answer.responses:
            for row in topic.partitions:
                _raise_for(row, f"reordering the replicas of {topic.name}-{row.partition_index}")


def move_logs(broker: Address, path: str, partitions: Iterable[TopicPartition], seconds: float) -> None:
    """Have a broker move its logs of these partitions to this log directory. It goes on by itself when this returns."""
    kind = AlterReplicaLogDirsRequest.AlterReplicaLogDir
    topics = [
        kind.AlterReplicaLogDirTopic(name=topic, partitions=[number for _topic, number in keys])
        for topic, keys in itertools.groupby(sorted(partitions), key=lambda key: key[0])
    ]
    answer = ask(broker, AlterReplicaLogDirsRequest[2](dirs=[kind(path=path, topics=topics)]), seconds)
    for topic in answer.results:
        for row in topic.partitions:
            _raise_for(row, f"moving the log of {topic.topic_name}-{row.partition_index} to {path}")


def _creatable(topic: NewTopic) -> Any:
    kind = CreateTopicsRequest.CreatableTopic
    return kind(
        name=topic.name,
        num_partitions=-1,
        replication_factor=-1,
        assignments=[
            kind.CreatableReplicaAssignment(partition_index=index, broker_ids=list(replicas))
            for index, replicas in enumerate(topic.assignments)
        ],
        configs=[kind.CreatableTopicConfig(name=name, value=value) for name, value in topic.config.items()],
    )


def _in_order(states: Iterable[PartitionState]) -> list[PartitionState]:
    return sorted(states, key=lambda state: (state.topic, state.partition))


def _state(topic: str, row: Any) -> PartitionState:
    return PartitionState(
        topic=topic,
        partition=row.partition_index,
        leader=row.leader_id,
        leader_epoch=row.leader_epoch,
        replicas=tuple(row.replica_nodes),
        isr=tuple(row.isr_nodes),
        eligible_leader_replicas=tuple(getattr(row, "eligible_leader_replicas", None) or ()),
        last_known_elr=tuple(getattr(row, "last_known_elr", None) or ()),
        offline_replicas=tuple(row.offline_replicas),
    )


def _batches(items: Sequence[Any], weight: Any) -> Iterable[list[Any]]:
    """Consecutive groups of at most PARTITIONS_PER_REQUEST partitions (a single bigger topic makes a group of its own)."""
    batch: list[Any] = []
    total = 0
    for item in items:
        if batch and total + weight(item) > PARTITIONS_PER_REQUEST:
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += weight(item)
    if batch:
        yield batch


def _raise_for(answer: Any, doing: str) -> None:
    if answer.error_code:
        raise RigError(f"{doing}: {for_code(answer.error_code).__name__} {getattr(answer, 'error_message', None) or ''}".rstrip())
