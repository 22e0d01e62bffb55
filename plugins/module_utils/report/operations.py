# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reassignments, throttles, leftovers and the metadata quorum of each cluster, from files of the workdir. Connects to no cluster."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import cluster_files, strict_json, timestamps
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import SAFE_NAME, check_inside, read_regular
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import EPOCH, IntRange, Name, Optional
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers import observed_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers.model import KINDS, OWNERS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import quorum_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment import progress_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle import journal as throttle_journal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal_entries import LAYERS, RUN

MOVES, QUORUM, NAMES, LEFTOVERS = progress_file.FOLDER, quorum_file.FOLDER, cluster_files.FOLDER, observed_file.FOLDER
BUSY_SECONDS = 1.0  # a run that is changing throttles holds the lock of their journal
SOURCES = (MOVES, QUORUM, LEFTOVERS)
COUNT = IntRange(0, 2**63 - 1)
SHAPES = {
    MOVES: {"run_id": Name(), "updated_at": Name(), "ended": bool},
    QUORUM: {"observed_at": Name(), "verdict": Name(), "leader_epoch": Optional(EPOCH), "voters": COUNT, "voters_behind": COUNT},
    LEFTOVERS: {"observed_at": Name(), "remaining": [{"kind": Name(), "owner": Name(), "count": COUNT}]},
}
# Absent until the first measurement of a run.
MEASURED = {"partitions": COUNT, "in_sync": COUNT, "bytes_behind": Optional(COUNT)}


def of_workdir(workdir: Path, clusters: Collection[str] | None) -> list[dict[str, Any]]:
    """Return one row per cluster of `clusters` (None: all) with such files: `moves`, `throttles`, `leftovers` and `quorum`, each null without a usable file."""
    names = {path.stem for folder in (*SOURCES, NAMES) for path in (workdir / folder).glob("*.json") if SAFE_NAME.fullmatch(path.stem)}
    with_files = {name for name in names if any((workdir / folder / f"{name}.json").exists() for folder in SOURCES)}
    rows = [
        {
            "cluster": name,
            "moves": _moves(workdir, name),
            "throttles": _throttles(workdir, name),
            "leftovers": _leftovers(workdir, name),
            "quorum": _content(workdir, QUORUM, name),
        }
        for name in sorted(names)
        if clusters is None or name in clusters
    ]
    return [row for row in rows if row["cluster"] in with_files or row["throttles"] is not None]


def _content(workdir: Path, folder: str, cluster: str) -> dict[str, Any] | None:
    """Return the keys of SHAPES of one file, or None if it cannot be used. Its time must be valid."""
    path, shape = workdir / folder / f"{cluster}.json", SHAPES[folder]
    try:
        check_inside(workdir, path)
        content = strict_json.parse(read_regular(path, follow=False))
        strict_json.check(content, shape)
        for key in shape.keys() & {"updated_at", "observed_at"}:
            timestamps.read(content[key])
    except (OSError, ValueError, RecoveryError):
        return None
    return {key: content.get(key) for key in (*shape, *(MEASURED if folder == MOVES else ()))}


def _moves(workdir: Path, cluster: str) -> dict[str, Any] | None:
    found = _content(workdir, MOVES, cluster)
    if found is not None:
        try:
            strict_json.check(found, MEASURED)
        except ValueError:
            return found | dict.fromkeys(MEASURED)
    return found


def _leftovers(workdir: Path, cluster: str) -> dict[str, Any] | None:
    """Return `observed_at` and the rows of `remaining` whose kind and owner are known."""
    found = _content(workdir, LEFTOVERS, cluster)
    if found is not None:
        found["remaining"] = [row for row in found["remaining"] if row["kind"] in KINDS and row["owner"] in OWNERS]
    return found


def _throttles(workdir: Path, cluster: str) -> dict[str, Any] | None:
    """Return the number of configs that are set, by owner. `left_over`: configs of a killed run, and of a standing throttle that has expired."""
    try:
        cluster_id = cluster_files.cluster_id_of(workdir, cluster)
        if cluster_id is None or not cluster_files.journal_file(workdir, throttle_journal.FOLDER, cluster_id, make=False).is_file():
            return None
        with throttle_journal.ThrottleJournal(workdir, cluster, cluster_id, BUSY_SECONDS, read_only=True) as journal:
            counts = {owner: len(journal.rates([owner])) + len(journal.replicas([owner])[owner]) for owner in LAYERS}
            run_is_active = journal.run_lock.is_active()
            return {**counts, "left_over": sum(counts[owner] for owner in journal.left_over() if not (owner == RUN and run_is_active))}
    except (OSError, RecoveryError):
        return None
