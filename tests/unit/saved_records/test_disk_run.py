# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When a lost broker is safe to start: never while its disk may have records that are nowhere else and not saved."""

from __future__ import annotations

import errno
import json
import os
import struct
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lost_disks import CLUSTER_ID, OTHER_DIRECTORY_ID, TOPIC_ID, Disk
from record_batches import log, message

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.replica_log_fetch import FetchedRecords
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.disk_pieces import BLOCK_BYTES
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.disk_pieces import read_pieces as read_pieces_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumers import EpochEnd, LeaderLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import stored_batches
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.disk_comparison import DiskLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.disk_copy import Limits as CopyLimits
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.disk_copy import copy_logs
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.disk_run import Revived, save_disk
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.live_replicas import FindLiveTails, LiveTails
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.store import read_pieces
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails import Tail

KEY = ("t", 0)
STATE = PartitionState("t", 0, TOPIC_ID, 2, 9, (1, 2), (2,), (), (), ())


class Admin:
    """A cluster: states of partitions, and the leaders' logs. From the second question on, leaders have `later`."""

    cluster_id = CLUSTER_ID

    def __init__(
        self, log: LeaderLog | None, state: PartitionState | None = STATE, unfenced: Collection[int] = (2,), compacted: Collection[str] = ()
    ) -> None:
        self.log, self.later, self.state, self.alive = log, log, state, {*unfenced}
        self.deleted_meanwhile, self.other_states = 0, dict[TopicPartition, PartitionState]()
        self.configs = SimpleNamespace(compacted={*compacted}, refused=set(), problem=lambda: None)

    def partitions(self, keys: Collection[TopicPartition] | None) -> dict[TopicPartition, PartitionState]:
        known = {**self.other_states, **({KEY: self.state} if self.state else {})}
        return {key: known[key] for key in known if keys is None or key in keys}

    def unfenced(self) -> set[int]:
        return self.alive

    def feature_level(self, _feature: str) -> int:
        return 0

    def logs(self, leaders: Mapping[TopicPartition, int], _epochs: Any) -> dict[TopicPartition, LeaderLog]:
        found, self.log = self.log, self.later
        return dict.fromkeys(leaders, found) if found else {}

    def leader_starts(self, leaders: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        return dict.fromkeys(leaders, self.deleted_meanwhile)

    def topic_configs(self, _topics: Collection[str]) -> Any:
        return self.configs

    def unreachable_rows(self) -> list[Any]:
        return []


def ending_at(end: int) -> LeaderLog:
    return LeaderLog(None, 0, end, epoch_ends={0: EpochEnd(0, end)})


def none_live(_broker: int, logs: Collection[DiskLog], _states: Any) -> LiveTails:
    return LiveTails({log.key: [] for log in logs}, [], {})


def run(
    tmp_path: Path, admin: Admin, *disks: Disk, revived: Collection[Revived] = (), live: FindLiveTails = none_live, **options: Any
) -> dict[str, Any]:
    limits = dict.fromkeys(("max_saved_partition_bytes", "max_saved_bytes", "saved_bytes_per_second", "max_saved_run_bytes"))
    params = {
        **limits, "log_dirs": [str(disk.path) for disk in disks], "broker_id": 1, "partitions": None, "partitions_file": None,
        "give_up_partitions": None, "run_id": "r", "cluster": "east",
        **options,
    }  # fmt: skip
    warnings: list[str] = []
    module = SimpleNamespace(params=params, workdir=tmp_path / "work", check_mode=False, ansible=SimpleNamespace(warn=warnings.append))
    return {**save_disk(module, admin, live, revived), "warnings": warnings}  # type: ignore[arg-type]  # what it uses of them


def disk_with(tmp_path: Path, *segments: bytes, name: str = "disk") -> Disk:
    disk = Disk(tmp_path / name).write()
    disk.log("t-0", {number * 10: content for number, content in enumerate(segments)})
    return disk


def saved_offsets(tmp_path: Path) -> list[tuple[int, int]]:
    return sorted((piece.start, piece.end) for piece in read_pieces(tmp_path / "work" / "saved" / "r" / "east", CLUSTER_ID, whole=True))


def test_what_the_leader_lacks_is_saved_and_then_the_broker_is_safe(tmp_path: Path) -> None:
    found = run(tmp_path, Admin(ending_at(4)), disk_with(tmp_path, log(2, 2, 2)))
    assert (found["safe_to_start"], found["reasons"], saved_offsets(tmp_path)) == (True, [], [(4, 6)])


@pytest.mark.parametrize(
    ("admin", "relation"),
    [
        (Admin(None, None), "other_topic"),
        (Admin(None, replace(STATE, topic_id="6Rh3OSrbQwqEYwCYxKHSZw")), "other_topic"),
        (Admin(LeaderLog("OFFSET_NOT_AVAILABLE")), "unknown"),
        (Admin(LeaderLog(None, 0, 4)), "unknown"),
    ],
)
def test_a_log_that_cannot_be_compared_is_saved_whole(tmp_path: Path, admin: Admin, relation: str) -> None:
    found = run(tmp_path, admin, disk_with(tmp_path, log(2, 2, 2)))
    assert found["partitions"][0]["relation"] == relation
    assert found["safe_to_start"] and saved_offsets(tmp_path) == [(0, 6)]
    few = run(tmp_path, admin, disk_with(tmp_path, log(2, 2, 2), name="other"), max_saved_bytes=10, run_id="few")
    assert not few["safe_to_start"] and few["counts"]["not_saved"] == 1


def test_a_leader_that_changes_while_records_are_saved_is_compared_again(tmp_path: Path) -> None:
    admin = Admin(ending_at(4))
    admin.later = ending_at(2)
    found = run(tmp_path, admin, disk_with(tmp_path, log(2, 2, 2)))
    assert not found["safe_to_start"] and found["counts"]["not_saved"] == 1
    assert run(tmp_path, admin, Disk(tmp_path / "disk"))["safe_to_start"] and (2, 6) in saved_offsets(tmp_path)


def damaged(place: int, value: int) -> bytes:
    content = bytearray(log(2, 2, 2))
    content[place] ^= value
    return bytes(content)


@pytest.mark.parametrize(
    "segments",
    [
        (damaged(70, 1),),
        (damaged(16, 3),),
        (damaged(len(log(2)) + 8, 0x7F), log(2, start=10)),
    ],
    ids=["crc", "format", "header"],
)
def test_records_behind_damage_keep_the_broker_from_being_safe(tmp_path: Path, segments: tuple[bytes, ...]) -> None:
    found = run(tmp_path, Admin(ending_at(0), compacted=["t"]), disk_with(tmp_path, *segments))
    assert not found["safe_to_start"] and found["partitions"][0]["damage"], found


def test_segments_of_an_interrupted_cleaner_and_links_keep_it_from_being_safe(tmp_path: Path) -> None:
    disk = disk_with(tmp_path, log(10), log(10, start=10), log(10, start=20))
    (disk.path / "t-0" / f"{10:020d}.log").rename(disk.path / "t-0" / f"{10:020d}.log.swap")
    assert not run(tmp_path, Admin(ending_at(5), compacted=["t"]), disk)["safe_to_start"]
    linked = disk_with(tmp_path, log(2), name="linked")
    (linked.path / "t-0" / f"{2:020d}.log").symlink_to(disk.path / "t-0" / f"{20:020d}.log")
    assert not run(tmp_path, Admin(ending_at(2)), linked)["safe_to_start"]


def test_logs_that_were_not_read_keep_it_from_being_safe(tmp_path: Path) -> None:
    empty = Disk(tmp_path / "empty").write()
    assert "have no log of these partitions" in run(tmp_path, Admin(ending_at(6)), empty)["reasons"][0]
    disk = disk_with(tmp_path, log(2, 2, 2))
    named = [{"topic": "t", "partition": 0}, {"topic": "ordres", "partition": 0}]
    (reason,) = run(tmp_path, Admin(ending_at(6)), disk, partitions=named)["reasons"]
    assert "ordres-0" in reason
    disk.log("u-0.0123456789abcdef0123456789abcdef-future", {0: log(2)})
    (reason,) = run(tmp_path, Admin(ending_at(6)), disk)["reasons"]
    assert "u-0" in reason and "-future" in reason
    assert run(tmp_path, Admin(ending_at(6)), disk, give_up_partitions=[{"topic": "u", "partition": 0}])["safe_to_start"]
    (empty.path / "t-1").symlink_to(disk.path / "t-0")
    assert "t-1 is a link" in run(tmp_path, Admin(ending_at(6)), empty)["reasons"][1]
    (disk.path / "t-1").symlink_to(disk.path / "t-0")
    given_up = [{"topic": "u", "partition": 0}, {"topic": "t", "partition": 1}]
    assert run(tmp_path, Admin(ending_at(6)), disk, give_up_partitions=given_up)["safe_to_start"]


def test_a_log_that_was_being_deleted_counts_unless_its_topic_is_gone(tmp_path: Path) -> None:
    disk = disk_with(tmp_path, log(2, 2, 2))
    folder = disk.log("u-0.0123456789abcdef0123456789abcdef-delete", {0: log(2)})
    admin = Admin(ending_at(6))
    assert run(tmp_path, admin, disk)["safe_to_start"]
    admin.other_states = {("u", 0): replace(STATE, topic="u", replicas=(2, 3))}
    (reason,) = run(tmp_path, admin, disk)["reasons"]
    assert "u-0" in reason
    assert run(tmp_path, admin, disk, partitions=[{"topic": "t", "partition": 0}, {"topic": "u", "partition": 0}])["safe_to_start"] is False
    assert run(tmp_path, admin, disk, give_up_partitions=[{"topic": "u", "partition": 0}])["safe_to_start"]
    admin.other_states = {("u", 0): replace(STATE, topic="u", topic_id=OTHER_DIRECTORY_ID, replicas=(2, 3))}
    assert run(tmp_path, admin, disk)["safe_to_start"], "the topic was created again"
    (folder / "partition.metadata").unlink()
    admin.other_states = {}
    assert not run(tmp_path, admin, disk)["safe_to_start"], "its topic is not known"


def test_a_log_that_a_start_keeps_does_not_keep_it_from_being_safe(tmp_path: Path) -> None:
    disk = disk_with(tmp_path, log(2, 2, 2))
    disk.log("u-0.0123456789abcdef0123456789abcdef-stray", {0: log(2)})
    assert run(tmp_path, Admin(ending_at(6)), disk)["safe_to_start"]


def test_two_log_dirs_with_a_log_of_one_partition_keep_it_from_being_safe(tmp_path: Path) -> None:
    other = Disk(tmp_path / "other", directory_id=OTHER_DIRECTORY_ID).write()
    other.log("t-0", {0: log(2)})
    found = run(tmp_path, Admin(ending_at(2)), disk_with(tmp_path, log(2, 2, 2)), other)
    assert not found["safe_to_start"] and found["partitions"][0]["reason"] == "two log dirs have a log of it"


def test_the_disk_of_a_broker_that_is_alive_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecoveryError, match="of broker 1, which is alive in the cluster"):
        run(tmp_path, Admin(ending_at(6), unfenced=[1, 2]), disk_with(tmp_path, log(2)))


