# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan of one synthetic partition, which loads most of the classes of Spark. It is made while evidence is collected."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

with suppress(ImportError):  # common.optional_imports names what is missing
    from pyspark.sql import SparkSession

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import work_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.timestamps import utc_now
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import FENCED, UNFENCED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import landing_format
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.recovery import plan_files
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.cluster_batches import RunFiles

NAME = "warm-up"
LOST, SURVIVORS, END = 1, (2, 3), 100


def write_warmup_plan(spark: SparkSession) -> None:
    """Make a plan from a synthetic landing file, in a temporary directory of this machine."""
    with tempfile.TemporaryDirectory() as folder:
        plan_files.write_plans(spark, write_landing_file(Path(folder)), Path(folder), "balanced", "last_written_epoch")


def write_landing_file(workdir: Path) -> RunFiles:
    """Write a landing file with one partition, whose survivors have identical logs, and return it as the only file of a run."""
    brokers = [
        {
            "broker_id": broker,
            "broker_state": FENCED if broker == LOST else UNFENCED,
            "silent_seconds": 60.5 if broker == LOST else None,
            "rack": None,
        }
        for broker in (LOST, *SURVIVORS)
    ]
    header = {
        "cluster": NAME,
        "cluster_id": NAME,
        "run_id": NAME,
        "collected_at": utc_now(),
        "backend": "compat",
        "unreachable_brokers": [],
        "brokers": brokers,
    }
    landing_format.write(work_file(workdir, "landing", NAME, NAME, ".jsonl"), header, [_document()])
    return plan_files.find_landing_files(workdir, NAME, None)


def _document() -> dict[str, Any]:
    known = {"log_start_offset": 0, "log_end_offset": END, "high_watermark": END, "partition_leader_epoch": 3, "last_written_epoch": 3}
    first, second = SURVIVORS
    return {
        "topic": NAME,
        "partition": 0,
        "topic_id": NAME,
        "leader": -1,
        "leader_epoch": 3,
        "replicas": [LOST, *SURVIVORS],
        "isr": [LOST],
        "eligible_leader_replicas": [],
        "last_known_elr": [],
        "offline_replicas": [LOST],
        "reassigning": False,
        "named": False,
        "min_insync_replicas": 2,
        "unclean_leader_election_enable": False,
        "cleanup_policy": "delete",
        "logs": [
            {"broker_id": LOST, "broker_state": FENCED, "error": None},
            *({"broker_id": broker, "broker_state": UNFENCED, "error": None, **known} for broker in SURVIVORS),
        ],
        "pairs": [{"broker_a": first, "broker_b": second, "relation": "same", "shorter": None, "common_offset": END, "reason": None}],
        "proofs": [],
        "history": None,
        "healthy": None,
    }
