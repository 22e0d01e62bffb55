# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Executes reassignments: submits a limited number at a time, throttles each from before it begins until it ends, and polls until all have ended.

If a run ends early, it leaves the cluster in order: the moves under way are cancelled and their replica orders restored, or Kafka continues them
at their throttle, and the next run waits for them. Nothing is copied faster than allowed.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reassignment import OngoingReassignment
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment import cancellation, move_outcomes
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.cancellation import BATCH, Answer, Cancellable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.cluster_hold import ClusterHold, MoveThrottle
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.progress_gauge import Measurable, ProgressTracker
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.results import CANCELLED, REASSIGNED, MoveResult
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.validate import (
    CANCEL,
    MOVING,
    SUBMIT,
    Move,
    Verdict,
)

POLL_MIN_SECONDS, POLL_MAX_SECONDS = 0.05, 1.0  # seconds between polls
MEASURE_SECONDS = 3.0  # between two measurements of progress
INBOUND_SECONDS = 1.0  # for so long the growth of the leaders' logs is measured
FRESH_SECONDS = 1.0  # for so long a read state of partitions counts as current


class Movable(Measurable, Cancellable, Protocol):
    """The methods of a cluster that reassignments use."""

    def reassignments(self) -> dict[TopicPartition, OngoingReassignment]: ...


@dataclass(frozen=True)
class ExecutionLimits:
    """Limits of one run.

    concurrent_moves  maximum of partitions that copy at the same time; moves that copy nothing do not count
    stalled_after     seconds without copied data after which the moves under way are abandoned
    duration          seconds for the whole run, None for no limit
    throttled         whether moves are throttled, on brokers that come back meanwhile, too
    cancels           whether the moves under way are cancelled if the run ends early, or abandons them
    """

    concurrent_moves: int = 1000
    stalled_after: float = 300.0
    duration: float | None = None
    throttled: bool = False
    cancels: bool = False


