# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The work of module kafka_disk_evidence: the logs that were read from a lost broker's disk become evidence of its offline partitions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import remove
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import BROKER, ContentError, Name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.timestamps import utc_now
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence import disk_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import FENCED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import has_live_leader

# The result of kafka_log_dir_info, as far as it is used here.
_RESULT = {"broker_id": BROKER, "log_dirs": [{"cluster_id": Name(), "node_id": BROKER}], "partitions": [dict]}


class DiskTask(Protocol):
    """The parts of a module that keeps the logs of a disk (`KafkaModule`). Its params have the options of `kafka_disk_evidence`."""

    @property
    def params(self) -> dict[str, Any]: ...
    @property
    def workdir(self) -> Path: ...
    @property
    def check_mode(self) -> bool: ...


def keep_disk(module: DiskTask, cluster: Cluster) -> dict[str, Any]:
    """Write, or remove, the file of a disk, and return the result of `kafka_disk_evidence`.

    Raises RecoveryError for a result that is not one of `kafka_log_dir_info`, or of another cluster, and for a broker that is not lost.
    """
    params = module.params
    if params["state"] == "absent":
        return _remove(module)
    broker = _owner(params["disk"], cluster.cluster_id)
    if params["broker_id"] not in (None, broker):
        raise RecoveryError(f"disk: it is of broker {broker}, and broker_id is {params['broker_id']}: give the result of the right disk")
    states = {row["broker_id"]: row["broker_state"] for row in cluster.broker_states([broker])}
    if states.get(broker) != FENCED or broker in cluster.cut_off:
        raise RecoveryError(
            f"disk: broker {broker} runs, or is coming back, so its disk may have changed: stop it, and read the disk again"
        )
    rows, unused = _rows(params["disk"], cluster)
    path = disk_file.disk_file(module.workdir, params["cluster"], broker, make=not module.check_mode)
    header = {"cluster": params["cluster"], "cluster_id": cluster.cluster_id, "collected_at": utc_now()}
    before = _before(path, cluster.cluster_id, broker)
    if before != rows and not module.check_mode:
        disk_file.write(path, header, broker, rows)
    return _result(path, broker, before, rows, unused)


def _owner(disk: Mapping[str, Any], cluster_id: str) -> int:
    """Return the broker whose disk it is. Raises RecoveryError for the disk of another cluster, or another result."""
    try:
        strict_json.check(disk, _RESULT)
    except ContentError as error:
        raise RecoveryError(f"disk: it is not a result of kafka_log_dir_info: {error}") from error
    for log_dir in disk["log_dirs"]:
        if log_dir["cluster_id"] != cluster_id:
            raise RecoveryError(f"disk: it is of the cluster {log_dir['cluster_id']}, and the cluster that answers is {cluster_id}")
        if log_dir["node_id"] != disk["broker_id"]:
            raise RecoveryError(f"disk: one of its log dirs is of broker {log_dir['node_id']}, another one of broker {disk['broker_id']}")
    return int(disk["broker_id"])


def _rows(disk: Mapping[str, Any], cluster: Cluster) -> tuple[list[disk_file.Row], list[dict[str, Any]]]:
    """Return the rows of the file, and for each other log of an offline partition why it is no evidence."""
    try:
        for row in disk["partitions"]:
            strict_json.check(row, {"topic": Name(), "partition": BROKER})
        keys = [(row["topic"], row["partition"]) for row in disk["partitions"]]
        times, states, unfenced = Counter(keys), cluster.partitions(set(keys)) if keys else {}, cluster.unfenced()
        rows, unused = [], []
        for key, row in sorted(zip(keys, disk["partitions"], strict=True), key=lambda pair: pair[0]):
            state = states.get(key)
            if state is None or has_live_leader(state, unfenced):
                continue
            if disk["broker_id"] not in state.replicas:
                usable: disk_file.Row | str = f"broker {disk['broker_id']} is not among its replicas {list(state.replicas)}"
            else:
                usable = "two log dirs have a log of it" if times[key] > 1 else disk_file.usable_row(row, state)
            if isinstance(usable, str):
                unused.append({"topic": key[0], "partition": key[1], "reason": usable})
            else:
                rows.append(usable)
        return rows, unused
    except ContentError as error:
        raise RecoveryError(f"disk: a row of partitions, {error}") from error


def _before(path: Path, cluster_id: str, broker: int) -> list[disk_file.Row] | None:
    """Return the rows of the present file, None if there is none that can be used."""
    try:
        return disk_file.read(path, cluster_id, broker)[1]
    except RecoveryError:
        return None


def _remove(module: DiskTask) -> dict[str, Any]:
    broker = module.params["broker_id"]
    path = disk_file.disk_file(module.workdir, module.params["cluster"], broker, make=False)
    present = path.exists()
    if present and not module.check_mode:
        remove(path)
    return {**_result(path, broker, None, [], []), "changed": present, "diff": {"before": f"{path}\n" if present else "", "after": ""}}


def _result(
    path: Path, broker: int, before: Sequence[disk_file.Row] | None, rows: Sequence[disk_file.Row], unused: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    return {
        "changed": before != rows,
        "broker_id": broker,
        "path": str(path),
        "counts": {"used": len(rows), "not_used": len(unused)},
        "not_used": list(unused),
        "diff": {"before": _shown(before or []), "after": _shown(rows)},
    }


def _shown(rows: Sequence[disk_file.Row]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)
