# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evidence: what is made of answers that say less than was asked. A made-up cluster, because real brokers answer both questions or neither."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import pytest
from fake_controller import ALIVE, Controller

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.consumer_groups import Committed
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.log_dirs import FailedLogDirs
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.replica_log_fetch import FetchedBatch, LogEnd
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import deadline
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.time_budget import Budget
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Action, Policy, decide
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decode import decode
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import ClusterHeader
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.explain import explanation
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.loss import bounds
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.strategy import Strategy
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence import collect, committed_proofs, replica_logs
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.collect import collect_evidence
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.committed_proofs import bounded_proofs
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.replica_logs import read_logs, replica_row
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import LastBatch
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.replica_log import ReplicaLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.topic_configs import TopicConfig, TopicConfigs

KEY = ("t", 0)


class Mute(Controller):
    """Answers with log end offsets, and to every Fetch with an error (None: no answer). `broker_epoch`: as GetReplicaLogInfo returns it."""

    def __init__(self, broker_epoch: int | None, error: str | None, ends: Mapping[int, int] = ALIVE) -> None:
        super().__init__()
        self.broker_epoch, self.error, self.ends = broker_epoch, error, ends
        self.fetches = 0

    def log_ends(self, work: Mapping[int, Collection[TopicPartition]]) -> dict[int, dict[TopicPartition, LogEnd]]:
        return {broker: {key: LogEnd(None, self.ends[broker], 1, self.broker_epoch) for key in keys} for broker, keys in work.items()}

    def batches(
        self, work: Mapping[int, Mapping[TopicPartition, int]], retry_empty: bool = True
    ) -> dict[int, dict[TopicPartition, FetchedBatch]]:
        self.fetches += 1
        if self.error is None:
            return {broker: {} for broker in work}
        return {broker: {key: FetchedBatch(self.error, -1, -1, None) for key in offsets} for broker, offsets in work.items()}


@pytest.mark.parametrize("error", ["TOPIC_AUTHORIZATION_FAILED", None])
def test_get_replica_log_info_speaks_for_itself_where_no_batch_can_be_read(error: str | None) -> None:
    logs = read_logs(Mute(31, error), [(KEY, 2)], duration=0.0)
    row = replica_row(KEY, 2, logs[KEY, 2])
    assert (row["error"], row["log_end_offset"], row["broker_epoch"]) == (None, 121, 31)
    assert (row["last_written_epoch"], row["high_watermark"]) == (None, None), "weak: nothing distinguishes the logs"
    assert row["probe_error"] == (error or "NO_ANSWER")


@pytest.mark.parametrize("error", ["TOPIC_AUTHORIZATION_FAILED", None])
def test_without_it_such_a_replica_has_not_answered(error: str | None) -> None:
    logs = read_logs(Mute(None, error), [(KEY, 2)], duration=0.0)
    assert logs[KEY, 2].error == (error or "NO_ANSWER")
    assert logs[KEY, 2].log_end_offset is None


def test_a_log_that_ends_at_0_is_empty_whatever_else_is_not_known() -> None:
    logs = read_logs(Mute(31, "TOPIC_AUTHORIZATION_FAILED", ends={2: 0}), [(KEY, 2)], duration=0.0)
    assert (logs[KEY, 2].empty, logs[KEY, 2].last_written_epoch) == (True, -1)


def test_a_probe_that_fails_for_a_moment_is_tried_again_and_one_that_may_not_be_made_is_not() -> None:
    passing, final = Mute(31, "NOT_LEADER_OR_FOLLOWER"), Mute(31, "TOPIC_AUTHORIZATION_FAILED")
    read_logs(passing, [(KEY, 2)], duration=0.6)
    read_logs(final, [(KEY, 2)], duration=0.6)
    assert passing.fetches > final.fetches


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("error", ["REPLICA_NOT_AVAILABLE", "OFFSET_NOT_AVAILABLE", "REQUEST_TIMED_OUT", "THROTTLING_QUOTA_EXCEEDED"])
def test_every_error_after_which_kafkas_clients_try_again_is_asked_about_again(error: str) -> None:
    passing = Mute(31, error)
    read_logs(passing, [(KEY, 2)], duration=0.3)
    assert passing.fetches > 2
    refused = WithoutDisk(error, (1,))
    read_logs(refused, [(KEY, 2)], duration=0.3)
    assert refused.asked > 2


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("error", ["UNSUPPORTED_VERSION", "INVALID_REQUEST", "CLUSTER_AUTHORIZATION_FAILED"])
def test_no_error_that_lasts_is_asked_about_again(error: str) -> None:
    lasting = WithoutDisk(error, (1,))
    read_logs(lasting, [(KEY, 2)], duration=5.0)
    assert lasting.asked == 1


