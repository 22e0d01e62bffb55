# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The history of Raft's figure 8, on real brokers: the survivor with the later epoch lacks records that a consumer has read.

Neither the latest epoch nor the longest log is safe by itself. Logs that fork are held back, and proof of commitment decides.
"""

from __future__ import annotations

import time

from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka import TopicPartition as Committed
from confluent_kafka.admin import AdminClient
from integration.breaking import delete_topics
from integration.support import Operator

from rig import KafkaCluster, NewTopic
from rig.damage import FETCHES_OVER_SECONDS

TOPIC = "figure.8"
# Seconds. Broker 2 hangs from the middle of broker 1's last session on until broker 3 is dead: it is not to be fenced for that.
SESSION = 10.0


def live_through_figure_8(cluster: KafkaCluster) -> None:
    """Records 0 to 9 are everywhere. Of 10 to 14 one branch was read by a consumer (brokers 1 and 2), the other (10 to 12) is broker 3's alone.
    Broker 2 is lost, 1 and 3 come back."""
    cluster.create_topics([NewTopic(TOPIC, [[1, 3, 2]], {"min.insync.replicas": "2"})])
    cluster.produce(TOPIC, 0, [f"everywhere {number}" for number in range(10)])
    usual = cluster.session_timeout
    cluster.set_session_timeout(SESSION)

    # Broker 1 leads. Broker 2 copies what it writes, broker 3 does not, and broker 1 dies.
    cluster.pause(3)
    time.sleep(FETCHES_OVER_SECONDS)
    cluster.produce(TOPIC, 0, [f"read by a consumer {number}" for number in range(5)], acks="1")
    cluster.wait_until(lambda: "" if cluster.log_end_offsets(2, [(TOPIC, 0)]) == {(TOPIC, 0): 15} else "not yet", "copied by broker 2", 60)
    cluster.kill(1)
    cluster.resume(3)

    # Broker 3 leads while broker 2 hangs, writes what nobody copies, and dies.
    time.sleep(SESSION / 2)
    cluster.pause(2)
    cluster.wait_for_partitions([TOPIC], lambda state: state.leader == 3, "led by broker 3")
    cluster.produce(TOPIC, 0, [f"never copied {number}" for number in range(3)], acks="1")
    cluster.kill(3)
    cluster.resume(2)

    # Broker 2 leads, broker 1 joins it, and what it wrote at first is committed: a consumer reads it.
    cluster.wait_for_partitions([TOPIC], lambda state: state.leader == 2, "led by broker 2")
    cluster.start_node(1)
    cluster.wait_for_partitions([TOPIC], lambda state: set(state.isr) == {1, 2}, "in sync on brokers 1 and 2")
    read = [value for _, value in cluster.read(TOPIC, 0)]
    assert read[10:] == [f"read by a consumer {number}" for number in range(5)]

    # Broker 1 leaves, broker 2 dies, brokers 1 and 3 come back.
    cluster.set_session_timeout(usual)
    cluster.kill(1)
    cluster.wait_fenced([1])
    cluster.kill(2)
    cluster.start_node(1, 3)
    cluster.wait_fenced([2])
    cluster.wait_unfenced([1, 3])
    cluster.wait_for_partitions([TOPIC], lambda state: state.leader < 0, "without a leader")


def test_what_a_consumer_has_read_is_not_given_up_for_a_later_epoch(west: Operator) -> None:
    cluster = west.cluster
    live_through_figure_8(cluster)

    gathered = west.snapshot("1", [TOPIC])
    logs = {row["broker_id"]: (row["last_written_epoch"], row["log_end_offset"]) for row in gathered["preview"]}
    assert logs[1] < logs[3], "broker 3 is ahead by (last-written epoch, log end offset)"
    assert gathered["counts"]["forked"] == 1
    west.plan("1", strategy="balanced")
    (held,) = west.read("plans", "1")["held"]
    assert held["reason"].startswith("forked")
    assert {row["offset"] for row in held["truncated"]} == {10}, "where the logs part"

    delete_topics(cluster, {"__consumer_offsets"} & {state.topic for state in cluster.describe()})
    cluster.create_topics([NewTopic("__consumer_offsets", [[1]], {"cleanup.policy": "compact"})])
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 2})
    committed = ConsumerGroupTopicPartitions("reader", [Committed(TOPIC, 0, 15, leader_epoch=logs[1][0])])
    admin.alter_consumer_group_offsets([committed])["reader"].result()

    (result,) = west.recover("2", [TOPIC], strategy="aggressive").values()
    assert (result["outcome"], result["leader"], result["evidence"]) == ("elected", 1, "forked_proven")
    assert [value for _, value in cluster.read(TOPIC, 0)][10:] == [f"read by a consumer {number}" for number in range(5)]
