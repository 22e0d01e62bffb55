"""Kafka's own tools, run as an operator would: `kafka-leader-election.sh`, for unclean elections and for preferred ones, and others."""

import json
import re
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rig import java
from rig.admin import TopicPartition
from rig.cluster import KafkaCluster
from rig.errors import RigError

TOOL_SECONDS = 600
# What kafka-run-class.sh, which every tool of Kafka is started with, gives the JVM by default.
SCRIPT_OPTIONS = (
    "-Xmx256M",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
    "-Dcom.sun.management.jmxremote=true",
    "-Dcom.sun.management.jmxremote.authenticate=false",
    "-Dcom.sun.management.jmxremote.ssl=false",
)


@dataclass(frozen=True)
class Run:
    """How the tool ended. `seconds` includes the start of its JVM."""

    returncode: int
    stdout: str
    stderr: str
    seconds: float

    @property
    def errors(self) -> dict[TopicPartition, str | None]:
        """Kafka's error name (None: elected) by partition, as far as the tool reports. It names exceptions, and says ELECTION_NOT_NEEDED in words."""
        said: dict[TopicPartition, str | None] = {}
        for line in self.stdout.splitlines():
            if found := re.match(r"Successfully completed leader election \(\w+\) for partitions (.+)", line):
                said |= dict.fromkeys(map(_key, found[1].split(", ")))
            elif found := re.match(r"Valid replica already elected for partitions (.+)", line):
                said |= dict.fromkeys(map(_key, found[1].split(", ")), "ELECTION_NOT_NEEDED")
            elif found := re.match(r"Error completing leader election \(\w+\) for partition: (\S+): [\w.]+\.(\w+)Exception\b", line):
                said[_key(found[1])] = re.sub(r"(?<!^)(?=[A-Z])", "_", found[2]).upper()
        return said


def _key(name: str) -> TopicPartition:
    topic, _, partition = name.rpartition("-")
    return topic, int(partition)


def elect_unclean(cluster: KafkaCluster, partitions: Iterable[TopicPartition], jvm_options: Sequence[str] = SCRIPT_OPTIONS) -> Run:
    """Let Kafka's LeaderElectionCommand elect leaders for these partitions. A failing tool is a result; one that never ends is a RigError."""
    rows = [{"topic": topic, "partition": partition} for topic, partition in sorted(partitions)]
    with tempfile.TemporaryDirectory() as scratch:
        wanted = Path(scratch) / "partitions.json"
        wanted.write_text(json.dumps({"partitions": rows}))
        return elect_unclean_from_file(cluster, wanted, jvm_options)


def elect_unclean_from_file(cluster: KafkaCluster, wanted: Path, jvm_options: Sequence[str] = SCRIPT_OPTIONS) -> Run:
    """The same for the partitions that a file names: the tool's own parser reads it."""
    return elect(cluster, "--election-type", "unclean", "--path-to-json-file", str(wanted), jvm_options=jvm_options)


def elect(
    cluster: KafkaCluster,
    *arguments: str,
    servers: Sequence[str] = (),
    login: Mapping[str, str] | None = None,
    jvm_options: Sequence[str] = SCRIPT_OPTIONS,
) -> Run:
    """The tool with any arguments that say what to elect. `servers`, `login` (Java client configuration): where not those of the rig itself."""
    with tempfile.TemporaryDirectory() as scratch:
        client = Path(scratch) / "client.properties"
        client.write_text("".join(f"{key}={value}\n" for key, value in (login or cluster.settings.security.java()).items()))
        connection = ["--bootstrap-server", ",".join(servers) or cluster.bootstrap_servers, "--admin.config", str(client)]
        options = [*jvm_options, *java.logging_options(Path(scratch) / "tool.log", "warn")]
        argv = java.command(cluster.libs, "org.apache.kafka.tools.LeaderElectionCommand", *connection, *arguments, jvm_options=options)
        began = time.monotonic()
        try:
            done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=TOOL_SECONDS)
        except subprocess.TimeoutExpired as late:
            raise RigError(f"LeaderElectionCommand did not end within {TOOL_SECONDS} s on cluster {cluster.name}") from late
        return Run(done.returncode, done.stdout, done.stderr, time.monotonic() - began)


def tool(cluster: KafkaCluster, main_class: str, *arguments: str, seconds: float = TOOL_SECONDS) -> Run:
    """Any other tool, with the options that its script gives the JVM."""
    return tool_of(cluster.libs, main_class, *arguments, seconds=seconds)


def tool_of(libs: Path, main_class: str, *arguments: str, seconds: float = TOOL_SECONDS) -> Run:
    """The same with the jars of this directory, for a cluster that another process has started."""
    with tempfile.TemporaryDirectory() as scratch:
        options = [*SCRIPT_OPTIONS, *java.logging_options(Path(scratch) / "tool.log", "warn")]
        argv = java.command(libs, main_class, *arguments, jvm_options=options)
        began = time.monotonic()
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=seconds)
        return Run(done.returncode, done.stdout, done.stderr, time.monotonic() - began)


def reassign_partitions(cluster: KafkaCluster, *arguments: str) -> Run:
    """`kafka-reassign-partitions.sh`. RigError when it fails."""
    main_class = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
    done = tool(cluster, main_class, "--bootstrap-server", cluster.bootstrap_servers, *arguments)
    if done.returncode:
        raise RigError(f"kafka-reassign-partitions.sh {' '.join(arguments)} failed: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done


def unregister(cluster: KafkaCluster, broker_id: int) -> None:
    """`kafka-cluster.sh unregister`: a broker that lives on and answers, but for the controllers no longer is one, until it is started again."""
    arguments = ["unregister", "--bootstrap-server", cluster.bootstrap_servers, "--id", str(broker_id)]
    done = tool(cluster, "org.apache.kafka.tools.ClusterTool", *arguments)
    if done.returncode:
        raise RigError(f"broker {broker_id} of cluster {cluster.name} could not be unregistered: {done.stdout}{done.stderr}")
