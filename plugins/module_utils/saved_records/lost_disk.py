# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The logs of a lost broker, read from its log dirs, or as another host has read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.broker_disk import read_broker
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.log_names import DELETE, STRAY, log_name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, named
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.disk_comparison import DiskLog, disk_log
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.disk_result import checked_result

# Bytes at the end of each log whose crcs are checked to find out where it ends. What is saved is checked whole.
CRC_BYTES = 65_536
GIVE_UP = "name the partitions in give_up_partitions (of the host: kafka_give_up_partitions) to do without"


class LostDisk(NamedTuple):
    """A lost broker's id, its logs, their folders, and requested partitions without a log.

    `deleted`: partitions and topic ids of logs that the broker was deleting. `obstacles`: why it may have logs that were not read. `was_clean`: whether all
    log dirs have the mark of a clean shutdown.
    """

    broker_id: int
    logs: list[DiskLog]
    folders: dict[TopicPartition, Path]
    absent: list[TopicPartition]
    deleted: list[tuple[TopicPartition, str | None]]
    obstacles: list[str]
    was_clean: bool


def given_up_partitions(params: Mapping[str, Any]) -> set[TopicPartition]:
    """Return the partitions that the operator does without."""
    return {(entry["topic"], entry["partition"]) for entry in params["give_up_partitions"] or ()}


def read_lost_disk(params: Mapping[str, Any], cluster_id: str) -> LostDisk:
    """Read the disk that the options of `kafka_lost_disk_records` name. Raises RecoveryError for a disk of another cluster or broker."""
    if params.get("disk") is not None:
        found = checked_result(params["disk"], cluster_id, params["broker_id"])
    else:
        found = _read(params, cluster_id)
    rows = found["partitions"]
    logs = _logs(rows)
    if params.get("disk") is None:
        places = {(row["topic"], row["partition"]): Path(row["log_dir"]) for row in rows}
    else:
        places = dict.fromkeys(logs, Path(params["copy_dir"])) if params["copy_dir"] else {}
    folders = {key: place / f"{key[0]}-{key[1]}" for key, place in places.items()}
    absent = [(row["topic"], row["partition"]) for row in found["absent"]]
    deleted = [((row["topic"], row["partition"]), row.get("topic_id")) for row in found["other_logs"] if row["kind"] == DELETE]
    return LostDisk(
        found["broker_id"], [*logs.values()], folders, absent, deleted, list(_disk_obstacles(found, given_up_partitions(params))),
        all(log_dir["clean_shutdown"] for log_dir in found["log_dirs"]),
    )  # fmt: skip


def with_checked_ends(disk: LostDisk, params: Mapping[str, Any], cluster_id: str, keys: Collection[TopicPartition]) -> LostDisk:
    """Return a disk of this host with logs of which all is checked that Kafka checks when the broker starts. Errors are those of `read_lost_disk`."""
    partitions = [{"topic": topic, "partition": partition} for topic, partition in keys]
    found = _read({**params, "partitions": partitions, "partitions_file": None, "check_partitions": partitions}, cluster_id)
    checked = _logs(found["partitions"])
    return disk._replace(logs=[checked.get(log.key, log) for log in disk.logs])


def _read(params: Mapping[str, Any], cluster_id: str) -> Mapping[str, Any]:
    depth = {"whole_logs": True, "crc_bytes": CRC_BYTES, "last_batches": 0, "check_partitions": params.get("check_partitions")}
    return read_broker({**params, **depth, "cluster_id": cluster_id})


def _logs(rows: Sequence[Mapping[str, Any]]) -> dict[TopicPartition, DiskLog]:
    times = Counter((row["topic"], row["partition"]) for row in rows)
    return {(row["topic"], row["partition"]): disk_log(row, times[row["topic"], row["partition"]] == 1) for row in rows}


def _disk_obstacles(found: Mapping[str, Any], given_up: Collection[TopicPartition]) -> Iterator[str]:
    """Yield why the disk may have logs that were not read. `found`: as `read_broker` returns it."""
    if not found["partitions"]:
        yield "the log dirs have no log of these partitions: name all log dirs of the broker"
    for log_dir in found["log_dirs"]:
        links = [link for name in log_dir["foreign_files"] if (link := log_name(name)) and link.key not in given_up]
        if links:
            yield f"{log_dir['path']}/{links[0].folder} is a link, or a file, and was not read: name the log dir that it leads to, or {GIVE_UP}"
    # A start keeps logs of the kind `stray`. Those of the kind `delete` are judged with their topics.
    others = {(row["topic"], row["partition"]) for row in found["other_logs"] if row["kind"] not in (DELETE, STRAY)} - {*given_up}
    if others:
        where = f"{count(len(others), 'partition')} ({named(sorted(others))})"
        yield f"{where}: an unfinished copy of the log (-future) was not read: copy its folder first, and then {GIVE_UP}"
