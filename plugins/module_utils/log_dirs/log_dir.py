# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads one log dir of a lost broker: whose it is, its checkpoint files, and the logs in it."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.checksums import CrcSum
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.forks import shared
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs import checkpoint_files
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.broker_lock import LOCK, lock_holder
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.checkpoint_files import Metadata
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.disk_files import DiskError, Folder
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.log_names import (
    DELETE,
    FUTURE,
    REPLICA,
    STRAY,
    LogName,
    first_foreign,
    log_name,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.partition_log import Checkpoints, Depth, parsed, read_log
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, chunks

META, CLEAN_SHUTDOWN, METADATA_LOG = "meta.properties", ".kafka_cleanshutdown", "__cluster_metadata"
HIGH_WATERMARKS, RECOVERY_POINTS, LOG_STARTS = (
    "replication-offset-checkpoint",
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
)
# Kafka's other files, which say nothing of where logs end.
_OTHER_FILES = {
    LOCK,
    META,
    CLEAN_SHUTDOWN,
    HIGH_WATERMARKS,
    RECOVERY_POINTS,
    LOG_STARTS,
    "cleaner-offset-checkpoint",
    "bootstrap.checkpoint",
}

# Threads that wait for the disk in each process, and processes for many logs. A process takes some milliseconds to start.
_READERS, _MOST_PROCESSES, LOGS_OF_PROCESS = 4, 4, 250
# Logs whose crcs are checked at once: all of them are read again if one is wrong. With more bytes of each than this, each log is checked alone.
_LOGS_AT_ONCE, _FEW_BYTES = 16, 1 << 18
# Leader epochs that are returned of the logs of one log dir: 10,000 logs have some tens each. A header of a batch counts as so many.
MOST_EPOCHS, HEADER_EPOCHS = 500_000, 4
# Logs of one log dir that are read at once: their rows take 300 MB of memory, and 40 MB as JSON. Most brokers have some thousands.
MOST_LOGS = 30_000


class LogDir(NamedTuple):
    """What a log dir has beside its logs. `offsets`: of each checkpoint file by its name. `doubts`: why some of it cannot be used."""

    metadata: Metadata
    clean_shutdown: bool
    offsets: dict[str, dict[TopicPartition, int]]
    logs: list[LogName]
    foreign: list[str]
    doubts: list[str]

    def checkpoints(self, log: LogName) -> Checkpoints:
        """Return what the checkpoint files say of a log. They have no high watermark of one that is not the replica."""
        if log.kind not in (REPLICA, FUTURE):
            return Checkpoints(self.clean_shutdown, None, None, None)
        key = log.key
        high_watermark = self.offsets[HIGH_WATERMARKS].get(key) if log.kind == REPLICA else None
        return Checkpoints(self.clean_shutdown, high_watermark, self.offsets[RECOVERY_POINTS].get(key), self.offsets[LOG_STARTS].get(key))


def check_not_locked(folder: Folder, when: str) -> None:
    """Raise RecoveryError if a running broker has locked a log dir. `when`: of the reading, for the message."""
    try:
        holder = lock_holder(folder)
    except DiskError as error:
        raise RecoveryError(f"log_dirs: {error}") from error
    if holder is not None:
        who = f"process {holder}" if holder else "a process in another container or on another host"
        raise RecoveryError(
            f"log_dirs: {folder.path} is locked by {who}{when}, and a running broker changes its logs: wait if it is coming back, or stop it"
        )


def metadata_of(folder: Folder) -> Metadata:
    """Return whose log dir this is. Raises RecoveryError for a missing or damaged meta.properties."""
    try:
        content = folder.content(META, checkpoint_files.MOST_IDS)
        if content is None:
            raise DiskError(folder.path / META, "there is no such file")
        return parsed(folder, META, content, checkpoint_files.meta_properties)
    except DiskError as error:
        raise RecoveryError(
            f"log_dirs: {error}; name a folder of the broker's log.dirs, or restore the file, so that the log dir is known to be the broker's"
        ) from error


def read_log_dir(folder: Folder, metadata: Metadata) -> LogDir:
    """Return what a log dir has beside its logs, and their names. Raises RecoveryError if it cannot be listed."""
    logs, foreign, doubts, clean = list[LogName](), list[str](), list[str](), False
    for name, is_folder, is_file in folder.entries():
        log = log_name(name) if is_folder else None
        clean = clean or (is_file and name == CLEAN_SHUTDOWN)
        if log is not None and log.topic != METADATA_LOG:
            logs.append(log)
        elif log is None and not (is_file and name in _OTHER_FILES):
            foreign.append(name)
    offsets = {}
    keys = {log.key for log in logs}
    for name in (HIGH_WATERMARKS, RECOVERY_POINTS, LOG_STARTS):
        try:
            content = folder.content(name, checkpoint_files.MOST_OFFSETS)
            rows = {} if content is None else parsed(folder, name, content, checkpoint_files.offset_checkpoint)
            offsets[name] = {key: offset for key, offset in rows.items() if key in keys}
        except DiskError as error:
            offsets[name] = {}
            doubts.append(f"{error}; its offsets are taken as missing")
    return LogDir(metadata, clean, offsets, sorted(logs), first_foreign(foreign), doubts)


def read_logs(folder: Folder, log_dir: LogDir, wanted: Collection[TopicPartition] | None, depth: Depth) -> list[dict[str, Any]]:
    """Return a row for each log of the wanted partitions, None for all. One that is damaged has only an `error`.

    Raises RecoveryError for more than MOST_LOGS, and for more than MOST_EPOCHS in all of them.
    """
    chosen = [log for log in log_dir.logs if wanted is None or log.key in wanted]
    if len(chosen) > MOST_LOGS:
        raise RecoveryError(f"log_dirs: {folder.path} has {len(chosen)} logs, more than {MOST_LOGS}: select some of them with partitions")
    processes = min(len(os.sched_getaffinity(0)), _MOST_PROCESSES, len(chosen) // LOGS_OF_PROCESS)
    rows = shared(lambda share: _rows(folder, log_dir, share, depth), chosen, processes)
    if not all(rows) or sum(map(returned, rows)) > MOST_EPOCHS:
        raise RecoveryError(
            f"log_dirs: the logs in {folder.path} have more than {MOST_EPOCHS} leader epochs, and a header of a batch counts as {HEADER_EPOCHS} of them:"
            " select some logs with partitions, or lower last_batches"
        )
    return rows


def _rows(folder: Folder, log_dir: LogDir, logs: Sequence[LogName], depth: Depth) -> list[dict[str, Any]]:
    """Return the row of each log. Once they have more than MOST_EPOCHS, the others are not read, and their rows are empty."""
    left, changes = MOST_EPOCHS, Lock()

    def row(log: LogName, crcs: CrcSum | None) -> dict[str, Any]:
        nonlocal left
        if left < 0:
            return {}
        one = _log_row(folder, log_dir, log, depth, crcs)
        with changes:
            left -= returned(one)
        return one

    def rows(group: Sequence[LogName]) -> list[dict[str, Any]]:
        nonlocal left
        crcs = CrcSum()
        read = [row(log, crcs) for log in group]
        if crcs.is_right():
            return read
        with changes:
            left += sum(map(returned, read))
        return [row(log, None) for log in group]

    with ThreadPoolExecutor(_READERS) as readers:
        at_once = 1 if depth.whole_logs or depth.crc_bytes > _FEW_BYTES else _LOGS_AT_ONCE
        return list(chain.from_iterable(readers.map(rows, chunks(logs, at_once))))


def returned(row: Mapping[str, Any]) -> int:
    """Return how much of MOST_EPOCHS a row takes."""
    return len(row.get("epochs", ())) + HEADER_EPOCHS * len(row.get("last_batches", ()))


def _log_row(folder: Folder, log_dir: LogDir, log: LogName, depth: Depth, crcs: CrcSum | None) -> dict[str, Any]:
    row: dict[str, Any] = {
        "topic": log.topic, "partition": log.partition, "kind": log.kind, "log_dir": str(folder.path), "error": None, "doubts": [],
    }  # fmt: skip
    try:
        with folder.folder(log.folder) as opened:
            row |= read_log(opened, log_dir.checkpoints(log), depth, crcs, log.key in depth.as_at_start)
    except DiskError as error:
        row["error"] = {"path": error.path, "reason": error.wrong}
    return row


def log_dir_row(path: Path, log_dir: LogDir) -> dict[str, Any]:
    """Return what the module documents of a log dir."""
    kinds = [log.kind for log in log_dir.logs]
    return {
        "path": str(path),
        "cluster_id": log_dir.metadata.cluster_id,
        "node_id": log_dir.metadata.node_id,
        "directory_id": log_dir.metadata.directory_id,
        "clean_shutdown": log_dir.clean_shutdown,
        "logs": {kind: kinds.count(kind) for kind in (REPLICA, FUTURE, DELETE, STRAY)},
        "foreign_files": log_dir.foreign,
        "doubts": log_dir.doubts,
    }
