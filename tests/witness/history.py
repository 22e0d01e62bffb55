"""Histories of a partition, which porcupine judges (`go/history.go` has the model)."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from confluent_kafka import KafkaError, Message, Producer

from rig import KafkaCluster, RigError
from witness import franz

GIVE_UP_MS = 3000
READ_SECONDS = 3
PAUSE = 0.05


class Recorder:
    """Clients that append to partition 0 of a topic, and one that reads it again and again, until `stop`. `operations`: what they have seen."""

    def __init__(self, cluster: KafkaCluster, topic: str, writers: int = 2) -> None:
        self.operations: list[dict[str, Any]] = []
        self._cluster, self._topic = cluster, topic
        self._stopped = threading.Event()
        self._problems: list[Exception] = []
        work: list[Callable[[int], None]] = [*[self._append] * writers, self._read]
        self._threads = [threading.Thread(target=self._repeat, args=(number, one), daemon=True) for number, one in enumerate(work)]
        for thread in self._threads:
            thread.start()

    def count(self, kind: str) -> int:
        """How many operations of this kind there are."""
        return sum(row["kind"] == kind for row in self.operations)

    def wait_for(self, kind: str, more: int, seconds: float = 60) -> None:
        """Wait until there are so many more operations of this kind."""
        wanted = self.count(kind) + more
        self._cluster.wait_until(
            lambda: "" if self.count(kind) >= wanted else f"{self.count(kind)} of {wanted}", f"too few: {kind}", seconds
        )

    def recovered(self, end: int, most_lost: int | None, call: int) -> None:
        """A recovery, begun at `call`, has elected a leader whose log ends at `end`."""
        self._add(len(self._threads), "recover", call, offset=end, most_lost=most_lost)

    def stop(self) -> None:
        """Wait until every client has ended. Raises what one of them met and did not expect."""
        self._stopped.set()
        for thread in self._threads:
            thread.join()
        for problem in self._problems:
            raise problem

    def _repeat(self, client: int, once: Callable[[int], None]) -> None:
        try:
            while not self._stopped.wait(PAUSE):
                once(client)
        except Exception as problem:
            self._problems.append(problem)

    def _append(self, client: int) -> None:
        """What is not acknowledged may be in the log or not: no operation says so."""
        acknowledged: list[int] = []

        def remember(error: KafkaError | None, message: Message) -> None:
            if error is None:
                acknowledged.append(int(message.offset() or 0))

        options = {"acks": "all", "message.timeout.ms": GIVE_UP_MS, "linger.ms": 0, "log_level": 2}
        producer = Producer({"bootstrap.servers": self._cluster.bootstrap_servers, **options})
        for _ in range(10):
            call = time.monotonic_ns()
            value = f"{client}-{call}"
            producer.produce(self._topic, value=value.encode(), partition=0, on_delivery=remember)
            producer.flush(GIVE_UP_MS / 1000 + 1)
            for offset in acknowledged:
                self._add(client, "append", call, offset=offset, value=value)
            acknowledged.clear()

    def _read(self, client: int) -> None:
        call = time.monotonic_ns()
        with suppress(RigError):  # without a leader nothing is read
            read = franz.records(self._cluster, [(self._topic, 0)], READ_SECONDS)[self._topic, 0]
            self._add(client, "read", call, records=[{"offset": offset, "value": value} for offset, value in read])

    def _add(self, client: int, kind: str, call: int, **fields: Any) -> None:
        self.operations.append({"client": client, "kind": kind, "call": call, "return": time.monotonic_ns(), **fields})


def verdict(operations: Sequence[Mapping[str, Any]]) -> str:
    """porcupine's: "Ok", "Illegal" or "Unknown"."""
    return str(franz.run("history", rows=operations))
