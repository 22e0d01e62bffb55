"""Formatting the storage of a cluster's nodes."""

import base64
import os
import re
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from rig import java
from rig.config import Node
from rig.errors import RigError
from rig.secured import SCRAM_MECHANISMS

FORMAT_SECONDS = 60
MEMORY = Path("/dev/shm")
PLENTY = 4 << 30  # 10,000 partitions with three replicas take less than 1 GiB


def base_directory() -> Path:
    """Where clusters keep their files: TMPDIR if set, else memory where there is plenty of it, else the system's temporary directory.

    Kafka forces several small files to disk for every new partition, and every log when it shuts down; for thousands of partitions
    that is half of the time.
    """
    if "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= PLENTY:
        return MEMORY
    return Path(tempfile.gettempdir())


def random_id() -> str:
    """A Kafka uuid: 16 random bytes in url-safe base64, which must not begin with a dash."""
    while (text := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        pass
    return text


def format_nodes(libs: Path, cluster_id: str, nodes: Sequence[Node], features: Sequence[str], scram: Mapping[str, str]) -> None:
    """Format the storage of all nodes; `features` are "name=level" overrides of the release's defaults, `scram` passwords by user.

    Kafka's StorageTool formats the first node. The others get a copy, which differs in nothing but node id and directory id:
    one JVM instead of one for each node.
    """
    first, *others = nodes
    options = [word for feature in features for word in ("--feature", feature)]
    for user, password in scram.items():
        for mechanism in SCRAM_MECHANISMS:
            options += ["--add-scram", f"{mechanism}=[name={user},password={password}]"]
    with tempfile.TemporaryDirectory() as scratch:
        jvm_options = [
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-Xmx64m",
            *java.logging_options(Path(scratch) / "format.log", "warn"),
        ]
        arguments = ["format", "--cluster-id", cluster_id, "--config", str(first.properties_file), *options]
        argv = java.command(libs, "kafka.tools.StorageTool", *arguments, jvm_options=jvm_options)
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=FORMAT_SECONDS)
    if done.returncode:
        raise RigError(f"formatting {first.data_dir} failed: {(done.stderr or done.stdout).strip()}")
    meta = (first.data_dir / "meta.properties").read_text()
    for node, directory in [(other, log_dir) for other in others for log_dir in other.log_dirs]:
        shutil.copytree(first.data_dir, directory)  # where the bootstrap checkpoint lies is the release's business
        own = re.sub(r"(?m)^node\.id=.*$", f"node.id={node.node_id}", meta)
        own = re.sub(r"(?m)^directory\.id=.*$", f"directory.id={random_id()}", own)
        (directory / "meta.properties").write_text(own)
