# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Throttling: in the end everything is as it was before, however the run ended, and what others have set is never touched."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from fake_config_cluster import Configurable, Killed, Move

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError, RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import BROKER, TOPIC, Refusal, Resource
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reassignment import OngoingReassignment
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle import executor
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.diff import ThrottleToSet, plan_rate_change
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.executor import remove_left_over
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal import ThrottleJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal_entries import RUN, STANDING, Expiry
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.model import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    Rates,
    SetRate,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.run_throttle import Throttle

ZERO, ONE = ("t", 0), ("t", 1)
MOVES = {ZERO: Move((1, 2, 3), (1, 2, 4)), ONE: Move((1, 2, 3), (4, 2, 3))}
RATES = {LEADER_RATE: "5000", FOLLOWER_RATE: "5000"}


def by_others() -> Configurable:
    """A cluster with throttles that others have set."""
    cluster = Configurable()
    cluster.brokers[1] = {LEADER_RATE: "900", FOLLOWER_RATE: "5000"}
    cluster.topics["t"] = {LEADER_REPLICAS: "0:1,7:7", FOLLOWER_REPLICAS: ""}
    cluster.topics["quiet"] = {LEADER_REPLICAS: "*"}
    return cluster


def test_moves_are_throttled_exactly_while_they_last(journal: ThrottleJournal) -> None:
    cluster = Configurable()
    with Throttle(cluster, journal, 5000) as throttle:
        throttle.cover({ZERO: MOVES[ZERO]})
        assert cluster.brokers == dict.fromkeys((1, 2, 3, 4), RATES)
        assert cluster.topics["t"] == {LEADER_REPLICAS: "0:1,0:2,0:3", FOLLOWER_REPLICAS: "0:4"}
        throttle.cover({ONE: MOVES[ONE]})
        assert cluster.topics["t"] == {LEADER_REPLICAS: "0:1,0:2,0:3,1:1,1:2,1:3", FOLLOWER_REPLICAS: "0:4,1:4"}
        throttle.release([ZERO])
        assert cluster.topics["t"] == {LEADER_REPLICAS: "1:1,1:2,1:3", FOLLOWER_REPLICAS: "1:4"}
        throttle.release([ONE])
        assert cluster.topics["t"] == {}
    assert cluster.configs() == Configurable().configs() and throttle.warnings == []


def test_what_others_have_set_is_there_again(journal: ThrottleJournal) -> None:
    cluster = by_others()
    with Throttle(cluster, journal, 5000) as throttle:
        throttle.cover({**MOVES, ("quiet", 0): Move((1, 2), (1, 4))})
        assert cluster.brokers[1] == RATES
        assert cluster.topics["t"][LEADER_REPLICAS] == "0:1,7:7,0:2,0:3,1:1,1:2,1:3"
        assert cluster.topics["quiet"] == {LEADER_REPLICAS: "*", FOLLOWER_REPLICAS: "0:4"}
        with journal as opened:
            executor.set_throttle(cluster, opened, plan_rate_change(cluster, opened, RUN, Rates.same(6000)))
    (warning,) = throttle.warnings
    assert warning.startswith("broker 1: leader.replication.throttled.rate is 900") and "5000" in warning
    assert cluster.configs() == by_others().configs()


def test_what_others_set_meanwhile_stays(journal: ThrottleJournal) -> None:
    cluster = Configurable()
    with Throttle(cluster, journal, 5000) as throttle:
        throttle.cover(MOVES)
        cluster.brokers[2][LEADER_RATE] = "777"
        cluster.topics["t"][LEADER_REPLICAS] += ",9:9"
    assert cluster.brokers == {1: {}, 2: {LEADER_RATE: "777"}, 3: {}, 4: {}}
    assert cluster.topics["t"] == {LEADER_REPLICAS: "9:9"}


