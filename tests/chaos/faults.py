"""What goes wrong during a recovery. Each fault draws its details from the seed, strikes, says what it did, and ends."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from random import Random
from typing import Any

from chaos.history import BROKERS, Script
from chaos.hook import PLANNING
from chaos.stage import Stage
from chaos.watch import ELECT, REORDER, Trip, Watcher
from rig import RigError
from rig.proxy import Mode

COLLECTING, ELECTING = "kafka_replica_log_info", "kafka_designated_election"
# About as many requests as these modules send for one batch of partitions.
REQUESTS = {COLLECTING: 10, ELECTING: 16}


class Fault:
    """Nothing at all; the others say what they do differently.

    `lasting`: reruns while it lasts make sense. `story`: what was done, for people. `touched`: brokers that it took away.
    `unwatched`: whether `strike` can strike at any moment, of a run whose requests are not watched.
    """

    name = "none"
    lasting = False
    unwatched = True

    def __init__(self, stage: Stage, watcher: Watcher, random: Random, script: Script) -> None:
        self.stage, self.watcher, self.random, self.script = stage, watcher, random, script
        self.story = ""
        self.touched: set[int] = set()

    def begin(self) -> None:
        """Before anything is collected."""

    def between(self, plan: Callable[[], dict[str, Any]]) -> None:
        """After the plan, before the election. `plan` reads the plan."""

    def strike(self) -> None:
        """Strike now."""
        self.between(dict)

    def end(self) -> None:
        """Undo it: brokers are back, connections work."""

    def a_survivor(self) -> int:
        broker = self.random.choice(self.script.survivors)
        self.touched.add(broker)
        return broker


class SurvivorKilled(Fault):
    """SIGKILL for a survivor between collecting and election."""

    name = "survivor killed"
    lasting = True

    def between(self, plan: Callable[[], dict[str, Any]]) -> None:
        broker, noticed = self.a_survivor(), self.random.random() < 0.6
        self.stage.cluster.kill(broker)
        if noticed and self.stage.cluster.answering():
            self.stage.cluster.wait_fenced([broker])
        self.story = f"broker {broker} killed{', and fenced' if noticed else ''}"

    def end(self) -> None:
        self.stage.revive(self.script.survivors)


class SurvivorStopped(Fault):
    """SIGSTOP for a survivor between collecting and election, or long enough before to be fenced by then."""

    name = "survivor stopped"
    lasting = True
    early: bool | None = None  # drawn if it is not given

    def begin(self) -> None:
        self.early = self.random.random() < 0.3 if self.early is None else self.early
        if self.early:
            self._stop(noticed=True)

    def between(self, plan: Callable[[], dict[str, Any]]) -> None:
        if not self.early:
            self._stop(noticed=self.random.random() < 0.5)

    def _stop(self, noticed: bool) -> None:
        broker, cluster = self.a_survivor(), self.stage.cluster
        cluster.pause(broker)
        if noticed and cluster.answering():
            cluster.wait_fenced([broker])
        self.story = f"broker {broker} stopped{', and fenced' if noticed else ''} {'before' if self.early else 'after'} collecting"

    def end(self) -> None:
        self.stage.revive(self.script.survivors)


class DesignatedKilled(Fault):
    """The broker that is designated for most partitions dies when its election is about to be asked for."""

    name = "designated killed"
    unwatched = False

    def between(self, plan: Callable[[], dict[str, Any]]) -> None:
        designated = Counter(row["designatedLeader"] for row in plan()["partitions"])
        if designated:
            broker = designated.most_common(1)[0][0]
            how = self.random.choice(("killed", "killed, and fenced", "terminated"))
            self.watcher.set(Trip(ELECTING, "request", 1, ELECT), lambda: self._strike(broker, how))

    def _strike(self, broker: int, how: str) -> None:
        self.touched.add(broker)
        (self.stage.cluster.terminate if how == "terminated" else self.stage.cluster.kill)(broker)
        if how != "killed" and self.stage.cluster.answering():
            self.stage.cluster.wait_fenced([broker])
        self.story = f"designated broker {broker} {how}"

    def end(self) -> None:
        self.watcher.clear()
        self.stage.revive(self.script.survivors)


class ControllersKilled(Fault):
    """The active controller is killed, and when another one is active, that one, and so on."""

    name = "controllers killed"
    lasting = True

    def begin(self) -> None:
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._go_on, args=(self.random.uniform(1, 4),), daemon=True)
        self._kills = 0
        self._thread.start()

    def _go_on(self, pause: float) -> None:
        while not self._over.is_set():
            with suppress(RigError):  # no active controller to be found just now
                self.stage.fail_over()
                self._kills += 1
            self._over.wait(pause)

    def end(self) -> None:
        self._over.set()
        self._thread.join()
        self.stage.wait_for_controller()
        self.story = f"{self._kills} active controllers killed"


class CleanLeaderReturns(Fault):
    """The last in-sync replica comes back at some moment."""

    name = "clean leader returns"
    unwatched = False

    def begin(self) -> None:
        self._far = self.random.choice(("started", "fetching the metadata log", "unfenced"))
        when = self.random.choice(("at once", "between", "trip", "trip"))
        if when == "at once":
            self._start(when)
        elif when == "trip":
            trip = self.random.choice((Trip(ELECTING, "request", 1, ELECT), a_request(self.random)))
            self.watcher.set(trip, lambda: self._start(f"at {trip}"))
        self._later = when == "between"

    def between(self, plan: Callable[[], dict[str, Any]]) -> None:
        if self._later:
            self._start("between plan and election")

    def _start(self, when: str) -> None:
        broker, cluster = self.script.lost, self.stage.cluster
        cluster.start_node(broker)
        if self._far == "unfenced":
            cluster.wait_unfenced([broker])
        elif self._far != "started":
            cluster.wait_fetching(broker)
        self.story = f"broker {broker} {self._far} {when}"

    def end(self) -> None:
        self.watcher.clear()
        self.stage.revive([self.script.lost])
        self.story = self.story or f"broker {self.script.lost} back after the first attempt"


class Network(Fault):
    """From a random request on connections are cut, slow, or go nowhere, for a while: those of one broker, of two or of all,
    or those of the broker that this very request goes to, until the run has ended."""

    mode = Mode.PASS
    trip: Trip | None = None  # drawn if it is not given

    def begin(self) -> None:
        self._brokers = self.random.sample(BROKERS, k=self.random.randint(1, 3))
        self._seconds = self.random.uniform(0.2, 9)
        self._delay = self.random.uniform(0.1, 1.2) if self.mode is Mode.DELAY else 0.0
        self._only_asked = self.random.random() < 0.3
        self._trip = self.trip or a_request(self.random)
        self._timer = threading.Timer(self._seconds, self._over)
        self.watcher.set(self._trip, self._strike)

    def strike(self) -> None:
        self.watcher.clear()
        self._only_asked = False
        self._strike()

    def _strike(self) -> None:
        only = [self.watcher.asked] if self._only_asked or self.trip else []
        chosen = [broker for broker in only if isinstance(broker, int) and broker in self.stage.cluster.brokers]
        self.stage.cluster.proxies.set(self.mode, chosen or self._brokers, self._delay)
        if not chosen:
            self._timer.start()
        lasting = f"broker {chosen[0]} until the end of the run" if chosen else f"brokers {sorted(self._brokers)} for {self._seconds:.1f} s"
        self.story = f"{lasting}, from {self._trip} on" + (f", {self._delay:.1f} s late" if self._delay else "")

    def _over(self) -> None:
        self.stage.cluster.proxies.set(Mode.PASS)

    def end(self) -> None:
        self.watcher.clear()
        self._timer.cancel()
        self._over()


class ConnectionsCut(Network):
    name, mode = "connections cut", Mode.CUT


class ConnectionsDelayed(Network):
    name, mode = "connections delayed", Mode.DELAY


class ConnectionsBlackHoled(Network):
    name, mode = "connections black-holed", Mode.BLACK_HOLE


class OwnKill(Fault):
    """SIGKILL for one of our own processes: before a request leaves, when its answer comes, or before a file is safe on disk."""

    name = "own process killed"
    unwatched = False

    def begin(self) -> None:
        trips: Sequence[Trip] = (
            Trip(ELECTING, self.random.choice(("request", "answer")), self.random.randint(1, 2), REORDER),
            Trip(ELECTING, self.random.choice(("request", "answer")), 1, ELECT),
            Trip(ELECTING, "write", self.random.randint(1, 3)),
            Trip(self.random.choice((COLLECTING, PLANNING)), "write", 1),
            a_request(self.random),
        )
        self._trip = self.random.choice(trips)
        self.watcher.set(self._trip, lambda: None, die=True)

    def end(self) -> None:
        self.story = f"killed at {self.watcher.struck}" if self.watcher.struck else ""
        self.watcher.clear()


def a_request(random: Random) -> Trip:
    """A random request, or the answer to one; every third time one of those that change the cluster."""
    kind = random.choice(("request", "answer"))
    if random.random() < 1 / 3:
        return random.choice((Trip(ELECTING, kind, 1, REORDER), Trip(ELECTING, kind, 1, ELECT), Trip(ELECTING, kind, 2, REORDER)))
    module = random.choice((COLLECTING, ELECTING, ELECTING))
    return Trip(module, kind, random.randint(1, REQUESTS[module]))


FAULTS: dict[str, type[Fault]] = {
    fault.name: fault
    for fault in (
        Fault,
        SurvivorKilled,
        SurvivorStopped,
        DesignatedKilled,
        ControllersKilled,
        ConnectionsCut,
        ConnectionsDelayed,
        ConnectionsBlackHoled,
        OwnKill,
        CleanLeaderReturns,
    )
}
