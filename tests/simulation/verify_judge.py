# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges what the role verify says after a run: which partitions are still without a leader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from simulation.cluster import SimulatedCluster
from simulation.judges import Judges, name


def judge_verified(verify: Callable[[], dict[str, Any]], cluster: SimulatedCluster, judges: Judges) -> None:
    """Let `verify` read, in peace, what has no leader. It must name those that had none all the time, and none that had one all the time."""
    before = {*cluster.without_leader()}
    try:
        found = verify()["still_offline"]
    except RecoveryError as error:
        judges.add_violation(f"verify fails in peace: {error}")
        return
    after = {*cluster.without_leader()}
    named = {(row["topic"], row["partition"]) for row in found["partitions"]}
    for key in sorted((before & after) - named):
        judges.add_violation(f"verify does not name {name(key)}, which has no leader")
    for key in sorted(named - (before | after)):
        judges.add_violation(f"verify names {name(key)}, which has a leader")
    if found["count"] != len(named):
        judges.add_violation(f"verify counts {found['count']} partitions, and names {len(named)}")
