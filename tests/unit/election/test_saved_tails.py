# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Only entries of which all records are on the disk may be elected."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from collected_evidence import found_again
from full_disk import no_room
from record_batches import log

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.log_dirs import LogDirs
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.replica_log_fetch import FetchedRecords
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Entry
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.saved_tails import RecordSaver, unread_logs
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.topic_configs import TopicConfigs
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.save_limits import Limits

HEADER = {"cluster": "east", "cluster_id": "id", "run_id": "1", "backend": "compat"}


class Cluster:
    """Brokers with the same log of every partition. `silent`: brokers that do not answer; `leader_epoch`: of all partitions."""

    def __init__(self, content: bytes, silent: Collection[int] = (), leader_epoch: int = 5) -> None:
        self._content, self._silent, self._leader_epoch = content, silent, leader_epoch
        self.unreachable: dict[Any, str] = dict.fromkeys(silent, "it hangs")
        self.read: set[int] = set()

    def topic_configs(self, _topics: Collection[str]) -> TopicConfigs:
        return TopicConfigs()

    def partitions(self, keys: Collection[TopicPartition]) -> dict[TopicPartition, PartitionState]:
        return {key: PartitionState(*key, "topic-id", -1, self._leader_epoch, (1, 2, 3), (), (), (), ()) for key in keys}

    def log_dirs(self, brokers: Collection[int], keys: Collection[TopicPartition] | None = None) -> dict[int, LogDirs]:
        return {broker: LogDirs(None, dict.fromkeys(keys or (), 1000), None, None, ()) for broker in brokers if broker not in self._silent}

    def unfenced(self) -> set[int]:
        return {2, 3}

    def records(
        self, work: Mapping[int, Mapping[TopicPartition, int]], _partition_bytes: int, _answer_bytes: int
    ) -> dict[int, dict[TopicPartition, FetchedRecords]]:
        self.read |= {*work}
        return {
            node: {key: FetchedRecords(None, self._content) for key in offsets}
            for node, offsets in work.items()
            if node not in self._silent
        }


def entry(partition: int, lost: Collection[int] = (3,), fenced: Collection[int] = ()) -> Entry:
    """An entry whose election destroys all five records of these brokers."""
    return Entry(
        "t", partition, 2, (2, 3, 1), "topic-id", 5, (1, 2, 3), {2: (0, 9), **dict.fromkeys(lost, (0, 5))}, "forked", "aggressive",
        truncated=[{"broker_id": broker, "offset": 0, "records": 5} for broker in lost],
        fenced_truncated=[{"broker_id": broker, "offset": 0, "records": 5, "log_end_offset": 5} for broker in fenced],
    )  # fmt: skip


def saver(workdir: Path, cluster: Cluster, enabled: bool = True, limits: Limits | None = None) -> RecordSaver:
    return RecordSaver(cluster, workdir, HEADER, enabled, limits or Limits())  # type: ignore[arg-type]


def test_an_entry_whose_records_are_saved_may_be_elected(tmp_path: Path) -> None:
    found = saver(tmp_path, Cluster(log(5)))
    entries = [entry(0), entry(1)]
    assert found.save(entries) == (entries, ([], []))
    assert found.report() == {
        "path": str(tmp_path / "saved/1/east"), "replicas": 2, "saved": 2, "not_saved": 0, "offsets": 10, "bytes": 2 * len(log(5)),
        "bytes_at_most": None,
    }  # fmt: skip


def test_a_dry_run_has_an_upper_bound_of_bytes_unless_a_broker_does_not_report_it(tmp_path: Path) -> None:
    for silent, bound in ((), 2000), ({3}, None):
        found = saver(tmp_path, Cluster(log(5), silent=silent))
        found.expect([entry(0), entry(1)])
        assert (found.report()["bytes_at_most"], found.report()["offsets"], found.report()["bytes"]) == (bound, 10, 0)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (Limits(partition_bytes=1000, cluster_bytes=2000, run_bytes=2000), []),
        (Limits(partition_bytes=999), ["t-0, t-1 may have more records to save than max_saved_partition_bytes (999)"]),
        (
            Limits(cluster_bytes=1999, run_bytes=1),
            [
                "up to 2000 bytes are to be saved, and max_saved_bytes is 1999",
                "up to 2000 bytes are to be saved, and max_saved_run_bytes is 1",
            ],
        ),
    ],
)
def test_a_dry_run_names_the_limits_that_saving_may_exceed(tmp_path: Path, limits: Limits, expected: list[str]) -> None:
    found = saver(tmp_path, Cluster(log(5)), limits=limits)
    found.expect([entry(0), entry(1)])
    assert [warning.partition(":")[0] for warning in found.warnings] == expected


