# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records that only the disk of a lost broker has are saved before that broker truncates them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from integration.breaking import delete_topics, wait_for_removed_logs
from integration.requestlog import RequestLog
from integration.support import Operator, by_partition, failure

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import stored_batches
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.store import read_pieces
from rig import KafkaCluster, NewTopic

MODULE = "kafka_lost_disk_records"
LOST, SURVIVOR = 1, 2
ALONE, SHARED, DELETED, OFFLINE = "alone", "shared", "deleted", "offline"


def batches_from(folder: Path, offset: int) -> bytes:
    content = b"".join(path.read_bytes() for path in sorted(folder.glob("*.log")))
    before = sum(batch.size for batch in stored_batches(content) if batch.last_offset < offset)
    return content[before : sum(batch.size for batch in stored_batches(content))]


def lose(cluster: KafkaCluster) -> None:
    """Broker 1 has 50 acknowledged records of one topic that its follower, which is elected, does not have."""
    wait_for_removed_logs(cluster)
    config = {"min.insync.replicas": "1"}
    cluster.create_topics(
        [NewTopic(topic, [[LOST, SURVIVOR]], config) for topic in (ALONE, SHARED, DELETED)] + [NewTopic(OFFLINE, [[LOST]], config)]
    )
    for topic in (ALONE, SHARED, DELETED, OFFLINE):
        cluster.produce(topic, 0, [f"both {number}" for number in range(20)])
    cluster.kill(SURVIVOR)
    cluster.wait_fenced([SURVIVOR])
    cluster.wait_for_partitions([ALONE], lambda state: list(state.isr) == [LOST], "alone in the ISR")
    for number in range(5):
        cluster.produce(ALONE, 0, [f"alone {number} {place}" for place in range(10)])
    cluster.kill(LOST)
    cluster.start_node(SURVIVOR)
    cluster.wait_unfenced([SURVIVOR])
    cluster.wait_fenced([LOST])


def empty_copy(disk: Path, folder: Path) -> Path:
    """A log dir of the same broker without a log."""
    empty = folder / "empty"
    empty.mkdir()
    (empty / "meta.properties").write_bytes((disk / "meta.properties").read_bytes())
    return empty


def damaged_copy(disk: Path, topic: str, folder: Path) -> Path:
    """A log dir of the same broker with one log, in which a byte of the batch that ends at offset 49 has changed."""
    copy = folder / "damaged"
    log = copy / f"{topic}-0"
    log.mkdir(parents=True)
    shutil.copy(disk / "meta.properties", copy)
    for name in ("partition.metadata", "leader-epoch-checkpoint", f"{0:020d}.log"):
        shutil.copy(disk / log.name / name, log)
    segment = log / f"{0:020d}.log"
    content = bytearray(segment.read_bytes())
    content[sum(batch.size for batch in stored_batches(bytes(content)) if batch.last_offset < 50) - 1] ^= 1
    segment.write_bytes(content)
    return copy


