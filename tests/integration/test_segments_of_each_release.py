# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Segments of each supported release of Kafka are read as the `kafka-dump-log.sh` of that release reads them: every batch, record and marker."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet
import pytest
from confluent_kafka import Producer
from integration.dumped_segments import Dumped, as_dumped, dumped
from integration.support import TopicPartition, by_partition, run_module
from integration.test_lost_disk import ALL, cut, start_of_a_header

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import DELETE_HORIZON, HEADER
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import stored_batches
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_records import marker_of, records_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.disk_source import DiskSource
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replicas import SavedBatch, batches_of, by_replica
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.save import TailSaver
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.save_limits import Limits
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.saved_folder import folder_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.store import read_pieces
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails import Tail
from rig import KafkaCluster, NewTopic

pytestmark = pytest.mark.long

VERSIONS = ("3.9.1", "4.1.1", "4.3.1")
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
# One partition for each codec of the producers. The broker compresses again what it stores in the topics STORED.
SENT, APPENDED, COMPACTED, TORN, STORED = "sent", "appended", "compacted", "torn", "stored"
TEARS = (cut, start_of_a_header)
SEGMENT_SECONDS = 0.3
CLEANED = {"cleanup.policy": "compact", "segment.ms": str(int(SEGMENT_SECONDS * 1000)), "min.cleanable.dirty.ratio": "0.01"}


class Producers(NamedTuple):
    """Producers with one codec. `transactional` is in no transaction."""

    plain: Producer
    idempotent: Producer
    transactional: Producer


def producers(cluster: KafkaCluster, codec: str) -> Producers:
    servers = {"bootstrap.servers": cluster.bootstrap_servers, "compression.type": codec, "linger.ms": 200, "log_level": 2}
    transactional = Producer({**servers, "transactional.id": codec})
    transactional.init_transactions(60)
    return Producers(Producer(servers), Producer({**servers, "enable.idempotence": True}), transactional)


def send(producer: Producer, topic: str, partition: int, *rows: tuple[str | None, str | None]) -> None:
    """Write keys and values as one batch, each with its key in a header."""
    for key, value in rows:
        producer.produce(topic, value, key, partition, headers=[("key", key), ("é", b"\xff")])
    assert producer.flush(60) == 0


def fill(kinds: Producers, topic: str, partition: int) -> None:
    """Write batches of each kind: many records, no key, no value, nothing in the value, no headers, the ends of transactions."""
    rows = [(f"key {number}", f"value {number} " * 20) for number in range(20)]
    for producer in kinds[:2]:
        send(producer, topic, partition, *rows, ("tombstone", None), (None, ""), (None, None))
        producer.produce(topic, "no headers", partition=partition)
        assert producer.flush(60) == 0
    for end in (kinds.transactional.commit_transaction, kinds.transactional.abort_transaction):
        kinds.transactional.begin_transaction()
        send(kinds.transactional, topic, partition, *rows)
        end(60)
    send(kinds.plain, topic, partition, *rows)


def fill_compacted(kinds: list[Producers]) -> None:
    """Let the cleaner remove whole batches, the records of a batch that it must keep, and all but a tombstone and the ends of transactions."""
    values = [(key, "old " * 50) for key in "abc"]  # else some producers do not compress them
    for step in range(6):
        for partition, (plain, idempotent, transactional) in enumerate(kinds):
            if step == 2:
                transactional.begin_transaction()
                send(transactional, COMPACTED, partition, *values[:1], ("d", "new " * 50))
                transactional.commit_transaction(60)
                transactional.begin_transaction()
                send(transactional, COMPACTED, partition, *values[1:2])
                transactional.abort_transaction(60)
            elif step == 3:
                send(plain, COMPACTED, partition, ("b", None))
            else:
                send(idempotent if step == 1 else plain, COMPACTED, partition, *(values if step < 2 else values[::2]))
        time.sleep(1.5 * SEGMENT_SECONDS)  # then the next batch begins a segment