class ReassignmentExecutor:
    """Executes the moves of one run on one cluster.

    verdicts  as `validate.judge` or `judge_cancellations` returned them; `states`: the partitions that they are based on
    watch     called with `progress.summary` every few seconds

    Afterwards `results` has the result of each partition that was not refused or unchanged, `changed` whether any request to change the
    cluster was sent, and `warnings` sentences for the operator.
    """

    def __init__(
        self,
        cluster: Movable,
        verdicts: Iterable[Verdict],
        states: Mapping[TopicPartition, PartitionState],
        limits: ExecutionLimits,
        throttle: MoveThrottle | None = None,
        watch: Callable[[dict[str, Any]], None] = lambda _: None,
    ) -> None:
        self._cluster, self._limits, self._watch = cluster, limits, watch
        self._hold = ClusterHold(cluster, throttle, limits.throttled)
        self._states = dict(states)
        moves = [(verdict.action, verdict.move) for verdict in verdicts if verdict.move is not None]
        self._queue = deque(move for action, move in moves if action == SUBMIT)
        self._under_way = {move.key: move for action, move in moves if action == MOVING}
        self._to_cancel = {move.key: move for action, move in moves if action == CANCEL}
        self._total = len(self._queue) + len(self._under_way)
        self._doubts: dict[TopicPartition, str] = {}  # why it is not known whether Kafka accepted a move
        self._ended: dict[TopicPartition, float] = {}  # since when a move has not been listed as under way
        self._tracker = ProgressTracker(cluster)
        self._read_at = self._answered_at = self._measured_at = time.monotonic()
        self.results: dict[TopicPartition, MoveResult] = {}
        self.changed = False
        self.warnings = self._hold.warnings  # one list, so that they stay in their order

    # --- the three kinds of runs ---------------------------------------------------------------------------------

    def run(self, stop_signal: Callable[[], str | None] = lambda: None) -> str | None:
        """Move all partitions and wait for them. Returns the sentence why the run ended early, None if every move has ended.

        `stop_signal`: returns the name of a signal that was received, None before that. A RecoveryError ends the run, too; its text is then
        in the sentence.
        """
        began, pause = time.monotonic(), POLL_MIN_SECONDS
        try:
            # Before anything else: these moves were begun before this run, maybe without a throttle.
            self._hold.begin(self._under_way)
            self._prepare()
        except RecoveryError as error:
            # Moves that were under way before this run continue.
            return self._stop(str(error), cancel=False)
        try:
            while self._queue or self._under_way:
                if signal := stop_signal():
                    return self._stop(f"interrupted by {signal}", self._limits.cancels)
                if self._limits.duration is not None and time.monotonic() - began > self._limits.duration:
                    return self._stop(f"the duration of {self._limits.duration:g} s is over", self._limits.cancels)
                submitted, ended = self._submit(self._room()), self._poll()
                self._measure()
                self._abandon_stalled_moves()
                pause = POLL_MIN_SECONDS if submitted or ended else min(2 * pause, POLL_MAX_SECONDS)
                time.sleep(pause if self._under_way else 0)
            self._measure(at_once=True)
            self._look_again()
        except RecoveryError as error:
            return self._stop(str(error), self._limits.cancels)
        return None

    def submit_only(self, stop_signal: Callable[[], str | None] = lambda: None) -> str | None:
        """Submit all moves in batches, then wait until each is under way or has ended. Result and parameter are those of `run`."""
        try:
            self._hold.cover(self._under_way)
            while self._queue:
                if signal := stop_signal():
                    return self._stop(f"interrupted by {signal}", cancel=False)
                self._submit(len(self._queue))
            while self._under_way:
                ongoing = self._cluster.reassignments()
                for key in [key for key, move in self._under_way.items() if key in ongoing and ongoing[key].target == move.target]:
                    self.results[key] = MoveResult.of(self._under_way.pop(key), MOVING)
                self._settle_ended(ongoing)
                time.sleep(POLL_MIN_SECONDS if self._under_way else 0)
        except RecoveryError as error:
            return self._stop(str(error), cancel=False)
        return None

    def cancel(self) -> None:
        """Cancel the reassignments whose verdict is CANCEL (KIP-455). `results` has the errors; a move that has arrived already is REASSIGNED.

        Raises RecoveryError, and cancels nothing, if another run moves replicas of this cluster because this one was stalled, or if that cannot be known now.
        """
        self._hold.confirm()
        self.changed = bool(self._to_cancel)
        for key, problem in self._cancelled(self._to_cancel).items():
            move = self._to_cancel[key]
            self.results[key] = MoveResult.of(move, CANCELLED) if problem is None else MoveResult.of(move, Outcome.FAILED, *problem)

    def _prepare(self) -> None:
        """Measure how much there is to copy and, with a throttle, the write rates, which may exceed it."""
        keys = [key for key, move in [*self._under_way.items(), *((move.key, move) for move in self._queue)] if move.adding]
        self._tracker.prepare(keys, self._states)
        if self._limits.throttled and keys:
            time.sleep(INBOUND_SECONDS)
            self._hold.inbound = self._tracker.write_rates(keys, self._states)

    # --- submitting ----------------------------------------------------------------------------------------------

    def _room(self) -> int:
        return self._limits.concurrent_moves - sum(1 for move in self._under_way.values() if move.adding)

    def _submit(self, room: int) -> bool:
        """Submit a batch of moves, of which `room` may have something to copy. Returns whether there was any."""
        batch: dict[TopicPartition, Move] = {}
        while self._queue and len(batch) < BATCH and (room > 0 or not self._queue[0].adding):
            move = self._queue.popleft()
            batch[move.key] = move
            room -= 1 if move.adding else 0
        if not batch:
            return False
        try:
            if time.monotonic() - self._read_at > FRESH_SECONDS:
                batch = self._still_valid(batch)
            unknown = self._hold.cover(batch)
            self._hold.confirm()
        except RecoveryError:
            self._queue.extendleft(reversed(batch.values()))
            raise
        # One broker may be wrong: Kafka would move them, and nothing would limit that.
        self.results |= {key: move_outcomes.not_throttled(batch.pop(key)) for key in unknown}
        if batch:
            self._send(batch)
        return True

    def _send(self, batch: dict[TopicPartition, Move]) -> None:
        self._tracker.on_submitted(batch.values())
        self.changed = True
        answers: Mapping[TopicPartition, Answer] = {}
        try:
            answers = self._cluster.reassign({key: move.target for key, move in batch.items()})
        except RecoveryError as error:
            # Kafka may have accepted the request: later polls of reassignments and replicas show that.
            self._doubts |= dict.fromkeys(batch, str(error))
        refused = [key for key in batch if key in answers and answers[key][0] is not None]
        for key in refused:
            self.results[key] = MoveResult.of(batch.pop(key), Outcome.FAILED, *answers[key])
        self._under_way |= batch
        if refused:
            with suppress(RecoveryError):  # the end of the run looks again
                self._release(refused, self._cluster.reassignments())

    def _release(self, ended: Collection[TopicPartition], ongoing: Mapping[TopicPartition, OngoingReassignment]) -> None:
        """Remove the throttle of moves that have ended. What another process moves by now still copies, and keeps it until a later run."""
        self._hold.release([key for key in ended if key not in ongoing])

    def _still_valid(self, batch: Mapping[TopicPartition, Move]) -> dict[TopicPartition, Move]:
        """Read partitions again right before they are moved. Returns the moves that are still valid; the others get their result."""
        states, unfenced = self._read(batch), self._cluster.unfenced()
        valid = {}
        for key, move in batch.items():
            problem = move_outcomes.changed_before(move, self._states.get(key), states.get(key), unfenced)
            if problem is None:
                valid[key] = move
            else:
                self.results[key] = problem
        return valid

    def _read(self, keys: Collection[TopicPartition]) -> dict[TopicPartition, PartitionState]:
        return {key: state for key, state in self._cluster.partitions(keys).items() if key in keys} if keys else {}

    # --- waiting -------------------------------------------------------------------------------------------------

    def _poll(self) -> bool:
        """Find the moves that have ended. Returns whether any has. Raises RecoveryError if no broker has answered for `stalled_after` seconds."""
        before = len(self._under_way)
        try:
            self._settle_ended(self._cluster.reassignments())
            self._answered_at = time.monotonic()
        except RecoveryError:
            if time.monotonic() - self._answered_at > self._limits.stalled_after:
                raise
        return len(self._under_way) < before

    def _settle_ended(self, ongoing: Mapping[TopicPartition, OngoingReassignment]) -> None:
        ended = {key: move for key, move in self._under_way.items() if key not in ongoing or ongoing[key].target != move.target}
        # A move that was not listed at an earlier poll, and is by now, has not ended.
        self._ended = {key: since for key, since in self._ended.items() if key in ended}
        states, now = self._read(ended), time.monotonic()
        arrived, done = [], []
        for key, move in ended.items():
            since = now - self._ended.setdefault(key, now)
            result = move_outcomes.ended(move, states.get(key), ongoing.get(key), since, self._doubts.get(key))
            if result is not None:
                self.results[key] = result
                del self._under_way[key]
                done.append(key)
                arrived += [move] if result.outcome == REASSIGNED else []
        if arrived:
            self._tracker.on_arrived(arrived)
        self._release(done, ongoing)

    def _measure(self, at_once: bool = False) -> None:
        if time.monotonic() - self._measured_at < MEASURE_SECONDS and not at_once:
            return
        with suppress(RecoveryError):
            self._states |= self._read(self._under_way)
            self._hold.cover_returned(self._under_way)
        done = sum(1 for result in self.results.values() if result.outcome == REASSIGNED)
        self._watch(self._tracker.read(self._under_way, self._queue, self._states, self._total, done))
        self._measured_at = time.monotonic()

    def _look_again(self) -> None:
        """Read partitions again that have arrived, if a run that was stalled may have moved them since."""
        arrived = [key for key, result in self.results.items() if result.outcome == REASSIGNED]
        if not arrived or not self._hold.outwait():
            return
        ongoing, states = self._cluster.reassignments(), self._read(arrived)
        self.results |= {key: move_outcomes.arrived(self.results[key], ongoing.get(key), states.get(key)) for key in arrived}

    def _abandon_stalled_moves(self) -> None:
        """Abandon the moves under way if nothing was copied for `stalled_after` seconds: a broker may have died, and other moves wait."""
        seconds = self._tracker.seconds_stalled()
        if not self._under_way or seconds is None or seconds <= self._limits.stalled_after:
            return
        unfenced = self._cluster.unfenced()
        for move, how in self._abandon(self._limits.cancels and self._hold.is_ours()):
            self.results[move.key] = move_outcomes.stalled(move, seconds, unfenced, how)
        self._tracker.reset_stall_timer()

    # --- ending early --------------------------------------------------------------------------------------------

    def _stop(self, why: str, cancel: bool) -> str:
        """End the run: submit nothing more, and abandon the moves under way. Returns a sentence with `why`, counts, and how to continue."""
        waiting, cancel = len(self._queue), cancel and self._hold.is_ours()
        for move in self._queue:
            self.results[move.key] = MoveResult.of(move, Outcome.HELD, message=f"{why}, before it was submitted; run again to continue")
        self._queue.clear()
        with suppress(RecoveryError):
            self._settle_ended(self._cluster.reassignments())
        abandoned = self._abandon(cancel)
        for move, how in abandoned:
            self.results[move.key] = MoveResult.of(move, Outcome.HELD if cancel else MOVING, message=f"{why}; {how}")
        done = sum(1 for result in self.results.values() if result.outcome == REASSIGNED)
        return (
            f"{why}: {done} of {self._total} partitions have their new replicas, {len(abandoned)} moves under way were "
            f"{'cancelled' if cancel else 'left to Kafka' + self._at_their_throttle}, "
            f"{waiting} were not submitted; run again to continue"
        )

    def _abandon(self, cancel: bool) -> list[tuple[Move, str]]:
        """Stop waiting for the moves under way, and cancel them if `cancel`. Returns each with a message for its result."""
        moves, self._under_way = self._under_way, {}
        if not cancel:
            return [(move, f"Kafka continues the move{self._at_their_throttle}, and the next run waits for it") for move in moves.values()]
        problems = self._cancelled(moves)
        # A move that could not be cancelled keeps its throttle.
        self._hold.release([key for key in moves if problems.get(key) is None])
        return [(moves[key], self._abandoned_message(problem)) for key, problem in problems.items()]

    @property
    def _at_their_throttle(self) -> str:
        return " at the throttle" if self._limits.throttled else ""

    def _abandoned_message(self, problem: Answer | None) -> str:
        if problem is None:
            return "its move was cancelled"
        return f"it could not be cancelled, and continues{self._at_their_throttle}: {': '.join(part for part in problem if part)}"

    def _cancelled(self, moves: Mapping[TopicPartition, Move]) -> dict[TopicPartition, Answer | None]:
        """Cancel moves. Returns the error of each, None if it was cancelled. Moves that have ended meanwhile are absent, and get their result."""
        cancelled = cancellation.cancel(self._cluster, moves)
        self.warnings += [cancelled.warning] if cancelled.warning else []
        self.results |= {key: MoveResult.of(moves[key], REASSIGNED) for key in cancelled.arrived}
        return {key: cancelled.problems.get(key) for key in moves if key not in cancelled.arrived}
