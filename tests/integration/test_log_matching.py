# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs that have lost batches to compaction, and a fork among four survivors: compared by what real brokers know of their leader epochs.

Broker 5 writes records to `five` that no follower copies, and dies. Brokers 4, 3 and 2 leave one after the other, then broker 1 is lost, and the others come
back. Between these events keys are written again and again, so that the logs of brokers 2 and 3 are cleaned at other places.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, Producer
from confluent_kafka import TopicPartition as Committed
from confluent_kafka.admin import AdminClient
from integration.support import Operator

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from rig import KafkaCluster, NewTopic
from rig.damage import FETCHES_OVER_SECONDS

pytestmark = pytest.mark.long

COMPACTED, OFFSETS, TRANSACTIONAL, BOTH, FIVE = "compacted", "__consumer_offsets", "transactional", "transactional.compacted", "five"
# The batch that would decide is gone from these. A transaction's marker, which ends each log of the others, stays for longer.
CLEANED = (COMPACTED, OFFSETS)
PREFIXES = (*CLEANED, BOTH, TRANSACTIONAL)
SEGMENT_SECONDS = 0.3
CONFIG = {
    "cleanup.policy": "compact",
    "segment.ms": str(int(SEGMENT_SECONDS * 1000)),
    "min.cleanable.dirty.ratio": "0.01",
    "delete.retention.ms": "100",
}
PROPERTIES = {"offsets.topic.num.partitions": 1, "num.recovery.threads.per.data.dir": 2, "log.cleaner.backoff.ms": 200}
GROUP = "readers"
SESSION = 10.0


@dataclass
class Clients:
    """Those who write. `values`: the newest value of each key of COMPACTED."""

    cluster: KafkaCluster
    values: dict[str, str] = field(default_factory=dict)
    committed: int = 0

    def __post_init__(self) -> None:
        servers: dict[str, str | int | float | bool] = {"bootstrap.servers": self.cluster.bootstrap_servers, "log_level": 2}
        self.producer = Producer({**servers, "acks": "all"})
        self.transactional = Producer({**servers, "transactional.id": "payments", "transaction.timeout.ms": 600_000})
        self.transactional.init_transactions(60)
        self.admin = AdminClient(servers)

    def write(self, what: str, rounds: int) -> None:
        """Write the same keys so many times, each time into a segment of its own."""
        for number in range(rounds):
            for key in "abc":
                self.values[key] = f"{what} {number}"
                self.producer.produce(COMPACTED, self.values[key], key, partition=0)
                assert not self.producer.flush(60)
            self.committed += 1
            request = ConsumerGroupTopicPartitions(GROUP, [Committed(COMPACTED, 0, self.committed)])
            self.admin.alter_consumer_group_offsets([request])[GROUP].result()
            self.transactional.begin_transaction()
            for topic in (TRANSACTIONAL, BOTH):
                self.transactional.produce(topic, f"{what} {number}", "key", partition=0)
            (self.transactional.commit_transaction if number % 2 else self.transactional.abort_transaction)(60)
            time.sleep(1.5 * SEGMENT_SECONDS)


def five(cluster: KafkaCluster, what: str, acks: str = "all") -> None:
    cluster.produce(FIVE, 0, [f"{what} {number}" for number in range(5)], acks=acks)


def end(cluster: KafkaCluster, broker: int, topic: str) -> int:
    return cluster.log_end_offsets(broker, [(topic, 0)])[topic, 0]


def live_through(cluster: KafkaCluster) -> Clients:
    cluster.create_topics(
        [
            NewTopic("__transaction_state", [[1]] * 4, {"cleanup.policy": "compact"}),
            *(NewTopic(topic, [[1, 3, 2]], CONFIG) for topic in (*CLEANED, BOTH)),
            NewTopic(TRANSACTIONAL, [[1, 3, 2]]),
            NewTopic(FIVE, [[5, 4, 3, 2, 1]]),
        ]
    )
    clients = Clients(cluster)
    five(cluster, "everywhere", acks="1")
    five(cluster, "everywhere", acks="all")
    cluster.pause(1, 2, 3, 4)
    time.sleep(FETCHES_OVER_SECONDS)
    for number in range(8):
        five(cluster, f"never copied {number}", acks="1")
    cluster.kill(5)
    cluster.resume(1, 2, 3, 4)
    cluster.wait_for_partitions([FIVE], lambda state: state.leader == 4, "led by broker 4")
    cluster.reorder_replicas({(FIVE, 0): [1, 2, 3, 4, 5]})
    five(cluster, "without 5")
    cluster.terminate(4)
    cluster.wait_fenced([4])
    five(cluster, "without 4, 5")
    clients.write("by three", 4)
    cluster.terminate(3)
    cluster.wait_fenced([3])
    five(cluster, "by 1 and 2")
    ends = {topic: end(cluster, 1, topic) for topic in CLEANED}
    clients.write("by two", 4)
    with Cluster(Connection((cluster.brokers[2].client_address,), request_timeout=5.0)) as asked:

        def kept() -> str:
            found = asked.batches({2: {(topic, 0): place - 1 for topic, place in ends.items()}})[2]
            return ", ".join(topic for (topic, _), row in found.items() if row.batch is None or row.batch.holds(ends[topic] - 1))

        cluster.wait_until(kept, "broker 2 still has the last batch of broker 3's log", 60)
    cluster.terminate(2)
    cluster.wait_fenced([2])
    five(cluster, "by 1 alone")
    cluster.kill(1)
    cluster.start_node(2, 3, 4, 5)
    cluster.wait_unfenced([2, 3, 4, 5])
    cluster.wait_for_partitions([*PREFIXES, FIVE], lambda state: state.leader < 0, "without a leader")
    return clients