def wait_until_cleaned(cluster: KafkaCluster) -> None:
    data = cluster.brokers[1].data_dir

    def not_cleaned() -> str:
        for partition in range(len(CODECS)):
            name = f"{COMPACTED}-{partition}"
            try:
                content = b"".join(path.read_bytes() for path in sorted((data / name).glob("*.log")))
            except FileNotFoundError:
                return f"{name} is being cleaned"
            batches = list(stored_batches(content))
            places = [sum(batch.size for batch in batches[:number]) for number in range(len(batches))]
            has_horizon = any(HEADER.unpack_from(content, place)[5] & DELETE_HORIZON for place in places)
            if batches[0].base_offset == 0 or not has_horizon or all(batch.records for batch in batches):
                return f"{name} is not cleaned"
        return ""

    cluster.wait_until(not_cleaned, "the cleaner has not done its work", 60)


def write(cluster: KafkaCluster) -> None:
    cluster.create_topics(
        [
            NewTopic("__transaction_state", [[1]] * 4, {"cleanup.policy": "compact"}),
            NewTopic(SENT, [[1]] * len(CODECS)),
            *(NewTopic(f"{STORED}-{codec}", [[1]], {"compression.type": codec.replace("none", "uncompressed")}) for codec in CODECS),
            NewTopic(APPENDED, [[1]] * len(CODECS), {"message.timestamp.type": "LogAppendTime"}),
            NewTopic(COMPACTED, [[1]] * len(CODECS), CLEANED),
            NewTopic(TORN, [[1]] * len(TEARS) * len(CODECS)),
        ]
    )
    kinds = [producers(cluster, codec) for codec in CODECS]
    for number, kind in enumerate(kinds):
        fill(kind, SENT, number)
        fill(kind, APPENDED, number)
        fill(kind, f"{STORED}-{CODECS[number - 1]}", 0)
        for place in range(len(TEARS)):
            send(kind.idempotent, TORN, number * len(TEARS) + place, ("whole", "value " * 20), ("key", ""))
            send(kind.idempotent, TORN, number * len(TEARS) + place, *[(f"last {row}", "value " * 20) for row in range(5)])
    fill_compacted(kinds)
    wait_until_cleaned(cluster)


