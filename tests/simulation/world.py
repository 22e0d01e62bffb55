# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Virtual time: everything that happens in a simulation happens in one order, which its seed decides.

Control nodes are threads of which one runs at a time. It runs until it waits (for an answer, or in `time.sleep`); then the next event happens, or the
control node whose wait ends first goes on. So two runs of the product can interleave, and a seed still gives the same history each time.
"""

from __future__ import annotations

import heapq
import math
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from random import Random
from unittest.mock import patch

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import signals
from simulation.stop_signals import SignalsOfProcesses, State

TEMPORARY = re.compile(r"(?:/[\w.-]+)*/tmp[a-z0-9_]{8}")
BEGIN = 1_000.0  # seconds of the virtual monotonic clock
EPOCH = 1_795_000_000.0  # of the virtual wall clock, at BEGIN
FASTEST = 0.0005  # of a second by which a clock is wrong after one more, at most
PROCESS_SECONDS = 300.0  # real ones, after which a control node that does not wait is a mistake of the simulation


class Killed(BaseException):
    """The control node is gone: kill -9. What it would still do (clean up, write a result) does not happen, so it gets this at every step."""


CHANGES = "ElectLeadersRequest", "AlterPartitionReassignmentsRequest"  # of the cluster, by elections


class Process:
    """A control node. `steps`: the requests, waits and writes that it has made. `kill_at`: the step at which it dies; `stop_at`: at which it gets SIGTERM.

    If they are negative, they count from its first change of the cluster on, `first_change`: -1 is that step.
    """

    def __init__(self, name: str, kill_at: int | None = None, stop_at: int | None = None) -> None:
        self.name, self.kill_at, self.stop_at = name, kill_at, stop_at
        self.signals = State()
        self.steps, self.killed, self.ended = 0, False, False
        self.first_change: int | None = None
        self.error: BaseException | None = None
        self.until: float = BEGIN
        self.ready: Callable[[], bool] = lambda: True
        self.turn = threading.Event()

    def reaches(self, step: int | None) -> bool:
        """Return whether it has come to this step, which `kill_at` or `stop_at` names."""
        if step is None or step >= 0:
            return step is not None and self.steps >= step
        return self.first_change is not None and self.steps >= self.first_change - 1 - step


class World:
    """Virtual time of one history. `random`: for all that is drawn in it. `story`: what happened, for people.

    `drift`: seconds by which the clock of a machine may be wrong. If it is not 0, none goes at the right rate.
    `changes_requested`: how often control nodes have sent one of CHANGES, which a broker may carry out later.
    `late`: what happens now was requested before its node hung, at `requested_at`, and no control node waits for it any more.
    """

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.now = BEGIN
        self.late, self.requested_at = False, -math.inf
        self.drift = 0.0
        self.changes_requested = 0
        self._seed, self._clocks = seed, dict[str, tuple[float, float]]()
        self.story: list[str] = []
        self.at_first_change: list[Callable[[], None]] = []  # what happens when a control node sends its first change of the cluster
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self._processes: list[Process] = [Process("simulation")]
        self._current = self._processes[0]

    def wall_clock(self, whose: str = "") -> float:
        """Return the time of the clock of a machine, which `drift` lets differ from those of others. Without a name: the true one."""
        if not whose or not self.drift:
            return EPOCH + self.now - BEGIN
        if whose not in self._clocks:
            random = Random(f"clock of {whose} of {self._seed}")
            self._clocks[whose] = random.uniform(-self.drift, self.drift), 1 + random.uniform(-FASTEST, FASTEST)
        offset, rate = self._clocks[whose]
        return EPOCH + offset + (self.now - BEGIN) * rate

    def monotonic(self) -> float:
        """Stand for `time.monotonic`."""
        return self.now

    def own_clock(self) -> float:
        """Stand for `time.time` of the control node that runs. A second one is another machine."""
        return self.wall_clock("second" if self._current.name == "second" else "first")

    def tell(self, text: str) -> None:
        """Add a line to the story, without the names of temporary folders, which differ each time."""
        self.story.append(f"t={self.now - BEGIN:.3f} {TEMPORARY.sub('/tmp', text)}")

    @contextmanager
    def happening_late(self, requested_at: float) -> Iterator[None]:
        """Let what happens in the block be late."""
        self.late, self.requested_at = True, requested_at
        try:
            yield
        finally:
            self.late = False

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        """Let something happen in so many seconds."""
        self._count += 1
        heapq.heappush(self._events, (self.now + seconds, self._count, act))

    def step(self, what: str) -> None:
        """Count a step of the control node that runs. Raises Killed if it dies here, or is dead."""
        process = self._current
        if process is self._processes[0]:
            return
        process.steps += 1
        is_change = what.startswith(CHANGES)
        self.changes_requested += is_change
        if process.first_change is None and is_change:
            process.first_change = process.steps
            acts, self.at_first_change = self.at_first_change, []
            for act in acts:
                act()
        if not process.killed and process.reaches(process.kill_at):
            process.killed = True
            self.tell(f"{process.name} is killed before step {process.steps}: {what}")
        if process.killed:
            raise Killed
        if process.reaches(process.stop_at) and not self.is_stopped():
            self.tell(f"{process.name} gets SIGTERM at step {process.steps}: {what}")
            process.signals.handle(signal.SIGTERM, None)

    def is_stopped(self) -> bool:
        """Return whether the control node that runs has got a signal."""
        return self._current.signals.pending is not None

    def is_killed(self) -> bool:
        """Return whether the control node that runs is dead."""
        return self._current.killed

    def stop_now(self) -> None:
        """Let the control node that runs get SIGTERM."""
        self.tell(f"{self._current.name} gets SIGTERM")
        self._current.signals.handle(signal.SIGTERM, None)

    def kill_soon(self) -> None:
        """Let the control node that runs die at its next step."""
        self._current.kill_at = self._current.steps + 1

    def wait(self, seconds: float | None, ready: Callable[[], bool] = lambda: False) -> None:
        """Let time pass until `ready`, at most so many seconds."""
        me = self._current
        me.until = float("inf") if seconds is None else self.now + max(0.0, seconds)
        me.ready = ready
        self._next(me)
        if me.killed:
            raise Killed

    def sleep(self, seconds: float) -> None:
        """Stand for `time.sleep`."""
        self.step("sleep")
        self.wait(seconds)

    def run(
        self, works: Mapping[str, Callable[[], object]], kill_at: dict[str, int] | None = None, stop_at: dict[str, int] | None = None
    ) -> dict[str, Process]:
        """Run control nodes side by side until all have ended. `works`: what each does, by name. `kill_at`: steps at which some die, `stop_at`: get SIGTERM.

        Raises what a control node raised, apart from Killed.
        """
        found = {name: Process(name, (kill_at or {}).get(name), (stop_at or {}).get(name)) for name in works}
        threads = []
        for name, work in works.items():
            process = found[name]
            process.until = self.now
            self._processes.append(process)
            threads.append(threading.Thread(target=self._live, args=(process, work), daemon=True))
            threads[-1].start()
        self.wait(None, lambda: all(process.ended for process in found.values()))
        for thread in threads:
            thread.join()
        for process in found.values():
            self._processes.remove(process)
            if process.error is not None:
                raise process.error
        return found

    def _live(self, process: Process, work: Callable[[], object]) -> None:
        process.turn.wait(PROCESS_SECONDS)
        process.turn.clear()
        try:
            work()
        except Killed:
            pass
        except BaseException as error:
            process.error = error
        process.ended, process.until, process.ready = True, float("inf"), lambda: False
        self._next(process)

    def _next(self, me: Process) -> None:
        """Let events happen until a control node goes on. Return when it is `me`, or at once if `me` has ended."""
        while True:
            process = self._runnable()
            if process is not None:
                break
            event = self._events[0][0] if self._events else float("inf")
            sleeper = min(self._processes, key=lambda one: one.until)
            if min(event, sleeper.until) == float("inf"):
                raise RuntimeError("everything waits for ever: " + ", ".join(one.name for one in self._processes if not one.ended))
            if sleeper.until <= event:
                process, self.now = sleeper, max(self.now, sleeper.until)
                break
            when, _, act = heapq.heappop(self._events)
            self.now = max(self.now, when)
            act()
        self._current = process
        if process is me:
            return
        process.turn.set()
        if me.ended:
            return
        if not me.turn.wait(PROCESS_SECONDS):
            raise RuntimeError(f"{process.name} does not wait for anything")
        me.turn.clear()

    def _runnable(self) -> Process | None:
        for one in self._processes:  # not as one expression: this is asked more often than anything else
            if not one.ended and one.ready():
                return one
        return None

    @contextmanager
    def clock(self) -> Iterator[None]:
        """Replace the clocks of this process by virtual ones, and its state of signals by that of the control node that runs, in the block."""
        with (
            patch.object(time, "monotonic", self.monotonic),
            patch.object(time, "time", self.own_clock),
            patch.object(time, "time_ns", lambda: int(self.own_clock() * 1e9)),
            patch.object(time, "sleep", self.sleep),
            patch.object(signals, "_state", SignalsOfProcesses(lambda: self._current.signals)),
        ):
            yield
