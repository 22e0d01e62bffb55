# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reassignments, on a made-up controller with a clock of its own: brokers die, requests fail, and a signal stops the run at any step."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from fake_reassignment_controller import REGISTERED, SIZE, Answer, Clock, Moved

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError, RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import TakenError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    StatedReplicas,
    TopicPartition,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reassignment import OngoingReassignment
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment import cancellation, executor, progress_gauge
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.executor import ExecutionLimits, ReassignmentExecutor
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.results import MoveResult, diff, predict_results, report
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.validate import (
    CANCEL,
    REFUSED,
    SUBMIT,
    Brokers,
    Move,
    Verdict,
    judge,
    judge_cancellations,
)


class Throttle:
    """Which moves are throttled; fails if the controller does not answer."""

    def __init__(self, cluster: Moved) -> None:
        self.cluster = cluster
        self.covered = cluster.throttled = set()
        self.ever: list[TopicPartition] = []
        self.inbound: Mapping[TopicPartition, float] = {}
        self.fails_at: int | None = None
        self.taken = False
        self.unknown: set[TopicPartition] = set()  # partitions that a broker does not know

    def confirm(self) -> None:
        if self.taken:
            raise TakenError("another run moves replicas of this cluster")

    def outwait(self) -> bool:
        return False

    def must_cover_again(self) -> bool:
        return False

    def cover(self, moves: Mapping[TopicPartition, Move], inbound: Mapping[TopicPartition, float] | None = None) -> set[TopicPartition]:
        if self.fails_at is not None and len(self.ever) >= self.fails_at:
            raise RecoveryError("the throttle of broker 1 cannot be set: CLUSTER_AUTHORIZATION_FAILED")
        known = [key for key in moves if key not in self.unknown]
        self.covered.update(known)
        self.ever += known
        self.inbound = inbound or {}
        return self.unknown & moves.keys()

    def release(self, keys: Collection[TopicPartition]) -> None:
        assert not self.cluster.ongoing.keys() & {*keys}, "released only when it does not copy any more"
        self.covered.difference_update(keys)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    passing = Clock()
    for module in (executor, progress_gauge, cancellation):
        monkeypatch.setattr(module, "time", passing)
    return passing


def made(
    cluster: Moved, target: tuple[int, ...] = (4, 2, 1), throttle: Throttle | None = None, **pace: Any
) -> tuple[ReassignmentExecutor, list[dict[str, Any]]]:
    """A run that gives every partition these replicas, and the progress that it reports."""
    brokers = Brokers(REGISTERED, frozenset(REGISTERED - cluster.dead), True)
    verdicts = judge(dict.fromkeys(cluster.states, target), cluster.states, cluster.ongoing, brokers)
    rows: list[dict[str, Any]] = []
    run = ReassignmentExecutor(
        cluster,
        verdicts,
        cluster.states,
        ExecutionLimits(**{"throttled": throttle is not None, "cancels": throttle is not None, **pace}),
        throttle,
        rows.append,
    )
    return run, rows


def outcomes(run: ReassignmentExecutor) -> list[str]:
    return [run.results[key].outcome for key in sorted(run.results)]


def test_all_are_moved_and_progress_is_rows(clock: Clock) -> None:
    cluster = Moved(clock)
    run, rows = made(cluster)
    assert run.run() is None
    assert outcomes(run) == ["reassigned"] * 4 and run.changed and not run.warnings
    assert {state.replicas for state in cluster.states.values()} == {(4, 2, 1)}
    assert rows[-1]["in_sync"] == 4 and rows[-1]["bytes_behind"] == 0
    assert rows[0]["replicas"]["behind"] == 4 and 0 < rows[0]["bytes_behind"] < 4 * SIZE
    assert rows[0]["bytes_per_second"] == pytest.approx(4 * cluster.per_second, rel=0.1)


@pytest.mark.parametrize("missed", [(1, 14), (3, 16), (1, 2, 15, 16)])
def test_a_move_that_a_list_lacks_for_a_moment_has_not_ended(clock: Clock, monkeypatch: pytest.MonkeyPatch, missed: Sequence[int]) -> None:
    cluster, looks, listed = Moved(clock), iter(range(1, 1000)), Moved.reassignments
    cluster.per_second = 50
    monkeypatch.setattr(Moved, "reassignments", lambda self: {} if next(looks) in missed else listed(self))
    run, _ = made(cluster, throttle=Throttle(cluster))
    assert run.run() is None
    assert outcomes(run) == ["reassigned"] * 4 and {state.replicas for state in cluster.states.values()} == {(4, 2, 1)}