@pytest.fixture(scope="module", params=VERSIONS)
def stopped(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    """A cluster whose only broker was stopped after all was written, and whose last segments of the topic TORN are torn."""
    with KafkaCluster("written", version=request.param, brokers=1, heap="300m", properties={"log.cleaner.backoff.ms": 200}) as cluster:
        write(cluster)
        cluster.terminate(1)
        for partition in range(len(TEARS) * len(CODECS)):
            TEARS[partition % len(TEARS)](cluster.brokers[1].data_dir / f"{TORN}-{partition}")
        yield cluster


def logs(cluster: KafkaCluster) -> dict[TopicPartition, dict[str, Any]]:
    """What the module returns of the logs of all topics that are not internal."""
    options = {
        "log_dirs": [str(cluster.brokers[1].data_dir)],
        "cluster_id": cluster.cluster_id,
        "broker_id": 1,
        **ALL,
        "last_batches": 1000,
    }
    answer = run_module("kafka_log_dir_info", options)
    assert answer.returncode == 0, answer
    return {key: row for key, row in by_partition(answer.result["partitions"]).items() if not key[0].startswith("__")}


def saved(cluster: KafkaCluster, rows: dict[TopicPartition, dict[str, Any]], workdir: Path) -> dict[TopicPartition, list[SavedBatch]]:
    """Save the logs as run 1, and return the saved batches of each."""
    data, folder = cluster.brokers[1].data_dir, folder_of(workdir, "1", cluster.name)
    ends = {key: (row["last_written_epoch"], 1, row["log_start_offset"], row["log_end_offset"]) for key, row in rows.items()}
    tails = [Tail(*key, row["topic_id"], *ends[key]) for key, row in rows.items()]
    source = DiskSource({key: data / f"{key[0]}-{key[1]}" for key in rows}, tails)
    header = {"cluster": cluster.name, "cluster_id": cluster.cluster_id, "run_id": "1", "backend": "compat"}
    report = TailSaver(source, folder, header, Limits(), {COMPACTED}).save(tails)
    assert {*report.complete} == {*tails}, report.refused
    replicas = by_replica(read_pieces(folder, cluster.cluster_id))
    return {(replica.topic, replica.partition): list(batches_of(pieces)) for replica, pieces in replicas.items()}


def exported(cluster: KafkaCluster, workdir: Path) -> dict[TopicPartition, list[dict[str, Any]]]:
    path = workdir / "records.parquet"
    options = {"workdir": str(workdir), "cluster": cluster.name, "run_id": "1", "export": str(path), "format": "parquet"}
    answer = run_module("kafka_records_info", options)
    assert answer.returncode == 0 and answer.result["unreadable"] == [], answer
    found: dict[TopicPartition, list[dict[str, Any]]] = {}
    for row in pyarrow.parquet.read_table(path).to_pylist():
        found.setdefault((row["topic"], row["partition"]), []).append(row)
    return found


def sequences(batches: list[SavedBatch]) -> Iterator[int]:
    for batch in batches:
        header = batch.header
        for record in records_of(batch.data) if not header.control else ():
            yield header.base_sequence + record.offset - header.base_offset if header.base_sequence >= 0 else -1


def test_batches_records_and_markers_are_those_that_kafka_reads(stopped: KafkaCluster, tmp_path: Path) -> None:
    rows = logs(stopped)
    files = {key: sorted((stopped.brokers[1].data_dir / f"{key[0]}-{key[1]}").glob("*.log")) for key in rows}
    shown = dumped(stopped, [path for paths in files.values() for path in paths], deep=True)
    batches, records = saved(stopped, rows, tmp_path), exported(stopped, tmp_path)
    assert len(rows) == len(CODECS) * (4 + len(TEARS))
    for key, row in rows.items():
        parts: list[Dumped] = [shown[path] for path in files[key]]
        expected = [batch for part in parts for batch in part.batches]
        for ours in (row["last_batches"], [batch.header._asdict() for batch in batches[key]]):
            assert [{name: value for name, value in batch.items() if name != "base_timestamp"} for batch in ours] == expected, key
        assert [as_dumped(record) for record in records[key]] == [record for part in parts for record in part.records], key
        assert [*sequences(batches[key])] == [sequence for part in parts for sequence in part.sequences], key
        markers = [marker_of(batch.data) for batch in batches[key] if batch.header.control]
        assert [(str(one.offset), one.kind.upper(), str(one.coordinator_epoch)) for one in markers] == [
            (one["offset"], one["kind"], one["epoch"]) for part in parts for one in part.markers
        ], key
        assert all(record["headers"][0]["value"] == record["key"] for record in records[key] if record["headers"]), key
        assert (row["torn"] or {"bytes": 0})["bytes"] == sum(part.invalid_bytes for part in parts), key
        assert bool(row["torn"]) == (key[0] == TORN)
        assert row["log_end_offset"] == expected[-1]["last_offset"] + 1 and (row["torn"] or row["kept_end_offset"] == row["log_end_offset"])


def test_all_that_kafka_can_write_was_read(stopped: KafkaCluster) -> None:
    rows = logs(stopped)
    compressions = {key: {batch["compression"] for batch in row["last_batches"] if not batch["control"]} for key, row in rows.items()}
    for number, codec in enumerate(CODECS):
        assert codec in compressions[SENT, number] & compressions[APPENDED, number] & compressions[COMPACTED, number]
        assert compressions[f"{STORED}-{codec}", 0] == {codec}
        cleaned = rows[COMPACTED, number]
        assert cleaned["segments"] > 1 and 0 in {batch["records"] for batch in cleaned["last_batches"]}
