# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks what kafka_log_dir_info has returned on a host that is not trusted, before the disk of its broker is compared with the cluster. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError, quoted
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import (
    BROKER,
    EPOCH,
    OFFSET,
    ContentError,
    Name,
    Optional,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.checkpoint_files import is_uuid
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import can_be_partition

_LOG_DIR = {"path": str, "cluster_id": str, "node_id": BROKER, "clean_shutdown": bool, "foreign_files": [str]}
_NAMED = {"topic": Name(), "partition": BROKER}
_LOG = {**_NAMED, "log_dir": str, "error": Optional({"path": str, "reason": str}), "doubts": [str]}
_OTHER_LOG = {**_NAMED, "kind": str}
_READABLE = {
    "topic_id": Optional(Name()),
    "log_start_offset": OFFSET,
    "log_end_offset": OFFSET,
    "last_written_epoch": EPOCH,
    "epochs": [{"epoch": BROKER, "start_offset": OFFSET}],
    "torn": Optional({"segment": str, "position": OFFSET, "reason": str, "goes_on": bool}),
    "foreign_files": [str],
    "last_batch_base_offset": Optional(OFFSET),
    "kept_end_checked": bool,
}
_RESULT = {"broker_id": BROKER, "log_dirs": [_LOG_DIR], "partitions": [_LOG], "other_logs": [_OTHER_LOG], "absent": [_NAMED]}


def checked_result(result: Mapping[str, Any], cluster_id: str, broker_id: int | None) -> Mapping[str, Any]:
    """Return a result of `kafka_log_dir_info`. Raises RecoveryError if it is not one, or is of another cluster or broker."""
    if result.get("failed") or result.get("skipped") or result.get("unreachable") or ("msg" in result and "partitions" not in result):
        raise RecoveryError(f"disk: the disk was not read: {quoted(str(result.get('msg', 'the task was skipped')), 2000)}")
    try:
        strict_json.check(result, _RESULT)
        readable = [row for row in result["partitions"] if row["error"] is None]
        strict_json.check(readable, [_READABLE])
        identified = [row for row in result["other_logs"] if "topic_id" in row]
        strict_json.check(identified, [{"topic_id": Optional(Name())}])
        for row in [*result["partitions"], *result["other_logs"], *result["absent"]]:
            if not can_be_partition(row["topic"], row["partition"]):
                raise ContentError(f"{row['topic']!r} cannot be the name of a topic")
        for row in [*readable, *identified]:
            _check_topic_id(row)
        for row in readable:
            _check_epochs(row)
    except ContentError as error:
        raise RecoveryError(f"disk: {error}: it must be the result of kafka_log_dir_info") from error
    wanted = result["broker_id"] if broker_id is None else broker_id
    for log_dir in result["log_dirs"]:
        if (log_dir["cluster_id"], log_dir["node_id"]) != (cluster_id, wanted) or result["broker_id"] != wanted:
            raise RecoveryError(
                f"disk: {quoted(log_dir['path'])} is of broker {log_dir['node_id']} of the cluster {quoted(log_dir['cluster_id'])}, and not of broker "
                f"{wanted} of the cluster {cluster_id}: read the log dirs of that broker"
            )
    if not result["log_dirs"]:
        raise RecoveryError("disk: it has no log dirs: read the log dirs of the broker")
    return result


def _check_epochs(row: Mapping[str, Any]) -> None:
    for before, after in pairwise(row["epochs"]):
        if before["epoch"] >= after["epoch"] or before["start_offset"] > after["start_offset"]:
            raise ContentError(f"the leader epochs of {row['topic']}-{row['partition']} go backwards")


def _check_topic_id(row: Mapping[str, Any]) -> None:
    if row["topic_id"] is not None and not is_uuid(row["topic_id"]):
        raise ContentError(f"{row['topic_id']!r} is not a topic id")