@pytest.mark.usefixtures("quick")
def test_the_duration_is_the_deadline_of_all_rounds_and_without_one_there_is_none() -> None:
    class Timed(Mute):
        ends_in: tuple[float | None, ...] = ()

        def log_ends(self, work: Mapping[int, Collection[TopicPartition]]) -> dict[int, dict[TopicPartition, LogEnd]]:
            end = deadline.end_of_round()
            self.ends_in += (None if end is None else end - time.monotonic(),)
            return super().log_ends(work)

    began, timed = time.monotonic(), Timed(31, "REQUEST_TIMED_OUT")
    read_logs(timed, [(KEY, 2)], duration=1.0)
    assert all(seconds is not None and 0.04 < seconds <= 0.5 for seconds in timed.ends_in)
    assert time.monotonic() - began < 1.2
    once = Timed(31, "REQUEST_TIMED_OUT")
    read_logs(once, [(KEY, 2)], duration=0.0)
    assert once.ends_in == (None,)


@pytest.mark.usefixtures("quick")
def test_a_broker_that_falls_silent_does_not_take_back_what_it_has_answered() -> None:
    class Fading(Mute):
        def log_ends(self, work: Mapping[int, Collection[TopicPartition]]) -> dict[int, dict[TopicPartition, LogEnd]]:
            return {} if self.fetches else super().log_ends(work)

    assert read_logs(Fading(31, "NOT_LEADER_OR_FOLLOWER"), [(KEY, 2)], duration=0.3)[KEY, 2].log_end_offset == 121


class WithoutDisk(Controller):
    """Broker 2 answers with an error for the replica. `offline`: for whom the cluster calls it offline."""

    def __init__(self, error: str, offline: tuple[int, ...]) -> None:
        super().__init__()
        self.error, self.asked = error, 0
        self.states[KEY] = replace(self.states[KEY], offline_replicas=offline)

    def log_ends(self, work: Mapping[int, Collection[TopicPartition]]) -> dict[int, dict[TopicPartition, LogEnd]]:
        self.asked += 1
        return {**super().log_ends(work), 2: dict.fromkeys(work.get(2, ()), LogEnd(self.error, -1, -1))}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica_logs, "SETTLED_SECONDS", 0.2)
    monkeypatch.setattr(replica_logs, "POLL_SECONDS", 0.05)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("answer", ["KAFKA_STORAGE_ERROR", "NOT_LEADER_OR_FOLLOWER", "UNKNOWN_SERVER_ERROR", "REQUEST_TIMED_OUT"])
@pytest.mark.parametrize("offline", [(1, 2), (1,)])
def test_a_disk_has_failed_if_its_broker_or_the_cluster_says_so(answer: str, offline: tuple[int, ...]) -> None:
    """The broker says it with KAFKA_STORAGE_ERROR, the cluster by calling a replica of an unfenced broker offline."""
    logs = read_logs(WithoutDisk(answer, offline), [(KEY, 2), (KEY, 3)], duration=0.0)
    assert (logs[KEY, 2].error, logs[KEY, 3].error) == ("DISK_FAILED" if 2 in offline or answer == "KAFKA_STORAGE_ERROR" else answer, None)


@pytest.mark.usefixtures("quick")
def test_a_replica_that_is_offline_for_a_moment_is_not_on_a_failed_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker has just come back, and not all brokers know that yet."""
    back = WithoutDisk("REQUEST_TIMED_OUT", (1, 2))
    partitions = back.partitions

    def described(keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]:
        found = partitions(keys)
        back.states[KEY] = replace(back.states[KEY], offline_replicas=(1,))
        return found

    monkeypatch.setattr(back, "partitions", described)
    assert read_logs(back, [(KEY, 2)], duration=0.0)[KEY, 2].error == "REQUEST_TIMED_OUT"


@pytest.mark.usefixtures("quick")
def test_a_replica_that_is_offline_now_and_then_does_not_extend_the_time_for_logs_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken broker could keep a run from its elections by that."""
    back = WithoutDisk("NOT_LEADER_OR_FOLLOWER", (1,))
    clock, looks = [0.0], 0
    monkeypatch.setattr(replica_logs.time, "sleep", lambda seconds: clock.__setitem__(0, clock[0] + seconds))
    monkeypatch.setattr(replica_logs.time, "monotonic", lambda: clock[0])
    partitions = back.partitions

    def described(keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]:
        nonlocal looks
        looks += 1
        assert looks < 100, "it is read without end"
        back.states[KEY] = replace(back.states[KEY], offline_replicas=(1, 2) if looks % 3 else (1,))
        return partitions(keys)

    monkeypatch.setattr(back, "partitions", described)
    assert read_logs(back, [(KEY, 2)], duration=0.3)[KEY, 2].error == "NOT_LEADER_OR_FOLLOWER"
    assert clock[0] <= 0.3 + 2 * replica_logs.SETTLED_SECONDS


