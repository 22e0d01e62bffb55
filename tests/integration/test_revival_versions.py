# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Revivals on the oldest Kafka and without eligible leader replicas, and of Kafka's own topics. The cluster west has eligible leader replicas."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Producer
from integration.damaged import PROPERTIES
from integration.support import Operator, by_partition, run_module
from integration.test_revival import CONFIG, GONE, LIVE, LOST, MODULE, RECORDS, commit, gone, lose, wanted

from rig import KafkaCluster, NewTopic, stock

OFFSETS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"
PAYMENTS = "payments"
INTERNAL = ((OFFSETS, 0), (TRANSACTIONS, 0))


@pytest.mark.long
@pytest.mark.parametrize(("version", "elr"), [("3.9.1", None), ("4.3.1", False)], ids=["3.9", "no ELR"])
def test_partitions_are_revived_and_internal_topics_have_an_option_of_their_own(version: str, elr: bool | None, tmp_path: Path) -> None:
    properties = {**PROPERTIES, "transaction.state.log.num.partitions": 1}
    with KafkaCluster("south", version=version, elr=elr, brokers=3, session_timeout=5, heap="200m", properties=properties) as cluster:
        south = Operator(cluster, tmp_path)
        # Kafka makes its own topics with these settings, too, but not on a broker of one's choice.
        cluster.create_topics([NewTopic(topic, [[LOST]], {**CONFIG, "cleanup.policy": "compact"}) for topic, _partition in INTERNAL])
        cluster.create_topics([NewTopic(PAYMENTS, [[LIVE[0]]], CONFIG)])
        lose(cluster, GONE)
        commit(cluster, "billing", PAYMENTS, 0)
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": "payments-1", "log_level": 0})
        producer.init_transactions(60)
        producer.begin_transaction()
        producer.produce(PAYMENTS, b"open", partition=0)
        assert producer.flush(60) == 0
        gone(cluster, GONE, OFFSETS, TRANSACTIONS)

        done = south.ask(MODULE, **wanted(south, (GONE, 0)))
        row = by_partition(done["results"])[GONE, 0]
        assert (row["outcome"], row["leader"], sorted(row["isr"]), row["log_end_offset"]) == ("revived", LIVE[0], LIVE, 0), done
        assert done["hanging_transactions"] == []
        cluster.produce(GONE, 0, ["new"])
        assert cluster.read(GONE, 0) == [(0, "new")]

        held = run_module(MODULE, {**south.connection, **wanted(south, *INTERNAL)})
        assert held.returncode == 1
        assert {row["reason_code"] for row in held.result["results"]} == {"must_be_named"}, held
        done = south.ask(MODULE, **wanted(south, *INTERNAL, allow_internal_topics=True))
        assert {(row["topic"], row["outcome"], row["leader"]) for row in done["results"]} == {
            (topic, "revived", LIVE[0]) for topic, _partition in INTERNAL
        }
        (hanging,) = done["hanging_transactions"]
        assert (hanging["topic"], hanging["partition"], hanging["start_offset"]) == (PAYMENTS, 0, 0)
        cluster.produce(PAYMENTS, 0, ["behind"])
        assert cluster.read(PAYMENTS, 0) == [], "readers of committed records stop at the open transaction"
        place = ["--topic", PAYMENTS, "--partition", "0", "--start-offset", str(hanging["start_offset"])]
        tool = "org.apache.kafka.tools.TransactionsCommand"
        aborted = stock.tool(cluster, tool, "--bootstrap-server", cluster.bootstrap_servers, "abort", *place)
        assert aborted.returncode == 0, aborted
        assert [value for _offset, value in cluster.read(PAYMENTS, 0)] == ["behind"]
        commit(cluster, "billing", PAYMENTS, RECORDS)
        again = south.ask(MODULE, **wanted(south, *INTERNAL, allow_internal_topics=True))
        assert (again["changed"], again["summary"]["already_online"]) == (False, 2), again
