# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last verdict on the disk of each lost broker: `<workdir>/rescue/<cluster>/broker-<id>.json` says whether that broker is safe to start."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numbers import MOST_INT32, whole_number
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import (
    FileError,
    check_inside,
    private_directory,
    read_regular,
    remove,
    safe_name,
    write_private,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import (
    BROKER,
    EPOCH,
    OFFSET,
    ContentError,
    Name,
    Optional,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.timestamps import utc_now
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.disk_comparison import CLEAN_LEADER, IN_CLUSTER

_SHAPE: dict[str, Any] = {"cluster_id": str, "run_id": str, "judged_at": str, "safe_to_start": bool, "reasons": [str]}
_PARTITIONS = Optional([{
    "topic": Name(), "partition": BROKER, "topic_id": Optional(Name()), "relation": Name(), "start_offset": Optional(OFFSET),
    "end_offset": Optional(OFFSET), "leader_epochs": [{"epoch": BROKER, "start_offset": OFFSET}], "damage": Optional(str),
}])  # fmt: skip

_LEADER_EPOCH = {"topic": Name(), "partition": BROKER, "topic_id": Name(), "leader_epoch": EPOCH}
# Partitions that the broker leads again, with the live replicas that were compared with its log.
_LED_AGAIN = {"topic": Name(), "partition": BROKER, "topic_id": Name(), "compared_replicas": [BROKER]}
# The only reason of a verdict without a disk, see `expect_loss`.
NEVER_READ = "its disk was not read, and partitions that it has were elected without it"


class ToElect(Protocol):
    """A partition before its election: its state, or the entry of a plan."""

    @property
    def key(self) -> TopicPartition: ...
    @property
    def topic_id(self) -> str: ...
    @property
    def leader_epoch(self) -> int: ...
    @property
    def replicas(self) -> tuple[int, ...]: ...


def path_of(workdir: Path, cluster: str, broker_id: int) -> Path:
    """Return the file of a broker's verdict. Raises FileError for a name that cannot be a file name."""
    return workdir / "rescue" / safe_name("cluster", cluster) / f"broker-{broker_id}.json"


def write(path: Path, cluster_id: str, run_id: str, result: Mapping[str, Any], leader_epochs: list[dict[str, Any]] | None = None) -> None:
    """Replace a verdict by that of a result of `kafka_lost_disk_records`. It is durable afterwards.

    leader_epochs  rows of partitions, None for those of the result
    """
    private_directory(path.parent)
    verdict: dict[str, Any] = {"cluster_id": cluster_id, "run_id": run_id, "judged_at": utc_now()}
    verdict |= {name: result[name] for name in ("broker_id", "safe_to_start", "reasons", "counts", "path")}
    rows = result["partitions"]
    # An election with any tool raises the leader epoch, and then the disk was compared with another leader's log.
    if leader_epochs is None:
        leader_epochs = [{name: row[name] for name in _LEADER_EPOCH} for row in rows or () if row.get("leader_epoch") is not None]
    verdict["leader_epochs"] = leader_epochs
    # A replica that comes back later truncates its log, too, and its records are not saved.
    verdict["led_again"] = [{name: row[name] for name in _LED_AGAIN} for row in rows or () if row["relation"] == CLEAN_LEADER]
    verdict["partitions"] = None if rows is None else [row for row in rows if row["relation"] != IN_CLUSTER or row["damage"]]
    write_private(path, (json.dumps(verdict, indent=2) + "\n").encode())


def withdraw(workdir: Path, cluster: str, cluster_id: str, run_id: str, broker_id: int, reason: str) -> None:
    """Say durably that a broker is not safe to start for this reason, until its disk is read again.

    Reasons why it was not safe before stay. Raises FileError if the verdict cannot be written.
    """
    path = path_of(workdir, cluster, broker_id)
    check_inside(workdir, path)
    kept: Mapping[str, Any] = {}
    with suppress(FileError):  # one that cannot be read is replaced
        kept = read_own(workdir, cluster, cluster_id, broker_id) or {}
    # Without partitions: the disk was compared with another leader's log.
    reasons = list(dict.fromkeys([*kept.get("reasons", ()), reason]))
    write(path, cluster_id, run_id, _not_safe(broker_id, reasons, kept))


def _not_safe(broker_id: int, reasons: list[str], kept: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of a disk that is not judged now. `kept`: what an earlier verdict has of it."""
    found = {"counts": kept.get("counts", {}), "path": kept.get("path"), "partitions": None}
    return {"broker_id": broker_id, "safe_to_start": False, "reasons": reasons, **found}


def is_of_no_disk(verdict: Mapping[str, Any]) -> bool:
    """Return whether a verdict is one of `expect_loss`."""
    return verdict["reasons"] == [NEVER_READ]


def expect_loss(workdir: Path, cluster: str, cluster_id: str, run_id: str, broker_id: int, parts: Iterable[ToElect]) -> None:
    """Say durably that a broker whose disk was never read is not safe to start as soon as one of these partitions is elected without it.

    parts  partitions of the broker, before their election

    A verdict on a disk that was read stays as it is. Raises FileError if the verdict cannot be read or written.
    """
    path = path_of(workdir, cluster, broker_id)
    before = read(workdir, path)
    if before is not None and not is_of_no_disk(before):
        return
    earlier = (before.get("leader_epochs") or ()) if before is not None and before["cluster_id"] == cluster_id else ()
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    # The first row of a partition counts: an earlier run may have elected it already.
    for row in (*earlier, *({name: getattr(part, name) for name in _LEADER_EPOCH} for part in parts)):
        rows.setdefault((row["topic"], row["partition"], row["topic_id"]), row)
    write(path, cluster_id, run_id, _not_safe(broker_id, [NEVER_READ], {}), [*rows.values()])


def is_in_force(verdict: Mapping[str, Any], states: Mapping[TopicPartition, PartitionState]) -> bool:
    """Return whether a broker is not safe to start. One whose disk was never read is safe until a partition is elected without it.

    states  of the partitions of `epoch_keys`
    """
    if verdict["safe_to_start"] or not is_of_no_disk(verdict) or not epoch_keys(verdict):
        return not verdict["safe_to_start"]
    then = {(row["topic"], row["partition"]): row["leader_epoch"] for row in verdict["leader_epochs"]}
    # If it came back before any election, and leads in the next epoch, nothing was elected without it.
    return any(
        (states[key].leader, states[key].leader_epoch) != (verdict.get("broker_id"), then[key] + 1)
        for key in elected_since(verdict, states)
    )


def epoch_keys(verdict: Mapping[str, Any]) -> set[TopicPartition]:
    """Return the partitions whose leader epochs a verdict has."""
    return {(row["topic"], row["partition"]) for row in verdict.get("leader_epochs") or ()}


def forget_unless_elected(workdir: Path, cluster: str, broker_id: int, states: Mapping[TopicPartition, PartitionState]) -> None:
    """Remove a verdict of `expect_loss` if none of its partitions was elected. `states`: present ones. Raises FileError as `read` does."""
    path = path_of(workdir, cluster, broker_id)
    verdict = read(workdir, path)
    if verdict is not None and is_of_no_disk(verdict) and not is_in_force(verdict, states):
        remove(path)


def read(workdir: Path, path: Path) -> dict[str, Any] | None:
    """Return a verdict, None if there is none. Raises FileError if it cannot be read."""
    check_inside(workdir, path)
    try:
        verdict = strict_json.parse(read_regular(path, follow=False))
        strict_json.check(verdict, _SHAPE)
        strict_json.check(verdict.get("partitions"), _PARTITIONS)
        strict_json.check(verdict.get("leader_epochs"), Optional([_LEADER_EPOCH]))
        strict_json.check(verdict.get("led_again"), Optional([_LED_AGAIN]))
    except FileNotFoundError:
        return None
    except (OSError, ContentError) as error:
        raise FileError(f"{path}: {error}; remove it, and read the disk of that broker again before you start it") from error
    return dict(verdict)


def read_own(workdir: Path, cluster: str, cluster_id: str, broker_id: int) -> dict[str, Any] | None:
    """Return the verdict on a broker, None if there is none. One of another cluster that had the name does not count. Raises FileError as `read` does."""
    verdict = read(workdir, path_of(workdir, cluster, broker_id))
    return verdict if verdict is not None and verdict["cluster_id"] == cluster_id else None


def elected_since(verdict: Mapping[str, Any], states: Mapping[TopicPartition, PartitionState]) -> list[TopicPartition]:
    """Return the partitions of the disk that have another leader epoch than when it was compared, with whatever tool they were elected.

    states  of the partitions of the verdict. One that the cluster has no more, or has under another topic id, counts as unchanged
    """
    then = {(row["topic"], row["partition"]): row for row in verdict.get("leader_epochs") or ()}
    return sorted(
        key
        for key, row in then.items()
        if key in states and states[key].topic_id == row["topic_id"] and states[key].leader_epoch != row["leader_epoch"]
    )


def returned_since(
    verdict: Mapping[str, Any], states: Mapping[TopicPartition, PartitionState], unfenced: Collection[int]
) -> list[TopicPartition]:
    """Return the partitions that the broker leads again, and of which a replica is alive now that was not compared with its log.

    Parameters are as in `elected_since`
    """
    then = {(row["topic"], row["partition"]): row for row in verdict.get("led_again") or ()}
    return sorted(
        key
        for key, row in then.items()
        if key in states
        and states[key].topic_id == row["topic_id"]
        and not {*unfenced}.intersection(states[key].replicas) <= {*row["compared_replicas"]}
    )


def read_all(workdir: Path, cluster: str, cluster_id: str, unread: list[str] | None = None) -> dict[int, dict[str, Any]]:
    """Return the verdicts on the disks of a cluster, by broker. Those of another cluster are left out.

    unread  gets why verdicts cannot be read. Without it the first one raises FileError as `read` does
    """
    found = {}
    for path in sorted(path_of(workdir, cluster, 0).parent.glob("broker-*.json")):
        broker = whole_number(path.stem.removeprefix("broker-"), MOST_INT32)
        try:
            verdict = None if broker is None else read(workdir, path)
        except FileError as error:
            if unread is None:
                raise
            unread.append(str(error))
            continue
        if broker is not None and verdict is not None and verdict["cluster_id"] == cluster_id:
            found[broker] = verdict
    return found
