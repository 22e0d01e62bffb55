"""Kafka's own recovery tool, run as an operator would: `kafka-leader-election.sh --election-type unclean`."""

import json
import subprocess
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rig import java
from rig.admin import TopicPartition
from rig.cluster import KafkaCluster
from rig.errors import RigError

TOOL_SECONDS = 600
# What kafka-run-class.sh, which every tool of Kafka is started with, gives the JVM where nobody says otherwise.
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


def elect_unclean(cluster: KafkaCluster, partitions: Iterable[TopicPartition], jvm_options: Sequence[str] = SCRIPT_OPTIONS) -> Run:
    """Let Kafka's LeaderElectionCommand elect leaders for these partitions. A failing tool is a result; one that never ends is a RigError."""
    rows = [{"topic": topic, "partition": partition} for topic, partition in sorted(partitions)]
    with tempfile.TemporaryDirectory() as scratch:
        wanted, client = Path(scratch) / "partitions.json", Path(scratch) / "client.properties"
        wanted.write_text(json.dumps({"partitions": rows}))
        client.write_text("".join(f"{key}={value}\n" for key, value in cluster.settings.security.java().items()))
        arguments = ["--bootstrap-server", cluster.bootstrap_servers, "--admin.config", str(client)]
        arguments += ["--election-type", "unclean", "--path-to-json-file", str(wanted)]
        options = [*jvm_options, *java.logging_options(Path(scratch) / "tool.log", "warn")]
        argv = java.command(cluster.libs, "org.apache.kafka.tools.LeaderElectionCommand", *arguments, jvm_options=options)
        began = time.monotonic()
        try:
            done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=TOOL_SECONDS)
        except subprocess.TimeoutExpired as late:
            raise RigError(f"LeaderElectionCommand did not end within {TOOL_SECONDS} s on cluster {cluster.name}") from late
        return Run(done.returncode, done.stdout, done.stderr, time.monotonic() - began)
