# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Brokers that are too old. Kafka 3.2 does not say which brokers follow the active controller, and with ZooKeeper there is no metadata quorum:
the state of the cluster that such a broker knows may be old."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from integration.support import failure

from rig import KafkaCluster, config, jars, java
from rig.ports import PortBlock
from rig.process import Processes

pytestmark = pytest.mark.long

OLD, NEWEST_WITH_ZOOKEEPER = "3.2.3", "3.9.1"
START_SECONDS = 60
HEAP = ("-Xmx200m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
FILES: dict[str, Any] = {"cluster": "old", "run_id": "1"}
LEADER: dict[str, Any] = {"partitions": [{"topic": "orders", "partition": 0, "designated_leader": 1}], "allow_data_loss": True}
PREFERRED: dict[str, Any] = {"election_type": "preferred", "partitions": [{"topic": "orders", "partition": 0}]}


@pytest.fixture(scope="module")
def kraft() -> Iterator[str]:
    """A broker of Kafka 3.2 with one controller: its address."""
    with KafkaCluster("old", version=OLD, brokers=1, heap="200m") as cluster:
        yield cluster.bootstrap_servers


@pytest.fixture(scope="module")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A broker that has its metadata in ZooKeeper: its address."""
    folder, libs, ports = tmp_path_factory.mktemp("zookeeper"), jars.libs(NEWEST_WITH_ZOOKEEPER), PortBlock()
    keeper, broker = ports.take(), ports.take()
    properties = {
        "broker.id": 1,
        "zookeeper.connect": f"{config.HOST}:{keeper}",
        "listeners": f"PLAINTEXT://{config.HOST}:{broker}",
        "log.dirs": folder / "data",
    }
    config.write(folder / "server.properties", properties)
    with closing(Processes(keep_open=[ports.lock_fd])) as processes:
        for name, main_class, arguments, port in (
            ("zookeeper", "org.apache.zookeeper.server.ZooKeeperServerMain", (str(keeper), str(folder / "zookeeper")), keeper),
            ("broker", "kafka.Kafka", (str(folder / "server.properties"),), broker),
        ):
            processes.start(name, java.command(libs, main_class, *arguments, jvm_options=HEAP), folder / f"{name}.log")
            await_port(port, folder / f"{name}.log")
        yield f"{config.HOST}:{broker}"
    ports.release()


def await_port(port: int, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        with socket.socket() as connection:
            if connection.connect_ex((config.HOST, port)) == 0:
                return
        assert time.monotonic() < deadline, log.read_text()[-2000:]
        time.sleep(0.1)


@pytest.mark.parametrize("broker", ["kraft", "zookeeper"])
@pytest.mark.parametrize(
    ("module", "options"),
    [
        ("kafka_partition_info", {}),
        ("kafka_quorum_info", {}),
        ("kafka_recovery_evidence_info", FILES),
        ("kafka_replica_log_info", FILES),
        ("kafka_designated_election", {**FILES, **LEADER}),
        ("kafka_leader_election", PREFERRED),
    ],
)
def test_every_module_says_in_one_line_that_kafka_is_too_old(
    request: pytest.FixtureRequest, broker: str, module: str, options: dict[str, Any], tmp_path: Path
) -> None:
    files = {"workdir": str(tmp_path)} if "run_id" in options else {}
    said = failure(module, {"bootstrap_servers": [request.getfixturevalue(broker)], **options, **files})
    assert "Kafka must be 3.3 or newer and run with KRaft: upgrade the brokers" in said