@dataclass
class Lived:
    operator: Operator
    clients: Clients
    ends: dict[tuple[str, int], int]


@pytest.fixture(scope="module", params=["4.3.1", "3.9.1"])
def lived(request: pytest.FixtureRequest, spark_remote: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lived]:
    settings: dict[str, Any] = {
        "version": request.param,
        "brokers": 5,
        "session_timeout": SESSION,
        "heap": "200m",
        "properties": PROPERTIES,
    }
    with KafkaCluster("matching", **settings) as cluster:
        clients = live_through(cluster)
        ends = {(topic, broker): end(cluster, broker, topic) for topic in PREFIXES for broker in (2, 3)}
        ends |= {(FIVE, broker): end(cluster, broker, FIVE) for broker in (2, 3, 4, 5)}
        yield Lived(Operator(cluster, tmp_path_factory.mktemp("matching"), spark_remote), clients, ends)


def test_compacted_and_transactional_logs_and_forks_are_decided_and_elected(lived: Lived) -> None:
    operator, cluster, ends = lived.operator, lived.operator.cluster, lived.ends
    before = operator.states(*PREFIXES)
    found = operator.snapshot("1", [*PREFIXES, FIVE])
    pairs = {(row["topic"], pair["broker_a"], pair["broker_b"]): pair for row in operator.documents("1") for pair in row["pairs"]}
    said = {place: (pair["relation"], pair["shorter"], pair["common_offset"]) for place, pair in pairs.items()}
    for topic in PREFIXES:
        assert ends[topic, 3] < ends[topic, 2]
        assert said[topic, 2, 3] == ("prefix", 3, ends[topic, 3]), pairs[topic, 2, 3]["reason"]
    assert {broker: ends[FIVE, broker] for broker in (2, 3, 4, 5)} == {2: 25, 3: 20, 4: 15, 5: 50}
    assert {(one, other): said[FIVE, one, other] for one in (2, 3, 4) for other in (3, 4, 5) if one < other} == {
        (2, 3): ("prefix", 3, 20),
        (2, 4): ("prefix", 4, 15),
        (3, 4): ("prefix", 4, 15),
        **dict.fromkeys([(2, 5), (3, 5), (4, 5)], ("forked", None, 10)),
    }
    assert {name: found["counts"][name] for name in ("unknown", "corrupt", "forked")} == {"unknown": 0, "corrupt": 0, "forked": 3}

    operator.plan("1")
    plan = operator.read("plans", "1")
    planned = {row["topic"]: (row["designatedLeader"], row["evidence"]) for row in plan["partitions"]}
    assert planned == dict.fromkeys(PREFIXES, (2, "prefix")), plan
    (held,) = plan["held"]
    assert (held["topic"], held["candidate"], held["truncated"]) == (FIVE, 2, [{"broker_id": 5, "offset": 10, "records": 40}]), held
    assert operator.apply("1")["summary"]["elected"] == len(PREFIXES)
    operator.in_order_again(before)

    cluster.wait_for_partitions(PREFIXES, lambda state: state.leader == 2 and {*state.isr} == {2, 3}, "in sync again")
    assert newest(cluster) == lived.clients.values
    request = ConsumerGroupTopicPartitions(GROUP, [Committed(COMPACTED, 0)])

    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 2})  # the other one still knows the lost coordinator

    def lost() -> str:
        try:
            (row,) = admin.list_consumer_group_offsets([request], request_timeout=10)[GROUP].result().topic_partitions
        except KafkaException as error:  # its coordinator is still loading
            return str(error)
        return "" if row.offset == lived.clients.committed else f"offset {row.offset}"

    cluster.wait_until(lost, "the group has lost its offset", 60)


def newest(cluster: KafkaCluster) -> dict[str, str]:
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": "check", "enable.partition.eof": True, "log_level": 2})
    consumer.assign([Committed(COMPACTED, 0, 0)])
    values: dict[str, str] = {}
    try:
        while (message := consumer.poll(60)) is not None and message.error() is None:
            values[(message.key() or b"").decode()] = (message.value() or b"").decode()
    finally:
        consumer.close()
    return values
