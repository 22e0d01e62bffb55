# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Moving: reassignments are submitted, a limited number at a time, throttled from before they begin until they end, and looked at until they have.

Whatever ends a run early, the cluster is left in order. Without a throttle, moves under way go on by themselves, and the next run waits for them.
With one they are cancelled and their replica orders put back: the throttle ends with the run, and nothing may be copied faster than was allowed.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import SpokenError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import FAILED, HELD, STALE
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reassignment import Ongoing
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment import cancellation
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.cancellation import (
    BATCH,
    SETTLED_SECONDS,
    Cancellable,
    Said,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.progress_gauge import Gauge, Measurable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.results import CANCELLED, REASSIGNED, Result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.validate import (
    CANCEL,
    IN_PROGRESS,
    MOVING,
    NOT_AVAILABLE,
    SUBMIT,
    UNKNOWN,
    Move,
    Verdict,
    leader_problem,
)

FIRST_LOOK, LAST_LOOK = 0.05, 1.0  # seconds between looks
MEASURE_SECONDS = 3.0  # between two measurements of progress
INBOUND_SECONDS = 1.0  # for so long the leaders' logs are seen growing
FRESH_SECONDS = 1.0  # for so long what was read of partitions holds
TIMED_OUT = "REQUEST_TIMED_OUT"


class Movable(Measurable, Cancellable, Protocol):
    """What is needed of a cluster."""

    def reassignments(self) -> dict[TopicPartition, Ongoing]: ...


class Throttled(Protocol):
    """What is needed of a throttle: it holds for the moves that it covers, until they are released."""

    def cover(self, moves: Mapping[TopicPartition, Move], inbound: Mapping[TopicPartition, float] | None = None) -> object: ...
    def release(self, keys: Collection[TopicPartition]) -> object: ...


@dataclass(frozen=True)
class Pace:
    """How to go about it.

    concurrent_moves  partitions that copy at the same time, at most; those that copy nothing do not count
    stalled_after     seconds without anything being copied, after which what is under way is given up
    duration          seconds for all of it; None: as long as it takes
    throttled         whether the moves under way must not outlive the run
    """

    concurrent_moves: int = 1000
    stalled_after: float = 300.0
    duration: float | None = None
    throttled: bool = False


class Moving:
    """One run on one cluster. `results`: what became of each partition that was not refused or unchanged. `changed`: whether the cluster was told anything.

    `watch` is given `progress.summary` every few seconds.
    """

    def __init__(
        self,
        cluster: Movable,
        verdicts: Iterable[Verdict],
        states: Mapping[TopicPartition, PartitionState],
        pace: Pace,
        throttle: Throttled | None = None,
        watch: Callable[[dict[str, Any]], None] = lambda _: None,
    ) -> None:
        self._cluster, self._pace, self._throttle, self._watch = cluster, pace, throttle, watch
        self._states = dict(states)
        moves = [(verdict.action, verdict.move) for verdict in verdicts if verdict.move is not None]
        self._queue = deque(move for action, move in moves if action == SUBMIT)
        self._flying = {move.key: move for action, move in moves if action == MOVING}
        self._to_cancel = {move.key: move for action, move in moves if action == CANCEL}
        self._total = len(self._queue) + len(self._flying)
        self._doubts: dict[TopicPartition, str] = {}  # why it is not known whether a move was taken
        self._ended: dict[TopicPartition, float] = {}  # since when it is not under way any more
        self._gauge = Gauge(cluster)
        self._live: set[int] = set()  # brokers that were alive at any time since the throttle was set
        self._inbound: dict[TopicPartition, float] = {}  # bytes per second that partitions are written at
        self._read_at = self._heard_at = self._measured_at = time.monotonic()
        self.results: dict[TopicPartition, Result] = {}
        self.changed = False
        self.warnings: list[str] = []

    # --- the three kinds of runs ---------------------------------------------------------------------------------

    def run(self, asked_to_stop: Callable[[], str | None] = lambda: None) -> str | None:
        """Move all partitions and wait for them. Returns why that ended early, in words; None where every move came to an end.

        `asked_to_stop` returns the name of a signal once there was one.
        """
        began, pause = time.monotonic(), FIRST_LOOK
        try:
            # First of all: a killed run has left them, and its throttle has just been taken out.
            self._live = self._cluster.unfenced() if self._pace.throttled else set()
            self._cover(self._flying)
            self._prepare()
        except SpokenError as error:
            # What was under way before this run came goes on as it did.
            return self._stop(str(error), cancel=False)
        try:
            while self._queue or self._flying:
                if signal := asked_to_stop():
                    return self._stop(f"interrupted by {signal}", self._pace.throttled)
                if self._pace.duration is not None and time.monotonic() - began > self._pace.duration:
                    return self._stop(f"the duration of {self._pace.duration:g} s is over", self._pace.throttled)
                submitted, ended = self._submit(self._room()), self._look()
                self._measure()
                self._give_up_what_stands_still()
                pause = FIRST_LOOK if submitted or ended else min(2 * pause, LAST_LOOK)
                time.sleep(pause if self._flying else 0)
            self._measure(at_once=True)
        except SpokenError as error:
            return self._stop(str(error), self._pace.throttled)
        return None

    def submit_only(self, asked_to_stop: Callable[[], str | None] = lambda: None) -> str | None:
        """Submit all moves at once and see that they are under way, or done already. Returns as `run` does."""
        try:
            while self._queue:
                if signal := asked_to_stop():
                    return self._stop(f"interrupted by {signal}", cancel=False)
                self._submit(len(self._queue))
            while self._flying:
                ongoing = self._cluster.reassignments()
                for key in [key for key, move in self._flying.items() if key in ongoing and ongoing[key].target == move.target]:
                    self.results[key] = Result.of(self._flying.pop(key), MOVING)
                self._settle_ended(ongoing)
                time.sleep(FIRST_LOOK if self._flying else 0)
        except SpokenError as error:
            return self._stop(str(error), cancel=False)
        return None

    def cancel(self) -> None:
        """End the reassignments that are to be cancelled."""
        self.changed = bool(self._to_cancel)
        for key, problem in self._cancelled(self._to_cancel).items():
            move = self._to_cancel[key]
            self.results[key] = Result.of(move, CANCELLED) if problem is None else Result.of(move, FAILED, *problem)

    def _prepare(self) -> None:
        """Ask how much there is to copy, and where a throttle could be too low, how fast it grows."""
        keys = [key for key, move in [*self._flying.items(), *((move.key, move) for move in self._queue)] if move.adding]
        self._gauge.prepare(keys, self._states)
        if self._pace.throttled and keys:
            time.sleep(INBOUND_SECONDS)
            self._inbound = self._gauge.written(keys, self._states)

    # --- submitting ----------------------------------------------------------------------------------------------

    def _room(self) -> int:
        return self._pace.concurrent_moves - sum(1 for move in self._flying.values() if move.adding)

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
                batch = self._still_good(batch)
            self._cover(batch)
        except SpokenError:
            self._queue.extendleft(reversed(batch.values()))
            raise
        if batch:
            self._send(batch)
        return True

    def _send(self, batch: dict[TopicPartition, Move]) -> None:
        self._gauge.began(batch.values())
        self.changed = True
        answers: Mapping[TopicPartition, Said] = {}
        try:
            answers = self._cluster.reassign({key: move.target for key, move in batch.items()})
        except SpokenError as error:
            # Perhaps it was taken all the same: what is under way, and what replicas there are, will tell.
            self._doubts |= dict.fromkeys(batch, str(error))
        refused = [key for key in batch if key in answers and answers[key][0] is not None]
        for key in refused:
            self.results[key] = Result.of(batch.pop(key), FAILED, *answers[key])
        self._flying |= batch
        self._release(refused)

    def _still_good(self, batch: Mapping[TopicPartition, Move]) -> dict[TopicPartition, Move]:
        """Look at partitions again right before they are moved. Those that have changed, or could not be copied any more, get their result."""
        states, unfenced = self._read(batch), self._cluster.unfenced()
        good = {}
        for key, move in batch.items():
            problem = self._problem(move, states.get(key), unfenced)
            if problem is None:
                good[key] = move
            else:
                self.results[key] = problem
        return good

    def _problem(self, move: Move, state: PartitionState | None, unfenced: Collection[int]) -> Result | None:
        before = self._states.get(move.key)
        if state is None or (before is not None and state.topic_id != before.topic_id):
            return Result.of(move, STALE, UNKNOWN, "the topic was deleted or created anew meanwhile")
        if state.replicas != move.current:
            return Result(*move.key, STALE, state.replicas, move.target, None, "its replicas have changed meanwhile; run again")
        dead = [broker for broker in move.adding if broker not in unfenced]
        if dead:
            return Result.of(move, FAILED, NOT_AVAILABLE, f"broker {dead[0]} was fenced meanwhile; start it, or name another one")
        if problem := leader_problem(move, state, unfenced):
            return Result.of(move, FAILED, *problem)
        return None

    def _read(self, keys: Collection[TopicPartition]) -> dict[TopicPartition, PartitionState]:
        return {key: state for key, state in self._cluster.partitions(keys).items() if key in keys} if keys else {}

    def _cover(self, moves: Mapping[TopicPartition, Move]) -> None:
        if self._throttle is not None and moves:
            self._throttle.cover(moves, self._inbound)

    def _release(self, keys: Collection[TopicPartition]) -> None:
        if self._throttle is not None and keys:
            try:
                self._throttle.release(keys)
            except SpokenError as error:
                # At the end of the run it is taken out again, and that says whether it could be.
                self.warnings.append(f"the throttle of partitions that have arrived could not be removed yet: {error}")

    # --- waiting -------------------------------------------------------------------------------------------------

    def _look(self) -> bool:
        """See which moves have come to an end. Returns whether any has. SpokenError where nobody has answered for too long."""
        before = len(self._flying)
        try:
            self._settle_ended(self._cluster.reassignments())
            self._heard_at = time.monotonic()
        except SpokenError:
            if time.monotonic() - self._heard_at > self._pace.stalled_after:
                raise
        return len(self._flying) < before

    def _settle_ended(self, ongoing: Mapping[TopicPartition, Ongoing]) -> None:
        ended = {key: move for key, move in self._flying.items() if key not in ongoing or ongoing[key].target != move.target}
        # A move that was not listed yet when it was looked at first, and is by now, has not ended at all.
        self._ended = {key: since for key, since in self._ended.items() if key in ended}
        states, now = self._read(ended), time.monotonic()
        arrived, done = [], []
        for key, move in ended.items():
            result = self._how_it_ended(move, states.get(key), ongoing.get(key), now - self._ended.setdefault(key, now))
            if result is not None:
                self.results[key] = result
                del self._flying[key]
                done.append(key)
                arrived += [move] if result.outcome == REASSIGNED else []
        if arrived:
            self._gauge.arrived(arrived)
        self._release(done)

    def _how_it_ended(self, move: Move, state: PartitionState | None, other: Ongoing | None, since: float) -> Result | None:
        """What became of a move that has not been under way for `since` seconds; None where the brokers may not have learned it yet."""
        if other is not None:
            why = f"somebody else has it move to {list(other.target)} meanwhile; let that end, then run again"
            return Result.of(move, FAILED, IN_PROGRESS, why)
        settled = since >= SETTLED_SECONDS
        if state is not None and state.replicas == move.target and (settled or {*move.adding} <= {*state.isr}):
            return Result.of(move, REASSIGNED)
        if not settled:
            return None
        if state is None:
            return Result.of(move, STALE, UNKNOWN, "the topic was deleted meanwhile")
        why = self._doubts.get(move.key) or "somebody else has cancelled or replaced the move"
        return Result(*move.key, FAILED, state.replicas, move.target, None, f"{why}; run again")

    def _measure(self, at_once: bool = False) -> None:
        if time.monotonic() - self._measured_at < MEASURE_SECONDS and not at_once:
            return
        with suppress(SpokenError):
            self._states |= self._read(self._flying)
            self._cover_who_came_back()
        done = sum(1 for result in self.results.values() if result.outcome == REASSIGNED)
        self._watch(self._gauge.read(self._flying, self._queue, self._states, self._total, done))
        self._measured_at = time.monotonic()

    def _cover_who_came_back(self) -> None:
        """Throttles are set on live brokers alone: one that has come back since catches up on what is moved, too."""
        if self._pace.throttled and (live := self._cluster.unfenced()) - self._live:
            self._live |= live
            self._cover(self._flying)

    def _give_up_what_stands_still(self) -> None:
        """Let go of the moves under way when nothing was copied for long: a broker has died, and others wait for their turn."""
        seconds = self._gauge.standing_still()
        if not self._flying or seconds is None or seconds <= self._pace.stalled_after:
            return
        unfenced = self._cluster.unfenced()
        for move, left in self._let_go(self._pace.throttled):
            dead = [broker for broker in move.adding if broker not in unfenced]
            why = f", broker {dead[0]} is fenced: start it, or name another one" if dead else ""
            self.results[move.key] = Result.of(move, FAILED, TIMED_OUT, f"nothing was copied for {seconds:.0f} s{why}; {left}")
        self._gauge.letting_go()

    # --- ending early --------------------------------------------------------------------------------------------

    def _stop(self, why: str, cancel: bool) -> str:
        """End the run: nothing more is submitted, what is under way is let go of. Returns `why`, how far it came, and how to go on."""
        waiting = len(self._queue)
        for move in self._queue:
            self.results[move.key] = Result.of(move, HELD, message=f"{why}, before its turn; run again to go on")
        self._queue.clear()
        with suppress(SpokenError):
            self._settle_ended(self._cluster.reassignments())
        let_go = self._let_go(cancel)
        for move, left in let_go:
            self.results[move.key] = Result.of(move, HELD if cancel else MOVING, message=f"{why}; {left}")
        done = sum(1 for result in self.results.values() if result.outcome == REASSIGNED)
        return (
            f"{why}: {done} of {self._total} partitions have their new replicas, {len(let_go)} moves under way were "
            f"{'cancelled, so that they do not go on without their throttle' if cancel else 'left to go on'}, "
            f"{waiting} were not begun with; run again to go on"
        )

    def _let_go(self, cancel: bool) -> list[tuple[Move, str]]:
        """Wait for no move any more that is under way. Returns each with words for how it is left."""
        moves, self._flying = self._flying, {}
        if not cancel:
            return [(move, "Kafka goes on with it by itself, and the next run waits for it") for move in moves.values()]
        problems = self._cancelled(moves)
        self._release(moves)
        return [(moves[key], self._left(problem)) for key, problem in problems.items()]

    @staticmethod
    def _left(problem: Said | None) -> str:
        if problem is None:
            return "its move was cancelled, which would have gone on without its throttle"
        return "it could not be cancelled, and goes on without its throttle: " + ": ".join(part for part in problem if part)

    def _cancelled(self, moves: Mapping[TopicPartition, Move]) -> dict[TopicPartition, Said | None]:
        """Cancel moves. Returns why one could not be, None where it was. Those that have arrived meanwhile are absent, and have their result."""
        found = cancellation.cancel(self._cluster, moves)
        self.warnings += [found.warning] if found.warning else []
        self.results |= {key: Result.of(moves[key], REASSIGNED) for key in found.arrived}
        return {key: found.problems.get(key) for key in moves if key not in found.arrived}
