"""Whether confluent-kafka sees what the rig says of a cluster, by which tests judge."""

from confluent_kafka import KafkaException

from rig import KafkaCluster
from rig.rpc import Unanswered
from witness import librdkafka

SECONDS = 30.0  # a broker shows a change a moment after another one


def check(cluster: KafkaCluster) -> None:
    """Raise RigError if confluent-kafka sees another leader, ISR or order of replicas of a partition. A cluster that does not answer is not judged."""
    try:
        cluster.describe()
    except Unanswered:
        return
    client = librdkafka.connect(",".join(node.client_address for node in cluster.answering()), cluster.settings.security.librdkafka())

    def difference() -> str:
        said = {(one.topic, one.partition): (one.leader, one.replicas, frozenset(one.isr)) for one in cluster.describe()}
        try:
            views = librdkafka.views(client, *{topic for topic, _partition in said})
        except KafkaException as problem:
            return str(problem)
        seen = {key: (view.leader, view.replicas, view.isr) for key, view in views.items()}
        return next((f"{key}: {seen.get(key)} instead of {what}" for key, what in said.items() if seen.get(key) != what), "")

    cluster.wait_until(difference, "confluent-kafka sees something else", SECONDS)
