# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rates and replicas as options name them: each broker and topic once, and each error names the option."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.model import Rate, Rates
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.replicas import (
    ThrottledReplicas,
    check_brokers,
    read_rates,
    read_replicas,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.validate import Brokers


def rates(rate: int | None = 5000, leader: int | None = None, follower: int | None = None, of: Any = ()) -> Rates:
    rows = [{"rate": None, "leader_rate": None, "follower_rate": None, **row} for row in of]
    return read_rates({"rate": rate, "leader_rate": leader, "follower_rate": follower, "broker_rates": rows})


def test_each_side_has_its_own_rate_else_the_one_for_both() -> None:
    assert rates() == Rates.same(5000)
    assert rates(follower=7000) == Rates(Rate(5000, 7000))
    assert rates(None, 6000, 7000) == Rates(Rate(6000, 7000))
    assert rates(follower=7000, of=[{"broker_id": 3, "leader_rate": 9000}, {"broker_id": 4, "rate": 8000}]) == Rates(
        Rate(5000, 7000), {3: Rate(9000, 7000), 4: Rate(8000, 8000)}
    )


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"rate": None}, "state present needs rate, or both leader_rate and follower_rate"),
        ({"rate": None, "leader": 5000}, "state present needs rate, or both"),
        ({"of": [{"broker_id": 3}]}, "broker_rates names no rate of broker 3"),
        ({"of": [{"broker_id": 3, "rate": 5000}, {"broker_id": 3, "rate": 6000}]}, "broker_rates names broker 3 more than once"),
        ({"follower": 5}, "follower_rate is 5: it is bytes per second, at least 1024"),
        ({"of": [{"broker_id": 3, "leader_rate": 5}]}, "leader_rate of broker 3 in broker_rates is 5"),
    ],
)
def test_rates_that_are_not_valid_are_refused(params: dict[str, Any], says: str) -> None:
    with pytest.raises(RecoveryError, match=says):
        rates(**params)


def row(topic: str = "t", **names: Any) -> dict[str, Any]:
    return {"topic": topic, "leader_replicas": None, "follower_replicas": None, **names}


def test_replicas_that_are_not_named_are_all() -> None:
    assert read_replicas(None) is None
    assert read_replicas([row(leader_replicas=["0:1", "1:2", "0:1"]), row("u", follower_replicas=[])]) == [
        ThrottledReplicas("t", ((0, 1), (1, 2)), None),
        ThrottledReplicas("u", None, ()),
    ]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([], "throttled_replicas is empty"),
        ([row(), row()], "throttled_replicas names topic t more than once"),
        ([row(leader_replicas=["0"])], "leader_replicas of t has '0'; write partition:broker, like 0:1"),
        ([row(follower_replicas=["*"])], "leave follower_replicas out for all"),
    ],
)
def test_replicas_that_are_not_valid_are_refused(rows: list[dict[str, Any]], says: str) -> None:
    with pytest.raises(RecoveryError, match=says):
        read_replicas(rows)


def test_a_broker_that_is_down_may_be_named_also_where_fenced_ones_are_not_listed() -> None:
    states = [PartitionState("t", 0, "id", 1, 1, (1, 3), (1,), (), (), ())]
    unlisted = Brokers(frozenset({1, 2}), frozenset({1, 2}), complete=False)
    check_brokers(unlisted, states, Rates.same(5000, {3: 6000}), [ThrottledReplicas("t", ((0, 3),), None)])
    with pytest.raises(RecoveryError, match="names broker 3, which is not registered"):
        check_brokers(unlisted._replace(complete=True), states, Rates.same(5000, {3: 6000}), ())