ELSEWHERE = replace(STATE, partition=1)
GIVEN_UP = [{"topic": "t", "partition": 0}]


def test_a_replica_of_the_broker_without_a_log_on_the_disk_keeps_it_from_being_safe(tmp_path: Path) -> None:
    admin, disk = Admin(ending_at(6)), disk_with(tmp_path, log(2, 2, 2))
    admin.other_states = {("t", 1): ELSEWHERE, ("t", 2): replace(STATE, partition=2, replicas=(2, 3))}
    found = run(tmp_path, admin, disk)
    assert found["safe_to_start"] is False and "t-1" in found["reasons"][0] and "t-2" not in found["reasons"][0]
    assert "kafka_give_up_partitions" in found["reasons"][0], "the name that the playbook has for the option"
    assert run(tmp_path, admin, disk, give_up_partitions=[{"topic": "t", "partition": 1}])["safe_to_start"] is True
    assert not run(tmp_path, admin, Disk(tmp_path / "empty").write())["safe_to_start"]


def test_a_partition_that_was_revived_without_the_broker_still_needs_its_log(tmp_path: Path) -> None:
    admin, disk = Admin(ending_at(6)), disk_with(tmp_path, log(2, 2, 2))
    admin.other_states = {("t", 1): replace(STATE, partition=1, replicas=(2, 3))}
    for revived, safe in (
        (Revived(("t", 1), TOPIC_ID, (1,)), False),
        (Revived(("t", 0), TOPIC_ID, (1,)), True),
        (Revived(("t", 1), TOPIC_ID, (4,)), True),
        (Revived(("t", 1), OTHER_DIRECTORY_ID, (1,)), True),
        (Revived(("t", 2), TOPIC_ID, (1,)), True),
    ):
        found = run(tmp_path, admin, disk, revived=[revived])
        assert found["safe_to_start"] is safe and (safe or "t-1" in found["reasons"][0])
    lost = Revived(("t", 1), TOPIC_ID, (1,))
    assert run(tmp_path, admin, disk, revived=[lost], give_up_partitions=[{"topic": "t", "partition": 1}])["safe_to_start"]


