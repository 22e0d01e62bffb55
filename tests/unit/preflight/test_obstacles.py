# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""No evidence is collected from a cluster that must not be recovered now."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.blast_radius import BlastRadiusLimits
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.obstacles import stops_recovery

BROKERS = [{"broker_id": number, "broker_state": "fenced"} for number in (1, 2)] + [{"broker_id": 3, "broker_state": "unfenced"}]
READY: dict[str, Any] = {
    "permissions": {"missing": [{"required": False}]},
    "quorum": {"verdict": "calm"},
    "partitions": {"count": 4, "brokers": BROKERS},
}


@pytest.mark.parametrize("limits", [None, BlastRadiusLimits(4, 2)])
def test_a_cluster_that_may_be_recovered_is_collected_from(limits: BlastRadiusLimits | None) -> None:
    assert not stops_recovery(READY, limits)


@pytest.mark.parametrize(
    "more",
    [
        {"permissions": {"missing": [{"required": True}]}, "quorum": None, "partitions": None},
        {"quorum": {"verdict": "churning"}, "partitions": None},
        {"partitions": None},
        {"quorum": None},
    ],
    ids=["permission", "quorum", "partitions not read", "quorum not read"],
)
@pytest.mark.parametrize("limits", [None, BlastRadiusLimits()])
def test_a_missing_permission_or_a_quorum_that_is_not_calm_stops_every_run(more: dict[str, Any], limits: BlastRadiusLimits | None) -> None:
    assert stops_recovery({**READY, **more}, limits)


@pytest.mark.parametrize("limits", [BlastRadiusLimits(3, 2), BlastRadiusLimits(4, 1)])
def test_a_limit_stops_a_run_that_elects(limits: BlastRadiusLimits) -> None:
    assert stops_recovery(READY, limits)
    healthy = {**READY, "partitions": {"count": 0, "brokers": BROKERS}}
    assert not stops_recovery(healthy, limits), "nothing would be elected"