def test_what_only_the_disk_has_is_saved_before_the_broker_destroys_it(west: Operator) -> None:
    cluster = west.cluster
    lose(cluster)
    disk = cluster.brokers[LOST].data_dir
    options: dict[str, Any] = {**west.files("1"), "log_dirs": [str(disk)], "broker_id": LOST}
    waiting = west.ask(MODULE, check=True, **options)
    assert {row["relation"] for row in waiting["partitions"]} == {"clean_leader"} and waiting["safe_to_start"] is True
    part = west.ask(MODULE, check=True, **options, partitions=[{"topic": ALONE, "partition": 0}])
    assert (part["safe_to_start"], part["reasons"]) == (None, [])
    assert west.ask(MODULE, check=True, **{**options, "log_dirs": [str(empty_copy(disk, west.workdir))]})["safe_to_start"] is False

    rows = [{"topic": topic, "partition": 0, "designated_leader": SURVIVOR} for topic in (ALONE, SHARED, DELETED)]
    west.ask("kafka_designated_election", **west.files("hand"), allow_data_loss=True, partitions=rows)
    cluster.produce(ALONE, 0, ["new"] * 3, acks="1")
    delete_topics(cluster, {DELETED})

    log = RequestLog(cluster)
    expected = batches_from(disk / f"{ALONE}-0", 20)
    dry_run = west.ask(MODULE, check=True, **options)
    found = by_partition(dry_run["partitions"])
    assert {key[0]: row["relation"] for key, row in found.items() if not key[0].startswith("__")} == {
        ALONE: "only_on_disk", SHARED: "in_cluster", DELETED: "other_topic", OFFLINE: "clean_leader",
    }  # fmt: skip
    row = found[ALONE, 0]
    assert (row["start_offset"], row["end_offset"], row["saved"]) == (20, 70, False)
    assert (dry_run["counts"]["offsets"], dry_run["counts"]["not_saved"], dry_run["counts"]["bytes"]) == (70, 2, 0)
    assert not (west.workdir / "saved" / "1").exists() and len(dry_run["reasons"]) == 2

    first = west.ask(MODULE, **options)
    assert (first["safe_to_start"], first["reasons"], first["counts"]["saved"]) == (True, [], 2)
    pieces = {piece.topic: piece for piece in read_pieces(Path(first["path"]), cluster.cluster_id, whole=True)}
    assert {(piece.topic, piece.broker_id, piece.start, piece.end) for piece in pieces.values()} == {
        (ALONE, LOST, 20, 70),
        (DELETED, LOST, 0, 20),
    }
    piece = pieces[ALONE]
    assert piece.part.read_bytes()[piece.position : piece.position + piece.size] == expected
    second = west.ask(MODULE, **options)
    assert (second["safe_to_start"], second["counts"]["saved_before"], second["counts"]["bytes"]) == (True, 2, 0)

    damaged = damaged_copy(disk, ALONE, west.workdir)
    alone: dict[str, Any] = {**west.files("2"), "log_dirs": [str(damaged)], "partitions": [{"topic": ALONE, "partition": 0}]}
    third = west.ask(MODULE, **alone)
    (row,) = third["partitions"]
    assert third["safe_to_start"] is False and row["unreadable"] == [{"start_offset": 40, "end_offset": 50}]
    saved = {(piece.start, piece.end) for piece in read_pieces(Path(third["path"]), cluster.cluster_id, whole=True)}
    assert saved == {(20, 40), (50, 70)}
    fourth = west.ask(MODULE, **alone, give_up_partitions=alone["partitions"])
    assert (fourth["safe_to_start"], fourth["counts"]["bytes"]) == (None, 0)
    assert log.written() == {}, "the cluster is unchanged"

    cluster.start_node(LOST)
    cluster.wait_unfenced([LOST])
    cluster.wait_for_partitions([ALONE], lambda state: {*state.isr} == {LOST, SURVIVOR}, "back in sync")
    (stray,) = disk.glob(f"{DELETED}-0.*-stray")
    assert (stray / f"{0:020d}.log").stat().st_size > 0, "Kafka keeps the log of a topic that it does not know"
    assert b"alone 4 9" in expected and b"alone" not in batches_from(disk / f"{ALONE}-0", 0)
    assert "is locked by process" in failure(MODULE, {**west.connection, **options})


