# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The standing throttle: which replicas are throttled, check mode, throttles of others, and that absent removes all of the journal's throttles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_config_cluster import Configurable, Move

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import TakenError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import BROKER, TOPIC, Refusal, Resource
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reassignment import OngoingReassignment
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.config_preview import ConfigPreview
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle import executor
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.diff import ThrottleToSet
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal import ThrottleJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal_entries import RUN
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.model import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    AddedReplicas,
    Rate,
    Rates,
    SetRate,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.replicas import ThrottledReplicas
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.run import ReplicationThrottle
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.run_lock import ActiveRun
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.run_throttle import Throttle

NOTHING = {"brokers": 0, "topics": 0, "replicas": 0, "others": 0}


def recovering() -> Configurable:
    """Broker 3 came back and catches up on partition 0 of `t`; broker 2 would, on partition 1, but is dead; `quiet` has no leader."""
    cluster = Configurable()
    cluster.live = {1, 3, 4}
    cluster.states["t", 0] = replace(cluster.states["t", 0], isr=(1,))
    cluster.states["t", 1] = replace(cluster.states["t", 1], isr=(1, 3))
    cluster.states["quiet", 0] = replace(cluster.states["quiet", 0], isr=(), leader=-1)
    return cluster


class Task:
    """What the module does, on a cluster and a workdir. Each call is a task of its own, which returns its report."""

    def __init__(self, workdir: Path) -> None:
        self.workdir = workdir

    def present(
        self,
        cluster: Configurable,
        rates: int | Rates,
        keys: Sequence[TopicPartition] | None = None,
        check: bool = False,
        replicas: Sequence[ThrottledReplicas] | None = None,
        expires_after: float | None = None,
    ) -> dict[str, Any]:
        throttle = self._throttle(cluster, check)
        throttle.present(Rates.same(rates) if isinstance(rates, int) else rates, keys, replicas, expires_after)
        return throttle.report(10)

    def absent(self, cluster: Configurable, check: bool = False) -> dict[str, Any]:
        throttle = self._throttle(cluster, check)
        throttle.absent()
        return throttle.report(10)

    def clean(self, cluster: Configurable, check: bool = False) -> dict[str, Any]:
        throttle = self._throttle(cluster, check)
        throttle.clean()
        return throttle.report(10)

    def _throttle(self, cluster: Configurable, check: bool) -> ReplicationThrottle:
        journal = ThrottleJournal(self.workdir, "east", "abc", read_only=check)
        return ReplicationThrottle(ConfigPreview(cluster) if check else cluster, journal, 0.0)


@pytest.fixture
def task(journal: ThrottleJournal) -> Task:
    return Task(journal.path.parents[1])


def test_what_catches_up_is_throttled_once_and_removed_once(task: Task, journal: ThrottleJournal) -> None:
    cluster = recovering()
    predicted = task.present(cluster, 5000, check=True)
    assert cluster.changes == []
    report = task.present(cluster, 5000)
    assert report == predicted
    assert report["summary"] == {"brokers": 2, "topics": 1, "replicas": 2, "others": 0}
    assert cluster.brokers[1] == cluster.brokers[3] == {LEADER_RATE: "5000", FOLLOWER_RATE: "5000"}
    assert cluster.brokers[2] == cluster.brokers[4] == {}
    assert cluster.topics == {"t": {LEADER_REPLICAS: "0:1", FOLLOWER_REPLICAS: "0:3"}, "quiet": {}}
    assert report["diff"] == {
        "before": "",
        "after": "".join(f"broker {broker}: {config}=5000\n" for broker in (1, 3) for config in (LEADER_RATE, FOLLOWER_RATE))
        + f"topic t: {LEADER_REPLICAS}=0:1\ntopic t: {FOLLOWER_REPLICAS}=0:3\n",
    }
    again = task.present(cluster, 5000)
    assert again["changed"] is False and again["summary"] == NOTHING

    assert task.absent(cluster, check=True)["changed"] is True and cluster.topics["t"]
    removed = task.absent(cluster)
    assert removed["summary"] == report["summary"] and removed["diff"] == {"before": report["diff"]["after"], "after": ""}
    assert cluster.configs() == Configurable().configs()
    assert task.absent(cluster)["changed"] is False


