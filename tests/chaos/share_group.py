"""A share group (KIP-932), for the topic in which the coordinator of such groups keeps its state."""

from __future__ import annotations

from integration.breaking import delete_topics

from chaos.stage import SHARE_STATE
from rig import KafkaCluster, NewTopic
from rig.errors import RigError
from rig.stock import tool

CONSUMER = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
TOPIC = "shared"
READ_MS = 8000


def make_share_group(cluster: KafkaCluster) -> bool:
    """Let a share consumer read a topic. Return whether its state has a topic now: Kafka before 4.2 has no share groups by default."""
    cluster.create_topics([NewTopic(TOPIC, [sorted(cluster.brokers)])])
    cluster.produce(TOPIC, 0, ["shared"])
    options = ["--topic", TOPIC, "--group", "sharers", "--timeout-ms", str(READ_MS)]
    tool(cluster, CONSUMER, "--bootstrap-server", cluster.bootstrap_servers, *options)
    delete_topics(cluster, [TOPIC])
    try:
        return bool(cluster.describe(SHARE_STATE))
    except RigError:  # no such topic
        return False