@pytest.mark.parametrize("cap", [1, 2, 3])
def test_no_more_are_copied_at_once_than_may_be_and_what_waits_counts_as_behind(clock: Clock, cap: int) -> None:
    cluster = Moved(clock, 6)
    run, rows = made(cluster, concurrent_moves=cap)
    assert run.run() is None
    assert outcomes(run) == ["reassigned"] * 6
    assert cluster.most == cap
    assert rows[0]["bytes_behind"] > (6 - cap) * SIZE


def test_what_copies_nothing_needs_no_room(clock: Clock) -> None:
    cluster = Moved(clock, 6)
    run, _ = made(cluster, (3, 2), concurrent_moves=1)
    assert run.run() is None
    assert len(cluster.requests) == 1 and outcomes(run) == ["reassigned"] * 6


def test_requests_have_two_thousand_partitions_at_most(clock: Clock) -> None:
    cluster = Moved(clock, 4500)
    run, _ = made(cluster, concurrent_moves=5000)
    assert run.submit_only() is None
    assert [len(request) for request in cluster.requests] == [2000, 2000, 500]
    assert set(outcomes(run)) == {"moving"}


def test_what_is_under_way_is_waited_for_and_not_submitted_again(clock: Clock) -> None:
    cluster = Moved(clock)
    first, _ = made(cluster)
    assert first.submit_only() is None
    assert outcomes(first) == ["moving"] * 4 and first.changed
    second, _ = made(cluster)
    assert second.run() is None
    assert outcomes(second) == ["reassigned"] * 4 and not second.changed
    assert len(cluster.requests) == 1
    third, _ = made(cluster)
    assert third.run() is None and third.results == {} and len(cluster.requests) == 1


def test_a_throttle_covers_moves_before_they_begin_and_is_off_when_they_end(clock: Clock) -> None:
    cluster = Moved(clock)
    throttle = Throttle(cluster)
    run, _ = made(cluster, throttle=throttle, concurrent_moves=2)
    assert run.run() is None
    assert sorted(throttle.ever) == sorted(cluster.states) and not throttle.covered
    assert throttle.inbound == dict.fromkeys(cluster.states, 0.0)


def test_what_a_killed_run_left_under_way_is_throttled_at_once(clock: Clock) -> None:
    cluster = Moved(clock)
    made(cluster)[0].submit_only()
    throttle, began = Throttle(cluster), clock.now
    moments: list[float] = []
    cover = throttle.cover

    def noting(*args: Any) -> None:
        moments.append(clock.now - began)
        cover(*args)

    throttle.cover = noting  # type: ignore[method-assign, assignment]
    assert made(cluster, throttle=throttle)[0].run() is None
    assert moments and moments[0] < 0.1


def test_brokers_that_come_back_are_throttled_too(clock: Clock) -> None:
    cluster = Moved(clock)
    cluster.dead = {3}
    cluster.per_second = 50
    throttle = Throttle(cluster)
    run, _ = made(cluster, throttle=throttle)

    def comes_back() -> None:
        cluster.dead = set() if clock.now > 8 else {3}

    assert run.run(comes_back) is None and outcomes(run) == ["reassigned"] * 4
    assert sorted(throttle.ever) == sorted([*cluster.states, *cluster.states])


@pytest.mark.parametrize(("throttled", "cancels"), [(True, True), (True, False), (False, False), (False, True)])
def test_at_every_moment_at_which_it_is_stopped_the_cluster_is_left_in_order_and_the_next_run_goes_on(
    clock: Clock, throttled: bool, cancels: bool
) -> None:
    for moment in range(40):
        cluster = Moved(clock, 5)
        throttle = Throttle(cluster) if throttled else None
        run, _ = made(cluster, throttle=throttle, concurrent_moves=2, cancels=cancels)
        calls = iter(range(1000))
        why = run.run(lambda moment=moment, calls=calls: "SIGTERM" if next(calls) >= moment else None)  # type: ignore[misc]
        assert set(outcomes(run)) <= {"reassigned", "held", "moving"} and len(run.results) == 5
        if why is None:
            break
        assert "interrupted by SIGTERM" in why and "run again" in why
        for key, result in run.results.items():
            if result.outcome == "held":
                assert key not in cluster.ongoing and cluster.states[key].replicas == (1, 2, 3), "in the order that they had"
            else:
                assert (key in cluster.ongoing) == (result.outcome == "moving")
        assert not cluster.ongoing or not cancels
        if throttle is not None:
            assert throttle.covered == set(cluster.ongoing), "what goes on is throttled"
        again, _ = made(cluster, throttle=Throttle(cluster) if throttled else None)
        assert again.run() is None and set(outcomes(again)) <= {"reassigned"}
        assert {state.replicas for state in cluster.states.values()} == {(4, 2, 1)}
    else:
        pytest.fail("it was never done")


