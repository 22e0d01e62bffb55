# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The scope of a report, and the limits of its lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import Playbooks

LIMITS = {
    "runs": 20,
    "topics": 2_000,
    "partitions": 10_000,
    "impact": 2_000,
    "lost_records": 2_000,
    "drawings": 10,
    "at_risk": 2_000,
    "risk_topics": 200,
    "risk_brokers": 200,
    "refused": 200,
    "what_if": 5_000,
}


@dataclass(frozen=True)
class Wanted:
    """The scope of a report. `run_ids`: None for the newest recovery; `clusters`: None for all."""

    name: str
    workdir: Path
    run_ids: Sequence[str] | None = None
    clusters: Sequence[str] | None = None
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    playbooks: Playbooks = field(default_factory=Playbooks)
