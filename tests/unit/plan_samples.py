# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan files of made-up partitions."""

from __future__ import annotations

import copy
from typing import Any

HEADER = {
    "plan_id": "0b7c", "cluster": "east", "cluster_id": "abc", "run_id": "r1", "created_at": "2026-11-21T04:00:00Z",
    "backend": "native", "strategy": "balanced", "topic_strategies": [], "ranking": "last_written_epoch", "dry_run": False,
}  # fmt: skip


BROKER = {"broker_id": 1, "broker_state": "fenced", "silent_seconds": 12.3}


LOSS = {
    "lower_bound": 0, "lower_bound_from": "high_watermark", "upper_bound": None, "upper_bound_from": "unknown",
    "estimate": 7, "estimate_from": "healthy_snapshot", "gaps": ["compaction"],
}  # fmt: skip


SURVIVORS = [
    {"broker_id": 2, "last_written_epoch": 1, "log_end_offset": 121, "broker_epoch": 7},
    {"broker_id": 3, "last_written_epoch": None, "log_end_offset": 100, "broker_epoch": None},
]


ELECTED = {
    "topic": "orders", "partition": 0, "designatedLeader": 2, "replicas_best_first": [2, 3, 1], "evidence": "prefix", "explanation": "bröker 2",
    "guards": {"topic_id": "id", "leader_epoch": 3, "replicas": [1, 2, 3], "survivors": SURVIVORS}, "loss": LOSS,
    "truncated": [{"broker_id": 3, "offset": None, "records": None}], "fenced_truncated": [],
    "isr": [], "eligible_leader_replicas": [1], "last_known_elr": [1], "in_sync_on_return": [], "named": False,
    "min_insync_replicas": 2, "unclean_leader_election_enable": False,
}  # fmt: skip


HELD = {
    "topic": "orders", "partition": 1, "reason_code": "forked", "evidence": "forked", "candidate": None, "explanation": "words", "loss": LOSS,
    "truncated": [], "survivors": SURVIVORS, "named": True, "min_insync_replicas": None, "unclean_leader_election_enable": None,
}  # fmt: skip


ONLINE = {"topic": "orders", "partition": 2, "leader": 1}


BARE = {"partitions": [{"topic": "foo", "partition": 1, "designatedLeader": 0}]}


def content() -> dict[str, Any]:
    """A valid plan, but for its sha256."""
    entries = {"brokers": [BROKER], "partitions": [ELECTED], "held": [HELD], "online": [ONLINE]}
    return copy.deepcopy({"version": 6, **HEADER, **entries})
