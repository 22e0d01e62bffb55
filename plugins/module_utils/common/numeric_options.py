# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks options that have the same meaning in every module: the minimum of each numeric option, and that workdir is not empty."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError, quoted
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.mounts import begins_as_url, has_url

MINIMUMS = {
    "election_attempts": 0,
    "concurrent_moves": 1,
    "preview": 0,
    "limit": 0,
    "window": 0.0,
    "measure_seconds": 0.0,
    "keep_hours": 0.0,
    "keep_days": 0.0,
    "idle_timeout": 0.0,
    "retention_days": 1,
    "replication_factor": 1,
    "max_plan_age": 0.0,
    "first_answer_seconds": 0.0,
    "max_evidence_rows": 1,
    "crc_bytes": 0,
    "last_batches": 0,
    "max_saved_partition_bytes": 1,
    "max_saved_bytes": 1,
    "max_saved_run_bytes": 1,
    "saved_bytes_per_second": 1,
    "replayed_bytes_per_second": 1,
    "max_batch_bytes": 1,
}
EXCLUSIVE_MINIMUMS = {
    "duration": 0.0,
    "readiness_duration": 0.0,
    "stalled_after": 0.0,
    "timeout": 0.0,
    "expires_after": 0.0,
    "save_timeout": 0.0,
}


def in_range(option: str, value: float) -> bool:
    """Return whether a number is a valid value of an option: finite, and within MINIMUMS or EXCLUSIVE_MINIMUMS. Other options accept every number."""
    if option in MINIMUMS:
        return MINIMUMS[option] <= value < math.inf
    return option not in EXCLUSIVE_MINIMUMS or EXCLUSIVE_MINIMUMS[option] < value < math.inf


def check_workdir(params: Mapping[str, Any]) -> None:
    """Raise RecoveryError if `workdir` is empty, or a URL of a kind that is not known: as a path it would be in the current directory."""
    workdir = params.get("workdir")
    if workdir == "":
        raise RecoveryError("workdir is empty: name a directory")
    if isinstance(workdir, str) and not has_url(workdir) and ("://" in workdir or begins_as_url(workdir)):
        raise RecoveryError(
            f"workdir is {quoted(workdir.rpartition('@')[2], 100)}: name a directory, or a folder of an object store (s3://, gs://, az://)"
        )


def check_numbers(params: Mapping[str, Any]) -> None:
    """Raise RecoveryError for the first option whose number is below its minimum or is not finite. Other options are not checked."""
    for name, value in params.items():
        if isinstance(value, (int, float)) and not in_range(name, value):
            bound = f"{MINIMUMS[name]:g} or more" if name in MINIMUMS else f"more than {EXCLUSIVE_MINIMUMS[name]:g} (seconds)"
            raise RecoveryError(f"{name} is {value}: it must be {bound}")