@pytest.mark.usefixtures("quick")
def test_a_broker_that_came_back_after_the_partition_was_described_has_its_disk() -> None:
    """Its replica was offline because it was fenced. In the document that would be a failed disk."""
    back = WithoutDisk("REQUEST_TIMED_OUT", (1,))
    before = replace(back.states[KEY], offline_replicas=(1, 2))
    (document,) = collect_evidence(back, [before], Budget(0.0)).documents((), ())
    assert document["offline_replicas"] == [1]
    assert decide(decode(json.dumps(document)), Policy()).reason == "incomplete"


PATHS = ("/data/2",)


class Described(WithoutDisk):
    """Broker 2 says which of its log directories have failed, and what is in the others. `described`: how often it was asked."""

    def __init__(
        self, error: str, paths: tuple[str, ...], hosted: bool = False, complete: bool = True, offline: tuple[int, ...] = (1,)
    ) -> None:
        super().__init__(error, offline)
        self.dirs, self.described = FailedLogDirs(None, paths, frozenset({KEY} if hosted else ()), complete), 0

    def failed_log_dirs(self, work: Mapping[int, Collection[TopicPartition]]) -> dict[int, FailedLogDirs]:
        assert {broker: [*keys] for broker, keys in work.items()} == {2: [KEY]}, "only what a broker does not answer for"
        self.described += 1
        return {2: self.dirs}

    def read(self, duration: float = 0.0) -> ReplicaLog:
        return read_logs(self, [(KEY, 2), (KEY, 3)], duration)[KEY, 2]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("answer", ["KAFKA_STORAGE_ERROR", "NOT_LEADER_OR_FOLLOWER", "UNKNOWN_SERVER_ERROR", "UNKNOWN_TOPIC_OR_PARTITION"])
def test_a_replica_in_no_directory_that_works_is_lost_whatever_its_broker_answers_for_it(answer: str) -> None:
    lost = Described(answer, PATHS)
    assert lost.read(duration=0.3) == ReplicaLog("DISK_FAILED", failed_log_dirs=PATHS)
    assert (lost.asked, lost.described) == (1, 1)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "described",
    [
        Described("UNKNOWN_SERVER_ERROR", PATHS, hosted=True),
        Described("UNKNOWN_SERVER_ERROR", PATHS, complete=False),
        Described("UNKNOWN_SERVER_ERROR", ()),
    ],
    ids=["in-another-directory", "a-directory-is-not-described", "none-has-failed"],
)
def test_a_replica_that_may_be_in_a_directory_that_works_has_not_answered(described: Described) -> None:
    assert described.read() == ReplicaLog("UNKNOWN_SERVER_ERROR")


@pytest.mark.usefixtures("quick")
def test_a_broker_is_asked_once_for_its_directories_and_not_if_it_has_not_answered_anything() -> None:
    works = Described("NOT_LEADER_OR_FOLLOWER", (), hosted=True)
    works.read(duration=0.4)
    assert works.asked > 2 and works.described == 1
    hangs = Described("NOT_LEADER_OR_FOLLOWER", PATHS)
    hangs.unreachable[2] = "it gave no answer"
    assert hangs.read().error == "NOT_LEADER_OR_FOLLOWER" and hangs.described == 0


@pytest.mark.usefixtures("quick")
def test_a_failed_disk_is_named_in_the_document_and_in_words() -> None:
    lost = Described("KAFKA_STORAGE_ERROR", PATHS, offline=(1, 2))
    (document,) = collect_evidence(lost, [lost.states[KEY]], Budget(0.0)).documents((), ())
    found = decode(json.dumps(document))
    assert [log.failed_log_dirs for log in found.logs] == [None, PATHS, None]
    decision = decide(found, Policy())
    assert decision.choices == (3,)
    assert "its disk /data/2 on broker 2 has failed" in explanation(decision, bounds(decision, ClusterHeader()), ClusterHeader())
    assert (
        replica_row(KEY, 2, lost.read())["failed_log_dirs"] == ["/data/2"]
        and replica_row(KEY, 3, ReplicaLog(None))["failed_log_dirs"] == []
    )


