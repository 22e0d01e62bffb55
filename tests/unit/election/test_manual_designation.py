# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Leaders that an operator designates: what is known of the cost is said before it is paid. A made-up cluster, because high watermarks depend on timing."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import healthy_files
import pytest
from fake_controller import Controller

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import controllers
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.replica_log_fetch import (
    EpochEndAnswer,
    FetchedBatch,
    LogEnd,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.time_budget import Budget
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Live
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.guards import needs_reorder
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.manual_designation import Designated, collect
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.saved_tails import unread_logs
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.cluster_evidence import Sources
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import LastBatch

KEY = ("t", 0)


def collected(cluster: Controller, named: Mapping[TopicPartition, int], workdir: Path = Path("/nonexistent")) -> Designated:
    connection = Connection(("127.0.0.1:1",), request_timeout=1.0)
    return collect(Sources(cluster, connection, workdir, "east", Budget(0.1)), named)  # type: ignore[arg-type]


class Forked(Controller):
    """Of t-0, broker 2 has 120 records, the last 20 of them in epoch 1, and broker 3 has 180, all in epoch 0. They fork at offset 100."""

    def __init__(self, high_watermark: int) -> None:
        super().__init__()
        self.high_watermark = high_watermark

    def log_ends(self, work: Mapping[int, object]) -> dict[int, dict[TopicPartition, LogEnd]]:
        return {broker: {KEY: LogEnd(None, {2: 120, 3: 180}[broker], 1, None)} for broker in work}

    def batches(
        self, work: Mapping[int, Mapping[TopicPartition, int]], retry_empty: bool = True
    ) -> dict[int, dict[TopicPartition, FetchedBatch]]:
        def batch(broker: int, offset: int) -> LastBatch:
            base = offset // 10 * 10
            epoch = 1 if broker == 2 and base >= 100 else 0
            return LastBatch(base, base + 9, epoch, base if base < 100 else base + broker, 0, False)

        return {
            broker: {
                key: FetchedBatch(None, self.high_watermark if broker == 2 else 0, 0, batch(broker, offset))
                for key, offset in offsets.items()
            }
            for broker, offsets in work.items()
        }

    def epoch_ends(self, work: Mapping[int, Mapping[TopicPartition, int]]) -> dict[int, dict[TopicPartition, EpochEndAnswer]]:
        assert work == {2: {KEY: 0}}, "broker 3 has no later epoch"
        return {2: {KEY: EpochEndAnswer(None, 0, 100)}}


@pytest.mark.parametrize(
    ("leader", "high_watermark", "given_up"),
    [(3, 120, "offsets 100 to 119"), (3, 110, "offsets 100 to 109"), (3, 100, None), (3, 0, None), (2, 120, None)],
)
def test_committed_records_that_the_designated_leader_lacks_are_named(leader: int, high_watermark: int, given_up: str | None) -> None:
    found = collected(Forked(high_watermark), {KEY: leader})
    (entry,) = found.entries
    assert [row["offset"] for row in entry.truncated] == [100]
    warnings = {text.partition(": ")[0]: text for text in found.warnings}
    assert "t-0 would be held (forked" in warnings.pop("plans would decide otherwise")
    if given_up:
        warning = warnings.pop("committed records are given up")
        assert f"t-0: {given_up} in the log of broker 2" in warning and "leader 3" in warning
    assert warnings == {}


class CutOff(Controller):
    """Of t-0, brokers 1 to 4 have logs of these lengths, prefixes of each other. Broker 1 is fenced and answers, broker 5 is gone."""

    ENDS: Mapping[int, int] = {1: 130, 2: 120, 3: 100, 4: 110}

    def __init__(self) -> None:
        super().__init__()
        offline = replace(self.states[KEY], replicas=(5, 4, 3, 1, 2), eligible_leader_replicas=(5,))
        self.states.clear()
        self.states[KEY] = offline
        self.cut_off = {1}

    def broker_states(self, mentioned: Collection[int] = ()) -> list[dict[str, Any]]:
        return [
            {"broker_id": broker, "broker_state": "unfenced" if broker in (2, 3, 4) else "fenced", "silent_seconds": None, "rack": None}
            for broker in (1, 2, 3, 4, 5)
        ]

    def unfenced(self) -> set[int]:
        return {2, 3, 4}

    def log_ends(self, work: Mapping[int, object]) -> dict[int, dict[TopicPartition, LogEnd]]:
        return {broker: {KEY: LogEnd(None, self.ENDS[broker], 1)} for broker in work}


def test_the_other_replicas_follow_best_first_by_their_logs() -> None:
    """Should the designated broker die before the election, the controller takes the next one of the order."""
    (entry,) = collected(CutOff(), {KEY: 3}).entries
    assert entry.best_first == (3, 2, 4, 5, 1)
    assert entry.survivors.keys() == {2, 3, 4}, "a fenced broker is none"
    assert entry.truncated == [{"broker_id": 4, "offset": 100, "records": 10}, {"broker_id": 2, "offset": 100, "records": 20}]


class Silent(CutOff):
    """Broker 4 is alive and does not answer: it may hold more than all others, and truncates its log once there is a leader."""

    def log_ends(self, work: Mapping[int, object]) -> dict[int, dict[TopicPartition, LogEnd]]:
        return {broker: ends for broker, ends in super().log_ends(work).items() if broker != 4}


def test_a_live_broker_whose_log_was_not_read_is_known_to_what_saves_records() -> None:
    (entry,) = collected(Silent(), {KEY: 3}).entries
    assert "broker 4, which is alive" in (unread_logs(entry) or "")
    (entry,) = collected(CutOff(), {KEY: 3}).entries
    assert unread_logs(entry) is None


class Lying(CutOff):
    """The high watermark of broker 4 lies beyond its log, so the evidence is damaged."""

    def batches(
        self, work: Mapping[int, Mapping[TopicPartition, int]], retry_empty: bool = True
    ) -> dict[int, dict[TopicPartition, FetchedBatch]]:
        found = super().batches(work, retry_empty)
        for key, batch in found.get(4, {}).items():
            found[4][key] = batch._replace(high_watermark=999)
        return found


def test_damaged_evidence_does_not_keep_a_designated_leader_from_being_elected() -> None:
    """It is elected unless that is impossible. What it costs is not known then, and is not called nothing."""
    found = collected(Lying(), {KEY: 3})
    (entry,) = found.entries
    assert entry.best_first[0] == 3 and sorted(entry.best_first) == [1, 2, 3, 4, 5]
    assert entry.survivors.keys() == {2, 3, 4}
    assert [(row["broker_id"], row["offset"], row["records"]) for row in entry.truncated] == [(4, None, None), (2, None, None)]
    assert found.warnings == ["plans would decide otherwise: t-0 would be held (incomplete)"]


@pytest.mark.parametrize(("backend", "doubted"), [("compat", True), ("native", False)])
def test_a_reassignment_is_a_doubt_only_if_the_election_needs_a_replica_order(backend: str, doubted: bool) -> None:
    cluster = CutOff()
    cluster.cut_off, cluster.moves, cluster.backend = set(), {KEY}, backend
    warnings = collected(cluster, {KEY: 2}).warnings
    assert any("reassignment_in_progress" in warning for warning in warnings) is doubted


@pytest.mark.parametrize(("leader", "records", "first"), [(3, 30, 100), (2, 10, 120)])
def test_what_a_fenced_broker_holds_beyond_the_designated_leader_is_a_warning(leader: int, records: int, first: int) -> None:
    found = collected(CutOff(), {KEY: leader})
    (warning,) = (text for text in found.warnings if text.startswith("fenced brokers hold more"))
    assert f"t-0: the fenced broker 1 holds {records} records (offsets {first} to 129)" in warning


def test_a_fenced_broker_that_holds_nothing_more_is_no_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CutOff, "ENDS", {**CutOff.ENDS, 1: 90})
    found = collected(CutOff(), {KEY: 2})
    assert not [text for text in found.warnings if text.startswith("fenced brokers hold more")]