def test_a_duration_ends_it_too(clock: Clock) -> None:
    cluster = Moved(clock)
    run, _ = made(cluster, concurrent_moves=1, duration=6.0)
    why = run.run()
    assert why is not None and why.startswith(
        "the duration of 6 s is over: 1 of 4 partitions have their new replicas, 1 moves under way were left to Kafka, 2"
    )
    assert outcomes(run) == ["reassigned", "moving", "held", "held"]


@pytest.mark.parametrize("throttled", [True, False])
def test_a_broker_that_dies_fails_its_moves_and_no_others(clock: Clock, throttled: bool) -> None:
    cluster = Moved(clock)
    brokers = Brokers(REGISTERED, REGISTERED, True)
    targets = {("t", 0): (4, 2, 1), ("t", 1): (5, 2, 1), ("t", 2): (4, 2, 1), ("t", 3): (5, 2, 1)}
    throttle = Throttle(cluster) if throttled else None
    verdicts = judge(targets, cluster.states, {}, brokers)
    run = ReassignmentExecutor(cluster, verdicts, cluster.states, ExecutionLimits(1, 60.0, None, throttled, throttled), throttle)

    def dies() -> None:
        if clock.now > 2.0:
            cluster.dead = {4}

    assert run.run(dies) is None
    assert outcomes(run) == ["failed", "reassigned", "failed", "reassigned"]
    stuck, too_late = run.results["t", 0], run.results["t", 2]
    assert stuck.error == "REQUEST_TIMED_OUT" and "broker 4 is fenced: start it, or name another one" in (stuck.message or "")
    assert too_late.error == "BROKER_NOT_AVAILABLE" and cluster.states["t", 2].replicas == (1, 2, 3)
    assert (("t", 0) in cluster.ongoing) is not throttled
    if throttled:
        assert cluster.states["t", 0].replicas == (1, 2, 3)


def test_a_slow_move_does_not_count_as_stalled(clock: Clock) -> None:
    cluster = Moved(clock, 1)
    cluster.per_second = 1
    run, _ = made(cluster, stalled_after=20.0)
    assert run.run() is None and outcomes(run) == ["reassigned"]


def test_answers_that_fail_now_and_then_change_nothing(clock: Clock) -> None:
    for seed in range(60):
        chance = random.Random(seed)
        cluster = Moved(clock, 5)
        run, _ = made(cluster, concurrent_moves=chance.choice([1, 3, 5]))

        def now_and_then(chance: random.Random = chance, cluster: Moved = cluster) -> None:
            cluster.unanswered = chance.choice([0, 0, 0, 1, 2]) if cluster.requests else 0

        why = run.run(now_and_then)
        if why is None:
            assert outcomes(run) == ["reassigned"] * 5
        else:
            # The request for live brokers right before a batch failed.
            assert set(outcomes(run)) <= {"reassigned", "moving", "held"} and "no broker answered" in why


def test_a_request_that_is_never_answered_is_looked_up(clock: Clock) -> None:
    class Hanging(Moved):
        taken = True

        def reassign(self, targets: Mapping[TopicPartition, Sequence[int]]) -> dict[TopicPartition, Answer]:
            if self.taken:
                super().reassign(targets)
            raise ClusterError("no broker answered AlterPartitionReassignmentsRequest within 10 s")

    run, _ = made(Hanging(clock))
    assert run.run() is None and outcomes(run) == ["reassigned"] * 4
    lost = Hanging(clock)
    lost.taken = False
    run, _ = made(lost)
    assert run.run() is None and outcomes(run) == ["failed"] * 4
    assert "no broker answered AlterPartitionReassignmentsRequest" in (run.results["t", 0].message or "")


