# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Others write to a partition while its records are replayed, at moments that cannot be chosen on a real broker."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from offset_record_bytes import offset_key, offset_value
from record_batches import Content, batch, batch_of, marker
from saved_folders import folder, save

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.consumer_admin import ActiveTransactions
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.consumer_groups import GROUP_TOPIC, CommittedOffsets
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.replica_log_fetch import FetchedRecords
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.replay_client import Written
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumer_groups import Group
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumers import (
    EpochEnd,
    LeaderLog,
    Producer,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import replay_partition, store
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_offsets_run import OffsetReplay
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_origin import Origin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_source import Most, Outcome, Source, sources_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replicas import by_replica
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.selection import Selection

KEY = ("t", 0)
# The saved log leaves the elected one here, which has had one record since.
FORK = 10


class Leader:
    """The elected log of t-0 on broker 1. It has `data` from the offset FORK on."""

    cluster_id = "id"

    def __init__(self) -> None:
        self.data, self.end = batch(FORK, 1, epoch=6), FORK + 1
        self.state = PartitionState(*KEY, "id-of-t", 1, 6, (1,), (1,), (), (), ())

    def unfenced(self) -> set[int]:
        return {1}

    def partitions(self, _keys: object) -> dict[Any, PartitionState]:
        return {KEY: self.state}

    def topic_configs(self, _topics: object) -> Any:
        return SimpleNamespace(compacted=(), refused=())

    def logs(self, _leaders: object, epochs: dict[Any, Iterable[int]]) -> dict[Any, LeaderLog]:
        ends = {epoch: EpochEnd(0, FORK) for epoch in epochs[KEY]}
        return {KEY: LeaderLog(log_start_offset=0, log_end_offset=self.end, epoch_ends=ends)}

    def leader_starts(self, _leaders: object) -> dict[Any, int]:
        return {KEY: 0}

    def records(self, _work: object, _most: int, _answer: int) -> dict[int, dict[Any, FetchedRecords]]:
        return {1: {KEY: FetchedRecords(None, self.data)}}

    def transaction(self, producer: int, records: Iterable[Written]) -> None:
        rows: list[Content] = [(one.timestamp, one.key, one.value, one.headers) for one in records]
        self.data += batch_of(self.end, rows, epoch=6, producer_id=producer, transactional=True)
        self.data += marker(self.end + len(rows), producer, True, epoch=6)
        self.end += len(rows) + 1


def replayed(
    leader: Leader,
    workdir: Path,
    monkeypatch: pytest.MonkeyPatch,
    write: Callable[[Iterable[Written]], None],
    fence: Callable[[], None] = lambda: None,
    rate: int | None = None,
    source: Source | None = None,
) -> Outcome:
    """Replay `source`, or three records that are saved before.

    `write`: what becomes of a transaction of the replay. `fence`: what happens while others are fenced.
    """
    if source is None:
        save(workdir, {("t", 0, 2, FORK): batch(FORK, 3, epoch=1)})
        (source,) = sources_of(by_replica(store.read_pieces(folder(workdir), "id")), Selection())
    producer = SimpleNamespace(fence=fence, write=lambda _topic, _partition, records: write(records))
    monkeypatch.setattr(replay_partition, "ReplayProducer", lambda _connection, _id: producer)
    params = {
        "target_topic": None, "replayed_bytes_per_second": rate, "include_compacted": False, "max_batch_bytes": 1 << 20, "include_aborted": False,
        "include_undecided": False,
    }  # fmt: skip
    module: Any = SimpleNamespace(params=params, check_mode=False, connection=None)
    admin: Any = leader
    return replay_partition.PartitionReplay(module, admin, Selection(), {KEY: leader.state}).partition(source)


def test_what_others_write_with_the_headers_of_a_replay_does_not_count_as_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leader = Leader()
    forged = Written(None, b"forged", 0, [*Origin("id", "id-of-t", 0, 99, 1, 2).headers()])

    def write(records: Iterable[Written]) -> None:
        leader.transaction(7, records)
        leader.transaction(9, [forged])

    outcome = replayed(leader, tmp_path, monkeypatch, write)
    assert (outcome.reason, outcome.replayed, outcome.left) == (None, 3, 0)


@pytest.mark.parametrize("other_records", [False, True])
def test_what_a_producer_has_sent_again_is_found_below_the_place_that_it_was_saved_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other_records: bool
) -> None:
    """Since the records were saved from offset FORK on, the log was truncated to before that."""
    leader = Leader()
    leader.data, leader.end = batch(FORK - 4, 3, epoch=6, producer_id=5), FORK - 1
    monkeypatch.setattr(
        leader,
        "logs",
        lambda _leaders, epochs: {
            KEY: LeaderLog(
                log_start_offset=0, log_end_offset=leader.end, epoch_ends={epoch: EpochEnd(0, FORK - 4) for epoch in epochs[KEY]}
            )
        },
    )
    save(tmp_path, {("t", 0, 2, FORK): batch(FORK, 3, epoch=1, producer_id=6 if other_records else 5)})
    (source,) = sources_of(by_replica(store.read_pieces(folder(tmp_path), "id")), Selection())
    outcome = replayed(leader, tmp_path, monkeypatch, partial(leader.transaction, 7), source=source)
    assert (outcome.replayed, outcome.skipped) == ((3, {}) if other_records else (0, {"sent_again": 3}))