@pytest.mark.parametrize("name", ["alter_configs", "topic_configs_of"])
def test_what_others_add_while_the_throttle_is_removed_stays(journal: ThrottleJournal, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A broker that hangs can keep the removal waiting between any two requests."""
    cluster = Configurable()
    request = getattr(cluster, name)

    def slow(*arguments: Any, **options: Any) -> Any:
        answer = request(*arguments, **options)
        cluster.topics["t"][LEADER_REPLICAS] += ",0:91"
        monkeypatch.undo()
        return answer

    with Throttle(cluster, journal, 5000) as throttle:
        throttle.cover(MOVES)
        monkeypatch.setattr(cluster, name, slow)
    assert cluster.topics["t"] == {LEADER_REPLICAS: "0:91"} and throttle.warnings == []


def test_a_move_that_copies_nothing_is_not_throttled(journal: ThrottleJournal) -> None:
    cluster = Configurable()
    with Throttle(cluster, journal, 5000) as throttle:
        unknown = throttle.cover({ZERO: Move((1, 2, 3), (3, 1)), ("unknown", 0): Move((1,), (2,))})
        assert cluster.changes == [] and unknown == {("unknown", 0)}


def test_without_a_rate_nothing_is_throttled(journal: ThrottleJournal) -> None:
    cluster = Configurable()
    with Throttle(cluster, journal, None) as throttle:
        throttle.cover(MOVES)
        throttle.release(MOVES)
    assert cluster.changes == []


def test_a_run_that_has_removed_its_throttle_is_not_active(journal: ThrottleJournal, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    closed = ThrottleJournal.__exit__

    def close(opened: ThrottleJournal, *error: Any) -> None:
        closed(opened, *error)
        seen.append((bool(opened.rates()), opened.run_lock.is_active()))

    with Throttle(Configurable(), journal, 6000) as throttle:
        throttle.cover(MOVES)
        monkeypatch.setattr(ThrottleJournal, "__exit__", close)
    assert seen == [(False, False)], "the next process that opens the journal"


@pytest.mark.parametrize("error", [RecoveryError("x"), KeyboardInterrupt(), ClusterError("y")])
def test_the_throttle_is_removed_however_the_run_ends(journal: ThrottleJournal, error: BaseException) -> None:
    cluster = by_others()
    with pytest.raises(type(error)), Throttle(cluster, journal, 6000) as throttle:
        throttle.cover(MOVES)
        raise error
    assert cluster.configs() == by_others().configs()


def run(cluster: Configurable, journal: ThrottleJournal) -> None:
    with Throttle(cluster, journal, 5000) as throttle:
        throttle.cover({ZERO: MOVES[ZERO]})
        throttle.cover({ONE: MOVES[ONE]})
        throttle.release([ZERO])


def steps() -> int:
    """How many requests an undisturbed run takes."""
    return 33


@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("end_at", range(1, steps() + 1))
def test_killed_before_or_after_any_request_the_next_run_takes_it_all_out(
    journal: ThrottleJournal, monkeypatch: pytest.MonkeyPatch, end_at: int, after: bool, moving: bool
) -> None:
    cluster = by_others()
    cluster.end_at, cluster.after = end_at, after
    with monkeypatch.context() as patch:
        # A killed process puts nothing in order, and its locks are released.
        leave = Throttle.__exit__
        patch.setattr(Throttle, "__exit__", lambda self, kind, *rest: self._active.end() if kind is Killed else leave(self, kind, *rest))
        try:
            run(cluster, journal)
        except Killed:
            pass
        else:
            assert end_at > cluster.requests, "more steps than are tried: raise steps()"
    cluster.end_at = None
    if moving:
        listed, rates = "1:4" in cluster.topics["t"][FOLLOWER_REPLICAS], dict(cluster.brokers[4])
        cluster.ongoing = {ONE: OngoingReassignment((4, 2, 3, 1), (4,), (1,))}
        with Throttle(cluster, journal, None):
            pass
        assert cluster.topics["t"][FOLLOWER_REPLICAS] == ("1:4" if listed else "")
        assert not listed or cluster.brokers[4] == rates
        cluster.ongoing.clear()
    with Throttle(cluster, journal, None):
        pass
    assert cluster.configs() == by_others().configs()
    count = len(cluster.changes)
    with Throttle(cluster, journal, None):
        pass
    assert len(cluster.changes) == count, "nothing is left to remove"


def test_the_steps_tried_are_all_there_are(journal: ThrottleJournal) -> None:
    cluster = by_others()
    run(cluster, journal)
    assert 10 < cluster.requests < steps()


def test_a_broker_that_dies_in_the_middle_keeps_its_rates_until_it_is_back(journal: ThrottleJournal) -> None:
    cluster = Configurable()
    with Throttle(cluster, journal, 5000) as throttle:
        throttle.cover(MOVES)
        cluster.live.discard(4)
    assert cluster.brokers == {1: {}, 2: {}, 3: {}, 4: RATES} and cluster.topics["t"] == {}
    (warning,) = throttle.warnings
    assert warning.startswith("broker 4 does not answer, and keeps its replication rates: run again when it is back, or name controller")
    with Throttle(cluster, journal, None) as throttle:
        assert not throttle.removed, "what is left as it was has not changed"
    cluster.live.add(4)
    with Throttle(cluster, journal, None) as throttle:
        assert throttle.removed.summary == {"brokers": 1, "topics": 0, "replicas": 0}
    assert cluster.configs() == Configurable().configs() and throttle.warnings == []


def test_dead_brokers_get_no_rate_and_one_that_comes_back_is_covered_the_next_time(journal: ThrottleJournal) -> None:
    cluster = Configurable()
    cluster.live.discard(3)
    with Throttle(cluster, journal, 5000) as throttle:
        throttle.cover(MOVES)
        assert cluster.brokers[3] == {} and "0:3" not in cluster.topics["t"][LEADER_REPLICAS]
        cluster.live.add(3)
        throttle.cover(MOVES)
        assert cluster.brokers[3] == RATES and "0:3" in cluster.topics["t"][LEADER_REPLICAS]
    assert cluster.configs() == Configurable().configs()


def test_entries_are_removed_one_by_one_even_if_brokers_do_not_show_them_yet(
    journal: ThrottleJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Configurable()
    monkeypatch.setattr(cluster, "topic_configs_of", lambda topics, names: {topic: {} for topic in topics})
    with Throttle(cluster, journal, 5000) as throttle:
        throttle.cover(MOVES)
        throttle.release([ZERO])
        assert cluster.topics["t"] == {LEADER_REPLICAS: "1:1,1:2,1:3", FOLLOWER_REPLICAS: "1:4"}
    assert cluster.configs() == Configurable().configs()


@pytest.mark.parametrize("late", [(LEADER_REPLICAS,), (FOLLOWER_REPLICAS,), (LEADER_REPLICAS, FOLLOWER_REPLICAS)])
def test_a_list_that_brokers_show_late_stays_in_the_journal(
    journal: ThrottleJournal, monkeypatch: pytest.MonkeyPatch, late: tuple[str, ...]
) -> None:
    cluster = Configurable()
    with Throttle(cluster, journal, 5000) as throttle:
        throttle.cover(MOVES)
        before = cluster.topic_configs_of(["t"], late)["t"]
        read = cluster.topic_configs_of
        with monkeypatch.context() as patch:
            patch.setattr(cluster, "topic_configs_of", lambda topics, names: {"t": {**read(topics, names)["t"], **before}})
            throttle.release(MOVES)
        assert cluster.topics["t"] == dict.fromkeys(late, "")
    assert cluster.configs() == Configurable().configs()


def test_what_kafkas_tool_has_removed_is_set_again_the_next_time(journal: ThrottleJournal) -> None:
    cluster = Configurable()
    with Throttle(cluster, journal, 5000) as throttle:
        throttle.cover({ZERO: MOVES[ZERO]})
        cluster.brokers[1], cluster.topics["t"] = {}, {}
        throttle.cover(MOVES)
        assert cluster.brokers[1] == RATES
        assert cluster.topics["t"] == {LEADER_REPLICAS: "0:1,0:2,0:3,1:1,1:2,1:3", FOLLOWER_REPLICAS: "0:4,1:4"}
    assert cluster.configs() == Configurable().configs()


def test_a_topic_that_is_deleted_meanwhile_is_left_out(journal: ThrottleJournal) -> None:
    cluster = Configurable()
    with Throttle(cluster, journal, 5000) as throttle:
        throttle.cover(MOVES)
        del cluster.topics["t"], cluster.states[ZERO], cluster.states["t", 1]
    assert throttle.warnings == [] and all(not configs for configs in cluster.brokers.values())
    with journal as opened:
        assert opened.replicas([RUN])[RUN] == []


def test_a_topic_that_is_created_again_keeps_what_it_has(journal: ThrottleJournal) -> None:
    cluster = Configurable()
    with Throttle(cluster, journal, 5000) as throttle:
        throttle.cover(MOVES)
        cluster.topics["t"] = {LEADER_REPLICAS: "0:1"}
        cluster.states[ZERO] = cluster.states[ZERO].__class__("t", 0, "id-new", 1, 0, (1,), (1,), (), (), ())
    assert cluster.topics["t"] == {LEADER_REPLICAS: "0:1"}


def test_entries_that_a_broker_may_still_set_stay_recorded_until_it_answers(journal: ThrottleJournal) -> None:
    cluster = Configurable()
    with Throttle(cluster, journal, 5000) as throttle:
        throttle.cover(MOVES)
        cluster.configs_in_doubt, cluster.hanging = {Resource(TOPIC, "t"): {3}}, {3}
    (warning,) = throttle.warnings
    assert "broker 3 got a change of the throttled replicas of topic t and never answered" in warning
    cluster.topics["t"] = {FOLLOWER_REPLICAS: "0:4"}  # as it goes on
    cluster.hanging = set()
    with journal as opened:
        assert remove_left_over(cluster, opened)[1] == []
        assert opened.replicas([RUN])[RUN] == []
    assert cluster.configs() == Configurable().configs()


def test_rates_that_a_broker_may_still_set_stay_recorded_until_it_answers(journal: ThrottleJournal) -> None:
    cluster = Configurable()
    with Throttle(cluster, journal, 5000) as throttle:
        throttle.cover(MOVES)
        # It is cut off from the controllers: it answers reads, and sends the change on once it reaches them.
        rates, cluster.brokers[3] = cluster.brokers[3], {}
        cluster.configs_in_doubt, cluster.hanging = {Resource(BROKER, "3"): {3}}, {3}
    (warning,) = throttle.warnings
    assert "broker 3 got a change of its replication rates and never answered" in warning
    cluster.brokers[3] = rates
    cluster.hanging = set()
    with journal as opened:
        assert remove_left_over(cluster, opened)[1] == []
        assert opened.rates([RUN]) == {}
    assert cluster.configs() == Configurable().configs()


@pytest.mark.parametrize("alone", [False, True], ids=["a second broker has it", "no second broker"])
@pytest.mark.parametrize("created_again", [False, True])
def test_one_broker_alone_does_not_make_the_journal_forget_a_throttle(journal: ThrottleJournal, created_again: bool, alone: bool) -> None:
    cluster = Configurable()
    topic, states = cluster.topics["t"], dict(cluster.states)
    cluster.stated = None if alone else states
    with Throttle(cluster, journal, 5000) as throttle:
        throttle.cover(MOVES)
        if created_again:
            cluster.states[ZERO] = replace(cluster.states[ZERO], topic_id="another")
        else:
            del cluster.topics["t"], cluster.states[ZERO], cluster.states["t", 1]
    (warning,) = throttle.warnings
    assert "the throttle of topic t stays recorded: one broker states that its topic was deleted or created again" in warning
    assert topic != {}
    cluster.topics["t"], cluster.states = topic, states
    with journal as opened:
        assert remove_left_over(cluster, opened)[1] == []
    assert cluster.configs() == Configurable().configs()


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        (
            Resource(BROKER, "2"),
            "the throttle of broker 2 cannot be set: CLUSTER_AUTHORIZATION_FAILED: no; grant ALTER_CONFIGS on the cluster",
        ),
        (Resource(TOPIC, "t"), "the throttle of topic t cannot be set: CLUSTER_AUTHORIZATION_FAILED: no; grant ALTER_CONFIGS on the topic"),
    ],
)
def test_a_refusal_names_the_remedy_and_the_rest_is_removed(journal: ThrottleJournal, resource: Resource, expected: str) -> None:
    cluster = Configurable()
    cluster.refusing[resource] = Refusal("CLUSTER_AUTHORIZATION_FAILED", "no")
    with pytest.raises(RecoveryError, match=expected), Throttle(cluster, journal, 5000) as throttle:
        throttle.cover(MOVES)
    assert cluster.configs() == Configurable().configs()


def test_a_throttle_that_cannot_be_removed_is_named_and_stays_in_the_journal(journal: ThrottleJournal) -> None:
    cluster = Configurable()
    with Throttle(cluster, journal, 5000) as throttle:
        throttle.cover(MOVES)
        cluster.mute = True
    assert throttle.warnings == ["no broker answered: 2 throttle configs may still be set"]
    assert cluster.topics["t"] and not any(cluster.brokers.values())
    cluster.mute = False
    with Throttle(cluster, journal, 5000):
        assert cluster.configs() == Configurable().configs()


def test_the_rate_is_changed_while_a_run_lives_and_the_run_keeps_to_it(journal: ThrottleJournal) -> None:
    cluster = Configurable()
    cluster.live.discard(3)
    with Throttle(cluster, journal, 5000) as throttle:
        throttle.cover({ZERO: MOVES[ZERO]})
        cluster.brokers[2][LEADER_RATE] = "777"
        with journal as opened:
            # Broker 1 alone is to be faster.
            rates = Rates.same(8000, {1: 90_000})
            executor.set_throttle(cluster, opened, plan_rate_change(cluster, opened, RUN, rates))
            opened.set_run_rates(rates)
        assert cluster.brokers[1] == {LEADER_RATE: "90000", FOLLOWER_RATE: "90000"}
        assert cluster.brokers[2] == {LEADER_RATE: "777", FOLLOWER_RATE: "8000"}, "what others have set since stays"
        cluster.live.add(3)
        throttle.cover(MOVES)
        assert cluster.brokers[3] == {LEADER_RATE: "8000", FOLLOWER_RATE: "8000"}
    assert cluster.brokers == {1: {}, 2: {LEADER_RATE: "777"}, 3: {}, 4: {}}
    with Throttle(cluster, journal, 5000) as throttle:
        throttle.cover(MOVES)
        assert cluster.brokers[1] == RATES, "another run has its own rates"


@pytest.mark.slow
def test_two_runs_at_once_are_refused_also_without_a_throttle(journal: ThrottleJournal) -> None:
    cluster = Configurable()
    with Throttle(cluster, journal, 5000) as throttle:
        throttle.cover(MOVES)
        before = cluster.configs()
        dry = ThrottleJournal(journal.path.parents[1], "east", "abc", read_only=True)
        for other in (journal, dry):
            for rate in (5000, None):
                with pytest.raises(RecoveryError, match="another run moves replicas of this cluster"), Throttle(cluster, other, rate):
                    pass
        assert cluster.configs() == before
    with Throttle(cluster, journal, None), pytest.raises(RecoveryError, match="another run"), Throttle(cluster, journal, None):
        pass


@pytest.mark.parametrize("is_moving", [False, True])
def test_what_a_stalled_run_sets_after_it_was_removed_is_removed_again(journal: ThrottleJournal, is_moving: bool) -> None:
    """It was stalled right before it set its throttle, or right before it began a move."""
    cluster = Configurable()
    stalled = Throttle(cluster, journal, 6000).__enter__()
    stalled.cover({ZERO: MOVES[ZERO]})
    as_set = {name: dict(configs) for name, configs in cluster.topics.items()}
    stalled._active.end()

    class Doubtful(ThrottleJournal):
        """The journal of a run that wakes up."""

        def outwait(self) -> bool:
            assert cluster.configs() == Configurable().configs()
            if is_moving:
                cluster.ongoing[ZERO] = OngoingReassignment((1, 2, 4, 3), (4,), (3,))
            else:
                cluster.topics |= {name: dict(configs) for name, configs in as_set.items()}
                cluster.brokers[1][LEADER_RATE] = "6000"
            return True

    with Throttle(cluster, Doubtful(journal.path.parents[1], "east", "abc"), None):
        pass
    if is_moving:
        assert cluster.topics["t"][FOLLOWER_REPLICAS] == "0:4" and cluster.brokers[4] == {LEADER_RATE: "6000", FOLLOWER_RATE: "6000"}
        cluster.ongoing.clear()
        with Throttle(cluster, journal, None):
            pass
    assert cluster.configs() == Configurable().configs()
    with journal:
        assert not journal.rates() and not journal.replicas()[RUN]


def test_a_rate_that_is_too_low_has_one_warning(journal: ThrottleJournal) -> None:
    with Throttle(Configurable(), journal, 5000) as throttle:
        throttle.cover(MOVES, {ZERO: 9000.0})
        throttle.cover(MOVES, {ZERO: 9000.0})
    assert len(throttle.warnings) == 2 and "broker 1: leader.replication.throttled.rate is 5000 bytes/s" in throttle.warnings[0]


def test_a_standing_throttle_that_has_expired_is_removed_by_the_next_run(journal: ThrottleJournal) -> None:
    for at, rate in (("2020-01-01T00:00:00Z", None), ("2020-01-01T00:00:00Z", 6000), ("9999-01-01T00:00:00Z", 6000)):
        cluster = Configurable()
        with journal as opened:
            opened.set_expiry(Expiry(60.0, at))
            executor.set_throttle(cluster, opened, ThrottleToSet(STANDING, [SetRate(1, LEADER_RATE, None, ("5000",))], []))
        standing = cluster.configs()
        with Throttle(cluster, journal, rate) as throttle:
            throttle.cover(MOVES)
            assert bool(throttle.removed) is (at[:4] == "2020")
        assert cluster.configs() == (standing if at[:4] == "9999" else Configurable().configs())