def test_a_controller_that_does_not_answer_for_too_long_ends_the_run(clock: Clock) -> None:
    cluster = Moved(clock)
    run, _ = made(cluster, stalled_after=30.0)

    def goes_silent() -> None:
        cluster.unanswered = 10_000 if clock.now > 1.0 else 0

    why = run.run(goes_silent)
    assert why is not None and "no broker answered" in why and outcomes(run) == ["moving"] * 4


def test_a_refusal_of_the_controller_has_its_message(clock: Clock) -> None:
    cluster = Moved(clock)
    cluster.refuses = {
        ("t", 1): ("INVALID_REPLICA_ASSIGNMENT", "The manual partition assignment includes broker 4, but no such broker is registered.")
    }
    throttle = Throttle(cluster)
    run, _ = made(cluster, throttle=throttle)
    assert run.run() is None and outcomes(run) == ["reassigned", "failed", "reassigned", "reassigned"]
    assert "includes broker 4" in (run.results["t", 1].message or "") and not throttle.covered


@pytest.mark.parametrize("number", [None, "SIGTERM"])
def test_a_run_whose_lock_was_taken_submits_and_cancels_nothing_more(clock: Clock, number: str | None) -> None:
    cluster = Moved(clock, 4)
    throttle = Throttle(cluster)
    run, _ = made(cluster, throttle=throttle, concurrent_moves=2)

    def stall() -> str | None:
        throttle.taken = len(cluster.requests) == 1
        return number if throttle.taken else None

    why = run.run(stall)
    assert why is not None and why.startswith("interrupted by SIGTERM" if number else "another run moves replicas of this cluster"), why
    assert len(cluster.requests) == 1
    assert outcomes(run) == [*(["moving"] * 2 if number else ["reassigned"] * 2), "held", "held"]
    assert len(cluster.ongoing) == (2 if number else 0), "moves under way are those of the other run"


def test_a_task_whose_lock_was_taken_cancels_no_moves_of_the_run_that_took_it(clock: Clock) -> None:
    cluster = Moved(clock, 2)
    cluster.reassign(dict.fromkeys(cluster.states, (4, 2, 1)))
    verdicts = judge_cancellations(None, cluster.states, cluster.reassignments())
    throttle = Throttle(cluster)
    throttle.taken = True
    run = ReassignmentExecutor(cluster, verdicts, cluster.states, ExecutionLimits(), throttle)
    with pytest.raises(TakenError):
        run.cancel()
    assert len(cluster.ongoing) == 2 and not run.changed


def test_what_a_stalled_run_has_moved_since_has_not_arrived(clock: Clock) -> None:
    class Doubtful(Throttle):
        """The lock of a run that moves a partition again before it notices."""

        def outwait(self) -> bool:
            self.cluster.states["t", 0] = replace(self.cluster.states["t", 0], replicas=(1, 2, 3))
            return True

    cluster = Moved(clock, 2)
    run, _ = made(cluster, throttle=Doubtful(cluster))
    assert run.run() is None
    assert outcomes(run) == ["failed", "reassigned"] and run.results["t", 0].replicas == (1, 2, 3)
    assert "stalled" in (run.results["t", 0].message or "")


def test_a_throttle_that_cannot_be_set_lets_nothing_begin(clock: Clock) -> None:
    for count in (0, 2):
        cluster = Moved(clock)
        throttle = Throttle(cluster)
        throttle.fails_at = count
        run, _ = made(cluster, throttle=throttle, concurrent_moves=2)
        why = run.run()
        assert why is not None and "the throttle of broker 1 cannot be set" in why
        assert outcomes(run).count("held") == 4 - count and not cluster.ongoing
        assert sum(map(len, cluster.requests)) == count


@pytest.mark.parametrize("submit_only", [False, True])
def test_a_partition_that_could_not_be_throttled_is_not_moved(clock: Clock, submit_only: bool) -> None:
    """One broker states that it does not exist, which may be wrong: then Kafka would move it, and nothing would limit that."""
    cluster = Moved(clock)
    throttle = Throttle(cluster)
    throttle.unknown = {("t", 2)}
    run, _ = made(cluster, throttle=throttle)
    assert (run.submit_only() if submit_only else run.run()) is None
    assert ("t", 2) not in {key for request in cluster.requests for key in request}
    result = run.results["t", 2]
    assert result.outcome == "stale" and "its throttle could not be set" in (result.message or "")
    assert sum(map(len, cluster.requests)) == 3