@pytest.mark.usefixtures("quick")
def test_a_broker_that_does_not_host_a_replica_is_asked_for_some_seconds() -> None:
    """It may have come back just now, and not all brokers know that yet."""
    failed, back = WithoutDisk("KAFKA_STORAGE_ERROR", (1, 2)), WithoutDisk("NOT_LEADER_OR_FOLLOWER", (1, 2))
    read_logs(failed, [(KEY, 2)], duration=0.0)
    read_logs(back, [(KEY, 2)], duration=0.0)
    assert failed.asked == 1 and back.asked > 2


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("answer", ["KAFKA_STORAGE_ERROR", "NOT_LEADER_OR_FOLLOWER"])
def test_a_replica_of_a_broker_that_has_been_fenced_meanwhile_is_not_on_a_failed_disk(answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fenced = WithoutDisk(answer, (1, 2))
    monkeypatch.setattr(fenced, "unfenced", lambda: {3})
    assert read_logs(fenced, [(KEY, 2)], duration=0.0)[KEY, 2].error == answer


@pytest.mark.usefixtures("quick")
def test_a_log_that_cannot_be_read_for_a_moment_is_no_failed_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    moment = WithoutDisk("KAFKA_STORAGE_ERROR", (1,))  # the cluster does not call the replica offline
    first = moment.log_ends

    def better(work: Mapping[int, Collection[TopicPartition]]) -> dict[int, dict[TopicPartition, LogEnd]]:
        return Controller().log_ends(work) if moment.asked else first(work)

    monkeypatch.setattr(moment, "log_ends", better)
    assert read_logs(moment, [(KEY, 2)], duration=1.0)[KEY, 2].error is None


class Behind(Controller):
    """The partition has leader epoch 3 for the controller. Broker 2 knows only epoch 1 (or `known`), until it has been asked so many times."""

    def __init__(self, until: int, known: int = 1) -> None:
        super().__init__()
        self.until, self.known, self.asked = until, known, 0
        self.states[KEY] = replace(self.states[KEY], leader_epoch=3)

    def log_ends(self, work: Mapping[int, Collection[TopicPartition]]) -> dict[int, dict[TopicPartition, LogEnd]]:
        self.asked += 1
        epochs = {2: self.known if self.asked <= self.until else 3, 3: 3}
        return {broker: {key: LogEnd(None, ALIVE[broker], epochs[broker]) for key in keys} for broker, keys in work.items()}


@pytest.mark.usefixtures("quick")
def test_an_answer_of_an_older_leader_epoch_is_asked_for_again() -> None:
    behind = Behind(until=2)
    found = collect_evidence(behind, [behind.states[KEY]], Budget(5.0))
    assert behind.asked == 3
    assert {broker: (log.error, log.log_end_offset) for (_, broker), log in found.replicas.items()} == {2: (None, 121), 3: (None, 100)}


@pytest.mark.usefixtures("quick")
def test_an_answer_that_stays_at_an_older_leader_epoch_counts_as_none() -> None:
    behind = Behind(until=1000)
    found = collect_evidence(behind, [behind.states[KEY]], Budget(0.3))
    assert {broker: (log.error, log.log_end_offset) for (_, broker), log in found.replicas.items()} == {
        2: ("STALE_METADATA", None), 3: (None, 100),
    }  # fmt: skip
    assert found.pairs == [], "its log may still change"


def test_an_answer_without_a_leader_epoch_is_not_stale() -> None:
    unknown = Behind(until=1000, known=-1)
    assert collect_evidence(unknown, [unknown.states[KEY]], Budget(5.0)).replicas[KEY, 2].error is None


class CutOff(Controller):
    """Broker 1 is fenced and answers (with `error`, if there is one). It knows an older leader epoch. `back`: it is unfenced when that is asked again."""

    def __init__(self, error: str | None = None, back: bool = False) -> None:
        super().__init__()
        self.cut_off, self.error, self.back, self.asked = {1}, error, back, 0
        self.states[KEY] = replace(self.states[KEY], leader_epoch=3)

    def broker_states(self, mentioned: Collection[int] = ()) -> list[dict[str, Any]]:
        rows = super().broker_states(mentioned)
        return [{**row, "broker_state": "unfenced"} for row in rows] if self.back and self.asked else rows

    def log_ends(self, work: Mapping[int, Collection[TopicPartition]]) -> dict[int, dict[TopicPartition, LogEnd]]:
        self.asked += 1 in work
        rows = {1: LogEnd(self.error, 150, 1), 2: LogEnd(None, 121, 3), 3: LogEnd(None, 100, 3)}
        return {broker: dict.fromkeys(keys, rows[broker]) for broker, keys in work.items()}

    def document(self, duration: float = 0.3) -> dict[str, Any]:
        (document,) = collect_evidence(self, [self.states[KEY]], Budget(duration)).documents((), ())
        assert decode(json.dumps({**document, "named": False, "reassigning": False})).defects == ()
        return document


def _ends(document: Mapping[str, Any]) -> dict[int, tuple[str, int | None]]:
    return {log["broker_id"]: (log["broker_state"], log["log_end_offset"]) for log in document["logs"]}


def test_the_log_of_a_fenced_broker_that_answers_is_in_the_document_and_compared() -> None:
    found = CutOff().document()
    assert _ends(found) == {1: ("fenced", 150), 2: ("unfenced", 121), 3: ("unfenced", 100)}
    assert sorted((pair["broker_a"], pair["broker_b"], pair["shorter"]) for pair in found["pairs"]) == [(1, 2, 2), (1, 3, 3), (2, 3, 3)]


@pytest.mark.parametrize(
    "answer", [FetchedBatch(None, -5, 0, LastBatch(149, 149, 0, 7, 0)), FetchedBatch(None, 0, 151, LastBatch(149, 149, -3, 7, 0))]
)
def test_an_impossible_answer_of_a_fenced_broker_does_not_spoil_the_evidence(answer: FetchedBatch, monkeypatch: pytest.MonkeyPatch) -> None:
    cut_off = CutOff()
    sound = cut_off.batches

    def batches(
        work: Mapping[int, Mapping[TopicPartition, int]], retry_empty: bool = True
    ) -> dict[int, dict[TopicPartition, FetchedBatch]]:
        return {broker: dict.fromkeys(found, answer) if broker == 1 else found for broker, found in sound(work, retry_empty).items()}

    monkeypatch.setattr(cut_off, "batches", batches)
    found = decode(json.dumps(cut_off.document()))
    assert [(log.broker_id, log.error) for log in found.logs] == [(1, "IMPOSSIBLE_ANSWER"), (2, None), (3, None)]
    assert [*found.pairs] == [(2, 3)]


@pytest.mark.usefixtures("quick")
def test_a_fenced_broker_is_asked_once_and_what_it_does_not_say_is_lost_with_it() -> None:
    cut_off = CutOff("UNKNOWN_TOPIC_OR_PARTITION")
    found = cut_off.document()
    assert _ends(found)[1] == ("fenced", None)
    assert cut_off.asked == 1
    assert {log["broker_id"]: log["error"] for log in found["logs"]} == {1: "UNKNOWN_TOPIC_OR_PARTITION", 2: None, 3: None}
    assert decide(decode(json.dumps({**found, "named": False, "reassigning": False})), Policy()).choices == (2,)


def test_a_broker_that_came_back_while_its_log_was_read_has_not_answered() -> None:
    assert _ends(CutOff(back=True).document())[1] == ("unfenced", None)


class Fencing(Controller):
    """Partition 2 had leader 1, which has been fenced since that was asked. `epoch`: of the partition as it is now."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = PartitionState("t", 2, "id", 1, 1, (3, 1, 2), (1,), (), (), ())
        self.states["t", 2] = replace(self.seen, leader=-1, leader_epoch=2)

    def log_ends(self, work: Mapping[int, Collection[TopicPartition]]) -> dict[int, dict[TopicPartition, LogEnd]]:
        return {broker: {key: LogEnd(None, ALIVE[broker], 2) for key in keys} for broker, keys in work.items()}


def test_a_partition_that_has_just_lost_its_leader_has_the_epoch_that_it_has_now() -> None:
    """With the older epoch its survivors would be ahead of the controller."""
    fencing = Fencing()
    (found,) = collect_evidence(fencing, [fencing.seen], Budget(5.0)).states
    assert (found.leader, found.leader_epoch) == (-1, 2)


class Electing(Controller):
    """Both survivors know epoch 3 of the partition, which had epoch 1 when its state was read. `now`: how it is when it is read again."""

    def __init__(self, **now: Any) -> None:
        super().__init__()
        self.read_again = 0
        self.seen = self.states[KEY]
        self.states[KEY] = replace(self.seen, **now)

    def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]:
        assert keys == {KEY}, "only what is concerned"
        self.read_again += 1
        return super().partitions(keys)

    def log_ends(self, work: Mapping[int, Collection[TopicPartition]]) -> dict[int, dict[TopicPartition, LogEnd]]:
        return {broker: {key: LogEnd(None, ALIVE[broker], 3 if key == KEY else 1) for key in keys} for broker, keys in work.items()}

    def decided(self) -> tuple[Action, str | None]:
        found = collect_evidence(self, [self.seen, self.states["t", 1]], Budget(5.0))
        document, other = (decode(json.dumps(document)) for document in found.documents((), ()))
        assert document.defects == other.defects == () and decide(other, Policy()).action == Action.ELECT
        decision = decide(document, Policy(Strategy.BALANCED))
        return decision.action, decision.reason


def test_an_election_while_logs_were_read_is_not_taken_for_lost_epochs() -> None:
    elected = Electing(leader=2, isr=(2,), eligible_leader_replicas=(), leader_epoch=3)
    assert elected.decided() == (Action.LEAVE, None)
    assert elected.read_again == 1


def test_a_leader_that_came_and_went_while_logs_were_read_leaves_what_was_read_of_its_epoch() -> None:
    assert Electing(leader_epoch=3).decided() == (Action.ELECT, None)
    assert Electing(leader=1, leader_epoch=3).decided() == (Action.ELECT, None), "a leader that is not alive"
    assert Electing(leader_epoch=4).decided() == (Action.HOLD, "no_survivor"), "the logs may have grown in epoch 4"


def test_a_log_that_stays_ahead_of_the_controller_holds_the_partition() -> None:
    ahead = Electing()
    assert ahead.decided() == (Action.HOLD, "ahead_of_controller")
    assert ahead.read_again == 1


def test_a_reassignment_that_ended_with_the_election_brings_its_brokers_along() -> None:
    class Moved(Electing):
        def broker_states(self, mentioned: Collection[int] = ()) -> list[dict[str, Any]]:
            more = {"broker_id": 9, "broker_state": "unfenced", "silent_seconds": None, "rack": None}
            return [*super().broker_states(mentioned), *([more] if 9 in mentioned else [])]

    assert Moved(replicas=(9, 2, 3), eligible_leader_replicas=(), leader_epoch=3).decided() == (Action.HOLD, "incomplete")


def _committed(offset: int, broker: int, held: bool, name: str = "readers") -> dict[str, Any]:
    return {
        "topic": "t",
        "partition": 0,
        "source": "consumer_group",
        "name": name,
        "offset": offset,
        "leader_epoch": 1,
        "broker_id": broker,
        "held": held,
    }


def test_no_number_of_committed_offsets_pushes_out_the_ones_that_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committed_proofs, "KEPT_PROOFS", 10)
    invented = [_committed(2**62 + place, broker, False, f"g{place}") for place in range(50) for broker in (2, 3)]
    missed: list[str] = []
    kept = bounded_proofs([*invented, _committed(90, 3, True), _committed(80, 3, True), _committed(70, 2, True)], missed)
    assert len(kept) == 10
    assert {(row["broker_id"], row["offset"]) for row in kept if row["held"]} == {(2, 70), (3, 90)}
    assert max(row["offset"] for row in kept) == 2**62 + 49
    assert missed == ["t-0 has 103 committed offsets, of which 10 were kept"]


def test_a_name_of_a_group_fits_into_its_document() -> None:
    long, other = (bounded_proofs([_committed(1, 2, False, "x" * 4097 + end)], [])[0]["name"] for end in "ab")
    assert len(long) <= 255 and long != other


def test_logs_without_last_batches_cannot_be_compared() -> None:
    controller = Mute(31, "TOPIC_AUTHORIZATION_FAILED")
    found = collect_evidence(controller, [controller.states[KEY]], Budget(5.0))
    assert [(pair["relation"], pair["common_offset"]) for pair in found.pairs] == [("unknown", None)]


class Skipping(Controller):
    """Broker 2, asked for the batch at the other log's end, answers with a later one, as if compaction had removed it. `policy`: cleanup.policy."""

    def __init__(self, policy: str | None) -> None:
        super().__init__()
        self.policy = policy

    def topic_configs(self, topics: Collection[str]) -> TopicConfigs:
        return TopicConfigs({topic: TopicConfig(1, False, self.policy) for topic in topics})

    def batches(
        self, work: Mapping[int, Mapping[TopicPartition, int]], retry_empty: bool = True
    ) -> dict[int, dict[TopicPartition, FetchedBatch]]:
        found = super().batches(work, retry_empty)
        later = FetchedBatch(None, 0, 0, LastBatch(120, 120, 0, 7, 0))
        return {broker: {key: later if broker == 2 else row for key, row in rows.items()} for broker, rows in found.items()}


@pytest.mark.parametrize(
    ("policy", "relation"),
    [("compact", "prefix"), ("compact,delete", "prefix"), ("delete", "unknown"), ("", "unknown"), (None, "unknown")],
)
def test_compaction_explains_a_missing_record_only_if_the_topic_is_compacted(policy: str | None, relation: str) -> None:
    skipping = Skipping(policy)
    (document,) = collect_evidence(skipping, [skipping.states[KEY]], Budget(5.0)).documents((), ())
    assert [pair["relation"] for pair in document["pairs"]] == [relation]
    assert document["cleanup_policy"] == policy
    assert decide(decode(json.dumps(document)), Policy()).reason == (None if relation == "prefix" else "incomplete")


class Tiered(Controller):
    """`remote_storage_enable`: what the topic's config says."""

    def __init__(self, remote_storage_enable: bool | None) -> None:
        super().__init__()
        self.config = TopicConfig(remote_storage_enable=remote_storage_enable)

    def topic_configs(self, topics: Collection[str]) -> TopicConfigs:
        return TopicConfigs(dict.fromkeys(topics, self.config))


@pytest.mark.parametrize(("enabled", "reason"), [(True, "tiered_storage"), (False, None), (None, None)])
def test_tiered_storage_is_read_with_the_configs_of_the_topic(enabled: bool | None, reason: str | None) -> None:
    """A login that may not read configs holds nothing for that: the collection warns of it."""
    controller = Tiered(enabled)
    (document,) = collect_evidence(controller, [controller.states[KEY]], Budget(5.0)).documents((), ())
    assert document.get("remote_storage_enable") == (True if enabled else None)
    assert decide(decode(json.dumps(document)), Policy()).reason == reason


class Read(Controller):
    """Consumer groups have read. Logs end where ALIVE says; `forked`: broker 3 wrote its batches in another epoch than broker 2."""

    def __init__(self, forked: bool, *committed: tuple[str, int, int]) -> None:
        super().__init__()
        self.forked, self.committed, self.probed = forked, committed, set[int]()

    def batches(
        self, work: Mapping[int, Mapping[TopicPartition, int]], retry_empty: bool = True
    ) -> dict[int, dict[TopicPartition, FetchedBatch]]:
        self.probed |= {offset for offsets in work.values() for offset in offsets.values()}
        return {
            broker: {
                key: FetchedBatch(None, 0, 0, LastBatch(offset, offset, int(self.forked and broker == 3), 7, 0))
                for key, offset in offsets.items()
            }
            for broker, offsets in work.items()
        }

    def committed_offsets(self, keys: Collection[TopicPartition], seconds: float, missed: list[str]) -> list[Committed]:
        assert set(keys) == {KEY}
        return [(group, KEY, offset, epoch) for group, offset, epoch in self.committed]

    def proofs(self) -> list[tuple[str, int, int, bool | None]]:
        found = collect_evidence(self, [self.states[KEY]], Budget(5.0))
        assert [pair["relation"] for pair in found.pairs] == ["forked" if self.forked else "prefix"]
        return [(row["name"], row["offset"], row["broker_id"], row["held"]) for row in found.proofs]


def test_where_no_logs_fork_a_committed_offset_is_named_for_the_survivors_that_end_before_it() -> None:
    short, long = sorted(ALIVE, key=lambda broker: ALIVE[broker])
    between = ALIVE[short] + 1
    assert Read(False, ("a", ALIVE[short], 0)).proofs() == []
    assert Read(False, ("a", between, 0), ("b", between - 1, 0)).proofs() == [("a", between, short, False)]
    beyond = Read(False, ("a", 5, 0), ("b", ALIVE[long] + 9, -1))
    assert sorted(beyond.proofs()) == sorted(("b", ALIVE[long] + 9, broker, False) for broker in ALIVE)
    assert beyond.probed <= {end - 1 for end in ALIVE.values()}, "nothing is fetched for it"


@contextmanager
def within(seconds: float) -> Iterator[float]:
    with deadline.until(time.monotonic() + seconds):
        yield seconds


def test_offsets_are_looked_for_in_forked_logs_for_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was not looked for proves nothing, and is counted. One without a leader epoch proves nothing anyway."""
    forked = Read(True, ("a", 5, 0), ("b", 7, -1))
    parts: list[float] = []

    def no_time(budget: Budget, share: float = 0.5) -> AbstractContextManager[float]:
        parts.append(share)
        # Comparing logs is the first part, reading offsets the second.
        return nullcontext(9.0) if len(parts) < 3 else within(0.0)

    monkeypatch.setattr(Budget, "part", no_time)
    found = collect_evidence(forked, [forked.states[KEY]], Budget(5.0))
    assert {row["name"] for row in found.proofs} == {"b"}
    assert found.offsets_unread == {KEY}
    assert not {4, 6} & forked.probed
    assert found.missed == [f"1 committed offsets were not looked for in forked logs within 0.0 s, first in {KEY[0]}; raise duration"]


class PartlyRead(Read):
    """A coordinator does not list its groups."""

    def committed_offsets(self, keys: Collection[TopicPartition], seconds: float, missed: list[str]) -> list[Committed]:
        missed.append("broker 2 does not list its groups: COORDINATOR_LOAD_IN_PROGRESS")
        return super().committed_offsets(keys, seconds, missed)


@pytest.mark.parametrize(("forked", "kind", "unread"), [(True, Read, False), (True, PartlyRead, True), (False, PartlyRead, False)])
def test_the_document_of_a_fork_says_that_committed_offsets_are_unread(forked: bool, kind: type[Read], unread: bool) -> None:
    cluster = kind(forked, ("a", 5, 0))
    (document,) = collect_evidence(cluster, [cluster.states[KEY]], Budget(5.0)).documents((), ())
    assert decode(json.dumps(document)).offsets_unread == unread


class LeaderlessCoordinator(Controller):
    """The logs of a partition fork, and no committed offset can be read."""

    def __init__(self, topic: str) -> None:
        super().__init__()
        self.states[topic, 0] = replace(self.states[KEY], topic=topic, partition=0)

    def batches(
        self, work: Mapping[int, Mapping[TopicPartition, int]], retry_empty: bool = True
    ) -> dict[int, dict[TopicPartition, FetchedBatch]]:
        return {
            broker: {key: FetchedBatch(None, 0, 0, LastBatch(offset, offset, int(broker == 3), 7, 0)) for key, offset in offsets.items()}
            for broker, offsets in work.items()
        }

    def committed_offsets(self, keys: Collection[TopicPartition], seconds: float, missed: list[str]) -> list[Committed]:
        missed.append("1 partitions of __consumer_offsets have no leader")
        return []


@pytest.mark.parametrize(("topic", "unread"), [("__consumer_offsets", False), ("__transaction_state", False), ("orders", True)])
def test_a_fork_of_an_internal_topic_does_not_wait_for_committed_offsets(topic: str, unread: bool) -> None:
    cluster = LeaderlessCoordinator(topic)
    found = collect_evidence(cluster, [cluster.states[topic, 0]], Budget(5.0))
    assert [pair["relation"] for pair in found.pairs] == ["forked"]
    assert found.offsets_unread == ({(topic, 0)} if unread else set())


@pytest.mark.parametrize("topic", ["__consumer_offsets", "orders"])
def test_a_fork_of_an_internal_topic_does_not_wait_for_offsets_that_were_not_looked_for(
    topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Monitored(LeaderlessCoordinator):
        def committed_offsets(self, keys: Collection[TopicPartition], seconds: float, missed: list[str]) -> list[Committed]:
            return [("monitor", (topic, 0), 5, 0)]

    cluster = Monitored(topic)
    parts: list[float] = []

    def no_time(budget: Budget, share: float = 0.5) -> AbstractContextManager[float]:
        parts.append(share)
        return nullcontext(9.0) if len(parts) < 3 else within(0.0)

    monkeypatch.setattr(Budget, "part", no_time)
    found = collect_evidence(cluster, [cluster.states[topic, 0]], Budget(5.0))
    assert found.missed and found.offsets_unread == ({(topic, 0)} if topic == "orders" else set())


def test_where_logs_fork_survivors_are_asked_for_the_last_record_that_was_read() -> None:
    forked = Read(True, ("a", 5, 0), ("b", 7, -1), ("nothing", 0, 0))
    assert forked.proofs() == [("a", 5, 2, True), ("a", 5, 3, False), ("b", 7, 2, None), ("b", 7, 3, None)]
    assert 4 in forked.probed and 6 not in forked.probed, "an offset without a leader epoch needs no probe"


def test_where_the_log_of_a_fenced_broker_forks_it_is_asked_too_and_survivors_that_do_not_fork_wait_for_nothing() -> None:
    class FencedFork(PartlyRead):
        """Broker 1 is fenced and answers: its log ends at 130, and its batches are of another epoch than those of the survivors."""

        def __init__(self, *committed: tuple[str, int, int]) -> None:
            super().__init__(False, *committed)
            self.cut_off = {1}

        def log_ends(self, work: Mapping[int, Collection[TopicPartition]]) -> dict[int, dict[TopicPartition, LogEnd]]:
            ends = {**ALIVE, 1: 130}
            return {broker: {key: LogEnd(None, ends[broker], 1) for key in keys} for broker, keys in work.items()}

        def batches(
            self, work: Mapping[int, Mapping[TopicPartition, int]], retry_empty: bool = True
        ) -> dict[int, dict[TopicPartition, FetchedBatch]]:
            return {
                broker: {key: FetchedBatch(None, 0, 0, LastBatch(at, at, int(broker == 1), 7, 0)) for key, at in offsets.items()}
                for broker, offsets in work.items()
            }

    found = collect_evidence(FencedFork(("a", 125, 1)), [Controller().states[KEY]], Budget(5.0))
    assert [pair["relation"] for pair in found.pairs] == ["prefix"]
    assert {pair["relation"] for pair in found.fenced_pairs} == {"forked"}
    assert {row["broker_id"]: row["held"] for row in found.proofs} == {1: True, 2: False, 3: False}
    assert not found.offsets_unread


def test_invented_offsets_hide_no_proof() -> None:
    """Any client may commit offsets. Each of them was a request, the greatest first, until the time was over."""
    invented = [(f"x{offset}", offset, 9) for offset in range(51, 99)]
    forked = Read(True, ("readers", 50, 0), *invented)
    proofs = forked.proofs()
    assert [row[1:] for row in proofs if row[0] == "readers"] == [(50, 2, True), (50, 3, False)]
    assert not any(held for name, _offset, _broker, held in proofs if name != "readers")
    assert forked.probed <= {49, *(end - 1 for end in ALIVE.values())}, "none of them is looked for"


def test_evidence_that_is_too_much_at_once_is_refused() -> None:
    states = [PartitionState("t", number, "id", -1, 1, (1, 2, 3), (), (), (), ()) for number in range(28_572)]
    collect.check_size(states[:-1])
    with pytest.raises(
        RecoveryError, match=r"28572 partitions would be 200004 rows .* kafka_recovery_max_evidence_rows=200004, .* partitions_file"
    ):
        collect.check_size(states)
    collect.check_size(states, 200_004)