def test_a_throttle_that_nothing_needs_is_not_set_and_a_warning_says_so(journal: ThrottleJournal) -> None:
    for cluster, warned in ((Configurable(), 1), (recovering(), 0)):
        throttle = ReplicationThrottle(cluster, journal, 0.0)
        throttle.present(Rates.same(5000), None)
        assert ["no live replica is out of sync" in text and "throttled_replicas" in text for text in throttle.warnings] == [True] * warned
        assert bool(cluster.changes) is not bool(warned)
    Task(journal.path.parents[1]).absent(cluster)
    named = ReplicationThrottle(Configurable(), journal, 0.0)
    named.present(Rates.same(5000), [("t", 1)])
    assert named.warnings == []


def test_named_partitions_are_throttled_also_where_nothing_is_to_be_copied_yet(task: Task, journal: ThrottleJournal) -> None:
    cluster = Configurable()
    task.present(cluster, 5000, [("t", 1)])
    assert cluster.topics == {"t": {LEADER_REPLICAS: "1:1,1:2,1:3"}, "quiet": {}}
    with pytest.raises(RecoveryError, match="no partition t-9"):
        task.present(cluster, 5000, [("t", 9)])


def test_another_rate_takes_the_place_of_the_first_one(task: Task, journal: ThrottleJournal) -> None:
    cluster = recovering()
    cluster.brokers[1] = {LEADER_RATE: "900"}
    task.present(cluster, 5000)
    predicted = task.present(cluster, 7000, check=True)
    report = task.present(cluster, 7000)
    assert report == predicted
    assert {(row["broker_id"], row["before"], row["after"]) for row in report["rates"]} == {(1, 5000, 7000), (3, 5000, 7000)}
    assert report["replicas"] == []
    # Also where nothing is to be copied any more.
    cluster.states = Configurable().states
    assert task.present(cluster, 8000)["changed"] is True
    assert cluster.brokers[1][LEADER_RATE] == cluster.brokers[3][FOLLOWER_RATE] == "8000"
    task.absent(cluster)
    assert cluster.brokers == {1: {LEADER_RATE: "900"}, 2: {}, 3: {}, 4: {}}


