"""One real KRaft cluster on loopback."""

import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Self, TypeVar

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import FETCHING_WITHIN
from rig import admin, clients, config
from rig.admin import NewTopic, PartitionState, TopicPartition
from rig.errors import RigError
from rig.nodes import Nodes, Settings, silent
from rig.rpc import Unanswered

ASK_SECONDS = 2.0  # for small questions: a broker that hangs must not hold the rig up
DESCRIBE_SECONDS = 20.0
WORK_SECONDS = 300.0  # thousands of partitions on a busy machine take a while
POLL_SECONDS = 0.1

Answer = TypeVar("Answer")
# What is called with a cluster before it is stopped, unless its block has failed.
AT_END: "list[Callable[[KafkaCluster], None]]" = []


class KafkaCluster(Nodes):
    """A cluster of separate controller and broker JVMs: use it as a context manager, or call start and stop.

    Broker ids are 1, 2, 3, ..., controller ids 101, 102, ... The options are those of `rig.nodes.Settings`.
    """

    def __init__(self, name: str = "kafka", say: Callable[[str], None] = silent, **settings: Any) -> None:
        super().__init__(Settings(name=name, **settings), say)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, problem: type[BaseException] | None, *_exc: object) -> None:
        try:
            for judge in AT_END if problem is None else ():
                judge(self)
        finally:
            self.stop()

    @property
    def bootstrap_servers(self) -> str:
        """Client listeners of all brokers, comma-separated."""
        return ",".join(node.client_address for node in self.brokers.values())

    @property
    def controller_bootstrap_servers(self) -> str:
        """Controller listeners, comma-separated."""
        return ",".join(node.address for node in self.controllers.values())

    @property
    def gateway_servers(self) -> str:
        """The gateways of all brokers, comma-separated. RigError without the setting `gateway`."""
        return ",".join(f"{config.HOST}:{port}" for port in self.gateways.ports.values())

    def servers(self, listener: str) -> str:
        """An additional listener of all brokers, or of all controllers, comma-separated."""
        return ",".join(f"{config.HOST}:{node.more_ports[listener]}" for node in self.nodes.values() if listener in node.more_ports)

    def start(self) -> Self:
        """Start all nodes and wait until every broker is unfenced."""
        began = time.monotonic()
        try:
            self.start_processes()
            self.wait_unfenced(self.brokers)
        except BaseException:
            self.stop()
            raise
        self.say(f"ready after {time.monotonic() - began:.1f} s at {self.bootstrap_servers}")
        return self

    def stop(self) -> None:
        """Kill everything. Harmless when called twice."""
        if "writer" in self.__dict__:
            self.writer.close()
        self.stop_processes()

    def heal(self, seconds: float = 180) -> None:
        """Start every broker that is down, release those that are held, and wait until all are unfenced."""
        for broker_id in list(self.held):
            self.release(broker_id)
        self.start_node(*(broker_id for broker_id in self.brokers if not self.is_running(broker_id)))
        self.wait_unfenced(self.brokers, seconds)

    def restart(self, *broker_ids: int) -> None:
        """Controlled shutdown, start, wait until unfenced."""
        self.terminate(*broker_ids)
        self.start_node(*broker_ids)
        self.wait_unfenced(broker_ids)

    def set_session_timeout(self, seconds: float) -> None:
        """Start the controllers again with another session timeout, and wait until the live brokers have found them.

        Which brokers are fenced stays as it is.
        """
        live = self.unfenced()
        super().set_session_timeout(seconds)
        self.wait_fetching(*live)

    @contextmanager
    def unanswering(self, broker_id: int, seconds: float = 120) -> Iterator[None]:
        """Inside the context this broker is unfenced, and answers nothing. After `seconds` the cluster would fence it."""
        usual = self.session_timeout
        self.set_session_timeout(seconds)
        self.pause(broker_id)
        try:
            yield
        finally:
            self.resume(broker_id)
            self.set_session_timeout(usual)

    # asking and waiting

    def ask(self, question: Callable[[admin.Address], Answer]) -> Answer:
        """Put a question to the brokers that run, one after the other, until one answers. Raises Unanswered."""
        silence = []
        for node in self.answering():
            try:
                return question((config.HOST, node.replication_port or 0))
            except Unanswered as problem:
                silence.append(f"{node.name}: {problem} (log: {node.log_file})")
        raise Unanswered(f"cluster {self.name}: no broker answers. " + ("; ".join(silence) or "None is running."))

    def unfenced(self) -> set[int]:
        """Return the ids of the brokers that are unfenced now."""
        return self.ask(lambda node: admin.unfenced_brokers(node, ASK_SECONDS))

    def broker_states(self) -> dict[int, str]:
        """What each broker is: down, paused, held, fenced or unfenced."""
        unfenced = self.unfenced() if self.answering() else set()
        return {
            broker_id: self._local_state(broker_id) or ("unfenced" if broker_id in unfenced else "fenced") for broker_id in self.brokers
        }

    def wait_unfenced(self, broker_ids: Iterable[int], seconds: float = 120) -> None:
        """Wait until the cluster counts all these brokers as live, and they accept connections. RigError names the others and their log files.

        A broker that starts is unfenced before it opens its port.
        """
        wanted = set(broker_ids)

        def missing() -> str:
            self.fail_if_ended(wanted)
            return self._named((wanted - self.unfenced()) or {broker for broker in wanted if not self._accepts(broker)})

        self.wait_until(missing, "still fenced", seconds)

    def _accepts(self, broker_id: int) -> bool:
        """Return whether a broker accepts connections."""
        with socket.socket() as connection:
            return connection.connect_ex((config.HOST, self.brokers[broker_id].replication_port or 0)) == 0

    def wait_fenced(self, broker_ids: Iterable[int], seconds: float = 60) -> None:
        """Wait until the cluster counts none of these brokers as live, and no broker whose process has ended counts as coming back."""
        wanted = set(broker_ids)
        self.wait_until(lambda: self._named(wanted & self.unfenced()), "still unfenced", seconds)

        def fetching() -> str:
            since, times = (time.time() - FETCHING_WITHIN) * 1000, self.observer_fetch_times()
            return self._named(broker for broker in wanted if not self.is_running(broker) and times.get(broker, 0) > since)

        self.wait_until(fetching, "was fetching the metadata log a moment ago", seconds)

    def observer_fetch_times(self) -> dict[int, int]:
        """When each broker last fetched the metadata log, in milliseconds since 1970."""
        return self.ask(lambda node: admin.observer_fetch_times(node, ASK_SECONDS))

    def wait_fetching(self, *broker_ids: int, seconds: float = 60) -> None:
        """Wait until these brokers, just started or cut off, fetch the metadata log: long before a started one is unfenced."""
        began = time.time() * 1000

        def silent_observers() -> str:
            self.fail_if_ended(broker_ids)
            times = self.observer_fetch_times()
            return self._named(broker_id for broker_id in broker_ids if times.get(broker_id, -1) <= began)

        self.wait_until(silent_observers, "not fetching the metadata log", seconds)

    def describe(self, *topics: str) -> list[PartitionState]:
        """State of every partition of these topics (without names: of all topics), by topic and partition."""
        describe = admin.describe if self.settings.release >= (3, 8) else admin.describe_with_metadata
        return self.ask(lambda node: describe(node, topics, DESCRIBE_SECONDS))

    def log_end_offsets(
        self, broker_id: int, partitions: Iterable[TopicPartition], seconds: float = WORK_SECONDS
    ) -> dict[TopicPartition, int]:
        """Where this broker's replicas of these partitions end, whether it leads them or not."""
        port = self.brokers[broker_id].replication_port or 0
        return admin.log_end_offsets((config.HOST, port), partitions, seconds)

    def wait_for_partitions(self, topics: Iterable[str], good: Callable[[PartitionState], bool], what: str, seconds: float = 60) -> None:
        """Wait until every partition of these topics is `good`. RigError says `what` was wanted and shows the first that is not."""
        names = list(topics)

        def bad() -> str:
            states = [state for state in self.describe(*names) if not good(state)]
            return f"{len(states)} partitions, the first: {states[0]}" if states else ""

        self.wait_until(bad, f"not {what}", seconds)

    def wait_until(self, obstacle: Callable[[], str], meaning: str, seconds: float) -> None:
        """Wait until `obstacle` returns an empty text. A cluster that does not answer yet is an obstacle too."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                text = obstacle()
            except Unanswered as problem:
                text = str(problem)
            if not text:
                return
            if time.monotonic() > deadline:
                raise RigError(f"cluster {self.name}: {meaning} after {seconds:g} s: {text}")
            time.sleep(POLL_SECONDS)

    # topics and records

    def create_topics(self, topics: Sequence[NewTopic]) -> None:
        """Create topics with exactly these assignments and wait until every partition has its leader."""
        self.ask(lambda node: admin.create_topics(node, topics, WORK_SECONDS))
        known = {topic.name: len(topic.assignments) for topic in topics}

        def unknown() -> str:
            try:
                states = self.describe(*known)
            except RigError as problem:  # the broker has not replayed the creation yet
                return str(problem)
            without = [state for state in states if state.leader < 0]
            return f"{len(without)} partitions, the first: {without[0]}" if without else ""

        self.wait_until(unknown, "new topics without leaders", WORK_SECONDS)

    def reorder_replicas(self, orders: Mapping[TopicPartition, Sequence[int]]) -> None:
        """Change the order of partitions' replicas, and nothing else about them."""
        self.ask(lambda node: admin.reorder_replicas(node, orders, WORK_SECONDS))

    def move_logs(self, broker_id: int, log_dir: Path, partitions: Iterable[TopicPartition]) -> None:
        """Have a broker move its logs of these partitions to one of its log directories, and wait until they are there."""
        wanted, node = list(partitions), self.brokers[broker_id]
        admin.move_logs((config.HOST, node.replication_port or 0), str(log_dir), wanted, WORK_SECONDS)

        def elsewhere() -> str:
            return ", ".join(f"{topic}-{number}" for topic, number in wanted if not log_dir.joinpath(f"{topic}-{number}").is_dir())

        self.wait_until(elsewhere, f"logs not moved to {log_dir}", WORK_SECONDS)

    @cached_property
    def writer(self) -> clients.Writer:
        """The producer of `produce`, which remembers what was acknowledged."""
        return clients.Writer(self.bootstrap_servers, self.settings.security)

    def produce(self, topic: str, partition: int, values: Sequence[str], acks: str = "all", must: bool = True) -> int:
        """Produce values to one partition; returns how many were acknowledged (see `writer.acknowledged` for which)."""
        return self.writer.write({(topic, partition): values}, acks=acks, must=must)

    def read(self, topic: str, partition: int, seconds: float = 30) -> list[tuple[int, str]]:
        """Every (offset, value) that a consumer sees in a partition."""
        return self.read_many([(topic, partition)], seconds)[topic, partition]

    def read_many(
        self, partitions: Iterable[TopicPartition], seconds: float = 120, isolation: str = "read_committed"
    ) -> dict[TopicPartition, list[tuple[int, str]]]:
        """The same for many partitions at once."""
        return clients.read(self.bootstrap_servers, self.settings.security, partitions, seconds, isolation)

    def _named(self, broker_ids: Iterable[int]) -> str:
        return ", ".join(f"broker {broker_id} (log: {self.brokers[broker_id].log_file})" for broker_id in sorted(broker_ids))
