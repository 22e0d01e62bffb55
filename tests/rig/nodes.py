"""The nodes of one KRaft cluster as JVM processes: made, started, stopped, killed, paused."""

import dataclasses
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rig import class_archive, config, jars, java, partition, storage
from rig.config import Node
from rig.errors import RigError
from rig.hold import Hold
from rig.listeners import BrokerListener, ListenerSecurity, Plaintext
from rig.partition import ControllerNetwork
from rig.ports import PortBlock
from rig.process import Processes
from rig.proxy import Proxies

if TYPE_CHECKING:
    from rig.gateway import Gateways

JVM_OPTIONS = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+ExitOnOutOfMemoryError", "-Djava.awt.headless=true"]
FIRST_CONTROLLER_ID = 101
TERMINATE_SECONDS = 90.0
FAILED = "failed"  # where a log directory that has failed is kept


def silent(line: str) -> None:
    """Progress lines that are not shown."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """How a cluster is to be.

    properties       go into every node's server.properties, over the rig's own
    session_timeout  seconds until a silent broker is fenced
    elr              eligible leader replicas on or off; None is the release's default
    racks            one per broker
    listeners        more listeners of every broker, by name (see rig.secured); controller_listeners of every controller, by other names
    scram            passwords by user, for SASL's SCRAM mechanisms
    jvm_options      of every node
    request_log      the controllers' server.log has every request that they answer, in JSON
    gateway          one listener more, for clients that speak KIP-1275's messages: `gateways` add these, and pass everything else on
    proxied          clients reach the brokers through `proxies`, which pass everything on until they get another rule
    second_log_dir   of every broker, which can fail without the broker (`fail_second_log_dir`)
    tiered           topics may have remote storage (KIP-405), which is in the folder `remote`
    partitionable    controllers reach each other only through `network`, which can cut them off from each other
    keep             leave the cluster's directory (see rig.storage.base_directory) behind
    """

    name: str = "kafka"
    brokers: int = 4
    controllers: int = 1
    version: str = dataclasses.field(default_factory=jars.default_version)
    properties: Mapping[str, object] = dataclasses.field(default_factory=dict)
    heap: str = "256m"
    session_timeout: float = 3.0
    elr: bool | None = None
    racks: Sequence[str] | None = None
    security: ListenerSecurity = dataclasses.field(default_factory=Plaintext)
    listeners: Mapping[str, BrokerListener] = dataclasses.field(default_factory=dict)
    controller_listeners: Mapping[str, BrokerListener] = dataclasses.field(default_factory=dict)
    scram: Mapping[str, str] = dataclasses.field(default_factory=dict)
    jvm_options: Sequence[str] = ()
    request_log: bool = False
    gateway: bool = False
    proxied: bool = False
    second_log_dir: bool = False
    tiered: bool = False
    partitionable: bool = False
    keep: bool = False

    @property
    def release(self) -> tuple[int, ...]:
        """The release of Kafka, such as 3 and 9."""
        return tuple(int(number) for number in self.version.split(".")[:2])


class Nodes:
    """Brokers 1, 2, 3, ... and controllers 101, 102, ..., whose processes die with the process that started them."""

    def __init__(self, settings: Settings, say: Callable[[str], None] = silent) -> None:
        """`say` gets progress lines."""
        self.settings = settings
        self.cluster_id = storage.random_id()
        self.directory = Path(tempfile.mkdtemp(prefix=f"rig-{settings.name}-", dir=storage.base_directory()))
        self._say = say
        self._ports = PortBlock()
        self._processes: Processes | None = None
        self._proxies: Proxies | None = None
        self._gateways: Gateways | None = None
        self._network: ControllerNetwork | None = None
        self._listeners = {**settings.listeners, **({config.GATEWAY: Plaintext()} if settings.gateway else {})}
        self.session_timeout = settings.session_timeout
        self._paused: set[int] = set()
        self.held: dict[int, Hold] = {}
        self.brokers = {node_id: self._broker(node_id) for node_id in range(1, settings.brokers + 1)}
        self.controllers = {
            node_id: Node(
                node_id,
                "controller",
                self.directory / f"controller-{node_id}",
                self._ports.take(),
                more_ports={name: self._ports.take() for name in settings.controller_listeners},
            )
            for node_id in range(FIRST_CONTROLLER_ID, FIRST_CONTROLLER_ID + settings.controllers)
        }
        self.nodes = self.controllers | self.brokers

    @property
    def name(self) -> str:
        return self.settings.name

    @property
    def libs(self) -> Path:
        """Directory of this cluster's Kafka jars."""
        return jars.libs(self.settings.version, say=self.say)

    @property
    def remote(self) -> Path:
        """The folder with remote storage, of a cluster with the setting `tiered`."""
        return self.directory / "remote"

    @property
    def proxies(self) -> Proxies:
        """The proxies in front of the brokers. RigError without the setting `proxied`."""
        if self._proxies is None:
            raise RigError(f"cluster {self.name} is not started with proxies")
        return self._proxies

    @property
    def network(self) -> ControllerNetwork:
        """The network between the controllers. RigError without the setting `partitionable`."""
        if self._network is None:
            raise RigError(f"cluster {self.name} is not started with a network that can be cut")
        return self._network

    @property
    def gateways(self) -> "Gateways":
        """The gateways in front of the brokers. RigError without the setting `gateway`."""
        if self._gateways is None:
            raise RigError(f"cluster {self.name} is not started with gateways")
        return self._gateways

    def say(self, line: str) -> None:
        """Report progress, with the cluster's name in front."""
        self._say(f"[{self.name}] {line}")

    def start_processes(self) -> None:
        """Format the storage and start all nodes side by side."""
        for node in self.nodes.values():
            node.directory.mkdir(parents=True)
            self._write_properties(node)
        elr = self.settings.elr
        features = [] if elr is None else [f"eligible.leader.replicas.version={int(elr)}"]
        storage.format_nodes(self.libs, self.cluster_id, list(self.nodes.values()), features, self.settings.scram)
        self._processes = Processes(keep_open=[self._ports.lock_fd], remove=[] if self.settings.keep else [self.directory])
        self.say(f"starting Kafka {self.settings.version}: {len(self.controllers)} controllers, {len(self.brokers)} brokers")
        if self.settings.proxied:
            self._proxies = Proxies({node.node_id: (node.proxy_port, node.port) for node in self.brokers.values() if node.proxy_port})
        if self.settings.gateway:
            from rig.gateway import Gateways  # it stands on the collection's own messages, which nothing else of the rig needs

            self._gateways = Gateways(self.brokers, self.controllers, self.pid)
        if self.settings.partitionable:
            self._network = ControllerNetwork(self.controllers)
        self.start_node(*self.nodes)

    def stop_processes(self) -> None:
        """Kill all nodes and remove their directory (unless it is to be kept). Harmless when called twice."""
        if self._processes is not None:
            self._processes.close()
            self._processes = None
        if self._proxies is not None:
            self._proxies.close()
            self._proxies = None
        if self._gateways is not None:
            self._gateways.close()
            self._gateways = None
        if self._network is not None:
            self._network.close()
            self._network = None
        self._ports.release()
        if not self.settings.keep:
            shutil.rmtree(self.directory, ignore_errors=True)

    def kill(self, *node_ids: int) -> None:
        """SIGKILL. The cluster notices when the session times out."""
        for node_id in node_ids:
            self._signal(node_id, signal.SIGKILL)
        self._wait_for_end(node_ids, seconds=20)

    def terminate(self, *node_ids: int, seconds: float = TERMINATE_SECONDS) -> None:
        """Controlled shutdown: a broker hands its leaderships over, leaves the ISRs, and is fenced at once."""
        for node_id in node_ids:
            self._signal(node_id, signal.SIGTERM)
        self._wait_for_end(node_ids, seconds)
        for node_id in node_ids:
            class_archive.adopt(self.libs, self.nodes[node_id])

    def pause(self, *node_ids: int) -> None:
        """SIGSTOP: the node's ports stay open, and nothing answers."""
        for node_id in node_ids:
            self._paused.add(node_id)
            self._signal(node_id, signal.SIGSTOP)

    def resume(self, *node_ids: int) -> None:
        """SIGCONT."""
        for node_id in node_ids:
            self._signal(node_id, signal.SIGCONT)
            self._paused.discard(node_id)

    def start_node(self, *node_ids: int) -> None:
        """Start brokers or controllers with the storage they have. Does not wait until they are of use."""
        jvm_options = [f"-Xms{self.settings.heap}", f"-Xmx{self.settings.heap}", *JVM_OPTIONS, *self.settings.jvm_options]
        for node_id in node_ids:
            node = self.nodes[node_id]
            loggers = {"kafka.request.logger": "debug"} if self.settings.request_log and node.role == "controller" else {}
            logging = java.logging_options(node.log_file, loggers=loggers)
            hosts = self._network.jvm_options(node) if self._network else []
            options = [*jvm_options, *hosts, *class_archive.jvm_options(self.libs, node), *logging]
            argv = java.command(self.libs, "kafka.Kafka", str(node.properties_file), jvm_options=options)
            self._running().start(node.name, argv, node.console_file)

    def fail_second_log_dir(self, broker_id: int) -> None:
        """Put a file where the second log directory of a broker is. The broker notices when it next writes a checkpoint of high watermarks."""
        directory = self.brokers[broker_id].log_dirs[1]
        directory.rename(directory.with_name(FAILED))
        directory.touch()

    def has_failed_log_dir(self, broker_id: int) -> bool:
        """Whether the second log directory of a broker has failed, and has not returned."""
        return self.brokers[broker_id].directory.joinpath(FAILED).exists()

    def failed_logs(self, broker_id: int) -> set[tuple[str, int]]:
        """The partitions whose logs of this broker are in the log directory that has failed."""
        failed = self.brokers[broker_id].directory / FAILED
        names = [path.name.rpartition("-") for path in failed.glob("*-[0-9]*") if path.is_dir()]
        return {(topic, int(partition)) for topic, _, partition in names if partition.isdigit()}

    def return_second_log_dir(self, broker_id: int) -> None:
        """Put the second log directory of a broker that is down where it was. Of replicas that are in the first one meanwhile, their old logs are removed:
        else the broker does not start."""
        first, second = self.brokers[broker_id].log_dirs
        second.unlink()
        second.with_name(FAILED).rename(second)
        for log in second.iterdir():
            if log.is_dir() and first.joinpath(log.name).exists():
                shutil.rmtree(log)

    def start_held(self, *broker_ids: int) -> None:
        """Start stopped brokers and hold them on their way: they register and fetch the metadata log, but stay fenced until `release`."""
        for broker_id in broker_ids:
            self.held[broker_id] = Hold(self.nodes[broker_id])
            self.start_node(broker_id)

    def release(self, broker_id: int) -> None:
        """Let a held broker go on."""
        self.held.pop(broker_id).release()

    def is_running(self, node_id: int) -> bool:
        """Whether the node's process exists. A paused one does."""
        return self._processes is not None and self._processes.returncode(self.nodes[node_id].name) is None

    def paused(self) -> set[int]:
        """Ids of the nodes that are paused."""
        return set(self._paused)

    def answering(self) -> list[Node]:
        """Brokers that run and are not paused."""
        return [node for node in self.brokers.values() if node.node_id not in self._paused and self.is_running(node.node_id)]

    def _local_state(self, node_id: int) -> str | None:
        if not self.is_running(node_id):
            return "down"
        if node_id in self._paused:
            return "paused"
        return "held" if node_id in self.held else None

    def pid(self, node_id: int) -> int:
        """Process id of the node's latest JVM."""
        return self._running().pids[self.nodes[node_id].name]

    def log_file(self, node_id: int) -> Path:
        """The node's server.log: INFO lines with timestamps."""
        return self.nodes[node_id].log_file

    def fail_if_ended(self, node_ids: Iterable[int]) -> None:
        """Raise RigError, with the last lines of its log, for a node that should run and does not."""
        for node_id in node_ids:
            if self.is_running(node_id):
                continue
            node = self.nodes[node_id]
            lines = [line for path in (node.log_file, node.console_file) if path.exists() for line in path.read_text().splitlines()[-10:]]
            raise RigError(f"cluster {self.name}: {node.name} is not running. Its log {node.log_file} ends with:\n" + "\n".join(lines))

    def set_session_timeout(self, seconds: float) -> None:
        """Start the controllers again with another session timeout. Which brokers are fenced stays as it is."""
        self.session_timeout = seconds
        self.terminate(*self.controllers)
        for node in self.controllers.values():
            self._write_properties(node)
        self.start_node(*self.controllers)

    def _broker(self, node_id: int) -> Node:
        racks = self.settings.racks
        directory = self.directory / f"broker-{node_id}"
        rack = racks[node_id - 1] if racks else None
        proxy_port = self._ports.take() if self.settings.proxied else None
        more_ports = {name: self._ports.take() for name in self._listeners}
        gateway_port = self._ports.take() if self.settings.gateway else None
        ports = (self._ports.take(), self._ports.take())
        return Node(node_id, "broker", directory, *ports, rack, proxy_port, more_ports, gateway_port, self.settings.second_log_dir)

    def _write_properties(self, node: Node) -> None:
        controllers, settings = list(self.controllers.values()), self.settings
        if node.role == "controller":
            properties = config.controller_properties(
                node, controllers, self.session_timeout, settings.controller_listeners, settings.properties
            )
            if settings.partitionable:
                properties["advertised.listeners"] = f"{config.CONTROLLER}://{partition.name(node.node_id)}:{node.port}"
        else:
            properties = config.broker_properties(
                node,
                controllers,
                brokers=len(self.brokers),
                session_timeout=self.session_timeout,
                security=settings.security,
                more=self._listeners,
                overrides=settings.properties,
            )
        if settings.partitionable:
            properties |= partition.advertised(self.controllers)
        if settings.tiered:
            class_path = jars.tiered_storage(settings.version, say=self.say)
            properties = {**config.tiered_properties(self.remote, class_path, len(self.brokers)), **properties}
        config.write(node.properties_file, properties)

    def _running(self) -> Processes:
        if self._processes is None:
            raise RigError(f"cluster {self.name} is not started")
        return self._processes

    def _signal(self, node_id: int, number: signal.Signals) -> None:
        if not self._running().signal(self.nodes[node_id].name, number):
            raise RigError(f"cluster {self.name}: {self.nodes[node_id].name} is not running, cannot send {number.name}")

    def _wait_for_end(self, node_ids: Iterable[int], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        for node_id in node_ids:
            node = self.nodes[node_id]
            if not self._running().wait(node.name, max(0.0, deadline - time.monotonic())):
                raise RigError(f"cluster {self.name}: {node.name} did not end within {seconds:g} s, see {node.log_file}")
            self._paused.discard(node_id)
