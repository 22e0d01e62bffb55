# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal: replica orders that are changed for the moment, written ahead so that any later run can restore them.

`journal/<cluster>.jsonl` holds an `intent` line (original and changed order), on disk before an order is changed, and a `done`
line after it was restored. An intent without its done belongs to a run that was killed in between. Whoever has the journal
open holds its lock; the kernel releases it when the process ends, however it ends.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.errors import SpokenError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.partitions import PartitionState, TopicPartition


class JournalError(SpokenError):
    """The journal cannot be used; the text names it and the remedy."""


@dataclass(frozen=True)
class ChangedOrder:
    """A partition whose replica order was, or was about to be, changed for an election."""

    topic: str
    partition: int
    topic_id: str
    original: tuple[int, ...]
    changed: tuple[int, ...]

    @property
    def key(self) -> TopicPartition:
        """(topic, partition)."""
        return self.topic, self.partition


class Journal:
    """The journal of one cluster, opened and locked as a context manager. May be used from several threads."""

    def __init__(self, path: Path, cluster_id: str) -> None:
        self._path = path
        self._cluster_id = cluster_id
        self._guard = threading.Lock()
        self._stream: IO[bytes]
        self._open: dict[str, list[ChangedOrder]] = {}

    def __enter__(self) -> Journal:
        if self._path.is_symlink():
            raise FileError(f"{self._path} is a symbolic link: remove it, files of the workdir are never written through links")
        try:
            self._stream = os.fdopen(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "r+b")
        except OSError as error:
            raise FileError(f"cannot write {self._path}: {error.strerror}") from error
        try:
            fcntl.flock(self._stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._stream.close()
            raise JournalError(f"another run works on this cluster with the journal {self._path}; wait until it has ended") from error
        try:
            self._read()
        except BaseException:
            self._stream.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def _read(self) -> None:
        good = 0
        clusters: dict[str, str] = {}
        for number, line in enumerate(self._stream, start=1):
            if not line.endswith(b"\n"):
                # Cut off while it was written: what it announces had not begun, for it was not yet on disk.
                break
            good += len(line)
            try:
                entry = json.loads(line)
                if entry["kind"] == "intent":
                    clusters[entry["id"]] = entry["cluster_id"]
                    self._open[entry["id"]] = [
                        ChangedOrder(row["topic"], row["partition"], row["topic_id"], tuple(row["original"]), tuple(row["changed"]))
                        for row in entry["orders"]
                    ]
                else:
                    self._open.pop(entry["id"], None)
            except (ValueError, KeyError, TypeError) as error:
                raise JournalError(
                    f"{self._path}, line {number}: not an entry of a journal; compare the replica orders of the cluster by hand, then remove the file"
                ) from error
        # What another cluster of this name left behind cannot be put back here; what it finished is history.
        for foreign in {clusters[identifier] for identifier in self._open} - {self._cluster_id}:
            raise JournalError(
                f"{self._path} has unfinished work on cluster {foreign}, but this is {self._cluster_id}; "
                "use another workdir or inventory name for this cluster"
            )
        self._stream.truncate(good)
        self._stream.seek(good)

    def left_behind(self) -> dict[TopicPartition, tuple[ChangedOrder, ...]]:
        """Orders that killed runs changed and did not restore, oldest first: the first one's `original` is what has to stand again."""
        left: dict[TopicPartition, tuple[ChangedOrder, ...]] = {}
        for orders in self._open.values():
            for order in orders:
                left[order.key] = (*left.get(order.key, ()), order)
        return left

    def intend(self, orders: Sequence[ChangedOrder]) -> str:
        """Announce changes, on disk before this returns. Returns the id to close them with."""
        identifier = str(uuid.uuid4())
        rows = [
            {
                "topic": order.topic,
                "partition": order.partition,
                "topic_id": order.topic_id,
                "original": order.original,
                "changed": order.changed,
            }
            for order in orders
        ]
        with self._guard:
            self._append({"kind": "intent", "id": identifier, "cluster_id": self._cluster_id, "orders": rows})
            self._open[identifier] = list(orders)
        return identifier

    def close(self, identifier: str) -> None:
        """Note that the orders of this intent stand as they did before."""
        with self._guard:
            self._append({"kind": "done", "id": identifier})
            self._open.pop(identifier, None)

    def close_all(self) -> None:
        """Note that nothing is left behind any more."""
        for identifier in list(self._open):
            self.close(identifier)

    def _append(self, entry: Mapping[str, Any]) -> None:
        self._stream.write(json.dumps(entry, separators=(",", ":")).encode() + b"\n")
        self._stream.flush()
        os.fsync(self._stream.fileno())


def to_restore(
    left: Mapping[TopicPartition, Sequence[ChangedOrder]], states: Mapping[TopicPartition, PartitionState]
) -> dict[TopicPartition, tuple[int, ...]]:
    """Return the orders that have to be put back: only where the order is one that we set, on the same topic, nobody else having changed it."""
    orders = {}
    for key, changes in left.items():
        state = states.get(key)
        original = changes[0].original
        ours = {change.changed for change in changes if state is not None and change.topic_id == state.topic_id}
        if state is not None and state.replicas in ours and state.replicas != original:
            orders[key] = original
    return orders
