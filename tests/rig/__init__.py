"""Local fleets of real Kafka clusters, and ways to damage them: shared by tests, demo and benchmark."""

from rig.admin import NewTopic, PartitionState, TopicPartition
from rig.cluster import KafkaCluster
from rig.errors import RigError

__all__ = ["KafkaCluster", "NewTopic", "PartitionState", "RigError", "TopicPartition"]
