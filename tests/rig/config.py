"""server.properties of the nodes of a cluster, made for many clusters and many small partitions on one machine."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rig.listeners import BrokerListener, ListenerSecurity

HOST = "127.0.0.1"
CLIENT, REPLICATION, CONTROLLER, GATEWAY = "CLIENT", "REPLICATION", "CONTROLLER", "GATEWAY"

COMMON = {
    "broker.heartbeat.interval.ms": 500,
    "unclean.leader.election.enable": "false",
    "min.insync.replicas": 1,
    "auto.create.topics.enable": "false",
    # Else the controller moves leaders every five minutes, in the middle of whatever a test says of them.
    "auto.leader.rebalance.enable": "false",
    "num.network.threads": 2,
    "num.io.threads": 4,
    "background.threads": 4,
}
BROKER = {
    "num.replica.fetchers": 2,
    # An idle follower's request must be over before a paused follower's leader gets new records (see Damage): short, but not busy.
    "replica.fetch.wait.max.ms": 250,
    "replica.fetch.backoff.ms": 100,  # a follower that is faster than its new leader waits this long
    "num.recovery.threads.per.data.dir": 8,
    "group.initial.rebalance.delay.ms": 0,
    "offsets.topic.num.partitions": 4,
    "transaction.state.log.num.partitions": 4,
    "transaction.state.log.min.isr": 1,
    # Cheap partitions: both indexes of a segment are allocated whole, and the cleaner's buffer (128 MB by default) is heap.
    "log.index.size.max.bytes": 16384,
    "log.segment.bytes": 16 << 20,
    "log.cleaner.dedupe.buffer.size": 4 << 20,
}


@dataclass(frozen=True)
class Node:
    """One broker or controller: its ports, its directory, its files."""

    node_id: int
    role: str  # "broker" or "controller"
    directory: Path
    port: int  # client listener of a broker, controller listener of a controller
    replication_port: int | None = None
    rack: str | None = None
    proxy_port: int | None = None  # where clients must reach a broker behind a proxy
    more_ports: Mapping[str, int] = field(default_factory=dict)  # of additional listeners, by name
    gateway_port: int | None = None  # where clients of the listener GATEWAY must reach a broker
    second_log_dir: bool = False

    @property
    def name(self) -> str:
        return f"{self.role}-{self.node_id}"

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def client_address(self) -> str:
        """What clients use: the broker's own address, or its proxy's."""
        return f"{HOST}:{self.proxy_port or self.port}"

    @property
    def advertised_ports(self) -> dict[str, int]:
        """What clients of the additional listeners use."""
        return {**self.more_ports, **({GATEWAY: self.gateway_port} if self.gateway_port else {})}

    @property
    def data_dir(self) -> Path:
        return self.directory / "data"

    @property
    def log_dirs(self) -> list[Path]:
        """The first one also has the metadata log."""
        return [self.data_dir, self.directory / "data-2"] if self.second_log_dir else [self.data_dir]

    @property
    def properties_file(self) -> Path:
        return self.directory / "server.properties"

    @property
    def log_file(self) -> Path:
        """The node's server.log: INFO lines with timestamps."""
        return self.directory / "server.log"

    @property
    def console_file(self) -> Path:
        """stdout and stderr of the JVM: out-of-memory reports, thread dumps."""
        return self.directory / "console.log"


def broker_properties(
    node: Node,
    controllers: list[Node],
    *,
    brokers: int,
    session_timeout: float,
    security: ListenerSecurity,
    more: Mapping[str, BrokerListener],
    overrides: Mapping[str, object],
) -> dict[str, object]:
    replication_factor = min(3, brokers)
    properties = {
        **COMMON,
        **BROKER,
        **_identity(node, controllers, session_timeout),
        "process.roles": "broker",
        "listeners": _listeners(node, node.address, node.more_ports),
        "advertised.listeners": _listeners(node, node.client_address, node.advertised_ports),
        "inter.broker.listener.name": REPLICATION,
        "listener.security.protocol.map": ",".join(
            [f"{CLIENT}:{security.protocol}", f"{REPLICATION}:PLAINTEXT", f"{CONTROLLER}:PLAINTEXT", *_protocols(more)]
        ),
        "offsets.topic.replication.factor": replication_factor,
        "transaction.state.log.replication.factor": replication_factor,
        **security.broker_properties(CLIENT),
        **_properties(more),
        **overrides,
    }
    return properties if node.rack is None else {**properties, "broker.rack": node.rack}


def controller_properties(
    node: Node, controllers: list[Node], session_timeout: float, more: Mapping[str, BrokerListener], overrides: Mapping[str, object]
) -> dict[str, object]:
    return {
        **COMMON,
        **_identity(node, controllers, session_timeout),
        "process.roles": "controller",
        "listeners": ",".join([f"{CONTROLLER}://{node.address}", *_addresses(node.more_ports)]),
        "controller.listener.names": ",".join([CONTROLLER, *more]),
        "listener.security.protocol.map": ",".join([f"{CONTROLLER}:PLAINTEXT", *_protocols(more)]),
        **_properties(more),
        **overrides,
    }


def tiered_properties(remote: Path, class_path: Path, brokers: int) -> dict[str, object]:
    """Remote storage (KIP-405) in the folder `remote`, by LocalTieredStorage of the jars in `class_path`. What takes minutes elsewhere is done at once."""
    return {
        "remote.log.storage.system.enable": "true",
        "remote.log.storage.manager.class.name": "org.apache.kafka.server.log.remote.storage.LocalTieredStorage",
        "remote.log.storage.manager.class.path": f"{class_path}/*",
        "rsm.config.dir": remote,
        "remote.log.metadata.manager.listener.name": REPLICATION,
        # Its min.insync.replicas is 2: while fewer brokers have it, nothing is copied.
        "rlmm.config.remote.log.metadata.topic.replication.factor": brokers,
        "rlmm.config.remote.log.metadata.topic.num.partitions": 1,
        "rlmm.config.remote.log.metadata.initialization.retry.interval.ms": 200,
        "remote.log.manager.task.interval.ms": 500,
        "log.retention.check.interval.ms": 500,
        "log.initial.task.delay.ms": 500,
        "log.segment.delete.delay.ms": 100,
    }


def _listeners(node: Node, client_address: str, more_ports: Mapping[str, int]) -> str:
    return ",".join([f"{CLIENT}://{client_address}", f"{REPLICATION}://{HOST}:{node.replication_port}", *_addresses(more_ports)])


def _addresses(ports: Mapping[str, int]) -> list[str]:
    return [f"{name}://{HOST}:{port}" for name, port in ports.items()]


def _protocols(listeners: Mapping[str, BrokerListener]) -> list[str]:
    return [f"{name}:{listener.protocol}" for name, listener in listeners.items()]


def _properties(listeners: Mapping[str, BrokerListener]) -> dict[str, str]:
    return {key: value for name, listener in listeners.items() for key, value in listener.broker_properties(name).items()}


def _identity(node: Node, controllers: list[Node], session_timeout: float) -> dict[str, object]:
    return {
        "node.id": node.node_id,
        "log.dirs": ",".join(map(str, node.log_dirs)),
        "controller.listener.names": CONTROLLER,
        "controller.quorum.voters": ",".join(f"{voter.node_id}@{voter.address}" for voter in controllers),
        "broker.session.timeout.ms": int(session_timeout * 1000),
    }


def write(path: Path, properties: Mapping[str, object]) -> None:
    path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
