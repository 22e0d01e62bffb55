# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which replicas were in sync when a partition was elected without them: `<workdir>/rescue/<cluster>/in-sync.json`.

Such a replica has the end of each transaction that had ended before, so an open transaction in its log is the last one of its producer there. After the
election the cluster does not know any more who was in sync. A lost file loses no record: then transactions stay undecided.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import (
    FileError,
    check_inside,
    private_directory,
    read_regular,
    safe_name,
    write_private,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import BROKER, EPOCH, ContentError, Name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition

_ROW = {"topic": Name(), "partition": BROKER, "topic_id": Name(), "leader_epoch": EPOCH, "brokers": [BROKER]}
_SHAPE = {"cluster_id": str, "partitions": [_ROW]}


class Elected(Protocol):
    """A partition before its election: its state, or the entry of a plan."""

    @property
    def key(self) -> TopicPartition: ...
    @property
    def topic_id(self) -> str: ...
    @property
    def leader_epoch(self) -> int: ...
    @property
    def isr(self) -> tuple[int, ...]: ...
    @property
    def eligible_leader_replicas(self) -> tuple[int, ...]: ...


class LastInSync(NamedTuple):
    """The replicas in ISR or ELR of a partition before an election, when it had this leader epoch."""

    key: TopicPartition
    topic_id: str
    leader_epoch: int
    brokers: tuple[int, ...]


def note(workdir: Path, cluster: str, cluster_id: str, parts: Iterable[Elected]) -> None:
    """Add the replicas that are in sync before the election of these partitions. They are durable afterwards.

    Raises FileError if the file cannot be read or written.
    """
    rows = dict.fromkeys(read(workdir, cluster, cluster_id))
    new = (
        LastInSync(part.key, part.topic_id, part.leader_epoch, tuple(sorted({*part.isr, *part.eligible_leader_replicas}))) for part in parts
    )
    added = dict.fromkeys(row for row in new if row.brokers and row not in rows)
    if not added:
        return
    path = _path(workdir, cluster)
    private_directory(path.parent)
    partitions = [
        {"topic": row.key[0], "partition": row.key[1], "topic_id": row.topic_id, "leader_epoch": row.leader_epoch, "brokers": row.brokers}
        for row in rows | added
    ]
    write_private(path, (json.dumps({"cluster_id": cluster_id, "partitions": partitions}) + "\n").encode())


def read(workdir: Path, cluster: str, cluster_id: str) -> list[LastInSync]:
    """Return what elections have noted of a cluster. Raises FileError if the file cannot be read."""
    path = _path(workdir, cluster)
    check_inside(workdir, path)
    try:
        found: Any = strict_json.parse(read_regular(path, follow=False))
        strict_json.check(found, _SHAPE)
    except FileNotFoundError:
        return []
    except (OSError, ContentError) as error:
        raise FileError(f"{path}: {error}; remove it. Transactions of which no saved log has the end may then stay undecided") from error
    if found["cluster_id"] != cluster_id:
        return []
    return [
        LastInSync((row["topic"], row["partition"]), row["topic_id"], row["leader_epoch"], tuple(row["brokers"]))
        for row in found["partitions"]
    ]


def was_in_sync(rows: Iterable[LastInSync], key: TopicPartition, topic_id: str | None, leader_epoch: int, broker: int) -> bool:
    """Return whether a lost replica was in sync at the first election without it. `leader_epoch`: of the last batch in its log."""
    own = (row for row in rows if (row.key, row.topic_id) == (key, topic_id) and row.leader_epoch >= leader_epoch)
    first = min(own, key=lambda row: row.leader_epoch, default=None)
    return first is not None and broker in first.brokers


def _path(workdir: Path, cluster: str) -> Path:
    return workdir / "rescue" / safe_name("cluster", cluster) / "in-sync.json"
