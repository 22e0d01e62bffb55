# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A broker that answers slowly: its records are saved after those of the others, as far as time allows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.save import TailSaver
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.save_limits import Limits
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.store import read_pieces
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails import Tail
from rig import KafkaCluster, NewTopic
from rig.proxy import Mode

pytestmark = pytest.mark.long

SLOW, FAST = 1, 2
TOPIC = "slow"
HEADER = {"cluster": "slow", "run_id": "1", "backend": "compat"}
# Of each piece of 64 KiB. A round asks for 1 MiB.
DELAY_SECONDS = 0.1


class Asked(Cluster):
    """The brokers of each round of requests for records."""

    asked: list[list[int]]

    def records(self, work: Mapping[int, Mapping[TopicPartition, int]], *sizes: int) -> Any:
        self.asked.append(sorted(work))
        return super().records(work, *sizes)


@pytest.fixture
def cluster() -> Iterator[KafkaCluster]:
    """Broker SLOW and broker FAST lead a partition each, with 3 MB."""
    with KafkaCluster("slow", brokers=2, proxied=True, heap="200m") as running:
        running.create_topics([NewTopic(TOPIC, [[SLOW], [FAST]])])
        for _batch in range(6):
            for partition in (0, 1):
                running.produce(TOPIC, partition, ["x" * 100_000] * 5)
        yield running


def test_a_slow_broker_does_not_delay_the_others(cluster: KafkaCluster, tmp_path: Path) -> None:
    with Asked(Connection((cluster.brokers[FAST].client_address,))) as source:
        source.asked = []
        states = source.partitions()
        tails = [Tail(TOPIC, number, states[TOPIC, number].topic_id, 0, broker, 0, 30) for number, broker in enumerate((SLOW, FAST))]
        cluster.proxies.set(Mode.DELAY, [SLOW], DELAY_SECONDS)
        saved = TailSaver(source, tmp_path / "saved", {**HEADER, "cluster_id": source.cluster_id}, Limits()).save(tails)
    assert (saved.refused, saved.complete) == ({}, [tails[1], tails[0]])
    alone = source.asked.index([SLOW])
    assert (
        [SLOW, FAST] in source.asked[:alone]
        and [FAST] in source.asked[:alone]
        and source.asked[alone:] == [[SLOW]] * len(source.asked[alone:])
    )
    for piece in read_pieces(tmp_path / "saved", source.cluster_id, whole=True):
        (segment,) = (cluster.brokers[piece.broker_id].data_dir / f"{TOPIC}-{piece.partition}").glob("*.log")
        assert piece.part.read_bytes()[piece.position : piece.position + piece.size] in segment.read_bytes()