def test_other_names_do_not_hide_links_to_logs(tmp_path: Path) -> None:
    disk = disk_with(tmp_path, log(2, 2, 2))
    for number in range(10):
        (disk.path / f"a{number}").touch()
        (disk.path / "t-0" / f"!{number}").touch()
    assert run(tmp_path, Admin(ending_at(6)), disk)["safe_to_start"]
    (disk.path / "t-1").symlink_to(disk.path / "t-0")
    assert run(tmp_path, Admin(ending_at(6)), disk)["safe_to_start"] is False
    (disk.path / "t-1").unlink()
    (disk.path / "t-0" / f"{6:020d}.log").symlink_to(disk.path / "t-0" / f"{0:020d}.log")
    assert run(tmp_path, Admin(ending_at(6)), disk)["safe_to_start"] is False


def test_some_partitions_do_not_make_a_broker_safe(tmp_path: Path) -> None:
    disk = disk_with(tmp_path, log(2, 2, 2), log(2, start=10))
    disk.log("t-1", {0: log(2)})
    assert run(tmp_path, Admin(ending_at(12)), disk, partitions=GIVEN_UP)["safe_to_start"] is None
    assert run(tmp_path, Admin(ending_at(4)), disk, partitions=GIVEN_UP, max_saved_bytes=1)["safe_to_start"] is False


