"""The cluster whose answers are recorded and changed: broker 1 is lost, and a group and a transaction are there from before."""

from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import Consumer, Producer, TopicPartition

from rig import Damage, KafkaCluster, NewTopic, Roles
from rig.gateway_rules import Change
from rig.ports import PortBlock
from wire.course import COMPAT, FORKED, NATIVE, ONLINE, PARTITIONS, UNCLEAN
from wire.taps import Taps

CONTROLLER = -1
COORDINATOR = 2


class Stage:
    """`brokers` and `controllers`: addresses whose answers `change` sees."""

    def __init__(self, cluster: KafkaCluster, taps: Taps, tap_port: int) -> None:
        self.cluster, self._taps = cluster, taps
        self.brokers = cluster.gateway_servers.split(",")
        self.controllers = [f"127.0.0.1:{tap_port}"]

    @contextmanager
    def changing(self, change: Change) -> Iterator[None]:
        """Let all answers go through `change` for a while."""
        before, self._taps.change = self._taps.change, change
        try:
            with self.cluster.gateways.with_rules(change=change):
                yield
        finally:
            self._taps.change = before


@contextmanager
def stage() -> Iterator[Stage]:
    """A damaged cluster of three brokers."""
    with KafkaCluster("wire", brokers=3, session_timeout=5.0, heap="256m", gateway=True, request_log=True) as cluster:
        compacted = {"cleanup.policy": "compact"}
        cluster.create_topics(
            [NewTopic("__consumer_offsets", [[COORDINATOR]], compacted), NewTopic("__transaction_state", [[COORDINATOR]], compacted)]
        )
        damage = Damage(cluster, Roles(returning=None))
        for topic in (NATIVE, COMPAT, UNCLEAN):
            damage.add("lagging", PARTITIONS, topic)
        damage.add("forked", PARTITIONS, FORKED)
        damage.add("already_online", PARTITIONS, ONLINE)
        damage.inflict()
        _clients(cluster)
        ports, controller = PortBlock(), next(iter(cluster.controllers.values()))
        taps = Taps({CONTROLLER: (port := ports.take(), controller.port)}, lambda _node, _request, answer: answer)
        try:
            yield Stage(cluster, taps, port)
        finally:
            taps.close()
            ports.release()


def _clients(cluster: KafkaCluster) -> None:
    """A group that has committed offsets everywhere, and a transaction that is not ended."""
    servers = {"bootstrap.servers": cluster.bootstrap_servers, "log_level": 2}
    group = Consumer({**servers, "group.id": "billing", "enable.auto.commit": False})
    group.commit(
        offsets=[TopicPartition(topic, number, 50) for topic in (NATIVE, COMPAT, ONLINE) for number in range(PARTITIONS)],
        asynchronous=False,
    )
    group.close()
    producer = Producer({**servers, "transactional.id": "audit", "transaction.timeout.ms": 600_000})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(ONLINE, "open", partition=0)
    producer.flush(60)
