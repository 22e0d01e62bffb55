# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Results of `kafka_log_dir_info` that are odd in one way each: what another host says of a disk, if its task failed, or if it reads other log dirs."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

OTHER_TOPIC = "AAAAAAAAAAAAAAAAAAAAzw"


def _with(change: Mapping[str, Any], disk: Mapping[str, Any]) -> dict[str, Any]:
    return {**disk, **change}


def _with_logs(change: Callable[[dict[str, Any]], Mapping[str, Any]], disk: Mapping[str, Any]) -> dict[str, Any]:
    return {**disk, "partitions": [{**row, **change(row)} for row in copy.deepcopy(disk["partitions"]) if row["error"] is None]}


def _backwards(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"epochs": [*row["epochs"], *row["epochs"][-1:]]}


def _behind_its_end(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"last_batch_base_offset": 0, "epochs": [{**one, "start_offset": max(1, one["start_offset"])} for one in row["epochs"]]}


def _of_other_epoch(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"last_written_epoch": row["last_written_epoch"] + 1}


RESULTS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "of a task that failed": partial(_with, {"failed": True, "msg": "no such folder"}),
    "of a task that was skipped": lambda _disk: {"skipped": True},
    "of another broker": lambda disk: {
        **disk,
        "broker_id": disk["broker_id"] + 1,
        "log_dirs": [{**row, "node_id": disk["broker_id"] + 1} for row in disk["log_dirs"]],
    },
    "without log dirs": partial(_with, {"log_dirs": []}),
    "of a topic that cannot be": partial(_with_logs, lambda _row: {"topic": "a b"}),
    "of a partition that does not exist": partial(_with_logs, lambda row: {"partition": row["partition"] + 50}),
    "with a topic id that is none": partial(_with_logs, lambda _row: {"topic_id": "orders"}),
    "of topics that were created again": partial(_with_logs, lambda _row: {"topic_id": OTHER_TOPIC}),
    "with doubts": partial(_with_logs, lambda _row: {"doubts": ["segments overlap"]}),
    "with ends that are not checked": partial(_with_logs, lambda _row: {"kept_end_checked": False}),
    "with epochs that go backwards": partial(_with_logs, _backwards),
    "with an epoch behind the last batch": partial(_with_logs, _behind_its_end),
    "with another last epoch": partial(_with_logs, _of_other_epoch),
    "with a deleted beginning": partial(_with_logs, lambda row: {"log_start_offset": max(0, row["log_end_offset"] - 1)}),
    "without epochs": partial(_with_logs, lambda _row: {"epochs": []}),
    "without epochs, and without that of its last batch": partial(_with_logs, lambda _row: {"epochs": [], "last_written_epoch": -1}),
    "with a link": partial(_with_logs, lambda _row: {"foreign_files": ["00000000000000000000.log"]}),
}
