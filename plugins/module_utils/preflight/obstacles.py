# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether evidence is collected: not if anything already stops the recovery. Pure. The role preflight has the sentences and the remedies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import UNFENCED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.blast_radius import BlastRadiusLimits, limit_violations
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.quorum_stability import CALM


def stops_recovery(found: Mapping[str, Any], limits: BlastRadiusLimits | None) -> bool:
    """Return whether a cluster must not be recovered now: a permission is missing, the quorum is not calm, or a limit is exceeded.

    found   `permissions`, `quorum` and `partitions` of `kafka_readiness_info`
    limits  None if nothing is elected: limits do not apply then
    """
    if any(row["required"] for row in found["permissions"]["missing"]):
        return True
    if found["quorum"] is None or found["quorum"]["verdict"] != CALM or found["partitions"] is None:
        return True
    if limits is None:
        return False
    offline = [row["broker_id"] for row in found["partitions"]["brokers"] if row["broker_state"] != UNFENCED]
    return bool(limit_violations(found["partitions"]["count"], offline, limits, None))