@pytest.mark.parametrize(("leader", "reassigning", "reorders"), [(4, False, True), (4, True, False), (3, True, True)])
def test_a_reassignment_under_way_keeps_the_order_if_the_designated_leader_stands_first(
    leader: int, reassigning: bool, reorders: bool
) -> None:
    """A designation is elected unless that is impossible, and a new order would replace the reassignment."""
    cluster = CutOff()
    (entry,) = collected(cluster, {KEY: leader}).entries
    broker_states = {row["broker_id"]: row["broker_state"] for row in cluster.broker_states()}
    assert needs_reorder(entry, Live(cluster.states, broker_states, {}, {KEY} if reassigning else ())) is reorders


def test_what_cannot_be_elected_fails_and_the_others_go_on() -> None:
    """KIP-1275: best effort."""
    named = {("t", 0): 2, ("t", 1): 1, ("t", 2): 9, ("gone", 0): 2}
    found = collected(Controller(), named)
    assert [(entry.key, entry.designated_leader) for entry in found.entries] == [(("t", 0), 2)]
    assert {(result.topic, result.partition): (result.outcome, result.designated_leader) for result in found.failed} == {
        ("t", 1): ("failed", 1), ("t", 2): ("failed", 9), ("gone", 0): ("failed", 2),
    }  # fmt: skip
    reasons = {(result.topic, result.partition): result.reason or "" for result in found.failed}
    assert reasons["t", 1] == "broker 1 is fenced; designate a broker that is alive"
    assert reasons["t", 2] == "broker 9 is not among its replicas [3, 1, 2]; designate one of them"
    assert "no such partition" in reasons["gone", 0]
    assert found.warnings == []


