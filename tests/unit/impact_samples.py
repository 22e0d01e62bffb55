# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Impact files of made-up partitions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats.impact_file import COUNTS

KEY = {"topic": "orders", "partition": 0}


def impact(cluster: str = "east", run_id: str = "run-1", **changes: Any) -> dict[str, Any]:
    """A file with a row of each kind, two of the partitions; the second one is not usable."""
    group: dict[str, Any] = {"group": "billing", "group_state": "Stable", "group_type": None, "partitions": 1, "in_doubt": 2}
    transaction = {
        **KEY, "state": "hanging", "transactional_id": None, "coordinator_state": None, "producer_id": 2**40, "producer_epoch": 2,
        "start_offset": 97, "ends_in_seconds": None, "explanation": "no coordinator ends it", "command": "kafka-transactions.sh abort",
    }  # fmt: skip
    sound: dict[str, Any] = {**KEY, "outcome": "elected", "leader": 2, "readable": True, "writable": True, "explanation": None}
    return {
        "cluster": cluster,
        "cluster_id": f"id-of-{cluster}",
        "run_id": run_id,
        "observed_at": "2026-11-21T04:30:00Z",
        "summary": {**dict.fromkeys(COUNTS, 0), "partitions": 2, "groups": 1, "transactions_hanging": 1, "not_readable": 1},
        "warnings": ["broker 1 does not answer"],
        "partitions": [sound, {**sound, "partition": 1, "leader": None, "readable": False, "writable": False, "explanation": "no leader"}],
        "groups": [{**group, "offsets_read_and_lost": 2**40, "must_stop": True, "command": "kafka-consumer-groups.sh"}],
        "offsets": [],
        "transactions": [transaction, {**transaction, "state": "open", "start_offset": None, "ends_in_seconds": 9.5, "producer_id": 1}],
        "canaries": [{"topic": "canary", "partition": 0, "offset": 7, "error": None, "read_back": True}],
        **changes,
    }


def write(path: Path, content: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return path