def test_disks_that_are_not_of_this_cluster_or_broker_are_refused(west: Operator, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    options = {**west.connection, **west.files("1"), "log_dirs": [str(disk)]}
    assert "meta.properties: there is no such file" in failure(MODULE, options)
    for cluster_id, node_id, wrong in (
        ("other", 1, "is of the cluster other"),
        (west.cluster.cluster_id, 4, "is of broker 4, and broker_id is 1"),
    ):
        (disk / "meta.properties").write_text(f"version=1\ncluster.id={cluster_id}\nnode.id={node_id}\n")
        assert wrong in failure(MODULE, {**options, "broker_id": 1})
    assert not (west.workdir / "saved").exists()


@pytest.mark.parametrize("option", ["max_saved_bytes", "max_saved_partition_bytes", "saved_bytes_per_second"])
def test_a_limit_of_nothing_is_refused(west: Operator, option: str) -> None:
    message = failure(MODULE, {**west.connection, **west.files("1"), "log_dirs": ["/nowhere"], option: 0})
    assert message == f"{option} is 0: it must be 1 or more"


@pytest.mark.long
def test_what_a_live_replica_has_is_saved_before_the_clean_leader_returns(west: Operator) -> None:
    cluster, topic = west.cluster, "forked"
    wait_for_removed_logs(cluster)
    cluster.create_topics([NewTopic(topic, [[LOST, SURVIVOR]], {"min.insync.replicas": "1"})])
    cluster.produce(topic, 0, [f"both {number}" for number in range(20)])
    cluster.kill(SURVIVOR)
    cluster.wait_fenced([SURVIVOR])
    cluster.wait_for_partitions([topic], lambda state: list(state.isr) == [LOST], "alone in the ISR")
    acknowledged = [f"first {number}" for number in range(5)]
    cluster.produce(topic, 0, acknowledged)
    cluster.kill(LOST)
    cluster.start_node(SURVIVOR)
    cluster.wait_unfenced([SURVIVOR])
    cluster.wait_fenced([LOST])
    west.ask(
        "kafka_designated_election",
        **west.files("hand"),
        allow_data_loss=True,
        partitions=[{"topic": topic, "partition": 0, "designated_leader": SURVIVOR}],
    )
    cluster.produce(topic, 0, [f"second {number}" for number in range(7)])
    # The only member of the ISR is lost now, and the other broker is back with its own end of the log, which no leader has truncated yet.
    cluster.kill(SURVIVOR)
    cluster.wait_fenced([SURVIVOR])
    cluster.start_node(LOST)
    cluster.wait_unfenced([LOST])

    options: dict[str, Any] = {**west.files("returns"), "log_dirs": [str(cluster.brokers[SURVIVOR].data_dir)], "broker_id": SURVIVOR}
    row = {"broker_id": LOST, "start_offset": 20, "end_offset": 25}
    dry_run = west.ask(MODULE, check=True, **options)
    (found,) = by_partition(dry_run["partitions"])[topic, 0]["live_replicas"]
    assert dry_run["safe_to_start"] is False and found == {**row, "saved": False, "reason": "run again, without check mode"}
    saved = west.ask(MODULE, **options)
    (found,) = by_partition(saved["partitions"])[topic, 0]["live_replicas"]
    assert (saved["safe_to_start"], saved["reasons"], found) == (True, [], {**row, "saved": True, "reason": None})
    files: dict[str, Any] = {"cluster": west.name, "workdir": str(west.workdir), "broker_ids": [SURVIVOR]}
    (judged,) = west.ask("kafka_lost_disk_info", **files)["brokers"]
    assert (judged["safe_to_start"], judged["returned_since"]) == (True, [])

    cluster.start_node(SURVIVOR)
    cluster.wait_unfenced([SURVIVOR])
    cluster.wait_for_partitions([topic], lambda state: {*state.isr} == {LOST, SURVIVOR}, "back in sync")
    read = {value for _offset, value in cluster.read_many([(topic, 0)])[topic, 0]}
    assert not read.intersection(acknowledged) and "second 6" in read, "the broker leads again, and the other one has truncated its log"
    west.ask("kafka_record_replay", **west.files("returns"), topics=[topic], allow_replay=True)
    read_again = [value for _offset, value in cluster.read_many([(topic, 0)])[topic, 0]]
    assert {*read_again} == read | {*acknowledged} and len(read_again) == 32
