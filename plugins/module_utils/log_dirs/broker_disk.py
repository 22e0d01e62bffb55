# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads all log dirs of one lost broker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError, quoted
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.checkpoint_files import Metadata
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.disk_files import DiskError, Folder, log_dir_folder
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.log_dir import (
    check_not_locked,
    log_dir_row,
    metadata_of,
    read_log_dir,
    read_logs,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.log_names import REPLICA
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.partition_log import Depth
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, in_recovery_order, requested

MOST_LAST_BATCHES = 1000


def read_broker(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the module documents, for its options. Raises RecoveryError for log dirs that are not those of one stopped broker of the cluster."""
    as_at_start = frozenset((entry["topic"], entry["partition"]) for entry in params["check_partitions"] or ())
    depth = Depth(params["whole_logs"], params["crc_bytes"], params["last_batches"], as_at_start)
    if depth.last_batches > MOST_LAST_BATCHES:
        raise RecoveryError(f"last_batches is {depth.last_batches}: it must be {MOST_LAST_BATCHES} or less")
    wanted = requested(params["partitions"], params["partitions_file"])
    with broker_folders(params) as (folders, metadata):
        log_dirs, rows = [], []
        for folder, owner in zip(folders, metadata, strict=True):
            log_dir = read_log_dir(folder, owner)
            log_dirs.append(log_dir_row(folder.path, log_dir))
            rows += read_logs(folder, log_dir, None if wanted is None else set(wanted), depth)
            check_not_locked(folder, " since it was read")
    rows.sort(key=lambda row: (in_recovery_order((row["topic"], row["partition"])), row["log_dir"]))
    partitions = [row for row in rows if row["kind"] == REPLICA]
    _doubt_duplicates(partitions)
    return {
        "changed": False,
        "broker_id": metadata[0].node_id,
        "log_dirs": log_dirs,
        "partitions": partitions,
        "other_logs": [row for row in rows if row["kind"] != REPLICA],
        "absent": _absent(wanted, partitions),
        "counts": _counts(partitions),
    }


@contextmanager
def broker_folders(params: Mapping[str, Any]) -> Iterator[tuple[list[Folder], list[Metadata]]]:
    """Open the `log_dirs` of a broker. Raises RecoveryError if they are not those of one stopped broker of the cluster."""
    with ExitStack() as stack:
        folders = [_opened(path, stack) for path in params["log_dirs"]]
        if not folders:
            raise RecoveryError("log_dirs is empty: name the log dirs of the broker")
        metadata = [metadata_of(folder) for folder in folders]
        _check_owner(folders, metadata, params["cluster_id"], params["broker_id"])
        for folder in folders:
            check_not_locked(folder, "")
        yield folders, metadata


def _opened(path: str, stack: ExitStack) -> Folder:
    try:
        return stack.enter_context(log_dir_folder(Path(path)))
    except DiskError as error:
        raise RecoveryError(f"log_dirs: {error}; mount the disk read-only, and name the log dir") from error


def _check_owner(folders: Sequence[Folder], metadata: Sequence[Metadata], cluster_id: str, broker_id: int | None) -> None:
    """Raise RecoveryError if a log dir is another cluster's or another broker's, or is named twice."""
    for folder, owner in zip(folders, metadata, strict=True):
        if owner.cluster_id != cluster_id:
            raise RecoveryError(
                f"log_dirs: {folder.path} is of the cluster {owner.cluster_id}, and cluster_id is {quoted(cluster_id)}: name log dirs of that cluster"
            )
        if owner.node_id != (metadata[0].node_id if broker_id is None else broker_id):
            other = f"broker_id is {broker_id}" if broker_id is not None else f"{folders[0].path} is of broker {metadata[0].node_id}"
            raise RecoveryError(f"log_dirs: {folder.path} is of broker {owner.node_id}, and {other}: name log dirs of one broker")
    for number, (folder, owner) in enumerate(zip(folders, metadata, strict=True)):
        for other_folder, other_owner in zip(folders[:number], metadata, strict=False):
            copied = owner.directory_id is not None and owner.directory_id == other_owner.directory_id
            if copied or folder.identity == other_folder.identity:
                raise RecoveryError(
                    f"log_dirs: {other_folder.path} and {folder.path} are the same log dir, or copies of one: name each once"
                )


def _doubt_duplicates(partitions: Sequence[dict[str, Any]]) -> None:
    """Add a doubt to each of several logs of one partition. Kafka does not start with them."""
    times = Counter((row["topic"], row["partition"]) for row in partitions)
    for row in partitions:
        if times[row["topic"], row["partition"]] > 1:
            row["doubts"] = [*row["doubts"], "another log dir has a log of this partition, too: Kafka does not start with both"]


def _absent(wanted: Collection[TopicPartition] | None, partitions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the wanted partitions that no log dir has."""
    present = {(row["topic"], row["partition"]) for row in partitions}
    return [{"topic": topic, "partition": partition} for topic, partition in wanted or () if (topic, partition) not in present]


def _counts(partitions: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    readable = [row for row in partitions if row["error"] is None]
    return {
        "partitions": len(partitions),
        "damaged": len(partitions) - len(readable),
        "torn": sum(row["torn"] is not None for row in readable),
        "doubtful": sum(bool(row["doubts"]) for row in partitions),
        "bytes": sum(row["bytes"] for row in readable),
    }
