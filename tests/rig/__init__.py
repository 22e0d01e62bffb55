"""Local fleets of real Kafka clusters, and ways to damage them: shared by tests, demo and benchmark."""

from rig.admin import NewTopic, PartitionState, TopicPartition
from rig.cluster import KafkaCluster
from rig.damage import Case, Damage, Kept
from rig.errors import RigError
from rig.scenarios import SCENARIOS, Plot, Roles
from rig.stock import elect_unclean

__all__ = [
    "SCENARIOS",
    "Case",
    "Damage",
    "KafkaCluster",
    "Kept",
    "NewTopic",
    "PartitionState",
    "Plot",
    "RigError",
    "Roles",
    "TopicPartition",
    "elect_unclean",
]