def test_another_process_interferes(clock: Clock) -> None:
    cluster = Moved(clock)
    run, _ = made(cluster, concurrent_moves=3)
    done: list[bool] = []

    def interfere() -> None:
        if clock.now > 1.5 and not done:
            done.append(True)
            cluster.cancel([("t", 0)])
            cluster.cancel([("t", 1)])
            cluster.reassign({("t", 1): (5, 2, 1)})
            del cluster.states["t", 2], cluster.ongoing["t", 2]
            cluster.states["t", 3] = replace(cluster.states["t", 3], replicas=(2, 3, 1))

    assert run.run(interfere) is None
    assert outcomes(run) == ["failed", "failed", "stale", "stale"]
    assert run.results["t", 0].message
    assert run.results["t", 1].error == "REASSIGNMENT_IN_PROGRESS" and "[5, 2, 1]" in (run.results["t", 1].message or "")


def test_a_move_that_another_process_has_replaced_keeps_its_throttle_while_it_copies(clock: Clock) -> None:
    """The exit of the throttle leaves it set for what is moving, and a later run removes it."""
    cluster = Moved(clock)
    throttle = Throttle(cluster)
    run, _ = made(cluster, throttle=throttle)

    def interfere() -> None:
        if clock.now > 1.5 and cluster.ongoing["t", 1].target == (4, 2, 1):
            cluster.reassign({("t", 1): (5, 2, 1)})

    assert run.run(interfere) is None
    assert run.results["t", 1].error == "REASSIGNMENT_IN_PROGRESS"
    assert throttle.covered == {("t", 1)}


def test_cancelling_puts_the_order_back_where_it_is_known(clock: Clock) -> None:
    cluster = Moved(clock, 3)
    made(cluster, (4, 3, 2))[0].submit_only()
    verdicts = judge_cancellations([("t", 0), ("t", 1)], cluster.states, cluster.ongoing)
    known = replace(verdicts[0], move=Move("t", 0, (1, 2, 3), (4, 3, 2)))
    run = ReassignmentExecutor(cluster, [known, verdicts[1]], cluster.states, ExecutionLimits())
    run.cancel()
    assert outcomes(run) == ["cancelled", "cancelled"] and run.changed
    assert [cluster.states["t", number].replicas for number in range(2)] == [(1, 2, 3), (3, 2, 1)]
    assert list(cluster.ongoing) == [("t", 2)]
    nothing = ReassignmentExecutor(
        cluster, judge_cancellations([("t", 0)], cluster.states, cluster.ongoing), cluster.states, ExecutionLimits()
    )
    nothing.cancel()
    assert not nothing.changed and not nothing.results


def test_what_arrives_while_it_is_cancelled_has_arrived(clock: Clock) -> None:
    class Late(Moved):
        def cancel(self, keys: Iterable[TopicPartition]) -> dict[TopicPartition, Answer]:
            self.clock.sleep(60)
            self.reassignments()
            return super().cancel(keys)

    cluster = Late(clock)
    run, _ = made(cluster, throttle=Throttle(cluster))
    why = run.run(lambda: "SIGTERM" if cluster.ongoing else None)
    assert why is not None and "4 of 4 partitions have their new replicas, 0 moves under way were cancelled" in why
    assert outcomes(run) == ["reassigned"] * 4 and {state.replicas for state in cluster.states.values()} == {(4, 2, 1)}


def test_a_cancelling_that_fails_is_said() -> None:
    class Unheard(Moved):
        def cancel(self, keys: Iterable[TopicPartition]) -> dict[TopicPartition, Answer]:
            raise ClusterError("no broker answered")

    found = cancellation.cancel(Unheard(Clock()), {("t", 0): Move("t", 0, (1, 2, 3), (4, 2, 3))})
    assert found.problems["t", 0][1] == "no broker answered; run again to cancel it" and found.warning is None


class Behind(Moved):
    """The first broker is behind: it still shows the replicas of a move, which are those that the move began with."""

    def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]:
        return {key: replace(state, replicas=(1, 3, 2)) for key, state in super().partitions(keys).items()}