def test_what_a_leader_deletes_while_it_is_read_is_not_taken_for_what_it_had(tmp_path: Path) -> None:
    admin = Admin(ending_at(4))
    admin.deleted_meanwhile = 4
    found = run(tmp_path, admin, disk_with(tmp_path, log(2, 2, 2)))
    assert (found["partitions"][0]["relation"], saved_offsets(tmp_path)) == ("unknown", [(0, 6)])


def broken(content: bytes, *places: int) -> bytes:
    changed = bytearray(content)
    for place in places:
        changed[place] ^= 0x55
    return bytes(changed)


SIZE = len(log(2))


@pytest.mark.parametrize(
    ("segments", "saved", "unreadable"),
    [
        ((broken(log(2, 2, 2), 2 * SIZE - 1),), [(0, 2), (4, 6)], [(2, 4)]),
        ((broken(log(2, 2, 2), 3 * SIZE - 1),), [(0, 4)], [(4, None)]),
        ((broken(log(2, 2, 2), SIZE - 1),), [(2, 6)], [(0, 2)]),
        ((broken(log(2, 2, 2, 2, 2), SIZE + 16), log(2, 2, start=10)), [(0, 2), (10, 14)], [(2, 10)]),
        ((broken(log(2, 2, 2), SIZE + 8), broken(log(2, 2, 2, start=10), 2 * SIZE - 1)), [(0, 2), (10, 12), (14, 16)], [(2, 10), (12, 14)]),
        ((log(2, 2, 2, epochs=(0, -1, 0)),), [(0, 6)], []),
        ((broken(log(2, 2, 2, 2, 2, epochs=(0, 0, 0, -1, 0)), 2 * SIZE - 1),), [(0, 2), (4, 6), (8, 10)], [(2, 4), (6, 8)]),
        ((log(2, 2) + message(4, 1) + message(5, 0, 90) + log(2, 2, start=6),), [(0, 4), (6, 10)], [(4, 6)]),
        ((log(2) + message(2, 1) + log(2, start=3) + message(5, 1) + log(2, start=6),), [(0, 2), (3, 5), (6, 8)], [(2, 3), (5, 6)]),
        ((log(2, 2) + message(4, 1),), [(0, 4)], [(4, None)]),
    ],
    ids=[
        "crc",
        "last",
        "first",
        "format",
        "two",
        "no epoch",
        "no epoch behind damage",
        "old messages",
        "between old messages",
        "old message at the end",
    ],
)
def test_all_but_the_damage_is_saved_and_the_broker_is_safe_once_the_rest_is_given_up(
    tmp_path: Path, segments: tuple[bytes, ...], saved: list[tuple[int, int]], unreadable: list[tuple[int, int | None]]
) -> None:
    disk, admin = disk_with(tmp_path, *segments), Admin(LeaderLog(None, 0, 1, epoch_ends={0: EpochEnd(0, 0)}))
    for option in (None, GIVEN_UP):
        found = run(tmp_path, admin, disk, give_up_partitions=option)
        (row,) = found["partitions"]
        assert joined(saved_offsets(tmp_path)) == saved
        assert [(gap["start_offset"], gap["end_offset"]) for gap in row["unreadable"]] == unreadable
        assert found["safe_to_start"] is (option is not None), found["reasons"]
        if option is None:
            progress = json.loads((tmp_path / "work/saved/r/east/progress.json").read_text())
            assert (progress["replicas"], progress["ended"], progress["saved_offsets"]) == (
                1,
                True,
                sum(end - start for start, end in saved),
            )
    assert found["counts"]["bytes"] == 0, "a second run reads nothing again"


