# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Leader election: answers that real controllers cannot be made to give, or not to give. Everything else is tested with Kafka."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_controller import Controller
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import preferred_and_unclean_elections
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.backend_elections import MOST_LOOKS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.preferred_and_unclean_elections import LeaderElection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.preferred_and_unclean_outcomes import PREFERRED, UNCLEAN
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import kafka_errors
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import Reason, ReasonCode
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import disk_verdict

OFFLINE = [("t", 0), ("t", 1)]
ONLINE = ("t", 2)
UNSAVED = Reason(ReasonCode.TAIL_NOT_SAVED, "its election would destroy records that are not saved: broker 2 alone holds offsets 7 to 9")
TIERED = Reason(ReasonCode.TIERED_STORAGE, "remote storage may have committed records that broker 3 lacks")


class Elections(Controller):
    """Elects by `Controller.elect_unclean`, or says `says` instead. `asked`: the partitions of each election."""

    def __init__(self, says: Mapping[TopicPartition, str | Refusal | None] | None = None) -> None:
        super().__init__()
        self.says = None if says is None else {key: Refusal(said, None) if isinstance(said, str) else said for key, said in says.items()}
        self.asked: list[list[TopicPartition]] = []

    def elect(self, election_type: str, keys: Collection[TopicPartition]) -> dict[TopicPartition, Refusal | None]:
        assert election_type == UNCLEAN
        self.asked.append(list(keys))
        return self.elect_unclean(keys) if self.says is None else {key: self.says[key] for key in keys if key in self.says}

    def operations(self) -> frozenset[str] | None:
        return frozenset({"DESCRIBE"})

    def registered(self) -> list[Any]:
        return []

    def quorum(self) -> Any:
        raise NotImplementedError

    def unreachable_rows(self) -> list[dict[str, Any]]:
        return []


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting is not what is tested here."""
    monkeypatch.setattr(preferred_and_unclean_elections, "RETRY_SECONDS", 0.0)
    monkeypatch.setattr(preferred_and_unclean_elections, "FIRST_LOOK", 0.0)
    monkeypatch.setattr(preferred_and_unclean_elections, "LAST_LOOK", 0.0)


@pytest.mark.parametrize(("level", "leader"), [(1, 2), (None, 2), (0, 3)])
def test_the_leader_that_is_foreseen_depends_on_the_level_of_the_feature(level: int | None, leader: int) -> None:
    cluster = Elections()
    cluster.states["t", 0] = replace(cluster.states["t", 0], eligible_leader_replicas=(), last_known_elr=(2,), offline_replicas=(1,))
    cluster.levels["eligible.leader.replicas.version"] = level
    assert LeaderElection(cluster, UNCLEAN, [("t", 0)]).results["t", 0].leader == leader


def unclean(cluster: Elections, attempts: int = 3, duration: float = 5.0) -> dict[TopicPartition, tuple[str, int | None, str | None]]:
    election = LeaderElection(cluster, UNCLEAN, None)
    election.elect(duration, attempts)
    return {key: (row.outcome, row.leader, row.error) for key, row in election.results.items()}


@pytest.mark.parametrize(("broker", "safe"), [(1, False), (3, True)], ids=["lost", "alive"])
def test_a_lost_broker_is_not_safe_to_start_after_an_unclean_election(tmp_path: Path, broker: int, safe: bool) -> None:
    path = disk_verdict.path_of(tmp_path, "east", broker)
    verdict = {"broker_id": broker, "safe_to_start": True, "reasons": [], "counts": {}, "path": None, "partitions": None}
    disk_verdict.write(path, "abc", "0", verdict)
    assert LeaderElection(Elections(), UNCLEAN, None).verdicts_withdrawn(tmp_path, "east", "1").warnings == []
    after = disk_verdict.read(tmp_path, path)
    assert after is not None and after["safe_to_start"] is safe


@pytest.mark.parametrize("refused", [False, True])
def test_a_lost_broker_whose_disk_was_never_read_is_not_safe_to_start_after_an_unclean_election(tmp_path: Path, refused: bool) -> None:
    election = LeaderElection(Elections(dict.fromkeys(OFFLINE, "NOT_CONTROLLER") if refused else None), UNCLEAN, None)
    path = disk_verdict.path_of(tmp_path, "east", 1)
    verdicts = election.verdicts_withdrawn(tmp_path, "east", "1")
    assert path.exists()
    election.elect(1.0, 0)
    verdicts.settle([key for key, row in election.results.items() if row.outcome == "elected"])
    assert (path.exists(), verdicts.warnings) == (not refused, [])


@pytest.mark.parametrize("killed", [False, True], ids=["not answered", "sent by a killed run"])
def test_a_lost_broker_is_not_safe_to_start_once_an_election_is_carried_out_late(tmp_path: Path, killed: bool) -> None:
    cluster = Elections(dict.fromkeys(OFFLINE, "NOT_CONTROLLER"))
    election = LeaderElection(cluster, UNCLEAN, None)
    path = disk_verdict.path_of(tmp_path, "east", 1)
    if killed:
        election.verdicts_withdrawn(tmp_path, "east", "1")
    verdicts = election.verdicts_withdrawn(tmp_path, "east", "2")
    election.elect(1.0, 0)
    if not killed:
        cluster.elections_in_doubt = {OFFLINE[0]}
    verdicts.settle([])
    verdict = disk_verdict.read(tmp_path, path)
    assert verdict is not None
    assert not disk_verdict.is_in_force(verdict, cluster.states)
    cluster.elect_unclean(OFFLINE)
    assert disk_verdict.is_in_force(verdict, cluster.states)


def test_a_lost_broker_that_came_back_and_leads_was_not_left_out(tmp_path: Path) -> None:
    cluster = Elections()
    LeaderElection(cluster, UNCLEAN, None).verdicts_withdrawn(tmp_path, "east", "1")  # and the run is killed before its election
    verdict = disk_verdict.read(tmp_path, disk_verdict.path_of(tmp_path, "east", 1))
    assert verdict is not None
    epoch = cluster.states[OFFLINE[0]].leader_epoch
    led = {key: replace(cluster.states[key], leader=1, leader_epoch=epoch + 1) for key in OFFLINE}
    assert not disk_verdict.is_in_force(verdict, led)
    assert disk_verdict.is_in_force(verdict, {**led, OFFLINE[0]: replace(led[OFFLINE[0]], leader_epoch=epoch + 2)})
    assert disk_verdict.is_in_force(verdict, {**led, OFFLINE[1]: replace(led[OFFLINE[1]], leader=3)})


def test_only_what_has_no_leader_is_asked_for_and_a_second_run_asks_for_nothing() -> None:
    cluster = Elections()
    assert unclean(cluster) == {("t", 0): ("elected", 3, None), ("t", 1): ("elected", 2, None)}
    assert cluster.asked == [OFFLINE]
    assert unclean(cluster) == {}
    assert cluster.asked == [OFFLINE]


def test_a_partition_that_the_answer_leaves_out_is_not_called_elected_and_asked_for_again() -> None:
    cluster = Elections({("t", 0): "ELIGIBLE_LEADERS_NOT_AVAILABLE"})
    assert unclean(cluster) == {("t", 0): ("failed", None, "ELIGIBLE_LEADERS_NOT_AVAILABLE"), ("t", 1): ("failed", None, None)}
    assert cluster.asked == [OFFLINE, [("t", 1)], [("t", 1)], [("t", 1)]]


def test_a_verdict_is_not_asked_for_twice_and_no_answer_is_no_verdict() -> None:
    cluster = Elections({("t", 0): kafka_errors.CLUSTER_AUTHORIZATION_FAILED, ("t", 1): "NOT_CONTROLLER"})
    assert unclean(cluster, attempts=2) == {
        ("t", 0): ("failed", None, kafka_errors.CLUSTER_AUTHORIZATION_FAILED),
        ("t", 1): ("failed", None, "NOT_CONTROLLER"),
    }
    assert cluster.asked == [OFFLINE, [("t", 1)], [("t", 1)]], "the attempts are retries, as in KIP-1275"


@pytest.mark.parametrize("error", ["INVALID_REQUEST", "UNSUPPORTED_VERSION", "POLICY_VIOLATION", "UNKNOWN_SERVER_ERROR"])
def test_an_error_that_lasts_by_kafkas_own_classes_is_not_asked_about_again(error: str) -> None:
    cluster = Elections(dict.fromkeys(OFFLINE, error))
    assert {row[0] for row in unclean(cluster).values()} == {"failed"}
    assert cluster.asked == [OFFLINE]


def test_what_kafka_says_beside_an_error_is_kept_for_each_partition_and_in_the_summary() -> None:
    said = "Broker 1 is in controlled shutdown."
    cluster = Elections({("t", 0): Refusal("NOT_CONTROLLER", said), ("t", 1): None})
    election = LeaderElection(cluster, UNCLEAN, None)
    election.elect(0.0, 0)
    assert election.results["t", 0].error_message == said
    report = election.report(20)
    assert {row["partition"]: row["error_message"] for row in report["results"]} == {0: said, 1: None}
    assert f"Kafka says: {said}" in report["msg"]


class Hanging(Elections):
    """Leaders are elected during the first attempt, which raises an error. `is_got`: whether a broker has got it, and so it may have elected them."""

    def __init__(self, is_got: bool) -> None:
        super().__init__()
        self.is_got = is_got

    def elect(self, election_type: str, keys: Collection[TopicPartition]) -> dict[TopicPartition, Refusal | None]:
        if self.asked:
            return dict.fromkeys(keys, Refusal(kafka_errors.ELECTION_NOT_NEEDED, None))
        super().elect(election_type, keys)
        if self.is_got:
            self.elections_in_doubt.update(keys)
        raise ClusterError("no broker answered")


def test_what_a_request_without_an_answer_elected_counts_as_elected() -> None:
    assert unclean(Hanging(is_got=True)) == {("t", 0): ("elected", 3, None), ("t", 1): ("elected", 2, None)}
    assert unclean(Hanging(is_got=True), attempts=0) == {("t", 0): ("failed", None, None), ("t", 1): ("failed", None, None)}


def test_what_another_tool_elected_does_not_count_as_elected_by_a_request_that_was_never_sent() -> None:
    needless = kafka_errors.ELECTION_NOT_NEEDED
    assert unclean(Hanging(is_got=False)) == {("t", 0): ("already_online", 3, needless), ("t", 1): ("already_online", 2, needless)}


class Changing(Elections):
    """Answers no election. `changes`: fields of t-0 that are others after the first one."""

    def __init__(self, **changes: Any) -> None:
        super().__init__()
        self.changes = changes

    def elect(self, election_type: str, keys: Collection[TopicPartition]) -> dict[TopicPartition, Refusal | None]:
        self.asked.append(list(keys))
        self.states["t", 0] = replace(self.states["t", 0], **self.changes)
        raise ClusterError("no broker answered")


@pytest.mark.parametrize(
    ("changes", "reason_code"),
    [
        ({"leader_epoch": 2}, "leader_epoch_changed"),
        ({"replicas": (2, 1, 3)}, "other_order"),
        ({"replicas": (1, 3, 4)}, "replicas_changed"),
        ({"topic_id": "another"}, "topic_recreated"),
    ],
)
def test_a_partition_that_has_changed_since_an_attempt_is_not_asked_for_again(changes: dict[str, Any], reason_code: str) -> None:
    """What was checked before the first attempt does not hold for it."""
    cluster = Changing(**changes)
    election = LeaderElection(cluster, UNCLEAN, OFFLINE)
    election.elect(5.0, 2)
    assert cluster.asked == [OFFLINE, OFFLINE[1:], OFFLINE[1:]]
    assert (election.results[OFFLINE[0]].outcome, election.results[OFFLINE[0]].reason_code) == ("failed", reason_code)


def test_a_partition_that_has_a_leader_since_an_attempt_is_not_asked_for_again() -> None:
    class Led(Elections):
        def elect(self, election_type: str, keys: Collection[TopicPartition]) -> dict[TopicPartition, Refusal | None]:
            answers = super().elect(election_type, keys)
            self._lead(OFFLINE[0], 2)
            return answers

    cluster = Led(dict.fromkeys(OFFLINE, "NOT_CONTROLLER"))
    assert unclean(cluster, attempts=1) == {
        OFFLINE[0]: ("already_online", 2, kafka_errors.ELECTION_NOT_NEEDED),
        OFFLINE[1]: ("failed", None, "NOT_CONTROLLER"),
    }
    assert cluster.asked == [OFFLINE, OFFLINE[1:]]


def test_a_partition_whose_topic_is_gone_since_an_attempt_is_not_asked_for_again() -> None:
    class Deleted(Changing):
        def partitions(self, keys: Collection[TopicPartition] | None = None) -> Any:
            return {key: state for key, state in super().partitions(keys).items() if not self.asked or key != OFFLINE[0]}

    cluster = Deleted()
    assert unclean(cluster, attempts=1)[OFFLINE[0]] == ("failed", None, kafka_errors.UNKNOWN_TOPIC_OR_PARTITION)
    assert cluster.asked == [OFFLINE, OFFLINE[1:]]


def test_records_that_were_written_since_an_attempt_hold_their_partition() -> None:
    """The leader that is expected may be another one, too."""
    cluster = Changing(offline_replicas=(1, 3))
    election = LeaderElection(cluster, UNCLEAN, OFFLINE)
    expected: list[Mapping[TopicPartition, int]] = []

    def reasons_to_hold(leaders: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, Reason]:
        expected.append(dict(leaders))
        return {OFFLINE[0]: UNSAVED} if cluster.asked else {}

    election.hold_unsaved(reasons_to_hold)
    election.elect(5.0, 1)
    assert expected == [{OFFLINE[0]: 3, OFFLINE[1]: 2}, {OFFLINE[0]: 2, OFFLINE[1]: 2}]
    assert cluster.asked == [OFFLINE, OFFLINE[1:]]
    assert (election.results[OFFLINE[0]].outcome, election.results[OFFLINE[0]].reason_code) == ("held", "tail_not_saved")


def test_an_attempt_whose_partitions_cannot_be_read_again_is_not_made() -> None:
    class Unreadable(Changing):
        reads = 0

        def partitions(self, keys: Collection[TopicPartition] | None = None) -> Any:
            self.reads += 1 if self.asked else 0
            if self.reads == 1:
                raise ClusterError("no broker answered")
            return super().partitions(keys)

    cluster = Unreadable()
    assert {row[0] for row in unclean(cluster, attempts=2).values()} == {"failed"}
    assert cluster.asked == [OFFLINE, OFFLINE]


def test_an_election_that_timed_out_on_its_way_to_the_controller_may_be_made() -> None:
    class Slow(Elections):
        def elect(self, election_type: str, keys: Collection[TopicPartition]) -> dict[TopicPartition, Refusal | None]:
            if self.asked:
                return dict.fromkeys(keys, Refusal(kafka_errors.ELECTION_NOT_NEEDED, None))
            super().elect(election_type, keys)
            return dict.fromkeys(keys, Refusal("REQUEST_TIMED_OUT", None))

    assert unclean(Slow()) == {("t", 0): ("elected", 3, None), ("t", 1): ("elected", 2, None)}


def test_an_election_that_kafka_confirms_and_no_broker_shows_fails() -> None:
    cluster = Elections({("t", 0): None, ("t", 1): None})
    assert unclean(cluster, duration=0.0) == {("t", 0): ("failed", None, None), ("t", 1): ("failed", None, None)}


def test_a_question_for_leaders_that_fails_once_is_put_again() -> None:
    class Deaf(Elections):
        def partitions(self, keys: Collection[TopicPartition] | None = None) -> Any:
            if len(self.asked) == 1 and self.requests < 6:
                self.requests += 1
                raise ClusterError("no broker answered")
            return super().partitions(keys)

    assert {row[0] for row in unclean(Deaf()).values()} == {"elected"}


def test_batches_that_a_signal_comes_before_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preferred_and_unclean_elections, "BATCH", 1)
    cluster = Elections()
    election = LeaderElection(cluster, UNCLEAN, None)
    election.elect(5.0, 3, lambda: "SIGTERM" if cluster.asked else None)
    assert [row.outcome for row in election.results.values()] == ["elected", "held"]
    report = election.report(20, "SIGTERM")
    assert report["failed"] is True and report["changed"] is True
    assert report["msg"].startswith("interrupted by SIGTERM, 1 partitions were not reached, run again to go on")
    assert report["diff"] == {"before": "t-0: no leader\n", "after": "t-0: leader 3\n"}


@given(st.integers(1, 7), st.integers(0, 20))
def test_every_partition_is_in_one_batch_and_none_is_too_big(size: int, count: int) -> None:
    cluster = Elections()
    cluster.states = {("t", number): replace(cluster.states["t", 0], partition=number) for number in range(count)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preferred_and_unclean_elections, "BATCH", size)
        assert {row[0] for row in unclean(cluster).values()} <= {"elected"}
    assert [key for batch in cluster.asked for key in batch] == [("t", number) for number in range(count)]
    assert all(0 < len(batch) <= size for batch in cluster.asked)


def test_transaction_state_is_elected_only_where_it_is_named() -> None:
    cluster = Elections()
    key = "__transaction_state", 0
    cluster.states = {key: replace(cluster.states["t", 0], topic=key[0]), ("t", 1): cluster.states["t", 1]}
    assert unclean(cluster) == {key: ("held", None, None), ("t", 1): ("elected", 2, None)}
    election = LeaderElection(cluster, UNCLEAN, [key])
    election.elect(5.0, 1)
    assert election.results[key].outcome == "elected"


def test_without_leave_to_lose_data_or_to_alter_nothing_is_asked_for() -> None:
    cluster = Elections()
    election = LeaderElection(cluster, UNCLEAN, [*OFFLINE, ONLINE])
    election.hold_all()
    assert [(row.outcome, row.leader) for row in election.results.values()] == [("held", None), ("held", None), ("already_online", 3)]
    report = election.report(20)
    assert report["changed"] is False and "failed" not in report and report["summary"]["held"] == 2

    forbidden = LeaderElection(cluster, UNCLEAN, [*OFFLINE, ONLINE])
    forbidden.predict()
    assert [row.error for row in forbidden.results.values()] == [
        kafka_errors.CLUSTER_AUTHORIZATION_FAILED,
        kafka_errors.CLUSTER_AUTHORIZATION_FAILED,
        kafka_errors.ELECTION_NOT_NEEDED,
    ]
    assert cluster.asked == []


@pytest.mark.parametrize("why", [UNSAVED, TIERED])
def test_an_election_that_destroys_or_hides_records_is_held_and_named_in_the_error(why: Reason) -> None:
    cluster = Elections()
    election = LeaderElection(cluster, UNCLEAN, [*OFFLINE, ONLINE])
    expected: dict[TopicPartition, int] = {}

    def reasons_to_hold(leaders: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, Reason]:
        expected.update(leaders)
        return {OFFLINE[0]: why}

    election.hold_unsaved(reasons_to_hold)
    election.elect(5.0, 1)
    assert expected == {OFFLINE[0]: 3, OFFLINE[1]: 2}
    assert cluster.asked == [[OFFLINE[1]]]
    report = election.report(20)
    assert (report["failed"], report["changed"], report["summary"]["held"]) == (True, True, 1)
    assert [row["reason_code"] for row in report["results"] if row["outcome"] == "held"] == [why.code]
    for text in ("1 of 3 partitions", "t-0", why.sentence):
        assert text in report["msg"]


def test_a_preferred_election_is_for_partitions_with_another_leader_or_none() -> None:
    cluster = Elections()
    assert list(LeaderElection(cluster, PREFERRED, None).results) == OFFLINE
    cluster.states[ONLINE] = replace(cluster.states[ONLINE], leader=1)
    assert list(LeaderElection(cluster, PREFERRED, None).results) == [*OFFLINE, ONLINE]


class MovedMeanwhile(Elections):
    """The first request lasts so long that meanwhile another tool moves the other partition, or it gets and loses a leader."""

    def __init__(self, **changes: Any) -> None:
        super().__init__()
        self.changes = changes

    def elect(self, election_type: str, keys: Collection[TopicPartition]) -> dict[TopicPartition, Refusal | None]:
        if not self.asked:
            time.sleep(0.3)
            self.states[OFFLINE[1]] = replace(self.states[OFFLINE[1]], **self.changes)
        return super().elect(election_type, keys)


@pytest.mark.parametrize("changes", [{"topic_id": "other"}, {"replicas": (3, 2, 4)}, {"replicas": (3, 2, 1)}, {"leader_epoch": 3}])
def test_a_batch_that_waited_for_the_one_before_it_is_checked_again(monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]) -> None:
    monkeypatch.setattr(preferred_and_unclean_elections, "BATCH", 1)
    monkeypatch.setattr(preferred_and_unclean_elections, "OLD_SECONDS", 0.2)
    cluster = MovedMeanwhile(**changes)
    assert unclean(cluster, attempts=0)[OFFLINE[1]] == ("failed", None, None)
    assert cluster.asked == [[OFFLINE[0]]]


@pytest.mark.parametrize("changes", [{}, {"offline_replicas": (1, 3)}], ids=["as it was", "another leader is expected"])
def test_a_batch_that_waited_has_its_turn_and_logs_are_compared_again_only_of_partitions_that_have_changed(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    monkeypatch.setattr(preferred_and_unclean_elections, "BATCH", 1)
    monkeypatch.setattr(preferred_and_unclean_elections, "OLD_SECONDS", 0.2)
    cluster = MovedMeanwhile(**changes)
    election = LeaderElection(cluster, UNCLEAN, OFFLINE)
    compared: list[list[TopicPartition]] = []

    def reasons_to_hold(leaders: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, Reason]:
        compared.append([*leaders])
        return {}

    election.hold_unsaved(reasons_to_hold)
    election.elect(0.0, 0)
    assert compared == [OFFLINE, *([OFFLINE[1:]] if changes else [])]
    assert cluster.asked == [OFFLINE[:1], OFFLINE[1:]]


@pytest.mark.parametrize("slow", [1, 2], ids=["before the first attempt", "before the second attempt"])
def test_an_election_is_not_requested_by_states_from_before_a_long_comparison_of_logs(monkeypatch: pytest.MonkeyPatch, slow: int) -> None:
    monkeypatch.setattr(preferred_and_unclean_elections, "OLD_SECONDS", 0.2)
    cluster = Elections(dict.fromkeys(OFFLINE, "NOT_CONTROLLER"))
    election = LeaderElection(cluster, UNCLEAN, OFFLINE)
    compared: list[Mapping[TopicPartition, int]] = []

    def reasons_to_hold(leaders: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, Reason]:
        compared.append(leaders)
        if len(compared) == slow:
            time.sleep(0.3)
            cluster.states[OFFLINE[0]] = replace(cluster.states[OFFLINE[0]], leader_epoch=3)
        return {}

    election.hold_unsaved(reasons_to_hold)
    election.elect(5.0, 1)
    assert cluster.asked == [*([OFFLINE] if slow == 2 else []), *([OFFLINE[1:]] * (3 - slow))]


def test_a_first_attempt_whose_partitions_cannot_be_read_again_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unreadable(Elections):
        reads = 0

        def partitions(self, keys: Collection[TopicPartition] | None = None) -> Any:
            self.reads += 1
            if self.reads > 1:
                raise ClusterError("no broker answered")
            return super().partitions(keys)

    cluster = Unreadable()
    election = LeaderElection(cluster, UNCLEAN, OFFLINE)
    monkeypatch.setattr(preferred_and_unclean_elections, "OLD_SECONDS", -1.0)
    election.elect(5.0, 0)
    assert {row.reason_code for row in election.results.values()} == {"request_failed"}
    assert cluster.asked == []


def test_partitions_of_a_cluster_that_is_slow_are_read_a_few_times_and_not_again_after_a_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preferred_and_unclean_elections, "BATCH", 1)
    monkeypatch.setattr(preferred_and_unclean_elections, "OLD_SECONDS", 0.01)

    class Slow(Elections):
        reads = 0

        def partitions(self, keys: Collection[TopicPartition] | None = None) -> Any:
            self.reads += 1
            assert self.reads < 10
            time.sleep(0.02)
            return super().partitions(keys)

    cluster = Slow()
    election = LeaderElection(cluster, UNCLEAN, OFFLINE)
    election.elect(60.0, 0, lambda: "SIGTERM" if cluster.reads > 1 else None)
    assert (cluster.reads, cluster.asked) == (1 + MOST_LOOKS, [])
    assert [(row.outcome, row.reason_code) for row in election.results.values()] == [("failed", "request_failed"), ("held", "interrupted")]
