# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What tests do to the small cluster of three brokers, where the moment matters."""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka.admin import AdminClient

from rig import KafkaCluster, NewTopic

GIVE_UP_SECONDS = 60


def delete_topics(cluster: KafkaCluster, topics: Iterable[str]) -> None:
    """Delete topics and wait until the cluster has forgotten them."""
    gone = set(topics)
    if not gone:
        return
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 2})
    for future in admin.delete_topics(list(gone), operation_timeout=GIVE_UP_SECONDS).values():
        future.result()
    cluster.wait_until(lambda: ", ".join(gone & {state.topic for state in cluster.describe()}), "not deleted", GIVE_UP_SECONDS)
    # A producer remembers which topics were deleted, and for a while takes nothing for one that is created again under such a name.
    cluster.writer.close()


def wait_for_removed_logs(cluster: KafkaCluster) -> None:
    """Wait until brokers have removed the folders of deleted topics, which they keep for `log.segment.delete.delay.ms`."""

    def left() -> str:
        return ", ".join(path.name for broker in cluster.brokers.values() for path in broker.data_dir.glob("*-delete"))

    cluster.wait_until(left, "not removed", GIVE_UP_SECONDS)


def lose_all_but(cluster: KafkaCluster, topics: Iterable[str], survivors: Iterable[int]) -> None:
    """Broker 3 falls behind, then broker 2, then broker 1 dies as the last in-sync replica; `survivors` of them come back."""
    names = list(topics)
    for leaving in (3, 2):
        cluster.terminate(leaving)
        cluster.wait_fenced([leaving])
        for name in names:
            cluster.produce(name, 0, [f"without broker {leaving}, {number}" for number in range(20)])
    cluster.kill(1)
    cluster.start_node(*survivors)
    cluster.wait_unfenced(survivors)
    cluster.wait_for_partitions(names, lambda state: state.leader < 0, "without a leader")


def create(cluster: KafkaCluster, topic: str) -> None:
    """A topic of one partition with 30 records on all three brokers."""
    cluster.create_topics([NewTopic(topic, [[1, 3, 2]], {"unclean.leader.election.enable": "false"})])
    cluster.produce(topic, 0, [f"with all brokers, {number}" for number in range(30)])
