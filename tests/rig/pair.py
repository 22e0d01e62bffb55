"""The least that a partition can lose: a cluster of two brokers, of which one dies with the last records."""

from collections.abc import Iterable

from rig.admin import NewTopic
from rig.cluster import KafkaCluster

LOST, SURVIVOR = 1, 2
COMMON_RECORDS, LOST_RECORDS = 20, 10


def lose_leaders(cluster: KafkaCluster, topics: Iterable[str]) -> None:
    """Create these topics of one partition. Broker 2 leaves, more is acknowledged, broker 1 dies with it, broker 2 comes back."""
    names = list(topics)
    cluster.create_topics([NewTopic(name, [[LOST, SURVIVOR]]) for name in names])
    cluster.writer.write({(name, 0): [f"{name} on both, {number}" for number in range(COMMON_RECORDS)] for name in names})
    cluster.terminate(SURVIVOR)
    cluster.wait_fenced([SURVIVOR])
    cluster.writer.write({(name, 0): [f"{name} on one, {number}" for number in range(LOST_RECORDS)] for name in names})
    cluster.kill(LOST)
    cluster.start_node(SURVIVOR)
    cluster.wait_unfenced([SURVIVOR])
    cluster.wait_for_partitions(names, lambda state: state.leader < 0, "without a leader")
