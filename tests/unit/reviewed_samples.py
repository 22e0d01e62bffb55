# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of revivals and of replays of made-up partitions, as they are proposed."""

from __future__ import annotations

from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import replays_file, revivals_file

HEADER = {"plan_id": "7f3e", "cluster": "east", "cluster_id": "cluster", "run_id": "r1", "created_at": "2026-11-21T04:00:00Z"}
REVIVED = {"topic": "t", "partition": 0, "topic_id": "id", "leader_epoch": 1, "replicas_before": [1], "replicas": [2, 3]}
GROUP = {"group": "idle", "topic": "t", "partition": 0, "committed_offset": 4711, "state": "Empty", "reset": False}
REVIVALS: dict[str, Any] = {
    **HEADER, "lost_brokers": [1], "reset_groups": False, "allow_internal_topics": False, "allow_replication_factor_change": True,
    "partitions": [REVIVED], "held": [{"topic": "u", "partition": 0, "reason_code": "replica_not_lost", "explanation": "broker 2 | @all"}],
    "groups": [GROUP],
}  # fmt: skip
REPLAYED: dict[str, Any] = {
    "topic": "t", "partition": 0, "topic_id": "id-of-t", "saved_sha256": "5f", "brokers": [1], "records": 2, "bytes": 2048, "markers": 1, "group_offsets": 0,
    "skipped": [{"reason": "in_cluster", "records": 7}], "notes": None,
}  # fmt: skip
OPTIONS: dict[str, Any] = {
    **dict.fromkeys(replays_file.OPTIONS), **{name: False for name, shape in replays_file.OPTIONS.items() if shape is bool}, "max_batch_bytes": 1 << 20,
}  # fmt: skip
REPLAYS: dict[str, Any] = {
    **HEADER, "cluster_id": "id", "saved_run_id": "1", "options": OPTIONS, "partitions": [REPLAYED],
    "held": [{"topic": "u", "partition": 0, "explanation": "the topic is compacted"}],
}  # fmt: skip


def revivals(**values: Any) -> bytes:
    """The content of a file of revivals."""
    return revivals_file.FORMAT.sealed({**REVIVALS, **values}, "planned")


def replays(**values: Any) -> bytes:
    """The content of a file of replays."""
    return replays_file.FORMAT.sealed({**REPLAYS, **values}, "planned")
