# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files with the logs on the disk of a lost broker, `<workdir>/disks/<cluster>/<broker_id>.jsonl`, sealed as landing files are.

A row has a log that is known to its end: nothing is torn, doubtful or unchecked. It counts as long as its partition has the leader epoch of the row: without a
leader a log does not change, and each new leader gets a new epoch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import read_regular, safe_name, work_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import (
    BROKER,
    EPOCH,
    OFFSET,
    ContentError,
    IntRange,
    Name,
    Optional,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.disk_log_comparison import EvidenceLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import landing_format
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import LastBatch
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.replica_log import ReplicaLog

FOLDER, SUFFIX, CONTENT = "disks", ".jsonl", "disk"
_NUMBER = IntRange(0, EPOCH.high)
# Of a row of `kafka_log_dir_info` without an error.
_READ = {
    "topic_id": Optional(Name()),
    "log_start_offset": OFFSET,
    "log_end_offset": OFFSET,
    "kept_end_offset": Optional(OFFSET),
    "kept_end_checked": bool,
    "last_written_epoch": EPOCH,
    "last_batch_base_offset": Optional(OFFSET),
    "last_batch_transactional": Optional(bool),
    "high_watermark": Optional(OFFSET),
    "epochs": [{"epoch": _NUMBER, "start_offset": OFFSET}],
    "doubts": [str],
}
_ROW = {
    "topic": Name(),
    "partition": BROKER,
    "topic_id": Name(),
    "leader_epoch": _NUMBER,
    "log_start_offset": OFFSET,
    "log_end_offset": OFFSET,
    "high_watermark": Optional(OFFSET),
    "last_batch_base_offset": OFFSET,
    "last_batch_transactional": bool,
    "epochs": [{"epoch": _NUMBER, "start_offset": OFFSET}],
}

Row = dict[str, Any]


def disk_file(workdir: Path, cluster: str, broker_id: int, make: bool = True) -> Path:
    """Return the path of the file of a broker's disk, with its directories created if `make`. Raises FileError as `private_files.work_file` does."""
    return work_file(workdir, FOLDER, str(broker_id), safe_name("cluster", cluster), SUFFIX, make)


def usable_row(row: Mapping[str, Any], state: PartitionState) -> Row | str:
    """Return the row of the file for a row of `kafka_log_dir_info`, or why its log is no evidence.

    `state`: of the partition now, which has no live leader. Raises ContentError if the row is not one of that module.
    """
    if row.get("error") is not None:
        return "the log could not be read"
    strict_json.check(row, _READ)
    if row["topic_id"] != state.topic_id:
        return "the log is of another topic of this name, or has no topic id"
    if row.get("torn") is not None:
        return "the end of the log is torn, so it may have had more"
    if row["doubts"]:
        return f"the log is doubtful: {strict_json.shortened(row['doubts'][0])}"
    if not row["kept_end_checked"] or row["kept_end_offset"] != row["log_end_offset"]:
        return (
            "where a start of the broker ends the log is not checked: read the disk with whole_logs and with crc_bytes as large as the log"
        )
    if row["last_batch_base_offset"] is None:
        return "the log is empty, which proves nothing"
    made = {
        "topic": state.topic,
        "partition": state.partition,
        "topic_id": state.topic_id,
        "leader_epoch": state.leader_epoch,
        "log_start_offset": row["log_start_offset"],
        "log_end_offset": row["log_end_offset"],
        "high_watermark": row["high_watermark"],
        "last_batch_base_offset": row["last_batch_base_offset"],
        "last_batch_transactional": bool(row["last_batch_transactional"]),
        "epochs": [
            {"epoch": entry["epoch"], "start_offset": entry["start_offset"]}
            for entry in row["epochs"]
            if entry["start_offset"] < row["log_end_offset"]
        ],
    }
    known = made["epochs"] and made["epochs"][-1]["epoch"] == row["last_written_epoch"]
    if not known or (wrong := contradiction(made)):
        return "its offsets and its leader-epoch-checkpoint contradict each other" if not known else wrong
    return made


def contradiction(row: Row) -> str:
    """Return what of a row cannot be true, "" if it can be."""
    epochs = [(entry["epoch"], entry["start_offset"]) for entry in row["epochs"]]
    start, end = row["log_start_offset"], row["log_end_offset"]
    if not start < end or (row["high_watermark"] or 0) > end or not row["last_batch_base_offset"] < end:
        return "its start, end, high watermark and last batch contradict each other"
    if any(one[0] >= other[0] or one[1] >= other[1] for one, other in pairwise(epochs)):
        return "its leader epochs are not in order"
    if not epochs or epochs[-1][1] > row["last_batch_base_offset"]:
        return "its last leader epoch starts behind its last batch"
    return ""


def write(path: Path, header: Mapping[str, Any], broker_id: int, rows: Sequence[Row]) -> None:
    """Replace the file of a broker's disk. `header`: cluster, cluster_id and collected_at."""
    landing_format.write(
        path,
        {**header, "content": CONTENT, "broker_id": broker_id, "run_id": CONTENT, "backend": "compat"},
        ({"kind": "log", **row} for row in rows),
    )


def read(path: Path, cluster_id: str, broker_id: int) -> tuple[Row, list[Row]]:
    """Return header and rows of a file. Raises RecoveryError if it is damaged, or of another cluster or broker."""
    header = landing_format.check(path)
    if (header["cluster_id"], header.get("content"), header.get("broker_id")) != (cluster_id, CONTENT, broker_id):
        raise RecoveryError(f"it is not of the disk of broker {broker_id} in cluster {cluster_id}")
    try:
        return header, list(_rows(path))
    except OSError as error:
        raise RecoveryError(f"cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise RecoveryError(f"a row is not valid: {error}") from error


def _rows(path: Path) -> Iterator[Row]:
    for line in read_regular(path, follow=False).splitlines()[1:-1]:
        row = json.loads(line)
        strict_json.check(row, _ROW)
        if wrong := contradiction(row):
            raise ContentError(wrong)
        yield {name: row[name] for name in _ROW}


def disk_log(row: Row, broker_id: int, read_at: int) -> EvidenceLog:
    """Return the log of a row. `read_at`: milliseconds since 1970."""
    epochs = tuple((entry["epoch"], entry["start_offset"]) for entry in row["epochs"])
    end = row["log_end_offset"]
    last = LastBatch(row["last_batch_base_offset"], end - 1, epochs[-1][0], 0, 0, row["last_batch_transactional"])
    log = ReplicaLog(None, row["log_start_offset"], end, row["high_watermark"], None, last, read_from_disk_at=read_at)
    return EvidenceLog(broker_id, log, epochs)