def test_each_record_that_was_written_must_be_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records of others with the headers of a replay do not stand for those that are missing."""
    leader = Leader()

    def write(records: Iterable[Written]) -> None:
        *some, last = records
        leader.transaction(7, some)
        leader.transaction(9, [last._replace(value=b"forged")])

    outcome = replayed(leader, tmp_path, monkeypatch, write)
    assert (outcome.replayed, outcome.left) == (2, 1) and "run again" in (outcome.reason or "")


def test_what_was_committed_counts_also_if_it_cannot_be_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leader = Leader()

    def write(records: Iterable[Written]) -> None:
        leader.transaction(7, records)
        monkeypatch.setattr(leader, "records", lambda *_: {})

    outcome = replayed(leader, tmp_path, monkeypatch, write)
    assert (outcome.replayed, outcome.left) == (3, 0) and "run again" in (outcome.reason or "")


@pytest.mark.parametrize("change", [{"leader": 2}, {"topic_id": "id-of-another"}])
def test_nothing_is_written_if_the_log_that_was_read_is_no_longer_that_of_the_partition(
    change: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A leader that is cut off still answers, and the next one may have records of another replay."""
    leader = Leader()

    def fence() -> None:
        leader.state = replace(leader.state, **change)

    outcome = replayed(leader, tmp_path, monkeypatch, lambda records: leader.transaction(7, records), fence)
    assert (outcome.replayed, outcome.left, leader.end) == (0, 3, FORK + 1) and "run again" in (outcome.reason or "")


def test_a_signal_stops_the_replay_between_two_transactions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leader, seen, pauses = Leader(), list[str](), list[float]()
    monkeypatch.setattr(replay_partition, "TRANSACTION_RECORDS", 2)
    monkeypatch.setattr(replay_partition.signals, "pending_signal", lambda: seen[0] if seen else None)

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        seen.append("SIGTERM")

    monkeypatch.setattr(replay_partition.time, "sleep", sleep)
    outcome = replayed(leader, tmp_path, monkeypatch, lambda records: leader.transaction(7, records), rate=1)
    assert (outcome.replayed, outcome.left) == (2, 1) and "SIGTERM" in (outcome.reason or "")
    assert len(pauses) == 1 and pauses[0] <= 1, "it looks for a signal while it waits, too"


@pytest.mark.parametrize("replay_offsets", [True, False])
def test_records_are_left_if_they_could_not_be_looked_at(replay_offsets: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So the play of the guide fails, which looks at what is left."""
    topic = GROUP_TOPIC if replay_offsets else "t"
    save(tmp_path, {(topic, 0, 2, FORK): batch(FORK, 3, epoch=1), (topic, 0, 2, FORK + 3): batch(FORK + 3, 2, epoch=0)})
    (source,) = sources_of(by_replica(store.read_pieces(folder(tmp_path), "id")), Selection())
    params = {"include_group_offsets": True, "target_topic": None, "groups": None, "max_batch_bytes": 1 << 20}
    admin: Any = Leader()
    if replay_offsets:
        admin.partitions = lambda _keys: {}
        (outcome,) = OffsetReplay(admin, params, Selection(), False).run([source])
    else:
        outcome = replayed(admin, tmp_path, monkeypatch, lambda _records: None, source=source)
    assert (outcome.left, outcome.reason is not None) == (5, True)


@pytest.mark.parametrize("reviewed", [0, 1])
def test_no_more_markers_are_written_than_were_reviewed(reviewed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path, {("t", 0, 2, FORK): marker(FORK, 5, True, epoch=1)})
    (source,) = sources_of(by_replica(store.read_pieces(folder(tmp_path), "id")), Selection())
    source.most = Most(records=0, markers=reviewed, group_offsets=0)
    leader, written = Leader(), list[object]()
    admin: Any = leader
    admin.active_transactions = lambda _leaders: ActiveTransactions({KEY: [Producer(5, 0, 0, FORK - 1)]}, [], [], {})
    admin.write_commit = lambda _key, _leader, commit: written.append(commit)
    outcome = replayed(leader, tmp_path, monkeypatch, lambda _records: None, source=source)
    assert (bool(written), outcome.reason is None) == (bool(reviewed), bool(reviewed)), outcome
    if not reviewed:
        assert "1 COMMIT marker would be written, and 0 were reviewed" in str(outcome.reason)


@pytest.mark.parametrize("reviewed", [1, 2])
def test_no_more_offsets_of_groups_are_committed_than_were_reviewed(reviewed: int, tmp_path: Path) -> None:
    rows: list[Content] = [(0, offset_key(group, "t", 0), offset_value(5, 0), []) for group in ("a", "b")]
    save(tmp_path, {(GROUP_TOPIC, 0, 2, 0): batch_of(0, rows, epoch=1)})
    (source,) = sources_of(by_replica(store.read_pieces(folder(tmp_path), "id")), Selection())
    source.most = Most(records=2, markers=0, group_offsets=reviewed)
    params = {"include_group_offsets": True, "target_topic": None, "groups": None, "max_batch_bytes": 1 << 20}
    admin: Any = Leader()
    committed: dict[str, object] = {}

    def stable_offsets(_keys: object) -> CommittedOffsets:
        return CommittedOffsets([(group, KEY, 5, 1) for group in committed], {group: Group("Empty") for group in ("a", "b")}, [])

    admin.stable_offsets = stable_offsets
    admin.commit = lambda offsets, forward: committed.update(offsets) or {}
    admin.data = batch_of(0, [(0, None, b"first", [])])
    (outcome,) = OffsetReplay(admin, params, Selection(), False).run([source])
    assert set(committed) == ({"a", "b"} if reviewed == 2 else set()), outcome
    assert (outcome.reason is None) == (reviewed == 2) and outcome.left == 2 - len(committed)