def test_an_entry_is_held_for_each_log_that_is_not_saved(tmp_path: Path) -> None:
    found = saver(tmp_path, Cluster(log(5), silent={1, 3}))
    electable, left = found.save([entry(0, lost=(1, 3)), entry(1, lost=(4,))])
    assert [one.partition for one in electable] == [1]
    (held,) = left.held
    assert (held.outcome, held.reason_code) == (Outcome.HELD, "tail_not_saved")
    for broker in (1, 3):
        assert f"the log of broker {broker}: broker {broker} does not answer: it hangs" in (held.reason or "")
    assert (found.report()["saved"], found.report()["not_saved"]) == (1, 2)


def test_what_a_fenced_broker_that_answers_loses_is_saved_too(tmp_path: Path) -> None:
    cluster = Cluster(log(5))
    found = saver(tmp_path, cluster)
    assert found.destroys(entry(0, lost=(), fenced=(1,)))
    (electable,), left = found.save([entry(0, lost=(), fenced=(1,))])
    assert left == ([], []) and electable.saved_fenced == {1: 5}, "which the guards compare with the log once more"
    assert cluster.read == {1}


@pytest.mark.parametrize(("state", "error", "held"), [
    ("unfenced", "NO_ANSWER", True), ("coming_back", None, True), ("fenced", "NO_ANSWER", False), ("unfenced", "KAFKA_STORAGE_ERROR", False),
])  # fmt: skip
def test_a_log_that_is_not_read_keeps_an_entry_from_its_election_if_its_broker_may_truncate_it_at_once(
    tmp_path: Path, state: str, error: str | None, held: bool
) -> None:
    known = found_again(entry(0, lost=()))
    assert known.live_evidence is not None
    logs = tuple(log._replace(broker_state=state, error=error) if log.broker_id == 1 else log for log in known.live_evidence.logs)
    unread = replace(known, live_evidence=replace(known.live_evidence, logs=logs))
    found = saver(tmp_path, Cluster(log(5)))
    assert found.destroys(unread) == held
    electable, left = found.save([unread, entry(1)])
    assert [one.partition for one in electable] == ([1] if held else [0, 1])
    assert (left.held, [one.partition for one in left.changed]) == ([], [0] if held else [])
    assert not saver(tmp_path, Cluster(log(5)), enabled=False).destroys(unread)
    assert not held or "stop that broker" in (unread_logs(unread) or ""), "it may never end its return"


def test_a_partition_that_has_changed_since_the_plan_is_not_electable_without_its_records(tmp_path: Path) -> None:
    electable, left = saver(tmp_path, Cluster(log(5), leader_epoch=6)).save([entry(0)])
    assert (electable, left.held, left.changed) == ([], [], [entry(0)])


def test_on_a_full_disk_only_what_was_saved_before_may_be_elected(tmp_path: Path) -> None:
    assert saver(tmp_path, Cluster(log(5))).save([entry(0)])[1].held == []
    with no_room(tmp_path / "saved/1/east/000001.batches", left=-1):
        electable, left = saver(tmp_path, Cluster(log(5))).save([entry(0), entry(1)])
    assert [one.partition for one in electable] == [0]
    assert [(row.partition, row.reason_code) for row in left.held] == [(1, "tail_not_saved")]
    assert "File too large" in (left.held[0].reason or "")


def test_what_was_saved_before_and_edited_since_holds_the_partition(tmp_path: Path) -> None:
    saver(tmp_path, Cluster(log(5))).save([entry(0)])
    part = tmp_path / "saved/1/east/000001.batches"
    part.write_bytes(part.read_bytes()[:-1] + b"?")
    electable, left = saver(tmp_path, Cluster(log(5))).save([entry(0)])
    assert not electable and [row.reason_code for row in left.held] == ["tail_not_saved"]
    assert "has changed since it was written" in (left.held[0].reason or "")


@pytest.mark.parametrize("enabled", [True, False])
def test_without_truncated_logs_or_if_it_is_off_nothing_is_read(tmp_path: Path, enabled: bool) -> None:
    cluster = Cluster(log(5))
    entries = [entry(0, lost=())] if enabled else [entry(0)]
    found = saver(tmp_path, cluster, enabled)
    assert found.save(entries) == (entries, ([], [])) and not cluster.read
    assert not found.destroys(entries[0]) and found.report()["path"] is None
