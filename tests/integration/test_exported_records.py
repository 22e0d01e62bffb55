# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Saved records are exported as Kafka's own tool reads them from the segments, whatever the codec and the producer."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from confluent_kafka import Producer
from integration.breaking import delete_topics
from integration.dumped_segments import Dumped, as_dumped, dumped
from integration.support import Operator, run_module

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.save import TailSaver
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.save_limits import Limits
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.saved_folder import folder_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails import Tail
from rig import KafkaCluster, NewTopic, java, stock

MODULE = "kafka_records_info"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
LIBRDKAFKA, JAVA, TRANSACTIONS, APPEND = "librdkafka", "java", "transactions", "append"


def produce_with_librdkafka(cluster: KafkaCluster) -> None:
    """One partition for each codec: text, other bytes, headers, no key, no value, nothing in the value."""
    for partition, codec in enumerate(CODECS):
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "compression.type": codec, "linger.ms": 200})
        for number in range(50):
            producer.produce(
                LIBRDKAFKA,
                f"{codec} {number} " * 20,
                f"key {number}",
                partition,
                headers=[("h", f"{number}"), ("none", None), ("é", b"\xff")],
            )
        producer.produce(LIBRDKAFKA, None, "tombstone", partition)
        producer.produce(LIBRDKAFKA, b"", None, partition)
        assert producer.flush(60) == 0
    cluster.produce(APPEND, 0, ["timed by the broker"] * 3)


def produce_with_java(cluster: KafkaCluster) -> None:
    """Kafka's console producer, whose snappy and lz4 have frames of their own."""
    lines = "".join(f"h:{number}\tkey {number}\t{'a value ' * 20}{number}\n" for number in range(50)) + "h:x\ttombstone\tNULL\n"
    for codec in CODECS:
        properties = [f"--reader-property={name}" for name in ("parse.key=true", "parse.headers=true", "null.marker=NULL")]
        arguments = [
            "--bootstrap-server",
            cluster.bootstrap_servers,
            "--topic",
            f"{JAVA}.{codec}",
            f"--compression-codec={codec}",
            *properties,
        ]
        argv = java.command(cluster.libs, "org.apache.kafka.tools.ConsoleProducer", *arguments, jvm_options=stock.SCRIPT_OPTIONS[:1])
        subprocess.run(argv, input=lines, text=True, check=True, capture_output=True, timeout=120)


def produce_transactions(cluster: KafkaCluster) -> None:
    """One that is committed, one that is aborted, one that is open."""
    for name, end in (("one", "commit_transaction"), ("two", "abort_transaction"), ("three", "flush")):
        options = {"transactional.id": name, "compression.type": "lz4", "linger.ms": 200}
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, **options})
        producer.init_transactions(60)
        producer.begin_transaction()
        for number in range(20):
            producer.produce(TRANSACTIONS, f"{name} {number} " * 20, name, 0)
        producer.flush(60)
        getattr(producer, end)()


