# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Others write to a partition while its records are replayed, at moments that cannot be chosen on a real broker."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from record_batches import Content, batch, batch_of, marker
from saved_folders import folder, save

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.replica_log_fetch import FetchedRecords
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.replay_client import Written
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumers import EpochEnd, LeaderLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import replay_partition, store
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_origin import Origin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_source import Outcome, sources_of
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

    def unfenced(self) -> set[int]:
        return {1}

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


def replayed(leader: Leader, workdir: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Iterable[Written]], None]) -> Outcome:
    """Save three records, and replay them. `write`: what becomes of a transaction of the replay."""
    save(workdir, {("t", 0, 2, FORK): batch(FORK, 3, epoch=1)})
    (source,) = sources_of(by_replica(store.read_pieces(folder(workdir), "id")), Selection())
    producer = SimpleNamespace(fence=lambda: None, write=lambda _topic, _partition, records: write(records))
    monkeypatch.setattr(replay_partition, "ReplayProducer", lambda _connection, _id: producer)
    params = {
        "target_topic": None, "replayed_bytes_per_second": None, "include_compacted": False, "max_batch_bytes": 1 << 20, "include_aborted": False,
        "include_undecided": False,
    }  # fmt: skip
    module: Any = SimpleNamespace(params=params, check_mode=False, connection=None)
    admin: Any = leader
    states = {KEY: PartitionState(*KEY, "id-of-t", 1, 6, (1,), (1,), (), (), ())}
    return replay_partition.PartitionReplay(module, admin, Selection(), states).partition(source)


def test_what_others_write_with_the_headers_of_a_replay_does_not_count_as_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leader = Leader()
    forged = Written(None, b"forged", 0, [*Origin("id", "id-of-t", 0, 99, 1, 2).headers()])

    def write(records: Iterable[Written]) -> None:
        leader.transaction(7, records)
        leader.transaction(9, [forged])

    outcome = replayed(leader, tmp_path, monkeypatch, write)
    assert (outcome.reason, outcome.replayed, outcome.left) == (None, 3, 0)


def test_each_record_that_was_written_must_be_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records of others with the headers of a replay do not stand for those that are missing."""
    leader = Leader()

    def write(records: Iterable[Written]) -> None:
        *some, last = records
        leader.transaction(7, some)
        leader.transaction(9, [last._replace(value=b"forged")])

    outcome = replayed(leader, tmp_path, monkeypatch, write)
    assert (outcome.replayed, outcome.left) == (2, 1) and "run again" in (outcome.reason or "")
