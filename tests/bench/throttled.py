"""A throttled move: how fast it really is, and which throttle configs are left on brokers and topics however it ends."""

import json
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka import Producer
from integration.throttle_leaks import clear, throttles

from bench.measure import MODULES, module
from rig import KafkaCluster, NewTopic, RigError
from rig.stock import reassign_partitions

TOPIC, PARTITIONS = "moved", 8
REPLICAS, LEADER, PLACES = 2, 1, (2, 3)  # the second replica is moved between two brokers
MEGABYTES = 200
RECORD = b"x" * 5_000
# As Kafka's own producer makes them. An answer to a fetch has a megabyte of each partition, ends in the middle of a batch, and the quota counts
# that piece as well, although it is fetched again: in batches of a megabyte each, a seventh of the rate goes into such pieces.
BATCH_SIZE = 16_384
RATE = 8_000_000  # 200 MB last for 25 s
SLOW, FAST = 2_000_000, 1_000_000_000  # lasts until it is disturbed; lasts no time
WINDOW = 11.0  # seconds: Kafka's quota counts 11 samples of 1 s, and knows nothing of what was there before
STALLED_AFTER = 20.0
NEARLY_ALL = 0.98  # partitions end one after the other
LOOK_SECONDS = 0.1
GIVE_UP_SECONDS = 300.0
SHOWN_SECONDS = 10.0  # within which brokers show what the controller has done


class Pace(NamedTuple):
    """How fast a move was, in bytes per second.

    average  what had to be copied, over the time from submission until all of it was in sync: what an operator sees who waits for the move
    steady   slope of the replicas' sizes once a whole window of the quota has passed: what the network sees
    """

    seconds: float
    size: int
    average: float
    steady: float

    def beside(self, asked: int) -> str:
        """In words, beside the rate that was asked for."""
        return (
            f"{self.average / 1e6:.2f} MB/s = {self.average / asked - 1:+.1%} ({self.size / 1e6:.0f} MB in {self.seconds:.1f} s; "
            f"steady {self.steady / 1e6:.2f} MB/s = {self.steady / asked - 1:+.1%})"
        )


