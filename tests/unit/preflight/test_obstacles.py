# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""No evidence is collected from a cluster that must not be recovered now."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.recovery_limits import OFFLINE_BROKERS, PARTITIONS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.obstacles import Kind, Obstacle, first_obstacle
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.quorum_stability import CHURNING, STABLE

BROKERS = [{"broker_id": number, "broker_state": "fenced"} for number in (1, 2)] + [{"broker_id": 3, "broker_state": "unfenced"}]
READY: dict[str, Any] = {
    "permissions": {"missing": [{"required": False}]},
    "quorum": {"verdict": STABLE},
    "partitions": {"count": 4, "brokers": BROKERS},
    "lost_broker_objections": [],
}


@pytest.mark.parametrize("limits", [(None, None), (4, 2), (None, 2), (4, None)])
def test_a_cluster_that_may_be_recovered_has_no_obstacle(limits: tuple[int | None, int | None]) -> None:
    assert first_obstacle(READY, *limits) is None


MISSING = {"missing": [{"required": True}]}


@pytest.mark.parametrize(
    ("more", "obstacle"),
    [
        ({"permissions": MISSING, "quorum": None, "partitions": None}, Obstacle(Kind.MISSING_PERMISSIONS)),
        ({"quorum": {"verdict": CHURNING}, "partitions": None}, Obstacle(Kind.UNSTABLE_QUORUM)),
        ({"partitions": None}, Obstacle(Kind.UNREAD, unread=["partitions"])),
        ({"quorum": None}, Obstacle(Kind.UNREAD, unread=["quorum"])),
        ({"lost_broker_objections": ["broker 3 is not fenced"]}, Obstacle(Kind.WRONG_LOST_BROKERS)),
        ({"evidence": None}, Obstacle(Kind.UNREAD, unread=["evidence"])),
        ({"evidence": None, "quorum": {"verdict": CHURNING}, "partitions": None}, Obstacle(Kind.UNSTABLE_QUORUM)),
        ({"evidence": None, "lost_broker_objections": ["broker 3 is not fenced"]}, Obstacle(Kind.WRONG_LOST_BROKERS)),
    ],
    ids=["permission", "quorum", "partitions", "quorum not read", "lost brokers", "evidence", "quorum first", "lost brokers first"],
)
@pytest.mark.parametrize("limits", [(None, None), (10_000, 2)])
def test_the_first_obstacle_stops_every_run(more: dict[str, Any], obstacle: Obstacle, limits: tuple[int | None, int | None]) -> None:
    assert first_obstacle({**READY, **more}, *limits) == obstacle


@pytest.mark.parametrize(("limits", "option"), [((3, 2), PARTITIONS), ((4, 1), OFFLINE_BROKERS)])
def test_a_limit_stops_a_run_that_elects(limits: tuple[int, int], option: str) -> None:
    obstacle = first_obstacle({**READY, "evidence": None}, *limits)
    assert obstacle and obstacle.kind == Kind.EXCEEDED_LIMITS and [limit.option for limit in obstacle.exceeded] == [option]
    healthy = {**READY, "partitions": {"count": 0, "brokers": BROKERS}}
    assert first_obstacle(healthy, *limits) is None, "nothing would be elected"
