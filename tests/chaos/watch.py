"""The watcher: what the modules do, request by request, and the one place at which a fault is to strike."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from integration.support import Answer, run_module

from chaos.hook import BEFORE, DIE
from chaos.stage import Stage
from rig import PartitionState, RigError
from rig.admin import TopicPartition

ELECT, REORDER = "ElectLeaders", "AlterPartitionReassignments"
WRITING = (ELECT, REORDER)


@dataclass(frozen=True)
class Trip:
    """Where a fault strikes: at the `number`-th event of this kind ("request", "answer", "write") and name (empty: any) in a module."""

    module: str
    kind: str
    number: int
    name: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.name or 'number'} {self.number} of {self.module}"


@dataclass(frozen=True)
class Moment:
    """The cluster as it was when an election was about to be asked for. `alive`: brokers whose process runs, and which are unfenced or stopped."""

    partitions: tuple[TopicPartition, ...]
    alive: frozenset[int]
    states: Mapping[TopicPartition, PartitionState]


@dataclass
class Seen:
    """What modules did since the watcher was last asked. `writing`: partitions named by requests that change something, by request."""

    moments: list[Moment] = field(default_factory=list)
    writing: dict[str, set[TopicPartition]] = field(default_factory=dict)
    events: int = 0


class Watcher:
    """Runs modules and listens to them. One at a time. `asked`: the broker that the latest request goes to."""

    def __init__(self, stage: Stage, directory: Path) -> None:
        self._stage = stage
        self._address = str(directory / "watcher")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self._address)
        self._listener.listen()
        self._trip: tuple[Trip, Callable[[], None], bool] | None = None
        self._count = 0
        self.seen = Seen()
        self.struck = ""
        self.asked: object = None
        self._trouble: RigError | None = None
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        """Listen no more."""
        self._listener.close()

    def set(self, trip: Trip, action: Callable[[], None], die: bool = False) -> None:
        """Call `action` when the trip is reached, once; then the module goes on, or dies by SIGKILL."""
        self._trip, self._count, self.struck = (trip, action, die), 0, ""

    def clear(self) -> None:
        """No fault is to strike any more."""
        self._trip = None

    def take(self, more: Sequence[Moment] = ()) -> Seen:
        """What was seen since this was last called, and `more` elections that were not watched."""
        seen, self.seen = self.seen, Seen()
        seen.moments += more
        return seen

    def run(self, module: str, params: Mapping[str, Any]) -> Answer:
        """Run a module to its end, however it ends."""
        self._count = 0
        answer = run_module(module, params, before=BEFORE.format(module=module, address=self._address))
        if self._trouble is not None:
            trouble, self._trouble = self._trouble, None
            raise trouble
        return answer

    def _serve(self) -> None:
        with suppress(OSError):  # closed
            while True:
                connection, _ = self._listener.accept()
                with connection, connection.makefile("rw") as stream, suppress(OSError):  # a module that was killed
                    for line in stream:
                        stream.write(self._guarded(json.loads(line)) + "\n")
                        stream.flush()

    def _guarded(self, event: dict[str, Any]) -> str:
        try:
            return self._answer(event)
        except RigError as problem:  # of the fault, or of looking at the cluster: the module goes on, `run` raises it
            self._trouble = problem
            return "go"

    def _answer(self, event: dict[str, Any]) -> str:
        self.seen.events += 1
        self.asked = event.get("node", self.asked)
        word = "go"
        if self._trip is not None and self._reached(self._trip[0], event):
            (trip, action, die), self._trip = self._trip, None
            action()
            self.struck = str(trip)
            word = DIE if die else word
        if event["kind"] == "request" and event["name"] in WRITING and word != DIE:
            partitions = tuple((topic, number) for topic, number in event["partitions"])
            self.seen.writing.setdefault(event["name"], set()).update(partitions)
            if event["name"] == ELECT:
                self.seen.moments.append(self._moment(partitions))
        return word

    def _reached(self, trip: Trip, event: Mapping[str, Any]) -> bool:
        if event["module"] != trip.module or event["kind"] != trip.kind or trip.name not in ("", event["name"]):
            return False
        self._count += 1
        return self._count == trip.number

    def _moment(self, partitions: Collection[TopicPartition]) -> Moment:
        cluster = self._stage.cluster
        unfenced = cluster.unfenced()
        alive = {node for node in unfenced if cluster.is_running(node)} | cluster.paused()
        states = self._stage.states({topic for topic, _ in partitions})
        return Moment(tuple(partitions), frozenset(alive), states)
