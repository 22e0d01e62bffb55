# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Readiness checks have one time limit, however many requests they need."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fake_brokers import API_VERSIONS, DESCRIBE_CLUSTER, METADATA, VERSIONS, Broker, api_versions, brokers, cluster, metadata
from module_processes import run_module

ANSWER_SECONDS = 0.4


def slowly(answer: Callable[[], Any]) -> Callable[[object], Any]:
    """An answer that takes ANSWER_SECONDS."""

    def answered(_request: object) -> Any:
        time.sleep(ANSWER_SECONDS)
        return answer()

    return answered


@pytest.fixture
def slow_broker() -> Any:
    with brokers(1) as (broker,):
        nodes = [(1, "127.0.0.1", broker.port)]
        broker.answers |= {
            API_VERSIONS: slowly(lambda: api_versions(VERSIONS)),
            METADATA: slowly(lambda: metadata(nodes)),
            DESCRIBE_CLUSTER: slowly(lambda: cluster(nodes)),
        }
        yield broker


@dataclass(frozen=True)
class Checks:
    """A module that checks readiness, and its option for the time limit of these checks."""

    module: str
    limit: str
    files: bool = False

    def run(self, broker: Broker, workdir: Path, seconds: Any) -> dict[str, Any]:
        files = {"cluster": "east", "run_id": "1", "workdir": str(workdir)} if self.files else {}
        return run_module(self.module, {"bootstrap_servers": [broker.server], "window": 0, self.limit: seconds, **files})


both_modules = pytest.mark.parametrize(
    "checks",
    [Checks("kafka_readiness_info", "duration"), Checks("kafka_recovery_evidence_info", "readiness_duration", files=True)],
    ids=lambda checks: checks.module,
)


@pytest.mark.slow
@both_modules
def test_all_requests_share_one_time_limit(slow_broker: Broker, tmp_path: Path, checks: Checks) -> None:
    enough = checks.run(slow_broker, tmp_path, 60)
    assert DESCRIBE_CLUSTER in {request.api_key for request in slow_broker.requests}, enough
    slow_broker.requests.clear()
    assert checks.run(slow_broker, tmp_path, ANSWER_SECONDS * 1.5)["failed"]
    assert {request.api_key for request in slow_broker.requests} <= {API_VERSIONS, METADATA}


@pytest.mark.slow
@both_modules
@pytest.mark.parametrize("seconds", [0, -1, "nan"])
def test_a_time_limit_that_is_not_positive_is_refused(slow_broker: Broker, tmp_path: Path, checks: Checks, seconds: Any) -> None:
    assert f"{checks.limit} is" in checks.run(slow_broker, tmp_path, seconds)["msg"] and slow_broker.requests == []
