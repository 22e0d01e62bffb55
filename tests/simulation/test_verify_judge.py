# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The judge of what the role verify says finds partitions that are not named, or named wrongly."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from simulation.verify_judge import judge_verified

OFFLINE, ONLINE = ("orders", 0), ("orders", 1)


@pytest.mark.parametrize(
    ("named", "violations"),
    [
        ([OFFLINE], []),
        ([], ["verify does not name orders-0, which has no leader"]),
        ([OFFLINE, ONLINE], ["verify names orders-1, which has a leader"]),
    ],
)
def test_it_must_name_exactly_what_has_no_leader(named: Sequence[tuple[str, int]], violations: list[str]) -> None:
    assert _judged({"count": len(named), "partitions": [{"topic": topic, "partition": number} for topic, number in named]}) == violations


def test_it_must_count_what_it_names_and_must_not_fail() -> None:
    assert _judged({"count": 2, "partitions": [{"topic": "orders", "partition": 0}]}) == ["verify counts 2 partitions, and names 1"]
    assert _judged(None) == ["verify fails in peace: no broker answers"]


def _judged(found: dict[str, Any] | None) -> list[str]:
    violations: list[str] = []

    def verify() -> dict[str, Any]:
        if found is None:
            raise RecoveryError("no broker answers")
        return {"still_offline": found}

    cluster: Any = SimpleNamespace(without_leader=lambda: [OFFLINE])
    judges: Any = SimpleNamespace(add_violation=violations.append)
    judge_verified(verify, cluster, judges)
    return violations
