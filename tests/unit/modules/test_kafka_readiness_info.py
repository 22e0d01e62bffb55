# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Readiness checks have one time limit, however many requests they need."""

from __future__ import annotations

import time
from collections.abc import Callable
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


def check(broker: Broker, **options: Any) -> dict[str, Any]:
    return run_module("kafka_readiness_info", {"bootstrap_servers": [broker.server], "window": 0, **options})


def test_all_requests_share_one_time_limit(slow_broker: Broker) -> None:
    enough = check(slow_broker, duration=60)
    assert DESCRIBE_CLUSTER in {request.api_key for request in slow_broker.requests}, enough
    slow_broker.requests.clear()
    assert check(slow_broker, duration=ANSWER_SECONDS * 1.5)["failed"]
    assert {request.api_key for request in slow_broker.requests} <= {API_VERSIONS, METADATA}


@pytest.mark.parametrize("duration", [0, -1, "nan"])
def test_a_time_limit_that_is_not_positive_is_refused(slow_broker: Broker, duration: Any) -> None:
    assert "duration is" in check(slow_broker, duration=duration)["msg"] and slow_broker.requests == []
