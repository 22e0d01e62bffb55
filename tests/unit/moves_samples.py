# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of moves of made-up partitions: as they are planned, and as they are proposed."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import moves_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats.plan_file import sha256

MOVE = {
    "topic": "orders", "partition": 0, "replicas": [4, 2], "replicas_before": [1, 2], "adding_replicas": [4], "removing_replicas": [1],
    "topic_id": "id", "bytes": 100_000_000,
}  # fmt: skip
HELD = {"topic": "alone", "partition": 0, "replicas": [1], "reason_code": "no_leader", "explanation": "it has no live leader | @all"}
BROKERS = [
    {"broker_id": 1, "broker_state": "fenced", "rack": "a", "lost": True, "bytes": None},
    {"broker_id": 2, "broker_state": "unfenced", "rack": "b", "lost": False, "bytes": 1},
    {"broker_id": 4, "broker_state": "unfenced", "rack": "a", "lost": False, "bytes": 1},
]


def planned(**values: Any) -> bytes:
    """The content of a file of kafka_redundancy_plan."""
    document = {
        "version": 1, "plan_id": "7f3e", "cluster": "east", "cluster_id": "abc", "run_id": "r1", "created_at": "2026-11-21T04:00:00Z",
        "collected_at": "2026-11-21T03:59:00Z", "options": {}, "partitions": [MOVE], "held": [HELD], "brokers": BROKERS, "summary": {"planned": 1},
    }  # fmt: skip
    return json.dumps({**copy.deepcopy(document), **values}).encode()


def moves(throttle: int | None = 20_000_000, **values: Any) -> bytes:
    """The content of a file of moves, as it is proposed."""
    return moves_file.sealed(planned(**values), "planned", throttle)


def resealed(content: bytes, **values: Any) -> bytes:
    """The same file with other values, and a sha256 that fits."""
    document = {**json.loads(content), **values}
    return json.dumps({**document, "sha256": sha256(document)}).encode()


def results(folder: Path, cluster: str = "east", plan_id: str = "7f3e", complete: bool = True) -> Path:
    """A file of results of moves."""
    path = folder / f"{cluster}-moved.json"
    rows = [{"topic": "orders", "partition": 0, "outcome": "reassigned"}]
    path.write_text(json.dumps({"plan_id": plan_id, "complete": complete, "summary": {"reassigned": 1, "held": 0}, "partitions": rows}))
    return path