@pytest.fixture(scope="module")
def saved(small: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Operator:
    """All that broker 2 has of partitions without a leader is saved as run 1."""
    cluster, operator = small, Operator(small, tmp_path_factory.mktemp("exported"))
    cluster.heal()
    delete_topics(cluster, {state.topic for state in cluster.describe()})
    cluster.create_topics([
        NewTopic(LIBRDKAFKA, [[1, 2]] * len(CODECS)), NewTopic(TRANSACTIONS, [[1, 2]]),
        NewTopic(APPEND, [[1, 2]], {"message.timestamp.type": "LogAppendTime"}), *(NewTopic(f"{JAVA}.{codec}", [[1, 2]]) for codec in CODECS),
    ])  # fmt: skip
    topics = {state.topic for state in cluster.describe()}
    produce_with_librdkafka(cluster)
    produce_with_java(cluster)
    produce_transactions(cluster)
    cluster.kill(2)
    cluster.wait_fenced([2])
    cluster.wait_for_partitions(topics, lambda state: state.isr == (1,), "without broker 2", 60)
    cluster.kill(1)
    cluster.wait_fenced([1])
    cluster.start_node(2)
    cluster.wait_unfenced([2])
    keys = {(state.topic, state.partition) for state in cluster.describe(*topics)}
    with Cluster(Connection((cluster.brokers[2].client_address,))) as client:
        states, ends = client.partitions(keys), cluster.log_end_offsets(2, keys)
        assert {state.leader for state in states.values()} == {-1}
        tails = [Tail(*key, state.topic_id, state.leader_epoch, 2, 0, ends[key]) for key, state in states.items()]
        header = {"cluster": operator.name, "cluster_id": client.cluster_id, "run_id": "1", "backend": "compat"}
        report = TailSaver(client, folder_of(operator.workdir, "1", operator.name), header, Limits()).save(tails)
    assert {*report.complete} == {*tails}, report.refused
    return operator


def shown(operator: Operator, topic: str, partition: int) -> Dumped:
    """What `kafka-dump-log.sh` shows of the segment of broker 2."""
    (segment,) = (operator.cluster.brokers[2].data_dir / f"{topic}-{partition}").glob("*.log")
    return dumped(operator.cluster, [segment], deep=True)[segment]


def export(operator: Operator, topic: str, partition: int, path: Path, form: str) -> dict[str, Any]:
    named = {"partitions": [{"topic": topic, "partition": partition}], "export": str(path), "format": form}
    answer = run_module(MODULE, {**operator.files("1"), **named})
    assert answer.returncode == 0, answer
    return answer.result


TOPICS = [(LIBRDKAFKA, number) for number in range(len(CODECS))] + [(f"{JAVA}.{codec}", 0) for codec in CODECS]
# Of the codecs make test has two of each producer.
OFTEN = [(LIBRDKAFKA, CODECS.index("none")), (LIBRDKAFKA, CODECS.index("zstd")), (f"{JAVA}.snappy", 0), (f"{JAVA}.lz4", 0)]


@pytest.mark.parametrize(
    ("topic", "partition"),
    [
        *OFTEN,
        (APPEND, 0),
        (TRANSACTIONS, 0),
        *(pytest.param(*key, marks=pytest.mark.long) for key in TOPICS if key not in OFTEN),
    ],
)
def test_every_record_is_what_kafka_reads_from_the_segment(saved: Operator, topic: str, partition: int) -> None:
    name = f"{topic}-{partition}"
    path = saved.workdir / f"{name}.parquet"
    result = export(saved, topic, partition, path, "parquet")
    assert (result["changed"], result["unreadable"]) == (True, [])
    rows = pyarrow.parquet.read_table(path).to_pylist()
    expected = shown(saved, topic, partition).records
    assert [as_dumped(row) for row in rows] == expected and len(expected) == result["counts"]["records"] >= 3
    codec = topic.removeprefix(f"{JAVA}.") if topic.startswith(JAVA) else CODECS[partition] if topic == LIBRDKAFKA else None
    if codec:
        assert codec in result["replicas"][0]["compression"], "the producer has compressed"
    lines = saved.workdir / f"{name}.jsonl"
    export(saved, topic, partition, lines, "jsonl")
    texts = [json.loads(line) for line in lines.read_text().splitlines()]
    assert [(row["offset"], row["key"], row["value"]) for row in texts] == [
        (row["offset"], *(None if data is None else data.decode() for data in (row["key"], row["value"]))) for row in rows
    ]


def test_ends_of_transactions_are_those_that_kafka_reads(saved: Operator) -> None:
    path = saved.workdir / "states.jsonl"
    result = export(saved, TRANSACTIONS, 0, path, "jsonl")
    (row,) = result["replicas"]
    expected = [(int(one["offset"]), one["kind"].lower(), int(one["epoch"])) for one in shown(saved, TRANSACTIONS, 0).markers]
    assert [(one["offset"], one["kind"], one["coordinator_epoch"]) for one in row["first_markers"]] == expected
    assert row["markers"] == {"commit": 1, "abort": 1}
    (left_open,) = row["open_transactions"]
    assert left_open["records"] == 20
    states = {(one["key"], one["transaction"]) for one in map(json.loads, path.read_text().splitlines())}
    assert states == {("one", "committed"), ("two", "aborted"), ("three", "open")}