def joined(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for start, end in ranges:
        if found and found[-1][1] == start:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def test_damage_before_the_checked_end_is_left_out(tmp_path: Path) -> None:
    content = broken(log(*[100] * 200), 3 * len(log(100)) - 1)
    disk = disk_with(tmp_path, content)
    found = run(tmp_path, Admin(ending_at(0)), disk)
    (row,) = found["partitions"]
    assert len(content) > 65_536 * 2 and row["damage"] is None
    assert not row["saved"] and found["safe_to_start"] is False
    assert joined(saved_offsets(tmp_path)) == [(0, 200), (300, 20_000)]
    assert row["unreadable"] == [{"start_offset": 200, "end_offset": 300}]


def test_gaps_of_a_topic_that_was_compacted_before_are_saved_with_a_warning(tmp_path: Path) -> None:
    disk = disk_with(tmp_path, log(2) + log(2, start=6))
    found = run(tmp_path, Admin(ending_at(0)), disk)
    assert found["safe_to_start"] and saved_offsets(tmp_path) == [(0, 8)]
    assert len(found["warnings"]) == 1 and "t-0" in found["warnings"][0]
    assert not run(tmp_path, Admin(ending_at(0), compacted=["t"]), disk, run_id="2")["warnings"]


def test_a_copy_of_a_failing_disk_lacks_only_the_batches_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No other log, and no other batch, is lost with a bad block."""
    batch = len(log(3000))
    disk = disk_with(tmp_path, log(*[3000] * 5))
    disk.log("u-0", {0: log(2)})
    bad = range(2 * batch + batch // 2, 2 * batch + batch // 2 + 512)
    assert batch > 4 * BLOCK_BYTES
    read = os.pread

    def failing(descriptor: int, length: int, position: int) -> bytes:
        is_bad = Path(f"/proc/self/fd/{descriptor}").readlink() == disk.path / "t-0" / f"{0:020d}.log"
        if is_bad and position < bad.stop and bad.start < position + length:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return read(descriptor, length, position)

    logs = [{"topic": topic, "partition": 0, "start_offset": 0, "end_offset": end} for topic, end in (("t", 15_000), ("u", 2))]
    broker = {"log_dirs": [str(disk.path)], "cluster_id": CLUSTER_ID, "broker_id": 1, "logs": [], "pieces": []}
    read_before = disk.read(whole_logs=True)
    monkeypatch.setattr(os, "pread", failing)
    copy_logs(tmp_path / "copy", logs, CopyLimits(None, None), lambda options: read_pieces_of({**broker, **options}), False)
    found = run(tmp_path, Admin(ending_at(0)), disk=read_before, copy_dir=str(tmp_path / "copy"))
    rows = {row["topic"]: row for row in found["partitions"]}
    assert rows["u"]["saved"] and not rows["t"]["saved"] and not found["safe_to_start"]
    assert rows["t"]["unreadable"] == [{"start_offset": 6000, "end_offset": 9000}]


def test_a_copy_without_a_batch_that_is_too_large_is_not_complete(tmp_path: Path) -> None:
    disk = disk_with(tmp_path, log(2), log(2, 2, start=10))
    large = struct.pack(">qi", 2, 65 << 20) + log(8)[12:61]
    with (disk.path / "t-0" / f"{0:020d}.log").open("ab") as segment:
        segment.write(large)
        segment.truncate(SIZE + 12 + (65 << 20))
    logs = [{"topic": "t", "partition": 0, "start_offset": 0, "end_offset": 14}]
    broker = {"log_dirs": [str(disk.path)], "cluster_id": CLUSTER_ID, "broker_id": 1, "logs": [], "pieces": []}
    copy_logs(tmp_path / "copy", logs, CopyLimits(None, None), lambda options: read_pieces_of({**broker, **options}), False)
    found = run(tmp_path, Admin(ending_at(0)), disk=disk.read(whole_logs=True), copy_dir=str(tmp_path / "copy"))
    (row,) = found["partitions"]
    assert (row["end_offset"], row["saved"], row["damage"], found["safe_to_start"]) == (14, False, None, False)
    assert row["unreadable"] == [{"start_offset": 2, "end_offset": 10}] and joined(saved_offsets(tmp_path)) == [(0, 2), (10, 14)]


@pytest.mark.parametrize(("isr", "elr"), [((1,), ()), ((), (1, 3))])
def test_a_clean_leader_is_safe_to_start(tmp_path: Path, isr: tuple[int, ...], elr: tuple[int, ...]) -> None:
    state = replace(STATE, leader=-1, isr=isr, eligible_leader_replicas=elr)
    found = run(tmp_path, Admin(None, state), disk_with(tmp_path, log(2)))
    assert found["safe_to_start"] and found["partitions"][0]["relation"] == "clean_leader"
    other = run(tmp_path, Admin(None, replace(state, isr=(3,), eligible_leader_replicas=())), Disk(tmp_path / "disk"))
    assert not other["safe_to_start"] and other["partitions"][0]["relation"] == "no_leader"


WITHOUT_LEADER = replace(STATE, leader=-1, isr=(1,), replicas=(1, 2, 3))


class LiveAdmin(Admin):
    """A partition without a leader, and a live replica with these batches on broker 2."""

    def __init__(self, content: bytes) -> None:
        super().__init__(None, WITHOUT_LEADER)
        self.content, self.unreachable = content, dict[Any, str]()

    def records(self, work: Mapping[int, Mapping[TopicPartition, int]], *_bytes: int) -> dict[int, dict[TopicPartition, FetchedRecords]]:
        return {2: {KEY: FetchedRecords(None, content_from(self.content, work[2][KEY]))}}


def content_from(content: bytes, offset: int) -> bytes:
    return content[sum(batch.size for batch in stored_batches(content) if batch.last_offset < offset) :]


def live(start: int, unread: Mapping[tuple[TopicPartition, int], str] | None = None, *later: Tail) -> FindLiveTails:
    """What a live replica truncates. `later`: what others do that are alive since records were saved."""
    tails = [Tail(*KEY, TOPIC_ID, 9, 2, start, 8)]

    def find(broker_id: int, logs: Collection[DiskLog], _states: Any) -> LiveTails:
        assert broker_id == 1 and [log.key for log in logs] == [KEY]
        found = [*tails]
        tails.extend(one for one in later if one not in tails)
        return LiveTails({KEY: sorted({tail.broker_id for tail in found})}, found, {**(unread or {})})

    return find


def test_what_a_live_replica_truncates_when_the_broker_leads_again_is_saved_before(tmp_path: Path) -> None:
    disk, admin = disk_with(tmp_path, log(2, 2, 2)), LiveAdmin(log(2, 2, 2, 2))
    few = run(tmp_path, admin, disk, live=live(4), max_saved_bytes=10, run_id="few")
    assert not few["safe_to_start"] and "max_saved_bytes" in few["partitions"][0]["live_replicas"][0]["reason"]
    found = run(tmp_path, admin, disk, live=live(4))
    assert (found["safe_to_start"], found["counts"]["live_replicas"], saved_offsets(tmp_path)) == (True, 1, [(4, 8)])
    assert found["partitions"][0]["live_replicas"] == [{"broker_id": 2, "start_offset": 4, "end_offset": 8, "saved": True, "reason": None}]
    assert run(tmp_path, admin, disk, live=live(4))["counts"]["bytes"] == 0, "a second run reads nothing"


def test_a_live_replica_that_cannot_be_read_holds_the_start_back_until_it_is_given_up(tmp_path: Path) -> None:
    disk, find = disk_with(tmp_path, log(2)), live(4, {(KEY, 3): "it hangs"})
    found = run(tmp_path, LiveAdmin(log(2, 2, 2, 2)), disk, live=find)
    assert found["safe_to_start"] is False and {row["broker_id"]: row["saved"] for row in found["partitions"][0]["live_replicas"]} == {
        2: True,
        3: False,
    }
    given_up = [{"topic": "t", "partition": 0}]
    assert run(tmp_path, LiveAdmin(log(2, 2, 2, 2)), disk, live=find, give_up_partitions=given_up)["safe_to_start"]


def test_a_partition_that_loses_its_leader_while_records_are_saved_is_compared_with_live_replicas(tmp_path: Path) -> None:
    admin, of_live = Admin(ending_at(1)), live(1)

    def find(broker_id: int, logs: Sequence[DiskLog], states: Any) -> LiveTails:
        if admin.state == WITHOUT_LEADER:
            return of_live(broker_id, logs, states)
        admin.state = WITHOUT_LEADER
        return none_live(broker_id, logs, states)

    found = run(tmp_path, admin, disk_with(tmp_path, log(2)), live=find)
    assert found["partitions"][0]["relation"] == "clean_leader" and found["safe_to_start"] is False


def test_a_replica_that_comes_back_while_records_are_saved_holds_the_start_back(tmp_path: Path) -> None:
    disk, admin = disk_with(tmp_path, log(2, 2, 2)), LiveAdmin(log(2, 2, 2, 2))
    find = live(4, None, Tail(*KEY, TOPIC_ID, 9, 3, 6, 8))
    found = run(tmp_path, admin, disk, live=find)
    (row,) = found["partitions"]
    assert {one["broker_id"]: one["saved"] for one in row["live_replicas"]} == {2: True, 3: False}
    assert (found["safe_to_start"], row["compared_replicas"]) == (False, [2, 3])


def test_a_replica_that_was_led_again_meanwhile_has_other_records_than_were_saved(tmp_path: Path) -> None:
    disk, admin = disk_with(tmp_path, log(2, 2, 2)), LiveAdmin(log(2, 2, 2, 2))
    found = run(tmp_path, admin, disk, live=live(4, None, Tail(*KEY, TOPIC_ID, 11, 2, 4, 8)))
    assert found["safe_to_start"] is False


@pytest.mark.parametrize("here", [True, False], ids=["log dirs", "another host"])
def test_damage_that_a_start_cuts_a_leading_log_at_is_looked_for_from_the_recovery_point_on(tmp_path: Path, here: bool) -> None:
    """It is far before the end whose crcs are checked. Kafka deletes what follows it, and so do live replicas."""
    disk, admin = disk_with(tmp_path, broken(log(*[100] * 200), 3 * len(log(100)) - 1)), Admin(None, WITHOUT_LEADER)
    asked: list[tuple[int, bool]] = []

    def find(_broker: int, logs: Collection[DiskLog], _states: Any) -> LiveTails:
        asked.extend((one.end, one.end_is_checked) for one in logs)
        return none_live(1, logs, {})

    def judged(**options: Any) -> dict[str, Any]:
        return run(tmp_path, admin, *([disk] if here else []), live=find, **options)

    if here:
        found = judged()
    else:
        unchecked = judged(disk=disk.read(whole_logs=True), copy_dir=None)
        assert (unchecked["safe_to_start"], unchecked["unchecked"]) == (False, [{"topic": "t", "partition": 0}])
        found = judged(disk=disk.read(whole_logs=True, check_partitions=unchecked["unchecked"]), copy_dir=None)
    assert (found["safe_to_start"], found["unchecked"], asked[-1]) == (False, [], (200, True)) and found["partitions"][0]["damage"]


def test_a_log_that_is_whole_from_the_recovery_point_on_is_safe_to_lead(tmp_path: Path) -> None:
    content = log(*[100] * 200)
    for name, points, clean in (("a", {}, False), ("b", {KEY: 20_000}, False), ("c", {}, True)):
        disk = Disk(tmp_path / name, recovery_points=points, clean=clean).write()
        disk.log("t-0", {0: content if not clean else broken(content, 3 * len(log(100)) - 1), 20_000: log(2, start=20_000)})
        assert run(tmp_path, Admin(None, WITHOUT_LEADER), disk)["safe_to_start"], name
    flushed = Disk(tmp_path / "flushed", recovery_points={KEY: 20_000}).write()
    flushed.log("t-0", {0: broken(content, 3 * len(log(100)) - 1), 20_000: log(2, start=20_000)})
    assert run(tmp_path, Admin(None, WITHOUT_LEADER), flushed)["safe_to_start"], "Kafka does not check what was flushed"


def test_an_empty_log_of_a_broker_that_leads_again_is_compared_with_live_replicas(tmp_path: Path) -> None:
    admin = LiveAdmin(log(2, 2, 2, 2))
    found = run(tmp_path, admin, disk_with(tmp_path, b""), live=live(0))
    assert (found["partitions"][0]["relation"], found["safe_to_start"], saved_offsets(tmp_path)[-1][1]) == ("clean_leader", True, 8)
