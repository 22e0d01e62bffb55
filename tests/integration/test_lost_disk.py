# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The disk of a broker that was killed: what a start keeps of torn logs is what was foretold. `test_segments_of_each_release` reads all kinds of batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from integration.support import by_partition, failure, run_module

from rig import KafkaCluster, NewTopic

pytestmark = pytest.mark.long

MODULE = "kafka_log_dir_info"
SEGMENTS, TORN, FOLLOWED = "segments", "torn", "followed"
ALL = {"whole_logs": True, "crc_bytes": 1 << 40}
PAGE = 4096


def last_segment(folder: Path) -> Path:
    return max(folder.glob("*.log"))


def cut(folder: Path) -> None:
    segment = last_segment(folder)
    segment.write_bytes(segment.read_bytes()[:-7])


def start_of_a_header(folder: Path) -> None:
    segment = last_segment(folder)
    segment.write_bytes(segment.read_bytes() + b"\0\0\0\0\0\0\0\x64\0\0")


def zeroed_page(folder: Path) -> None:
    segment = last_segment(folder)
    content = segment.read_bytes()
    page = len(content) // 2 // PAGE * PAGE
    segment.write_bytes(content[:page] + bytes(PAGE) + content[page + PAGE :])


def zeroed_end(folder: Path) -> None:
    segment = last_segment(folder)
    segment.write_bytes(segment.read_bytes() + bytes(2 * PAGE))


def flipped_bit(folder: Path) -> None:
    segment = last_segment(folder)
    content = bytearray(segment.read_bytes())
    content[-5] ^= 1
    segment.write_bytes(content)


def garbage(folder: Path) -> None:
    segment = last_segment(folder)
    segment.write_bytes(segment.read_bytes() + bytes(range(256)) * 8)


def empty(folder: Path) -> None:
    last_segment(folder).write_bytes(b"")


def untouched(_folder: Path) -> None:
    pass


TEARS: tuple[Callable[[Path], None], ...] = (
    untouched, cut, start_of_a_header, zeroed_page, zeroed_end, flipped_bit, garbage, empty,
)  # fmt: skip


def middle_segment_cut(folder: Path) -> None:
    segment = sorted(folder.glob("*.log"))[1]
    segment.write_bytes(segment.read_bytes()[:-100])


def middle_segment_flipped(folder: Path) -> None:
    segment = sorted(folder.glob("*.log"))[1]
    content = bytearray(segment.read_bytes())
    content[len(content) // 2 + 1000] ^= 1
    segment.write_bytes(content)


SEGMENT_TEARS = (untouched, middle_segment_cut, middle_segment_flipped, cut)


def write(cluster: KafkaCluster) -> None:
    """Write many batches to one segment, and large ones to several."""
    segments = {"segment.bytes": str(1 << 20)}
    cluster.create_topics(
        [NewTopic(SEGMENTS, [[1]] * len(SEGMENT_TEARS), segments), NewTopic(TORN, [[1]] * len(TEARS)), NewTopic(FOLLOWED, [[2, 1]])]
    )
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 2, "linger.ms": 0})
    for number in range(40):
        for partition in range(len(TEARS)):
            producer.produce(TORN, f"{number} " * 100, partition=partition)
        assert not producer.flush(60)
    for number in range(60):
        for partition in range(len(SEGMENT_TEARS)):
            producer.produce(SEGMENTS, f"{number:05}" * 10_000, partition=partition)
        assert not producer.flush(60)


@pytest.fixture(scope="module")
def killed() -> Iterator[KafkaCluster]:
    """A cluster of which the broker that leads all partitions with records was killed after all was written."""
    with KafkaCluster("lost", brokers=2, heap="300m", properties={"num.recovery.threads.per.data.dir": 2}) as cluster:
        write(cluster)
        options = {"log_dirs": [str(cluster.brokers[1].data_dir)], "cluster_id": cluster.cluster_id}
        assert "locked by process" in failure(MODULE, options)
        cluster.kill(1)
        yield cluster


def read(cluster: KafkaCluster, **options: Any) -> dict[str, Any]:
    answer = run_module(
        MODULE, {"log_dirs": [str(cluster.brokers[1].data_dir)], "cluster_id": cluster.cluster_id, "broker_id": 1, **options}
    )
    assert answer.returncode == 0, answer
    return answer.result


def test_the_end_of_a_log_is_that_of_the_whole_log(killed: KafkaCluster) -> None:
    whole, ends = read(killed, **ALL), read(killed)
    fields = (
        "topic",
        "partition",
        "topic_id",
        "log_start_offset",
        "log_end_offset",
        "kept_end_offset",
        "last_written_epoch",
        "epochs",
        "torn",
    )
    assert [[row[name] for name in fields] for row in ends["partitions"]] == [[row[name] for name in fields] for row in whole["partitions"]]
    assert any(row["headers_checked_from"] > row["log_start_offset"] for row in ends["partitions"] if row["topic"] == SEGMENTS)


def test_a_follower_without_records_has_an_empty_log(killed: KafkaCluster) -> None:
    assert (killed.brokers[1].data_dir / f"{FOLLOWED}-0" / "leader-epoch-checkpoint").read_bytes() == b""
    row = by_partition(read(killed)["partitions"])[FOLLOWED, 0]
    assert (row["error"], row["doubts"], row["log_end_offset"], row["kept_end_offset"]) == (None, [], 0, 0)


def test_a_start_keeps_of_torn_logs_what_was_foretold(killed: KafkaCluster) -> None:
    data = killed.brokers[1].data_dir
    tears = {(topic, number): tear for topic, kinds in ((TORN, TEARS), (SEGMENTS, SEGMENT_TEARS)) for number, tear in enumerate(kinds)}
    before = by_partition(read(killed, **ALL)["partitions"])
    for (topic, partition), tear in tears.items():
        tear(data / f"{topic}-{partition}")
    rows = by_partition(read(killed, **ALL)["partitions"])
    foretold = {key: rows[key]["kept_end_offset"] for key in tears}
    assert {key for key in tears if rows[key]["torn"]} == {key for key, tear in tears.items() if tear not in (untouched, empty)}
    assert {key: rows[key]["doubts"] for key in tears if not rows[key]["kept_end_checked"]} == {}
    shortened = {key for key in tears if foretold[key] < before[key]["log_end_offset"]}
    assert {tears[key] for key in shortened} == {cut, zeroed_page, flipped_bit, empty, middle_segment_cut, middle_segment_flipped}
    killed.start_node(1)
    killed.wait_unfenced([1])
    assert killed.log_end_offsets(1, tears) == foretold

    killed.terminate(1)
    after = by_partition(read(killed)["partitions"])
    assert {key: after[key]["kept_end_offset"] for key in tears} == {key: after[key]["log_end_offset"] for key in tears} == foretold
    assert all(after[key]["clean_shutdown"] and after[key]["kept_end_checked"] for key in tears)


def test_after_a_clean_shutdown_kafka_does_not_start_on_zeros(killed: KafkaCluster) -> None:
    """It follows the test before, which ends with one."""
    zeroed_end(killed.brokers[1].data_dir / f"{TORN}-0")
    row = by_partition(read(killed)["partitions"])[TORN, 0]
    assert row["clean_shutdown"] and row["torn"]["why"] == "zeroed"
    assert row["kept_end_offset"] is None and "fails to start" in row["doubts"][0]
    killed.start_node(1)
    killed.wait_until(lambda: "it runs" if killed.is_running(1) else "", "the broker started on zeros", 60)
