# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A replica that left the ISR in the middle of a transaction does not have its end. Its records do not get the end of the producer's next one.

The client gives all of its transactions one epoch, as clients without KIP-890 do.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from integration.damaged import PROPERTIES
from integration.support import Operator, by_partition
from integration.test_record_replay import transaction, values, wait_for_marker

from rig import KafkaCluster, NewTopic

LEADER, ELECTED, LAGGING, COORDINATOR = 1, 2, 3, 4
TOPIC = "lagging"


def lose(cluster: KafkaCluster) -> Producer:
    """The lagging replica has the start of an aborted transaction. The leader alone has its end, and the start of the next one, which is committed later."""
    replicas = [NewTopic("__transaction_state", [[COORDINATOR]] * 4, {"cleanup.policy": "compact"})]
    cluster.create_topics([*replicas, NewTopic(TOPIC, [[LEADER, ELECTED, LAGGING]], {"min.insync.replicas": "1"})])
    cluster.produce(TOPIC, 0, [f"all {number}" for number in range(10)])

    def leave(broker: int, *isr: int) -> None:
        cluster.kill(broker)
        cluster.wait_fenced([broker])
        cluster.wait_for_partitions([TOPIC], lambda state: {*state.isr} == {*isr}, "not in sync any more")

    leave(ELECTED, LEADER, LAGGING)
    with transaction(cluster, "two") as producer:
        producer.produce(TOPIC, "aborted", None, 0)
    leave(LAGGING, LEADER)
    producer.abort_transaction(60)
    wait_for_marker(cluster, TOPIC)
    producer.begin_transaction()
    producer.produce(TOPIC, "committed", None, 0)
    assert producer.flush(60) == 0
    cluster.kill(LEADER)
    cluster.start_node(ELECTED, LAGGING)
    cluster.wait_unfenced([ELECTED, LAGGING])
    cluster.wait_fenced([LEADER])
    return producer


@pytest.mark.long
@pytest.mark.parametrize("version", ["3.9.1", "4.3.1"])
def test_a_transaction_gets_no_end_of_the_next_one(version: str, tmp_path: Path) -> None:
    with KafkaCluster("lagging", version=version, brokers=4, session_timeout=5, heap="200m", properties=PROPERTIES) as cluster:
        operator = Operator(cluster, tmp_path)
        producer = lose(cluster)
        rows = [{"topic": TOPIC, "partition": 0, "designated_leader": ELECTED}]
        elected = operator.ask("kafka_designated_election", **operator.files("1"), allow_data_loss=True, partitions=rows)
        assert elected["saved_records"]["saved"] == 1, elected
        producer.commit_transaction(60)
        wait_for_marker(cluster, TOPIC)

        def replay() -> dict[str, Any]:
            result = operator.ask("kafka_record_replay", **operator.files("1"), topics=[TOPIC], allow_replay=True)
            return by_partition(result["partitions"])[TOPIC, 0]

        of_lagging = replay()
        assert (of_lagging["replayed"], of_lagging["skipped"]) == (0, {"undecided": 1}), of_lagging
        disk: dict[str, Any] = {"log_dirs": [str(cluster.brokers[LEADER].data_dir)], "broker_id": LEADER}
        saved = operator.ask("kafka_lost_disk_records", **operator.files("1"), **disk)
        assert saved["safe_to_start"] is True, saved
        of_leader = replay()
        assert (of_leader["replayed"], of_leader["skipped"]) == (1, {"aborted": 1}), of_leader
        assert values(cluster, TOPIC)[10:] == ["committed"]