def test_a_run_whose_lock_was_taken_removes_no_throttle_of_the_run_that_took_it(
    journal: ThrottleJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def taken(_run: ActiveRun) -> None:
        raise TakenError("another run moves replicas of this cluster")

    cluster, key = recovering(), ("t", 1)
    with Throttle(cluster, journal, 6000) as throttle:
        throttle.cover({key: Move((1, 2, 3), (1, 4, 3))})
        standing = cluster.configs()
        # The other run moves the same partition, with the same entries of the same journal.
        monkeypatch.setattr(ActiveRun, "confirm", taken)
        throttle.release([key])
        assert cluster.configs() == standing
    assert cluster.configs() == standing and any("another run" in warning for warning in throttle.warnings)


@pytest.mark.slow
def test_while_a_run_is_active_only_its_rate_is_changed_and_nothing_is_removed(task: Task, journal: ThrottleJournal) -> None:
    cluster = recovering()
    task.present(cluster, 5000)
    standing = cluster.configs()
    with Throttle(cluster, journal, 6000) as throttle:
        throttle.cover({("t", 1): Move((1, 2, 3), (1, 4, 3))})
        predicted = task.present(cluster, Rates.same(9000, {1: 20_000}), check=True)
        report = task.present(cluster, Rates.same(9000, {1: 20_000}))
        assert report == predicted and report["run_in_progress"] is True and report["replicas"] == []
        assert cluster.brokers[1] == {LEADER_RATE: "20000", FOLLOWER_RATE: "20000"}
        assert cluster.brokers[4] == {LEADER_RATE: "9000", FOLLOWER_RATE: "9000"}
        assert task.present(cluster, Rates.same(9000, {1: 20_000}))["changed"] is False
        cluster.live.add(2)
        throttle.cover({("t", 1): Move((1, 2, 3), (1, 4, 3))})
        assert cluster.brokers[2] == {LEADER_RATE: "9000", FOLLOWER_RATE: "9000"}, "the rate of broker 1 is broker 1's alone"

        during = cluster.configs()
        for check in (True, False):
            with pytest.raises(RecoveryError, match=r"another run moves replicas of this cluster: process .*; wait until it has ended"):
                task.absent(cluster, check)
            with pytest.raises(RecoveryError, match="change its rate alone, without expires_after"):
                task.present(cluster, 5000, check=check, expires_after=60.0)
            assert task.clean(cluster, check)["changed"] is False
        assert cluster.configs() == during
    assert cluster.configs() == standing


@pytest.mark.slow
@pytest.mark.parametrize("state", ["present", "expiring", "absent", "cleaned"])
def test_the_throttle_of_a_run_that_begins_after_the_first_request_is_left_to_it(task: Task, journal: ThrottleJournal, state: str) -> None:
    cluster = recovering()
    run, began = Throttle(cluster, ThrottleJournal(task.workdir, "east", "abc"), 9000), False

    def begin() -> None:
        nonlocal began
        if not began:
            began = True
            run.__enter__()
            run.cover({("t", 0): Move((1, 2, 3), (1, 2, 4))})

    class Late(ThrottleJournal):
        """A journal that others open once more before this task does."""

        def __enter__(self) -> Late:
            begin()
            return super().__enter__()

    throttle = ReplicationThrottle(cluster, Late(task.workdir, "east", "abc"), 0.0)
    if state == "present":
        throttle.present(Rates.same(5000), None)
        assert throttle.report(10)["run_in_progress"] is True
        assert cluster.brokers[1] == cluster.brokers[4] == {LEADER_RATE: "5000", FOLLOWER_RATE: "5000"}
        assert cluster.brokers[2] == {} and cluster.topics["t"] == {LEADER_REPLICAS: "0:1,0:3", FOLLOWER_REPLICAS: "0:3,0:4"}
    elif state == "cleaned":
        throttle.clean()
        assert throttle.report(10)["changed"] is False
    else:
        with pytest.raises(RecoveryError, match="another run moves replicas of this cluster"):
            throttle.present(Rates.same(5000), None, expires_after=60.0) if state == "expiring" else throttle.absent()
    assert began and cluster.topics["t"][FOLLOWER_REPLICAS], "the entries of the run"
    assert cluster.brokers[4][FOLLOWER_RATE] == ("5000" if state == "present" else "9000")
    run.__exit__(None, None, None)
    assert cluster.configs() == Configurable().configs()


def test_a_throttle_can_be_set_while_a_run_without_one_is_active(task: Task, journal: ThrottleJournal) -> None:
    cluster = recovering()
    before = cluster.configs()
    with Throttle(cluster, journal, None):
        report = task.present(cluster, 5000)
        assert report["run_in_progress"] is False and report["replicas"]
        standing = cluster.configs()
    assert cluster.configs() == standing != before
    with Throttle(cluster, journal, None):
        task.absent(cluster)
    assert cluster.configs() == before


def test_a_run_leaves_what_stands(task: Task, journal: ThrottleJournal) -> None:
    cluster = recovering()
    task.present(cluster, 5000)
    before = cluster.configs()
    with Throttle(cluster, journal, 6000) as throttle:
        throttle.cover({("t", 0): Move((1, 2, 3), (1, 4, 3))})
        assert cluster.brokers[1] == {LEADER_RATE: "6000", FOLLOWER_RATE: "6000"}
    assert cluster.configs() == before
    assert task.absent(cluster)["changed"] is True
    assert cluster.configs() == Configurable().configs(), "it is still ours"


def test_the_throttle_of_a_killed_run_is_removed_first(task: Task, journal: ThrottleJournal) -> None:
    cluster = Configurable()
    cluster.brokers[4] = {LEADER_RATE: "6000"}
    cluster.topics["t"] = {FOLLOWER_REPLICAS: "1:4"}
    with journal as opened:
        opened.record_intent(RUN, [SetRate(4, LEADER_RATE, None, ("6000",))], [AddedReplicas("t", "id-t", FOLLOWER_REPLICAS, ("1:4",))])
    report = task.present(cluster, 5000)
    assert report["rates"] == [{"broker_id": 4, "config": LEADER_RATE, "before": 6000, "after": None}]
    assert report["replicas"] == [{"topic": "t", "config": FOLLOWER_REPLICAS, "change": "removed", "entries": ["1:4"]}]
    assert cluster.configs() == Configurable().configs()


@pytest.mark.parametrize("state", ["absent", "present"])
def test_the_one_request_of_a_stalled_task_is_undone(task: Task, state: str) -> None:
    """It was about to set the throttle when another task removed it, or about to remove it when another one set it."""
    cluster = recovering()
    task.present(cluster, 5000)
    standing = cluster.configs()
    brokers, topics = ({name: dict(configs) for name, configs in found.items()} for found in (cluster.brokers, cluster.topics))

    class Doubtful(ThrottleJournal):
        """The journal of a task that wakes up."""

        def outwait(self) -> bool:
            if state == "absent":
                cluster.brokers, cluster.topics = brokers, topics
            else:
                cluster.brokers = {name: {} for name in brokers}
            return True

    throttle = ReplicationThrottle(cluster, Doubtful(task.workdir, "east", "abc"), 0.0)
    throttle.absent() if state == "absent" else throttle.present(Rates.same(5000), None)
    assert cluster.configs() == (standing if state == "present" else recovering().configs())
    task.absent(cluster)
    assert cluster.configs() == recovering().configs()


def test_throttles_of_others_are_listed_and_stay(task: Task, journal: ThrottleJournal) -> None:
    cluster = recovering()
    cluster.brokers[4] = {LEADER_RATE: "900"}
    cluster.topics = {"t": {LEADER_REPLICAS: "0:1"}, "quiet": {LEADER_REPLICAS: "*"}}
    report = task.present(cluster, 5000)
    assert {(row["resource"], row["name"], row["value"]) for row in report["others"]} == {
        ("broker", "4", "900"),
        ("topic", "t", "0:1"),
        ("topic", "quiet", "*"),
    }
    task.absent(cluster)
    assert cluster.brokers[4] == {LEADER_RATE: "900"}
    assert cluster.topics == {"t": {LEADER_REPLICAS: "0:1"}, "quiet": {LEADER_REPLICAS: "*"}}


def test_a_throttle_that_cannot_be_removed_fails_the_task(task: Task, journal: ThrottleJournal) -> None:
    cluster = recovering()
    task.present(cluster, 5000)
    cluster.live = {1, 4}
    report = task.absent(cluster)
    assert report["failed"] is True and report["changed"] is True
    assert report["msg"].startswith("broker 3 does not answer, and keeps its replication rates: run again when it is back")
    cluster.live = {1, 3, 4}
    assert "failed" not in task.absent(cluster)
    assert cluster.configs() == Configurable().configs()


def test_a_rate_too_low_is_warned_of(task: Task, journal: ThrottleJournal) -> None:
    cluster = recovering()
    cluster.growth = 10**9
    throttle = ReplicationThrottle(cluster, journal, 0.01)
    throttle.present(Rates.same(5000), None)
    assert len(throttle.warnings) == 2 and "broker 3: follower.replication.throttled.rate is 5000 bytes/s" in throttle.warnings[1]


# --- rates and replicas that are named ------------------------------------------------------------------------------


def test_leaders_and_followers_have_rates_of_their_own(task: Task) -> None:
    cluster = recovering()
    rates = Rates(Rate(5000, 7000), {3: Rate(5000, 9000)})
    predicted = task.present(cluster, rates, check=True)
    assert task.present(cluster, rates) == predicted
    assert cluster.brokers[1] == {LEADER_RATE: "5000", FOLLOWER_RATE: "7000"}
    assert cluster.brokers[3] == {LEADER_RATE: "5000", FOLLOWER_RATE: "9000"}


@pytest.mark.parametrize("check", [True, False])
def test_a_broker_or_a_replica_that_is_not_there_is_refused(task: Task, check: bool) -> None:
    cluster = recovering()
    with pytest.raises(
        RecoveryError, match=r"broker_rates names broker 9, which is not registered in this cluster; correct the id: 1, 2, 3, 4 are"
    ):
        task.present(cluster, Rates.same(5000, {9: 6000}), check=check)
    for row, says in (
        (ThrottledReplicas("nowhere", (), ()), "there is no topic nowhere"),
        (ThrottledReplicas("t", ((7, 1),), ()), "7:1 of topic t: there is no partition 7"),
        (ThrottledReplicas("t", (), ((0, 9),)), "0:9 of topic t: broker 9 is not registered"),
    ):
        with pytest.raises(RecoveryError, match=says):
            task.present(cluster, 5000, replicas=[row], check=check)
    assert cluster.changes == []


def test_named_replicas_are_throttled_in_sync_or_not_and_all_of_a_topic_is_a_star(task: Task) -> None:
    cluster = Configurable()
    rows = [ThrottledReplicas("t", ((0, 1), (1, 2)), ((1, 3),)), ThrottledReplicas("quiet", None, ())]
    predicted = task.present(cluster, 5000, replicas=rows, check=True)
    assert task.present(cluster, 5000, replicas=rows) == predicted
    assert cluster.topics == {"t": {LEADER_REPLICAS: "0:1,1:2", FOLLOWER_REPLICAS: "1:3"}, "quiet": {LEADER_REPLICAS: "*"}}
    assert [broker for broker, configs in cluster.brokers.items() if configs] == [1, 2, 3]
    assert task.present(cluster, 5000, replicas=rows)["changed"] is False
    assert task.absent(cluster)["changed"] is True and cluster.configs() == Configurable().configs()


def test_a_star_beside_entries_of_others_is_refused(task: Task) -> None:
    cluster = Configurable()
    cluster.topics["t"] = {LEADER_REPLICAS: "0:1"}
    with pytest.raises(RecoveryError, match=r"leader\.replication\.throttled\.replicas of topic t names replicas .0:1."):
        task.present(cluster, 5000, replicas=[ThrottledReplicas("t", None, None)])
    assert cluster.changes == []


# --- left over, and expired -----------------------------------------------------------------------------------------


def leave_over(cluster: Configurable, journal: ThrottleJournal) -> None:
    """What a killed run has set on broker 1, beside the standing throttle."""
    rate = SetRate(1, LEADER_RATE, cluster.brokers[1].get(LEADER_RATE), ("6000",))
    with journal as opened:
        executor.set_throttle(cluster, opened, ThrottleToSet(RUN, [rate], [AddedReplicas("t", "id-t", FOLLOWER_REPLICAS, ("1:4",))]))


def test_cleaning_takes_out_what_a_killed_run_left_and_not_what_stands(task: Task, journal: ThrottleJournal) -> None:
    cluster = recovering()
    task.present(cluster, 5000)
    standing = cluster.configs()
    assert task.clean(cluster)["changed"] is False
    leave_over(cluster, journal)
    predicted = task.clean(cluster, check=True)
    report = task.clean(cluster)
    assert report == predicted and report["summary"] == {"brokers": 1, "topics": 1, "replicas": 1, "others": 0}
    assert cluster.configs() == standing


def test_moves_in_progress_keep_the_throttle_that_a_run_has_left_on_them(task: Task, journal: ThrottleJournal) -> None:
    cluster = recovering()
    task.present(cluster, 5000)
    standing = cluster.configs()
    moves = {("t", 1): Move((1, 2, 3), (1, 4, 3)), ("quiet", 0): Move((1, 2, 3), (1, 4, 3))}
    cluster.topics["quiet"] = {LEADER_REPLICAS: "0:7"}
    with Throttle(cluster, journal, 6000) as throttle:
        throttle.cover(moves)
        cluster.ongoing = {key: OngoingReassignment((1, 4, 3, 2), (4,), (2,)) for key in moves}
    assert cluster.topics["quiet"][LEADER_REPLICAS] == "0:7,0:1,0:3"
    del cluster.ongoing["quiet", 0]

    # One has arrived: it alone is cleaned. The other one keeps its rates, which may be changed.
    predicted = task.clean(cluster, check=True)
    assert task.clean(cluster) == predicted and predicted["summary"] == {"brokers": 0, "topics": 1, "replicas": 5, "others": 1}
    assert cluster.topics["quiet"] == {LEADER_REPLICAS: "0:7"} and "1:4" in cluster.topics["t"][FOLLOWER_REPLICAS]
    assert cluster.brokers[4] == {LEADER_RATE: "6000", FOLLOWER_RATE: "6000"} and task.clean(cluster)["changed"] is False
    assert task.present(cluster, 7000, check=True) == task.present(cluster, 7000)
    assert cluster.brokers[4] == {LEADER_RATE: "7000", FOLLOWER_RATE: "7000"}
    for option in ({"expires_after": 60.0}, {"replicas": [ThrottledReplicas("t", None, None)]}):
        with pytest.raises(RecoveryError, match="an earlier run has left 1 move in progress with a throttle"):
            task.present(cluster, 5000, **option)

    cluster.ongoing.clear()
    assert task.clean(cluster)["changed"] is True
    del cluster.topics["quiet"][LEADER_REPLICAS]
    assert cluster.configs() == standing


def test_moves_that_a_list_of_others_throttles_keep_the_rates_of_the_run(task: Task, journal: ThrottleJournal) -> None:
    cluster = Configurable()
    cluster.topics["t"] = {LEADER_REPLICAS: "*", FOLLOWER_REPLICAS: "*"}
    with Throttle(cluster, journal, 6000) as throttle:
        throttle.cover({("t", 1): Move((1, 2, 3), (1, 4, 3))})
        cluster.ongoing = {("t", 1): OngoingReassignment((1, 4, 3, 2), (4,), (2,)), ("quiet", 0): OngoingReassignment((1, 4), (4,), ())}
    assert task.clean(cluster)["changed"] is False and cluster.brokers[4]
    del cluster.ongoing["t", 1]
    assert task.clean(cluster)["changed"] is True and not any(cluster.brokers.values())


def test_an_operator_may_remove_the_throttle_of_moves_in_progress(task: Task, journal: ThrottleJournal) -> None:
    cluster = Configurable()
    with Throttle(cluster, journal, 6000) as throttle:
        throttle.cover({("t", 1): Move((1, 2, 3), (1, 4, 3))})
        cluster.ongoing = {("t", 1): OngoingReassignment((1, 4, 3, 2), (4,), (2,))}
    removal = ReplicationThrottle(cluster, journal, 0.0)
    removal.absent()
    assert removal.report(10)["changed"] and len(removal.warnings) == 1
    assert cluster.configs() == Configurable().configs()


def test_check_mode_predicts_what_is_set_in_the_place_of_what_was_left_over(task: Task, journal: ThrottleJournal) -> None:
    cluster = recovering()
    leave_over(cluster, journal)
    predicted = task.present(cluster, 5000, check=True)
    assert predicted == task.present(cluster, 5000)
    rows = [(row["before"], row["after"]) for row in predicted["rates"] if (row["broker_id"], row["config"]) == (1, LEADER_RATE)]
    assert rows == [(6000, None), (None, 5000)]


def test_a_throttle_stays_until_it_expires(task: Task, journal: ThrottleJournal) -> None:
    cluster = recovering()
    report = task.present(cluster, 5000, expires_after=3600.0)
    assert report["expires_at"] is not None and task.clean(cluster)["changed"] is False
    assert task.present(cluster, 5000, expires_after=3600.0)["changed"] is False, "to put it off is no change"
    assert task.present(cluster, 5000, expires_after=60.0)["changed"] is True
    forever = task.present(cluster, 5000)
    assert forever["changed"] is True and forever["expires_at"] is None
    task.present(cluster, 5000, expires_after=60.0)
    expire(journal)
    predicted = task.clean(cluster, check=True)
    report = task.clean(cluster)
    assert report == predicted and report["changed"] is True and report["expires_at"] is None
    assert cluster.configs() == Configurable().configs()


def test_an_expired_throttle_is_removed_before_another_one_is_set(task: Task, journal: ThrottleJournal) -> None:
    cluster = recovering()
    task.present(cluster, 5000, [("t", 1)], expires_after=60.0)
    expire(journal)
    predicted = task.present(cluster, 7000, [("t", 0)], check=True)
    report = task.present(cluster, 7000, [("t", 0)])
    assert report == predicted and report["expires_at"] is None
    assert cluster.topics["t"] == {LEADER_REPLICAS: "0:1", FOLLOWER_REPLICAS: "0:3"}


def expire(journal: ThrottleJournal) -> None:
    """Let the time of the standing throttle be over."""
    with journal as opened:
        assert opened.expiry is not None
        opened.set_expiry(opened.expiry._replace(at="2020-01-01T00:00:00Z"))


@pytest.mark.parametrize("resource", [Resource(BROKER, "1"), Resource(TOPIC, "t")], ids=str)
def test_what_kafka_refuses_is_refused_in_check_mode_too(task: Task, resource: Resource) -> None:
    cluster = recovering()
    cluster.refusing[resource] = Refusal("CLUSTER_AUTHORIZATION_FAILED", None)
    for check in (True, False):
        with pytest.raises(
            RecoveryError, match=f"the throttle of {resource} cannot be set: CLUSTER_AUTHORIZATION_FAILED; grant ALTER_CONFIGS"
        ):
            task.present(cluster, 5000, check=check)


def test_check_mode_leaves_no_file(tmp_path: Path) -> None:
    task = Task(tmp_path / "work")
    for call in (task.absent, task.clean, lambda cluster, check: task.present(cluster, 5000, check=check)):
        call(recovering(), check=True)
    assert list(tmp_path.iterdir()) == []