def test_the_leader_that_a_plan_would_elect_is_named_where_another_is_designated() -> None:
    found = collected(Controller(), {("t", 0): 3})
    assert [entry.designated_leader for entry in found.entries] == [3]
    assert found.warnings == ["plans would decide otherwise: t-0 would get broker 2, not 3"]


def test_the_healthy_snapshot_bounds_what_a_designated_leader_gives_up(tmp_path: Path) -> None:
    """As for a plan: when the cluster was healthy, 140 records of t-0 were committed."""
    cluster = Controller()
    topic_id = str(uuid.UUID(int=7))
    cluster.states[KEY] = replace(cluster.states[KEY], topic_id=topic_id)
    row = healthy_files.mark("t", topic_id=topic_id, leader_epoch=1, log_end_offset=140, high_watermark=140, replica_ends=[[1, 140]])
    healthy_files.write(tmp_path, "2026-11-21T10-00-00Z", [row], cluster_id="abc")
    (entry,) = collected(cluster, {KEY: 2}, tmp_path).entries
    (without,) = collected(cluster, {KEY: 2}).entries
    assert entry.loss and without.loss
    assert (entry.loss["lower_bound"], without.loss["lower_bound"]) == (19, None)


def test_the_history_of_isrs_is_read_for_designations_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(_connection: Connection) -> None:
        raise ClusterError("no controller answers")

    monkeypatch.setattr(controllers, "Controllers", closed)
    connection = Connection(("127.0.0.1:1",), request_timeout=1.0, controller_bootstrap_servers=("127.0.0.1:2",))
    found = collect(Sources(Controller(), connection, tmp_path, "east", Budget(0.1)), {KEY: 2})  # type: ignore[arg-type]
    assert [entry.key for entry in found.entries] == [KEY], "it is elected all the same"
    assert found.warnings == [
        "the history of ISRs cannot be read, so it proves nothing, and what a plan elects by it is stale: no controller answers"
    ]