class Throttled:
    """Measures on one cluster of three brokers. `note` takes a line of the table, `say` other words."""

    def __init__(self, cluster: KafkaCluster, scratch: Path, note: Callable[[str, str, str], None], say: Callable[[str], None]) -> None:
        self.cluster, self.note, self.say, self.scratch = cluster, note, say, scratch
        self.common = {
            "bootstrap_servers": cluster.bootstrap_servers,
            # Which broker can get a config of a broker that has died in the meantime.
            "controller_bootstrap_servers": cluster.controller_bootstrap_servers,
            "cluster": "bench",
            "workdir": str(scratch / "throttled"),
        }
        cluster.create_topics([NewTopic(TOPIC, [[LEADER, PLACES[0]]] * PARTITIONS)])
        self._fill()

    def _fill(self) -> None:
        """Write as many megabytes, spread evenly over the partitions."""
        producer = Producer({"bootstrap.servers": self.cluster.bootstrap_servers, "acks": "all", "batch.size": BATCH_SIZE, "linger.ms": 20})
        for number in range(MEGABYTES * 1_000_000 // len(RECORD)):
            producer.produce(TOPIC, RECORD, partition=number % PARTITIONS)
        if left := producer.flush(GIVE_UP_SECONDS):
            raise RigError(f"{left} records for {TOPIC} were not acknowledged")

    # --- accuracy ------------------------------------------------------------------------------------------------

    def accuracy(self) -> None:
        """The same move at the same rate by the module, and back by Kafka's own tool."""
        with self._running("accuracy", RATE) as process:
            ours = self._pace(lambda: process.poll() is None)
            self._ended(process, 0)
        asked = f"throttle of {RATE / 1e6:.0f} MB/s on a move of {MEGABYTES} MB, submission until in sync"
        self.note(asked, ours.beside(RATE), "within 15 %")
        self._left("success")
        wanted = self.scratch / "back.json"
        wanted.write_text(json.dumps({"version": 1, "partitions": self._moves()}))
        arguments = ("--execute", "--throttle", str(RATE), "--reassignment-json-file", str(wanted))
        with ThreadPoolExecutor(1) as pool:
            tool = pool.submit(reassign_partitions, self.cluster, *arguments)
            stock = self._pace(lambda: not tool.done())
            tool.result()
        self.note("the same by kafka-reassign-partitions.sh --throttle", stock.beside(RATE), "")
        self.note("throttle configurations that it leaves until an operator runs --verify", str(len(throttles(self.cluster))), "")
        clear(self.cluster)

    def _pace(self, can_begin: Callable[[], bool]) -> Pace:
        """Watch a move that is about to begin until all replicas are in sync."""
        (place,) = {row["replicas"][1] for row in self._moves()}
        seen: list[tuple[float, int]] = []
        began, deadline = None, time.monotonic() + GIVE_UP_SECONDS
        while True:
            # Kafka takes the replicas that give way out at the moment at which the last one that is added is in sync.
            moving = any(len(state.replicas) > REPLICAS for state in self.cluster.describe(TOPIC))
            now = time.monotonic()
            began = now if began is None and moving else began
            if now > deadline or (began is None and not can_begin()):
                raise RigError(f"the move of {TOPIC} has not {'begun' if began is None else 'ended'}")
            if began is not None:
                seen.append((now - began, self._size(place)))
                if not moving:
                    break
            time.sleep(LOOK_SECONDS)
        seconds, size = seen[-1]
        steady = [row for row in seen if row[0] > WINDOW and row[1] < NEARLY_ALL * size]
        slope = statistics.linear_regression([row[0] for row in steady], [row[1] for row in steady]).slope
        return Pace(seconds, size, size / seconds, slope)

    def _size(self, broker: int) -> int:
        """Bytes of the topic's logs on a broker."""
        # Not what was deleted: such a directory has another name, and goes a minute later.
        places = [self.cluster.brokers[broker].data_dir / f"{TOPIC}-{partition}" for partition in range(PARTITIONS)]
        return sum(path.stat().st_size for place in places for path in place.glob("*.log"))

    # --- what is left --------------------------------------------------------------------------------------------

    def leaks(self) -> None:
        """End a throttled move in every way there is, and count what is left of its throttle."""
        with self._running("cancelled", SLOW, on_interrupt="leave") as process:
            were_set, _ = self._under_way()
            process.send_signal(signal.SIGTERM)
            self._ended(process, 1)
        module("kafka_partition_reassignment", **self.common, run_id="cancelled", state="cancelled")
        self._left("cancel", were_set)
        with self._running("terminated", SLOW) as process:
            were_set, _ = self._under_way()
            process.send_signal(signal.SIGTERM)
            self._ended(process, 1)
        self._left("SIGTERM", were_set)
        with self._running("bereaved", SLOW, stalled_after=STALLED_AFTER) as process:
            were_set, copying = self._under_way()
            self.cluster.kill(*copying)
            self._ended(process, 1)
        self.cluster.heal()
        self._left("a broker dying in the middle", were_set)
        targets = self._moves()
        with self._running("killed", SLOW) as process:
            were_set, _ = self._under_way()
            process.kill()
            self._ended(process, -signal.SIGKILL)
        module("kafka_partition_reassignment", **self.common, run_id="killed", partitions=targets, throttle=FAST)
        self._left("SIGKILL and another run", were_set)

    def _moves(self) -> list[dict[str, Any]]:
        """All partitions, and their second replica on the other one of the two brokers."""
        return [
            {"topic": TOPIC, "partition": state.partition, "replicas": [LEADER, *(set(PLACES) - set(state.replicas))]}
            for state in self.cluster.describe(TOPIC)
        ]

    def _under_way(self) -> tuple[int, set[int]]:
        """Wait until all partitions copy. Returns how many throttle configs are set, and the brokers that replicas are copied to."""
        self.cluster.wait_for_partitions([TOPIC], lambda state: len(state.replicas) > REPLICAS, "moving")
        copying = {broker for state in self.cluster.describe(TOPIC) for broker in state.replicas if broker not in state.isr}
        if not (found := throttles(self.cluster)):
            raise RigError("a throttled move has no throttle")
        return len(found), copying

    def _left(self, how: str, were_set: int | None = None) -> None:
        """Count the throttle configs of all brokers and topics, as soon as brokers can be expected to show the truth."""
        deadline = time.monotonic() + SHOWN_SECONDS
        while (found := throttles(self.cluster)) and time.monotonic() < deadline:
            time.sleep(LOOK_SECONDS)
        for row in sorted(found):
            self.say(f"   {row.resource}: {row.config}={row.value}")
        before = "" if were_set is None else f" (of {were_set} in the middle)"
        self.note(f"throttle configurations left after {how}", f"{len(found)}{before}", "0")
        clear(self.cluster)

    @contextmanager
    def _running(self, run_id: str, rate: int, **options: Any) -> Iterator[subprocess.Popen[str]]:
        """The module in the background. Nothing of it is left when the context ends."""
        file = self.scratch / f"{run_id}.json"
        arguments = {**self.common, "run_id": run_id, "partitions": self._moves(), "throttle": rate, **options}
        file.write_text(json.dumps({"ANSIBLE_MODULE_ARGS": arguments}))
        command = [sys.executable, str(MODULES / "kafka_partition_reassignment.py"), str(file)]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                yield process
            finally:
                process.kill()

    def _ended(self, process: subprocess.Popen[str], code: int) -> None:
        """Wait until the module has ended in this way."""
        stdout, stderr = process.communicate(timeout=GIVE_UP_SECONDS)
        if process.returncode != code:
            raise RigError(f"the module ended with {process.returncode}, not {code}: {stdout}{stderr}")
        if code == 1:
            self.say(str(json.loads(stdout)["msg"]))
