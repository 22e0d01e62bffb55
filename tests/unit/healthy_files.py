# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Healthy snapshots that tests make up: rows, and whole files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.healthy_snapshot import snapshot_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import landing_format

CLUSTER_ID, TOPIC_ID = "5L6g3nShT-eMCtK--X86sw", "3rCxnsJbS1mYcVG5OAoIqQ"


def mark(topic: str, partition: int = 0, **changes: Any) -> dict[str, Any]:
    """A partition led by broker 1, followed by 2 and 3, all in sync at 100."""
    return {
        "kind": "watermark",
        "topic": topic,
        "partition": partition,
        "topic_id": TOPIC_ID,
        "leader": 1,
        "leader_epoch": 3,
        "replicas": [1, 2, 3],
        "isr": [1, 2, 3],
        "eligible_leader_replicas": [],
        "last_known_elr": [],
        "offline_replicas": [],
        "min_insync_replicas": 2,
        "cleanup_policy": "delete",
        "log_start_offset": None,
        "log_end_offset": 100,
        "high_watermark": 100,
        "error": None,
        "replica_ends": [[1, 100]],
        **changes,
    }


def leaderless(topic: str, partition: int = 0, **changes: Any) -> dict[str, Any]:
    """The same without a leader."""
    return mark(
        topic, partition, **{"leader": -1, "isr": [], "log_end_offset": None, "high_watermark": None, "replica_ends": [], **changes}
    )


def broker(broker_id: int, state: str = "unfenced", rack: str | None = None) -> dict[str, Any]:
    return {"kind": "broker", "broker_id": broker_id, "broker_state": state, "silent_seconds": 0.1, "rack": rack}


def write(
    workdir: Path,
    run_id: str,
    rows: Iterable[Mapping[str, Any]],
    cluster: str = "east",
    collected_at: str | None = None,
    cluster_id: str = CLUSTER_ID,
    elr_version: int | None = 1,
) -> Path:
    """A sealed snapshot; taken when its run id says, unless `collected_at` does. `elr_version`: the level of the feature ELR, None if it was not read."""
    path = snapshot_file(workdir, cluster, run_id)
    date, _, time = run_id.partition("T")
    header = {
        "cluster": cluster,
        "cluster_id": cluster_id,
        "run_id": run_id,
        "collected_at": collected_at or f"{date}T{time.replace('-', ':')}",
        "backend": "compat",
        "eligible_leader_replicas_version": elr_version,
    }
    landing_format.write(path, header, rows)
    return path
