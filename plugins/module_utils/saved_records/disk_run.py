# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The work of module kafka_lost_disk_records: what only the disk of a lost broker has is found and saved, and whether the broker is safe to start."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.backend_selection import COMPAT
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.consumer_admin import ConsumerAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import signals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.broker_disk import read_broker
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.log_names import log_name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, has_live_leader
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.disk_comparison import (
    NO_LEADER,
    ONLY_ON_DISK,
    OTHER_TOPIC,
    RELATIONS,
    UNKNOWN,
    Compared,
    DiskLog,
    compare,
    disk_log,
    tail_of,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.disk_result import checked_result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.disk_source import DiskSource
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.save import Limits, Saved, TailSaver
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.store import folder_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails import Tail

# Bytes at the end of each log whose crcs are checked to find out where it ends. What is saved is checked whole.
CRC_BYTES = 65_536


class DiskTask(Protocol):
    """The parts of a module that reads a disk and saves records (`KafkaModule`). Its params have the options of `kafka_lost_disk_records`."""

    @property
    def params(self) -> dict[str, Any]: ...
    @property
    def workdir(self) -> Path: ...
    @property
    def check_mode(self) -> bool: ...
    @property
    def ansible(self) -> AnsibleModule: ...


class _Disk(NamedTuple):
    """A lost broker's id, its logs, and their folders. `obstacles`: why it may have logs that were not read."""

    broker_id: int
    logs: list[DiskLog]
    folders: dict[TopicPartition, Path]
    obstacles: list[str]


def save_disk(module: DiskTask, admin: ConsumerAdmin) -> dict[str, Any]:
    """Compare a disk with the cluster, save what only the disk has, and return the result of `kafka_lost_disk_records` without `changed`.

    Raises RecoveryError for a disk of another cluster or of a running broker, SavedRecordsError for damaged files of an earlier run, FileError if nothing
    more can be written, ClusterError if the cluster does not answer.
    """
    params = module.params
    disk = _read(params, admin.cluster_id)
    if disk.broker_id in admin.unfenced():
        raise RecoveryError(
            f"log_dirs: they are of broker {disk.broker_id}, which is alive in the cluster: name the disk of a lost broker, before that broker is started"
        )
    compared = _compared(disk, admin)
    tails = _tails(compared, disk.broker_id)
    folder = folder_of(module.workdir, params["run_id"], params["cluster"])
    saved = Saved()
    if tails and not module.check_mode:
        configs = admin.topic_configs({tail.topic for tail in tails.values()})
        if problem := configs.problem():
            module.ansible.warn(problem)
        header = {"cluster": params["cluster"], "cluster_id": admin.cluster_id, "run_id": params["run_id"], "backend": COMPAT}
        limits = Limits(params["max_saved_partition_bytes"], params["max_saved_bytes"], params["saved_bytes_per_second"])
        saver = TailSaver(
            DiskSource(disk.folders, tails.values()),
            folder,
            header,
            limits,
            {*configs.compacted, *configs.refused},
            asked_to_stop=signals.pending_signal,
        )
        saved = saver.save(tails.values())
        # A leader or the disk may have changed while records were saved.
        disk = _read(params, admin.cluster_id)
        compared = _compared(disk, admin)
        tails = _tails(compared, disk.broker_id)
    reasons = [*disk.obstacles, *_obstacles(compared, tails, saved)]
    return {
        "broker_id": disk.broker_id,
        "path": str(folder) if tails else None,
        "safe_to_start": not reasons,
        "reasons": reasons,
        "counts": _counts(compared, tails, saved),
        "partitions": [_row(one, tails.get(one.log.key), saved) for one in _worst_first(compared)],
        "unreachable_brokers": admin.unreachable_rows(),
    }


def _read(params: Mapping[str, Any], cluster_id: str) -> _Disk:
    if params.get("disk") is not None:
        found = checked_result(params["disk"], cluster_id, params["broker_id"])
    else:
        found = read_broker({**params, "whole_logs": True, "crc_bytes": CRC_BYTES, "last_batches": 1, "cluster_id": cluster_id})
    rows = found["partitions"]
    times = Counter((row["topic"], row["partition"]) for row in rows)
    logs = {(row["topic"], row["partition"]): disk_log(row, times[row["topic"], row["partition"]] == 1) for row in rows}
    if params.get("disk") is None:
        places = {(row["topic"], row["partition"]): Path(row["log_dir"]) for row in rows}
    else:
        places = dict.fromkeys(logs, Path(params["copy_dir"])) if params["copy_dir"] else {}
    folders = {key: place / f"{key[0]}-{key[1]}" for key, place in places.items()}
    return _Disk(found["broker_id"], [*logs.values()], folders, list(_disk_obstacles(found)))


def _disk_obstacles(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield why the disk may have logs that were not read. `found`: as `read_broker` returns it."""
    if not found["partitions"]:
        yield "the log dirs have no log of these partitions: name all log dirs of the broker"
    elif found["absent"]:
        yield f"{count(len(found['absent']), 'requested partition')}: the log dirs have no log of it"
    for log_dir in found["log_dirs"]:
        if links := [name for name in log_dir["foreign_files"] if log_name(name)]:
            yield f"{log_dir['path']}/{links[0]} is a link, or a file, and was not read: name the log dir that it leads to"
    if found["other_logs"]:
        kinds = ", ".join(sorted({row["kind"] for row in found["other_logs"]}))
        yield f"{count(len(found['other_logs']), 'log')} of the kinds {kinds} were not read: copy their folders first, if they matter"


def _tails(compared: Iterable[Compared], broker_id: int) -> dict[TopicPartition, Tail]:
    return {one.log.key: tail_of(one, broker_id) for one in compared if one.start < one.end}


def _compared(disk: _Disk, admin: ConsumerAdmin) -> list[Compared]:
    keys = {log.key for log in disk.logs}
    states, unfenced = admin.partitions(keys) if keys else {}, admin.unfenced()
    comparable = {log.key: log for log in disk.logs if log.doubt is None and log.end > log.start}
    leaders = {key: states[key].leader for key in comparable if key in states and has_live_leader(states[key], unfenced)}
    leader_logs = admin.logs(leaders, {key: comparable[key].asked_epochs for key in leaders})
    return [compare(log, states.get(log.key), unfenced, leader_logs.get(log.key)) for log in disk.logs]


def _worst_first(compared: Iterable[Compared]) -> list[Compared]:
    return sorted(compared, key=lambda one: (RELATIONS.index(one.relation), one.log.key))


def _row(one: Compared, tail: Tail | None, saved: Saved) -> dict[str, Any]:
    """Return what the module documents of a partition."""
    is_saved = tail in saved.complete if tail else None
    return {
        "topic": one.log.topic,
        "partition": one.log.partition,
        "topic_id": one.log.topic_id,
        "relation": one.relation,
        "start_offset": one.start if tail else None,
        "end_offset": one.end if tail else None,
        "saved": is_saved,
        "damage": one.log.damage,
        "reason": (saved.refused.get(tail) if tail else None) or one.reason,
    }


def _counts(compared: Sequence[Compared], tails: Mapping[TopicPartition, Tail], saved: Saved) -> dict[str, int]:
    relations = Counter(one.relation for one in compared)
    return {
        "partitions": len(compared),
        **{relation: relations[relation] for relation in RELATIONS},
        "saved": len(saved.complete),
        "saved_before": len(saved.before),
        "not_saved": sum(1 for tail in tails.values() if tail not in saved.complete),
        "offsets": sum(tail.end - (tail.start or 0) for tail in tails.values()),
        "bytes": saved.size,
    }


def _obstacles(compared: Sequence[Compared], tails: Mapping[TopicPartition, Tail], saved: Saved) -> list[str]:
    """Return why the broker must not be started yet, none if it may be."""
    complete = {key for key, tail in tails.items() if tail in saved.complete}
    left = Counter(one.relation for one in compared if one.log.key not in complete)
    texts = {
        ONLY_ON_DISK: "records that only this disk has are not saved",
        UNKNOWN: "it is not known which records only this disk has, and they are not saved",
        OTHER_TOPIC: "the cluster does not show the topic of the log, which is not saved",
        NO_LEADER: "there is no leader to compare with: start the broker only if it is to lead them, else elect first",
    }
    reasons = [f"{count(left[relation], 'partition')}: {text}" for relation, text in texts.items() if left[relation]]
    if damaged := sum(1 for one in compared if one.log.damage):
        reasons.append(
            f"{count(damaged, 'partition')}: the log may have records that were not read (damage): copy the folders of these logs first"
        )
    return reasons
