"""`kafka-reassign-partitions.sh`, run and timed as an operator would."""

import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from rig import KafkaCluster, RigError, java, stock

TOOL = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"


class Run(NamedTuple):
    """What the tool has said. `seconds` includes the start of its JVM."""

    stdout: str
    stderr: str
    seconds: float


def reassign_partitions(cluster: KafkaCluster, *arguments: str) -> Run:
    """Run it with the options that the script gives the JVM. RigError when it fails."""
    with tempfile.TemporaryDirectory() as scratch:
        options = [*stock.SCRIPT_OPTIONS, *java.logging_options(Path(scratch) / "tool.log", "warn")]
        argv = java.command(cluster.libs, TOOL, "--bootstrap-server", cluster.bootstrap_servers, *arguments, jvm_options=options)
        began = time.monotonic()
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=stock.TOOL_SECONDS)
        seconds = time.monotonic() - began
    if done.returncode:
        raise RigError(f"kafka-reassign-partitions.sh {' '.join(arguments)} failed: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return Run(done.stdout, done.stderr, seconds)
