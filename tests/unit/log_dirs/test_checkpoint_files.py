# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checkpoint files and names of a log dir: what Kafka writes is read, and everything else is refused with what is wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lost_disks import CLUSTER_ID, DIRECTORY_ID, TOPIC_ID, offset_rows

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs import checkpoint_files
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.checkpoint_files import Malformed, Metadata
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.disk_files import Entry
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.log_names import LogName, log_files, log_name

UNIQUE = "3a0f5f0e5b1f4c0d9d9c1f1b2a3c4d5e"
PARSERS = (
    checkpoint_files.meta_properties, checkpoint_files.offset_checkpoint, checkpoint_files.epoch_checkpoint, checkpoint_files.topic_id,
)  # fmt: skip


def test_meta_properties_of_both_versions() -> None:
    kraft = f"#\n#Thu\ncluster.id={CLUSTER_ID}\nversion=1\ndirectory.id={DIRECTORY_ID}\nnode.id=1\n".encode()
    assert checkpoint_files.meta_properties(kraft) == Metadata(1, CLUSTER_ID, 1, DIRECTORY_ID)
    zookeeper = f"version=0\nbroker.id=7\ncluster.id={CLUSTER_ID}\n".encode()
    assert checkpoint_files.meta_properties(zookeeper) == Metadata(0, CLUSTER_ID, 7, None)


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        (b"", "version is 'missing'"),
        (b"version=2\nnode.id=1\ncluster.id=a\n", "version is '2'"),
        (b"version=1\nbroker.id=1\ncluster.id=a\n", "node.id is 'missing'"),
        (b"version=1\nnode.id=-1\ncluster.id=a\n", "node.id is '-1'"),
        (b"version=1\nnode.id=1\n", "cluster.id is ''"),
        (b"version=1\nnode.id=1\nnode.id=2\ncluster.id=a\n", "line 'node.id=2' is not one more setting"),
        (b"version=1\nnode.id=1\ncluster.id=a\ndirectory.id=x\n", "directory.id is 'x'"),
        (b"\x00" * 60, "line '"),
        (b"version=1\xff", "byte 9 is not ASCII"),
    ],
)
def test_a_damaged_meta_properties_says_what_is_wrong(content: bytes, wrong: str) -> None:
    with pytest.raises(Malformed) as refused:
        checkpoint_files.meta_properties(content)
    assert wrong in str(refused.value)


def test_checkpoints_of_many_partitions() -> None:
    rows = {("orders", 0): 12, ("with-dashes.and_dots", 31): 2**63 - 1}
    assert checkpoint_files.offset_checkpoint(offset_rows(rows)) == rows
    assert checkpoint_files.offset_checkpoint(b"0\n0\n") == {}


def test_kafka_creates_checkpoints_without_content() -> None:
    assert checkpoint_files.offset_checkpoint(b"") == {} and checkpoint_files.epoch_checkpoint(b"") == {}


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        (b"\n", "its version is ''"),
        (b"1\n0\n", "its version is '1'"),
        (b"0\n2\norders 0 1\n", "it has 1 rows, and says that it has '2'"),
        (b"0\n0\norders 0 1\n", "it has 1 rows, and says that it has '0'"),
        (b"0\n1\norders 0 -1\n", "line 3 is 'orders 0 -1'"),
        (b"0\n1\norders 0 1 2\n", "line 3"),
        (b"0\n1\n../x 0 1\n", "line 3"),
        (b"0\n1\norders 0 9223372036854775808\n", "line 3"),
        (b"0\n2\norders 0 1\norders 0 2\n", "line 4 repeats"),
        (bytes(4096), "its version is"),
    ],
)
def test_a_damaged_checkpoint_says_what_is_wrong(content: bytes, wrong: str) -> None:
    with pytest.raises(Malformed) as refused:
        checkpoint_files.offset_checkpoint(content)
    assert wrong in str(refused.value)


def test_epochs_and_topic_ids() -> None:
    assert checkpoint_files.epoch_checkpoint(b"0\n2\n0 0\n4 100\n") == {0: 0, 4: 100}
    assert checkpoint_files.epoch_checkpoint(b"") == {}, "it is empty before it is first written"
    for backwards in (b"0\n2\n4 0\n0 100\n", b"0\n2\n0 100\n4 0\n"):
        with pytest.raises(Malformed):
            checkpoint_files.epoch_checkpoint(backwards)
    assert checkpoint_files.topic_id(f"version: 0\ntopic_id: {TOPIC_ID}".encode()) == TOPIC_ID
    for damaged in (b"version: 1\ntopic_id: " + TOPIC_ID.encode(), b"version: 0\ntopic_id: short", b""):
        with pytest.raises(Malformed):
            checkpoint_files.topic_id(damaged)


@given(st.sampled_from(PARSERS), st.one_of(st.binary(max_size=200), st.text("0123456789 \n=:abc", max_size=60).map(str.encode)))
def test_any_content_is_read_or_refused(parse: object, content: bytes) -> None:
    try:
        parse(content)  # type: ignore[operator]
    except Malformed as refused:
        assert len(str(refused)) < 300


def test_names_of_folders() -> None:
    assert log_name("orders-0") == LogName("orders-0", "orders", 0, "replica")
    assert log_name("a-1-22") == LogName("a-1-22", "a-1", 22, "replica")
    for kind in ("future", "delete", "stray"):
        assert log_name(f"a.b-3.{UNIQUE}-{kind}") == LogName(f"a.b-3.{UNIQUE}-{kind}", "a.b", 3, kind)
    # A topic may be called like that.
    assert log_name(f"a-3.{UNIQUE}-delete-0") == LogName(f"a-3.{UNIQUE}-delete-0", f"a-3.{UNIQUE}-delete", 0, "replica")
    for other in (
        "lost+found",
        "orders",
        "orders-",
        "orders-00",
        "orders-2147483648",
        "-0",
        "a b-0",
        "orders-0.x-delete",
        "..-0",
        "orders-\u0663",
    ):
        assert log_name(other) is None, other


def names(*files: str) -> list[Entry]:
    return [Entry(name, False, True) for name in files]


def test_files_by_what_kafka_does_with_them() -> None:
    base, later = "0" * 20, f"{40:020d}"
    files = log_files(
        [
            *names(f"{later}.log", f"{base}.log", f"{base}.index", f"{later}.snapshot", f"{base}.timeindex", "leader-epoch-checkpoint"),
            *names(f"{base}.log.deleted", f"{later}.index.deleted", "partition.metadata", "notes.txt", f"{2**63:020d}.log", "1.log"),
            Entry(f"{50:020d}.log", False, False),
            Entry("folder", True, False),
        ]
    )
    assert (files.segments, files.indexed, files.swapped) == ([0, 40], {0}, [])
    assert files.foreign == [f"{50:020d}.log", f"{2**63:020d}.log", "1.log", "folder", "notes.txt"]


def test_a_swap_is_completed_unless_the_cleaner_had_not_finished_what_is_before_it() -> None:
    assert log_files(names(f"{7:020d}.log.swap", f"{7:020d}.index.swap", f"{9:020d}.log")).swapped == [7]
    files = log_files(names(f"{7:020d}.log.swap", f"{3:020d}.log.cleaned", f"{2:020d}.log.swap"))
    assert files.swapped == [2]
