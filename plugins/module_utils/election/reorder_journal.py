# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal: replica orders that are changed for the moment, written ahead so that any later run can restore them.

`journal/<cluster>.jsonl` holds an `intent` line (original and changed order), on disk before an order is changed, and a `done`
line after it was restored. An intent without its done belongs to a run that was killed in between. An `election` line names the
partitions of an intent that an election may still reach: on disk before it is sent, and again, with fewer of them, if orders of the
intent stay open after the answer. The process that has the journal open holds its lock, and is named in a `run` line; the kernel releases
it when the process ends, however it ends.
"""

from __future__ import annotations

import os
import socket
import threading
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.append_only_file import JournalFile
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import BROKER, ContentError, Name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.timestamps import utc_now
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    TopicPartition,
    can_be_partition,
)


class JournalError(RecoveryError):
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


_ORDER = {"topic": Name(), "partition": int, "topic_id": Name(), "original": [BROKER], "changed": [BROKER]}
_SHAPES = {
    "run": {"run_id": Name(), "host": Name(), "pid": int, "begun": Name()},
    "intent": {"id": Name(), "cluster_id": Name(), "orders": [_ORDER]},
    "election": {"id": Name(), "partitions": [{"topic": Name(), "partition": int}]},
    "done": {"id": Name()},
}


def _entry(line: bytes) -> dict[str, Any]:
    """Read one line. ContentError for what no run has written: an order that is put back must be one of the same replicas."""
    entry = strict_json.parse(line)
    strict_json.check(entry, {"kind": Name()})
    if entry["kind"] not in _SHAPES:
        raise ContentError(f"kind {strict_json.shortened(entry['kind'])} is unknown")
    strict_json.check(entry, _SHAPES[entry["kind"]])
    for index, row in enumerate(entry.get("orders", ())):
        original = row["original"]
        if not can_be_partition(row["topic"], row["partition"]):
            raise ContentError(f"orders[{index}]: {row['topic']} partition {row['partition']} cannot be a partition of Kafka")
        if len({*original}) != len(original) or sorted(original) != sorted(row["changed"]):
            raise ContentError(f"orders[{index}]: original and changed are not the same replicas, each once")
    checked: dict[str, Any] = entry
    return checked


# Changes of an order that were announced, oldest first: the first one's `original` is what has to stand again.
Left = Mapping[TopicPartition, tuple[ChangedOrder, ...]]


class Journal(JournalFile):
    """The journal of one cluster, opened and locked as a context manager. May be used from several threads.

    With a `run_id` it notes who works on the cluster, for those who find it locked.
    """

    def __init__(self, path: Path, cluster_id: str, run_id: str | None = None, read_only: bool = False) -> None:
        super().__init__(path, 0.0, self._is_busy, read_only)
        self._cluster_id = cluster_id
        self._run_id = run_id
        self._guard = threading.Lock()
        self._open: dict[str, list[ChangedOrder]] = {}
        self._in_doubt: dict[str, set[TopicPartition]] = {}
        self._known: list[ChangedOrder] = []
        self._clusters: dict[str, str] = {}

    def __enter__(self) -> Self:
        super().__enter__()
        try:
            self._refuse_other_clusters()
            self._known = [order for orders in self._open.values() for order in orders]
            if self._run_id is not None:
                self._append({"kind": "run", "run_id": self._run_id, "host": socket.gethostname(), "pid": os.getpid(), "begun": utc_now()})
        except BaseException:
            self._stream.close()
            raise
        return self

    def _is_busy(self) -> JournalError:
        return JournalError(f"another run works on this cluster with the journal {self.path}{self._holder()}; wait until it has ended")

    def _holder(self) -> str:
        """Return a description of the run that was noted last."""
        for line in reversed(self._stream.readlines()):
            try:
                entry = _entry(line)
            except ValueError:
                continue
            if entry["kind"] == "run":
                return f": run {entry['run_id']}, process {entry['pid']} on {entry['host']}, since {entry['begun']}"
        return ""

    def _take(self, number: int, line: bytes) -> None:
        try:
            entry = _entry(line)
        except ValueError as error:
            raise JournalError(
                f"{self.path}, line {number}: not an entry of a journal ({error}); compare the replica orders of the cluster by hand, "
                "then remove the file"
            ) from error
        if entry["kind"] == "intent":
            self._clusters[entry["id"]] = entry["cluster_id"]
            self._open[entry["id"]] = [
                ChangedOrder(row["topic"], row["partition"], row["topic_id"], tuple(row["original"]), tuple(row["changed"]))
                for row in entry["orders"]
            ]
        elif entry["kind"] == "election":
            self._in_doubt[entry["id"]] = {(row["topic"], row["partition"]) for row in entry["partitions"]}
        elif entry["kind"] == "done":
            self._forget(entry["id"])

    def _forget(self, identifier: str) -> None:
        self._open.pop(identifier, None)
        self._in_doubt.pop(identifier, None)

    def _refuse_other_clusters(self) -> None:
        # What another cluster of this name left behind cannot be put back here; what it finished is history.
        for foreign in {self._clusters[identifier] for identifier in self._open} - {self._cluster_id}:
            raise JournalError(
                f"{self.path} has unfinished work on cluster {foreign}, but this is {self._cluster_id}; "
                "use another workdir or inventory name for this cluster"
            )

    def left_behind(self) -> Left:
        """Orders that were changed and not restored, by killed runs or by this one."""
        with self._guard:
            return _by_partition(order for orders in self._open.values() for order in orders)

    def known(self) -> Left:
        """Orders that killed runs had changed when the journal was opened, and those that were changed since, restored or not."""
        with self._guard:
            return _by_partition(self._known)

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
            self._known += orders
        return identifier

    def elections_in_doubt(self) -> set[TopicPartition]:
        """Partitions of open intents that an election may still reach. It would follow the order that stands by then."""
        with self._guard:
            return {key for keys in self._in_doubt.values() for key in keys}

    def expect_elections(self, identifier: str, keys: Collection[TopicPartition]) -> None:
        """Note, on disk before this returns, that an election may reach these partitions of an intent, and no others of it."""
        with self._guard:
            if {*keys} == self._in_doubt.get(identifier, set()):
                return
            rows = [{"topic": topic, "partition": partition} for topic, partition in sorted(keys)]
            self._append({"kind": "election", "id": identifier, "partitions": rows})
            self._in_doubt[identifier] = {*keys}

    def close(self, identifier: str) -> None:
        """Note that the orders of this intent stand as they did before."""
        with self._guard:
            self._append({"kind": "done", "id": identifier})
            self._forget(identifier)

    def settle(self, unsettled: Mapping[TopicPartition, Sequence[ChangedOrder]]) -> None:
        """Note that nothing is left behind any more but what is `unsettled`."""
        before = list(self._open)
        rest = [order for orders in unsettled.values() for order in orders]
        if rest == [order for orders in self._open.values() for order in orders]:
            return
        if rest:
            self.expect_elections(self.intend(rest), self.elections_in_doubt() & unsettled.keys())
        for identifier in before:
            self.close(identifier)


def _by_partition(orders: Iterable[ChangedOrder]) -> Left:
    left: dict[TopicPartition, tuple[ChangedOrder, ...]] = {}
    for order in orders:
        left[order.key] = (*left.get(order.key, ()), order)
    return left


def to_restore(left: Left, states: Mapping[TopicPartition, PartitionState]) -> dict[TopicPartition, tuple[int, ...]]:
    """Return the orders that have to be put back: only if the order is one that we set, on the same topic, and no other tool has changed it."""
    orders = {}
    for key, changes in left.items():
        state = states.get(key)
        original = changes[0].original
        ours = {change.changed for change in changes if state is not None and change.topic_id == state.topic_id}
        if state is not None and state.replicas in ours and state.replicas != original:
            orders[key] = original
    return orders


def foreign(left: Left, states: Mapping[TopicPartition, PartitionState]) -> Left:
    """Return what stands neither as it did before nor as we set it, the replicas being the same.

    Another run that works from another workdir, or was killed there, puts back the order that it found: maybe one of ours.
    """
    return {
        key: changes
        for key, changes in left.items()
        if (state := states.get(key)) is not None
        and state.topic_id == changes[0].topic_id
        and sorted(state.replicas) == sorted(changes[0].original)
        and state.replicas not in {changes[0].original, *(change.changed for change in changes)}
    }
