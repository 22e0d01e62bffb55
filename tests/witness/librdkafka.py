"""What confluent-kafka sees."""

from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import TopicCollection
from confluent_kafka import TopicPartition as Assigned
from confluent_kafka.admin import AdminClient, ConfigResource, ConfigSource, OffsetSpec, ResourceType

from rig import TopicPartition
from witness.view import Ends, PartitionView, Views

SECONDS = 30.0
SET_BY_CLIENTS = {ConfigSource.DYNAMIC_TOPIC_CONFIG, ConfigSource.DYNAMIC_BROKER_CONFIG, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG}


def connect(bootstrap_servers: str, options: Mapping[str, Any] | None = None) -> AdminClient:
    """A client. `options`: of librdkafka, such as those of a login."""
    return AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 2, **(options or {})})


def topic_names(client: AdminClient) -> list[str]:
    """All topics."""
    return sorted(client.list_topics(timeout=SECONDS).topics)


def views(client: AdminClient, *topics: str) -> Views:
    """State of every partition of these topics."""
    found: Views = {}
    if not topics:
        return found
    for topic, future in client.describe_topics(TopicCollection(list(topics)), request_timeout=SECONDS).items():
        answer = future.result()
        digits = "".join(
            f"{bits & (1 << 64) - 1:016x}"
            for bits in (answer.topic_id.get_most_significant_bits(), answer.topic_id.get_least_significant_bits())
        )
        for row in answer.partitions:
            found[topic, row.id] = PartitionView(
                digits, row.leader.id if row.leader else -1, tuple(node.id for node in row.replicas), frozenset(node.id for node in row.isr)
            )
    return found


def end_offsets(client: AdminClient, partitions: Iterable[TopicPartition]) -> Ends:
    """Where consumers find the end of these partitions. Each needs a leader."""
    wanted = {Assigned(topic, partition): OffsetSpec.latest() for topic, partition in partitions}
    answers = client.list_offsets(wanted, request_timeout=SECONDS)
    return {(assigned.topic, assigned.partition): answer.result().offset for assigned, answer in answers.items()}


def throttles(client: AdminClient) -> list[tuple[str, str, str]]:
    """(broker or topic, config, value) of each throttle of replication that is set. Brokers that do not answer are an error."""
    metadata = client.list_topics(timeout=SECONDS)
    brokers = [[ConfigResource(ResourceType.BROKER, str(broker))] for broker in metadata.brokers]  # the library takes one per request
    topics = [ConfigResource(ResourceType.TOPIC, topic) for topic in metadata.topics]
    return sorted(
        (resource.name, entry.name, entry.value)
        for resources in (*brokers, topics)
        for resource, future in client.describe_configs(resources, request_timeout=SECONDS).items()
        for entry in future.result().values()
        if "replication.throttled" in entry.name and ConfigSource(entry.source) in SET_BY_CLIENTS and entry.value
    )