@pytest.mark.parametrize("is_under_way", [True, False])
def test_no_order_is_restored_if_another_tool_changed_the_replicas_before_the_move(clock: Clock, is_under_way: bool) -> None:
    """That order would be another move. A change to fewer replicas ends at once, and then the controller lists nothing."""
    cluster = Behind(clock)
    if is_under_way:
        cluster.ongoing["t", 0], cluster.begun["t", 0] = OngoingReassignment((1, 3, 2), (3,), (2,)), clock.now
    else:
        cluster.states["t", 0] = replace(cluster.states["t", 0], replicas=(1, 2))
    found = cancellation.cancel(cluster, {("t", 0): Move("t", 0, (3, 1, 2), (1, 3))})
    assert cluster.states["t", 0].replicas == (1, 2) and not cluster.ongoing and not cluster.requests
    assert found.problems == {}
    assert found.warning == (None if is_under_way else "the replica order of 1 partitions could not be restored")


def test_an_order_that_no_second_broker_confirms_is_not_restored_and_warned_of(clock: Clock) -> None:
    cluster = Moved(clock, 1)
    made(cluster, (4, 3, 2))[0].submit_only()
    cluster.is_alone = True
    found = cancellation.cancel(cluster, {("t", 0): Move("t", 0, (1, 2, 3), (4, 3, 2))})
    assert cluster.states["t", 0].replicas == (3, 2, 1) and len(cluster.requests) == 1
    assert found.warning == "the replica order of 1 partitions could not be restored"


def test_an_order_is_restored_when_a_broker_that_was_behind_has_caught_up(clock: Clock) -> None:
    class CatchesUp(Moved):
        def second_replicas(self, states: Collection[PartitionState]) -> dict[TopicPartition, StatedReplicas]:
            found = super().second_replicas(states)
            return found if clock.now > 5 else {key: stated._replace(replicas=(4, 3, 2)) for key, stated in found.items()}

    cluster = CatchesUp(clock, 2)
    made(cluster, (4, 3, 2))[0].submit_only()
    found = cancellation.cancel(cluster, {("t", 0): Move("t", 0, (1, 2, 3), (4, 3, 2))})
    assert cluster.states["t", 0].replicas == (1, 2, 3) and found.warning is None


# --- what is reported ----------------------------------------------------------------------------------------------


def test_one_refused_partition_holds_all_and_check_mode_predicts_the_same() -> None:
    move = Move("t", 0, (1, 2), (1, 3))
    bad = Verdict("t", 1, REFUSED, None, "UNKNOWN_TOPIC_OR_PARTITION", "topic t has no partition 1; correct the number")
    results = predict_results([Verdict("t", 0, SUBMIT, move), bad], wait=True)
    found = report(results.values(), False, 20)
    assert found["failed"] and found["summary"]["held"] == 1 and found["errors"] == {"UNKNOWN_TOPIC_OR_PARTITION": 1}
    assert found["msg"] == (
        "1 of 2 partitions failed, first t-1: UNKNOWN_TOPIC_OR_PARTITION: topic t has no partition 1; correct the number; nothing was submitted"
    )
    assert found["results"][0]["replicas"] is None and found["results"][1]["message"].startswith("nothing was submitted")
    good = predict_results([Verdict("t", 0, SUBMIT, move)], wait=True)
    assert good["t", 0] == MoveResult("t", 0, "reassigned", (1, 3), (1, 3)) and "failed" not in report(good.values(), True, 20)
    assert predict_results([Verdict("t", 0, SUBMIT, move)], wait=False)["t", 0].outcome == "moving"
    assert predict_results([Verdict("t", 0, CANCEL, move)], wait=True, may_alter=False)["t", 0].error == "CLUSTER_AUTHORIZATION_FAILED"


def test_a_diff_shows_replicas_before_and_after() -> None:
    moves = [Verdict("t", 0, SUBMIT, Move("t", 0, (1, 2), (1, 3))), Verdict("t", 1, CANCEL, Move("t", 1, (1, 2), (3, 2)))]
    assert diff(moves, predict_results(moves, wait=True)) == {
        "before": "t-0: replicas [1, 2]\nt-1: replicas [1, 2], moving to [3, 2]\n",
        "after": "t-0: replicas [1, 3]\nt-1: replicas [1, 2]\n",
    }
