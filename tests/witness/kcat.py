"""What kcat prints. Debian has it as the package `kcat`."""

import json
import shutil
import subprocess
from collections.abc import Iterable
from typing import Any

from rig import KafkaCluster, RigError
from witness.view import PartitionView, Views

PROGRAM = shutil.which("kcat")
MISSING = "kcat is missing: install it (Debian: apt-get install kcat)"
SECONDS = 30


def views(cluster: KafkaCluster, topics: Iterable[str]) -> Views:
    """State of every partition of these topics, from `kcat -L -J`. Topic ids are empty: kcat does not print them."""
    listed = {topic["topic"]: topic["partitions"] for topic in _list(cluster)["topics"]}
    return {
        (topic, row["partition"]): PartitionView("", row["leader"], tuple(_ids(row["replicas"])), frozenset(_ids(row["isrs"])))
        for topic in topics
        for row in listed[topic]
    }


def _list(cluster: KafkaCluster) -> Any:
    argv = [PROGRAM or "kcat", "-L", "-J", "-b", cluster.bootstrap_servers, "-m", str(SECONDS)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=2 * SECONDS)
    if done.returncode:
        raise RigError(f"kcat failed: {done.stderr[-2000:]}")
    return json.loads(done.stdout)


def _ids(brokers: Iterable[dict[str, int]]) -> list[int]:
    return [broker["id"] for broker in brokers]
