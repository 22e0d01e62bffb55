# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Addresses, protocols and libraries that are wrong or missing: one line that names the thing and the remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from integration.listeners import closed_port, silent_port, tls_port
from integration.support import Operator, failure

# Makes one library impossible to import, as if it were not installed.
HIDE = """
import importlib.abc, sys
class Hide(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {library!r}:
            raise ImportError("No module named " + repr(name), name=name)
sys.meta_path.insert(0, Hide())
"""


def test_an_address_without_a_listener_is_named() -> None:
    with closed_port() as address:
        msg = failure("kafka_partition_info", {"bootstrap_servers": [address], "request_timeout": 2})
    assert address in msg
    assert "2 s" in msg
    assert "refused" in msg


def test_a_host_that_does_not_exist_is_named() -> None:
    msg = failure("kafka_partition_info", {"bootstrap_servers": ["broker.invalid:9092"], "request_timeout": 2})
    assert "broker.invalid cannot be resolved" in msg


def test_a_port_that_never_answers_costs_the_time_limit_and_no_more() -> None:
    with silent_port() as address:
        msg = failure("kafka_partition_info", {"bootstrap_servers": [address], "request_timeout": 1})
    assert address in msg
    assert "1 s" in msg


def test_a_tls_port_asked_in_plaintext_is_recognized(tmp_path: Path) -> None:
    with tls_port(tmp_path) as address:
        msg = failure("kafka_partition_info", {"bootstrap_servers": [address], "request_timeout": 2})
    assert address in msg
    assert "security_protocol is PLAINTEXT; set SSL or SASL_SSL" in msg


def test_a_plaintext_port_asked_for_tls_is_recognized(east: Operator) -> None:
    address = east.connection["bootstrap_servers"][1]
    msg = failure("kafka_partition_info", {"bootstrap_servers": [address], "security_protocol": "SSL", "request_timeout": 2})
    assert address in msg
    assert "security_protocol is SSL; set PLAINTEXT or SASL_PLAINTEXT" in msg


def test_one_address_that_answers_is_enough(east: Operator) -> None:
    with closed_port() as closed, silent_port() as silent:
        servers = [closed, silent, east.connection["bootstrap_servers"][1]]
        found = east.ask("kafka_partition_info", bootstrap_servers=servers, request_timeout=5, limit=1)
    assert found["cluster_id"] == east.cluster.cluster_id


@pytest.mark.parametrize(
    ("module", "library", "requirement"),
    [
        ("kafka_partition_info", "kafka", "kafka-python"),
        ("kafka_replica_log_info", "kafka", "kafka-python"),
        ("kafka_designated_election", "kafka", "kafka-python"),
        ("kafka_replica_log_info", "orjson", "orjson"),
        ("kafka_replica_log_info", "prettytable", "prettytable"),
        ("kafka_recovery_plan", "pyspark", "pyspark"),
    ],
)
def test_a_missing_library_is_named_as_pip_knows_it(tmp_path: Path, module: str, library: str, requirement: str) -> None:
    files = {"cluster": "east", "run_id": "1", "workdir": str(tmp_path)}
    params: dict[str, dict[str, Any]] = {
        "kafka_partition_info": {"bootstrap_servers": ["127.0.0.1:9092"]},
        "kafka_replica_log_info": {"bootstrap_servers": ["127.0.0.1:9092"], **files},
        "kafka_designated_election": {"bootstrap_servers": ["127.0.0.1:9092"], "plan": "plan.json", **files},
        "kafka_recovery_plan": {"workdir": str(tmp_path), "run_id": "1"},
    }
    assert requirement in failure(module, params[module], before=HIDE.format(library=library))
    assert not list(tmp_path.iterdir())


def test_without_java_the_remedy_is_named(east: Operator, tmp_path: Path) -> None:
    east.snapshot("1", ["quiet"])
    environment = {"PATH": str(tmp_path), "JAVA_HOME": ""}
    msg = failure("kafka_recovery_plan", {"workdir": str(east.workdir), "run_id": "1"}, environment=environment)
    assert "Java 17" in msg
    assert "install" in msg
    assert not east.path("plans", "1").exists()


def test_a_spark_server_that_does_not_answer_is_named(east: Operator) -> None:
    east.snapshot("1", ["quiet"])
    with closed_port() as address:
        msg = failure("kafka_recovery_plan", {"workdir": str(east.workdir), "run_id": "1", "spark_remote": f"sc://{address}"})
    assert address in msg
    assert not east.path("plans", "1").exists()
