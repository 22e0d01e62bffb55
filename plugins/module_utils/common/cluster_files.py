# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of a workdir that belong to a cluster, whatever inventories call it: journals, and which cluster has which name.

Locks and journals go by Kafka's id of the cluster, so that two names of one cluster have one lock. `clusters/<name>.json` has the id of the cluster that
runs with this workdir call by this name.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts, strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError, quoted
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import (
    check_inside,
    create,
    read_regular,
    work_file,
    write_private,
)

FOLDER = "clusters"
PREFIX = "id-"  # an id may begin with a dash
# 22 letters of base64 (Uuid.toString), or what an operator has chosen.
_CLUSTER_ID = re.compile(r"[A-Za-z0-9_.\-]{1,100}")
_SHAPE = {"cluster_id": strict_json.Name()}


def newest_first(workdir: Path, kind: str, cluster: str) -> list[Path]:
    """Return the files `<workdir>/<kind>/<run_id>/<cluster>.json` of all runs, the newest first. Those that are removed meanwhile are left out."""
    mounts.list_folder(workdir / kind)
    changed: dict[Path, int] = {}
    with suppress(OSError):
        for path in (workdir / kind).glob(f"*/{cluster}.json"):
            with suppress(OSError):
                changed[path] = path.lstat().st_mtime_ns
    return sorted(changed, key=lambda path: changed[path], reverse=True)


def checked_id(cluster_id: str) -> str:
    """Return a cluster id, as brokers report it. Raises RecoveryError if it cannot be a part of a file name."""
    if not _CLUSTER_ID.fullmatch(cluster_id):
        raise RecoveryError(
            f"the brokers report the cluster id {quoted(cluster_id, 100)}, which is not one of Kafka (letters, digits, dots, dashes, underscores): check "
            "bootstrap_servers"
        )
    return cluster_id


def journal_file(workdir: Path, kind: str, cluster_id: str, make: bool = True) -> Path:
    """Return `<workdir>/<kind>/id-<cluster id>.jsonl`. Parameters and errors are those of `work_file`; RecoveryError as `checked_id`."""
    return work_file(workdir, kind, PREFIX + checked_id(cluster_id), suffix=".jsonl", make=make)


def check_name(workdir: Path, name: str, cluster_id: str) -> None:
    """Raise RecoveryError if the cluster of this name had another id before, and has that of another name now: its journals are not those of this cluster."""
    known = cluster_id_of(workdir, name)
    others = _names_of(workdir, checked_id(cluster_id)) if known not in (None, cluster_id) else []
    if others:
        raise RecoveryError(
            f"the brokers of {name} report the cluster id {cluster_id}, which is that of {others[0]} in the workdir {workdir}; before, {name} was {known}: "
            f"check bootstrap_servers of both. If both names mean this cluster now, remove {workdir / FOLDER / name}.json"
        )


def record_name(workdir: Path, name: str, cluster_id: str, check_mode: bool = False) -> None:
    """Record which cluster has a name. A cluster that was built again keeps its name. Raises RecoveryError as `check_name`.

    In a store, which many control nodes share, a name stays with its cluster: raises RecoveryError for any other id.
    """
    path = work_file(workdir, FOLDER, name, make=not check_mode)
    known = cluster_id_of(workdir, name)
    if known == checked_id(cluster_id):
        return
    content = json.dumps({"cluster_id": cluster_id}).encode() + b"\n"
    if mounts.mount_of(path) is None:
        check_name(workdir, name, cluster_id)
        if not check_mode:
            write_private(path, content)
        return
    if known is None and not check_mode:
        with suppress(FileExistsError):
            create(path, content)
        known = cluster_id_of(workdir, name)
    if known not in (None, cluster_id):
        raise RecoveryError(
            f"the workdir {workdir} has the files of another cluster {name}, {known}, and this cluster is {cluster_id}: two fleets must not share a workdir. "
            f"Use another kafka_recovery_workdir, or another name in the inventory. If {name} was built again, remove {path}"
        )


def _names_of(workdir: Path, cluster_id: str) -> list[str]:
    """Return the names under which a cluster is recorded, sorted."""
    names = sorted(path.stem for path in (workdir / FOLDER).glob("*.json"))
    return [name for name in names if cluster_id_of(workdir, name) == cluster_id]


def cluster_id_of(workdir: Path, name: str) -> str | None:
    """Return the id of the cluster that has this name, None if it is not recorded. Raises RecoveryError if the record cannot be read."""
    path = work_file(workdir, FOLDER, name, make=False)
    try:
        check_inside(workdir, path)
        content = strict_json.parse(read_regular(path, follow=False))
        strict_json.check(content, _SHAPE)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise RecoveryError(f"{path} cannot be read: {error}; remove it") from error
    return checked_id(content["cluster_id"])
