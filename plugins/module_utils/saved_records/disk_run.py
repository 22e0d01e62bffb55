# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The work of module kafka_lost_disk_records: what only the disk of a lost broker has is found and saved, and whether the broker is safe to start."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.backend_selection import COMPAT
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.consumer_admin import ConsumerAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import signals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.controller import ELR_FEATURE, elr_is_on
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    TopicPartition,
    has_live_leader,
    in_recovery_order,
    named,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import live_replicas
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.disk_comparison import (
    CLEAN_LEADER,
    NO_LEADER,
    ONLY_ON_DISK,
    OTHER_TOPIC,
    RELATIONS,
    UNKNOWN,
    Compared,
    DiskLog,
    Return,
    compare,
    leads_again,
    tail_of,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.disk_salvage import Salvaged, salvage
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.disk_source import DiskSource
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.last_in_sync import LastInSync, was_in_sync
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.lost_disk import (
    GIVE_UP,
    LostDisk,
    given_up_partitions,
    read_lost_disk,
    with_checked_ends,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.save import Saved, TailSaver
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.save_limits import Limits
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.save_progress import SaveProgress
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.saved_folder import folder_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails import Tail


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


class Revived(NamedTuple):
    """A partition that got empty replicas on other brokers, and its replicas before that."""

    key: TopicPartition
    topic_id: str
    original: tuple[int, ...]


class _View(NamedTuple):
    """A disk, compared with the cluster.

    `absent`: partitions without a log on the disk: requested ones, and those of which the broker is a replica, or was until they were revived.
    `deleted`: partitions that the cluster may still have, and whose logs the broker was deleting. `states`: of the partitions.
    """

    disk: LostDisk
    compared: list[Compared]
    tails: dict[TopicPartition, Tail]
    absent: list[TopicPartition]
    deleted: list[TopicPartition]
    states: Mapping[TopicPartition, PartitionState]


def save_disk(
    module: DiskTask,
    admin: ConsumerAdmin,
    find_live_tails: live_replicas.FindLiveTails,
    revived: Collection[Revived] = (),
    in_sync: Collection[LastInSync] = (),
) -> dict[str, Any]:
    """Compare a disk with the cluster, save what only the disk has, and return the result of `kafka_lost_disk_records` without `changed`.

    Where the broker leads again when it starts, what live replicas then truncate is saved, too.

    revived: partitions of the cluster that were revived. The broker is no replica of them any more, and its disk may have their last records.
    in_sync: which replicas were in sync at elections without them.

    Raises RecoveryError for a disk of another cluster or of a running broker, SavedRecordsError for damaged files of an earlier run, FileError if nothing
    more can be written, ClusterError if the cluster does not answer.
    """
    params = module.params
    view = _view(params, admin, revived, in_sync)
    folder = folder_of(module.workdir, params["run_id"], params["cluster"])
    saved, salvaged = Saved(), dict[TopicPartition, Salvaged]()
    live = find_live_tails(view.disk.broker_id, _led_again(view), view.states)
    if not module.check_mode and (view.tails or live.tails or any(one.log.damage for one in view.compared)):
        configs = admin.topic_configs(
            {one.log.topic for one in view.compared if one.log.damage or one.log.key in view.tails} | {tail.topic for tail in live.tails}
        )
        if problem := configs.problem():
            module.ansible.warn(problem)
        header = {"cluster": params["cluster"], "cluster_id": admin.cluster_id, "run_id": params["run_id"], "backend": COMPAT}
        saver = partial(
            TailSaver,
            folder=folder,
            header=header,
            limits=Limits.from_params(params),
            compacted={*configs.compacted, *configs.refused},
            asked_to_stop=signals.pending_signal,
            saved=saved,
            progress=SaveProgress(folder, header),
        )

        def save(tails: Collection[Tail]) -> None:
            saver(DiskSource(view.disk.folders, tails), keep_gaps=True).save(tails)

        if live.tails:
            saver(admin, states=admin).save(live.tails)
        save(view.tails.values())
        salvaged = salvage(view.compared, view.tails, saved, view.disk.broker_id, view.disk.folders, save)
        for tail, gap in saved.gaps.items():
            module.ansible.warn(f"{tail}: {gap}. Compaction may have removed them before; what is there is saved")
        # Leaders, live replicas or the disk may have changed while records were saved.
        view = _view(params, admin, revived, in_sync)
        live = find_live_tails(view.disk.broker_id, _led_again(view), view.states)
    given_up = given_up_partitions(params)
    led_again = {log.key for log in _led_again(view)} - given_up
    reasons = [*view.disk.obstacles, *_obstacles(view, saved, given_up), *live_replicas.obstacles(live, saved, led_again)]
    of_live = live_replicas.rows(live, saved)
    selected = params["partitions"] is not None or params["partitions_file"] is not None
    return {
        "broker_id": view.disk.broker_id,
        "path": str(folder) if view.tails or salvaged or live.tails else None,
        # A start of the broker also concerns the partitions that were not selected.
        "safe_to_start": False if reasons else None if selected else True,
        "reasons": reasons,
        "counts": {**_counts(view.compared, view.tails, saved), "live_replicas": len(live.tails)},
        "partitions": [
            {
                **_row(one, view.states.get(one.log.key), view.tails.get(one.log.key), saved, salvaged.get(one.log.key)),
                "live_replicas": of_live.get(one.log.key, []),
                "compared_replicas": live.compared.get(one.log.key, []),
            }
            for one in _worst_first(view.compared)
        ],
        "unchecked": [{"topic": log.topic, "partition": log.partition} for log in _led_again(view) if not log.end_is_checked],
        "unreachable_brokers": admin.unreachable_rows(),
    }


def _view(params: Mapping[str, Any], admin: ConsumerAdmin, revived: Collection[Revived], in_sync: Collection[LastInSync]) -> _View:
    """Read the disk, and compare it with the cluster. Raises RecoveryError for the disk of a broker that is alive."""
    disk = read_lost_disk(params, admin.cluster_id)
    unfenced = admin.unfenced()
    if disk.broker_id in unfenced:
        raise RecoveryError(
            f"log_dirs: they are of broker {disk.broker_id}, which is alive in the cluster: name the disk of a lost broker, before that broker is started"
        )
    on_disk = {log.key for log in disk.logs}
    selected = params["partitions"] is not None or params["partitions_file"] is not None
    concerned = on_disk | {key for key, _topic_id in disk.deleted}
    states = admin.partitions(concerned if selected else None) if concerned or not selected else {}
    back = Return(disk.broker_id, disk.was_clean, elr_is_on(admin.feature_level(ELR_FEATURE)))
    led_again = {log.key: log for log in disk.logs if log.key in states and leads_again(log, back, states[log.key], unfenced)}
    unchecked = [key for key, log in led_again.items() if not log.end_is_checked]
    if unchecked and params.get("disk") is None:
        disk = with_checked_ends(disk, params, admin.cluster_id, unchecked)
    comparable = {log.key: log for log in disk.logs if log.doubt is None and log.end > log.start}
    leaders = {key: states[key].leader for key in comparable if key in states and has_live_leader(states[key], unfenced)}
    leader_logs = admin.logs(leaders, {key: comparable[key].asked_epochs for key in leaders})
    # Retention may have deleted records before the leaders said where their epochs end.
    starts = admin.leader_starts(leaders)
    leader_logs = {
        key: replace(log, log_start_offset=starts.get(key)) for key, log in leader_logs.items() if log.error is not None or key in starts
    }
    compared = [compare(log, back, states.get(log.key), unfenced, leader_logs.get(log.key)) for log in disk.logs]
    # A topic keeps its name and its partitions, so a topic id that the partition does not have any more is of a topic that is gone.
    deleted = sorted(
        {key for key, topic_id in disk.deleted if topic_id is None or (key in states and states[key].topic_id == topic_id)},
        key=in_recovery_order,
    )
    assigned = {key for key, state in states.items() if disk.broker_id in state.replicas}
    assigned |= {
        one.key for one in revived if disk.broker_id in one.original and one.key in states and states[one.key].topic_id == one.topic_id
    }
    absent = sorted({*disk.absent, *(() if selected else assigned)} - on_disk - {*deleted}, key=in_recovery_order)
    return _View(disk, compared, _tails(compared, disk.broker_id, in_sync), absent, deleted, states)


def _led_again(view: _View) -> list[DiskLog]:
    """Return the logs whose partitions the broker leads once it is started."""
    return [one.log for one in view.compared if one.relation == CLEAN_LEADER]


def _tails(compared: Iterable[Compared], broker_id: int, in_sync: Collection[LastInSync]) -> dict[TopicPartition, Tail]:
    by_key: dict[TopicPartition, list[LastInSync]] = {}
    for row in in_sync:
        by_key.setdefault(row.key, []).append(row)
    return {
        log.key: tail_of(one, broker_id, was_in_sync(by_key.get(log.key, ()), log.key, log.topic_id, log.epoch, broker_id))
        for one in compared
        if (log := one.log) and one.start < one.end
    }


def _worst_first(compared: Iterable[Compared]) -> list[Compared]:
    return sorted(compared, key=lambda one: (RELATIONS.index(one.relation), one.log.key))


def _row(one: Compared, state: PartitionState | None, tail: Tail | None, saved: Saved, salvaged: Salvaged | None) -> dict[str, Any]:
    """Return what the module documents of a partition."""
    reasons = (saved.refused.get(tail) if tail else None, salvaged and salvaged.reason, one.reason)
    return {
        "topic": one.log.topic,
        "partition": one.log.partition,
        "topic_id": one.log.topic_id,
        "leader_epoch": state.leader_epoch if state and state.topic_id == one.log.topic_id else None,
        "relation": one.relation,
        "start_offset": one.start if tail else None,
        "end_offset": one.end if tail else None,
        "leader_epochs": [{"epoch": epoch, "start_offset": max(start, one.start)} for epoch, start in one.epochs] if tail else [],
        "saved": tail in saved.complete if tail else None,
        "unreadable": salvaged.unreadable if salvaged else [],
        "damage": one.log.damage,
        "reason": next((reason for reason in reasons if reason), None),
    }


def _counts(compared: Sequence[Compared], tails: Mapping[TopicPartition, Tail], saved: Saved) -> dict[str, int]:
    relations, complete, before = Counter(one.relation for one in compared), {*saved.complete}, {*saved.before}
    return {
        "partitions": len(compared),
        **{relation: relations[relation] for relation in RELATIONS},
        "saved": sum(1 for tail in tails.values() if tail in complete),
        "saved_before": sum(1 for tail in tails.values() if tail in before),
        "not_saved": sum(1 for tail in tails.values() if tail not in complete),
        "offsets": sum(tail.end - (tail.start or 0) for tail in tails.values()),
        "bytes": saved.size,
    }


# Why a broker must not be started yet, and the remedy. What is saved does not count.
_LEFT = {
    ONLY_ON_DISK: "records that only this disk has are not saved: run without check mode, and see the reason of each partition",
    UNKNOWN: "it is not known which records only this disk has, and they are not saved: see the reason of each partition",
    OTHER_TOPIC: "the cluster does not show the topic of the log, which is not saved: grant DESCRIBE on the topic, or run without check mode",
    NO_LEADER: "there is no leader to compare with: start the brokers that are safe to start, or elect one, and run again",
}


def _obstacles(view: _View, saved: Saved, given_up: Collection[TopicPartition]) -> Iterator[str]:
    """Yield why the broker must not be started yet."""
    complete = {*saved.complete}
    left = [one for one in view.compared if view.tails.get(one.log.key) not in complete and one.log.key not in given_up]
    for relation, text in _LEFT.items():
        if keys := sorted(one.log.key for one in left if one.relation == relation):
            yield f"{count(len(keys), 'partition')} ({named(keys)}): {text}"
    if keys := sorted(one.log.key for one in view.compared if one.log.damage and one.log.key not in given_up):
        yield (
            f"{count(len(keys), 'partition')} ({named(keys)}): the log may have records that were not read (damage): copy the folders of these logs, and then "
            + GIVE_UP
        )
    if keys := sorted(log.key for log in _led_again(view) if not log.end_is_checked and log.key not in given_up):
        yield (
            f"{count(len(keys), 'partition')} ({named(keys)}): this broker leads again when it starts, and whether it keeps all of its log is not checked: "
            f"read the disk with check_partitions (the playbook does that), or {GIVE_UP}"
        )
    # A broker that was only cut off deletes its log, maybe the last one, if the partition was revived or reassigned meanwhile.
    if keys := [key for key in view.deleted if key not in given_up]:
        yield (
            f"{count(len(keys), 'partition')} ({named(keys)}): the broker was deleting a log of it (-delete), and deletes it when it starts: copy the folder "
            f"first, and then {GIVE_UP}"
        )
    if keys := [key for key in view.absent if key not in given_up]:
        yield (
            f"{count(len(keys), 'partition')} ({named(keys)}): the log dirs have no log of it: name all log dirs of the broker, or if it never had one, "
            + GIVE_UP
        )
