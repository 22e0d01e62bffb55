# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal: replica orders that are changed for a moment, written ahead so that any later run can restore them.

`journal/id-<cluster id>.jsonl` holds an `intent` line (original and changed order), on disk before an order is changed, and a `done`
line after it was restored. An intent without its done belongs to a run that was killed in between. An `election` line names the
partitions of an intent that an election may still reach: on disk before it is sent, and again, with fewer of them, if orders of the
intent stay open after the answer. It also names the brokers that got a request for the order of such a partition and have not answered it:
they may still carry it out. Without an `election` line that may be any broker, also one that was `listed` when the intent was recorded.
The process that has the journal open holds its lock, and is named in a `run` line; the kernel releases it when the process ends, however it ends.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import lock_holder, strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.journal_file import JournalBusy, JournalFile, checked_entry
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import BROKER, ContentError, Name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    TopicPartition,
    can_be_partition,
)


class Origin(NamedTuple):
    """A run that has changed orders: its id, and the time at which it began."""

    run_id: str
    begun: str


FOLDER = "journal"
# A longer journal of which nothing is open becomes empty: in a store each entry writes all of it again.
MANY_BYTES = 1 << 20
# On a disk a journal is locked also while another process only reads it. A run that begins then must not take that for another run.
LOOK_SECONDS = 1.0


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
        """Return the topic and the number of the partition."""
        return self.topic, self.partition

    @property
    def is_another(self) -> bool:
        """Return whether the order is another one than before. Elections that need none are recorded without."""
        return self.changed != self.original

    def is_of(self, state: PartitionState) -> bool:
        """Return whether the partition is still that of the order: its topic was not created again, and it has the same replicas.

        To set the order of another one is a move.
        """
        return (state.topic_id, sorted(state.replicas)) == (self.topic_id, sorted(self.original))


_ORDER = {"topic": Name(), "partition": int, "topic_id": Name(), "original": [BROKER], "changed": [BROKER]}
_SHAPES: dict[str, dict[str, Any]] = {
    "run": {"run_id": Name(), "host": Name(), "pid": int, "begun": Name()},
    "intent": {"id": Name(), "cluster_id": Name(), "orders": [_ORDER], "listed": [BROKER]},
    "election": {"id": Name(), "partitions": [{"topic": Name(), "partition": int}], "unanswered_by": [BROKER]},
    "done": {"id": Name()},
}


def _entry(line: bytes) -> dict[str, Any]:
    """Return the checked entry of one line. Raises ContentError if no run can have written it: an order must have the same replicas as before."""
    entry = checked_entry(line, _SHAPES)
    for index, row in enumerate(entry["orders"] if entry["kind"] == "intent" else ()):
        original = row["original"]
        if not can_be_partition(row["topic"], row["partition"]):
            topic, partition = map(strict_json.shortened, (row["topic"], row["partition"]))
            raise ContentError(f"orders[{index}]: {topic} partition {partition} cannot be a partition of Kafka")
        if len({*original}) != len(original) or sorted(original) != sorted(row["changed"]):
            raise ContentError(f"orders[{index}]: original and changed are not the same replicas, each once")
    return entry


# Announced changes of an order, oldest first. See `order_before`.
Left = Mapping[TopicPartition, tuple[ChangedOrder, ...]]


class Journal(JournalFile):
    """The journal of one cluster, opened and locked as a context manager. May be used from several threads.

    `run_id`: if given, is recorded with host and process, for the error of runs that find the journal locked. `read_only`: for check mode. `patience`: seconds
    to wait for another run.
    Raises RecoveryError if another run has it open, if it cannot be read, or if it has open work on another cluster than `cluster_id`.
    """

    def __init__(
        self, path: Path, cluster_id: str, run_id: str | None = None, read_only: bool = False, patience: float = LOOK_SECONDS
    ) -> None:
        super().__init__(path, patience, self._is_busy, read_only)
        self._cluster_id = cluster_id
        self._run_id = run_id
        self._guard = threading.Lock()
        self._open: dict[str, list[ChangedOrder]] = {}
        self._in_doubt: dict[str, set[TopicPartition]] = {}
        self._unanswered_by: dict[str, frozenset[int]] = {}
        self._listed: dict[str, frozenset[int]] = {}
        self._known: list[ChangedOrder] = []
        self._run: Origin | None = None
        self._origins: dict[str, Origin | None] = {}
        self._clusters: dict[str, str] = {}

    def __enter__(self) -> Self:
        super().__enter__()
        try:
            self._refuse_other_clusters()
            if not self._open and not self._read_only and self._file.length > MANY_BYTES:
                self._replace([])
            self._known = [order for orders in self._open.values() for order in orders]
            if self._run_id is not None:
                self._append({"kind": "run", "run_id": self._run_id, **lock_holder.this_process()})
        except BaseException:
            self._release()
            raise
        return self

    def _is_busy(self) -> RecoveryError:
        return JournalBusy(f"another run works on this cluster with the journal {self.path}{self._holder()}; wait until it has ended")

    def _take(self, number: int, line: bytes) -> None:
        try:
            entry = _entry(line)
            self._check_election(entry)
        except ValueError as error:
            raise RecoveryError(
                f"{self.path}, line {number}: not an entry of a journal ({error}); compare the replica orders of the cluster by hand, "
                "then remove the file"
            ) from error
        if entry["kind"] == "run":
            self._run = Origin(entry["run_id"], entry["begun"])
        elif entry["kind"] == "intent":
            self._origins[entry["id"]] = self._run
            self._clusters[entry["id"]] = entry["cluster_id"]
            self._open[entry["id"]] = [
                ChangedOrder(row["topic"], row["partition"], row["topic_id"], tuple(row["original"]), tuple(row["changed"]))
                for row in entry["orders"]
            ]
            self._listed[entry["id"]] = frozenset(entry["listed"])
        elif entry["kind"] == "election":
            if entry["id"] in self._open:
                self._in_doubt[entry["id"]] = {(row["topic"], row["partition"]) for row in entry["partitions"]}
                self._unanswered_by[entry["id"]] = frozenset(entry["unanswered_by"])
        elif entry["kind"] == "done":
            self._forget(entry["id"])

    def _check_election(self, entry: Mapping[str, Any]) -> None:
        """Raise ContentError if the entry is of an election of partitions that its intent lacks. An intent that is done has no election any more."""
        if entry["kind"] != "election" or (entry["id"] in self._origins and entry["id"] not in self._open):
            return
        known = {order.key for order in self._open.get(entry["id"], ())}
        for index, row in enumerate(entry["partitions"]):
            if (row["topic"], row["partition"]) not in known:
                topic, partition = map(strict_json.shortened, (row["topic"], row["partition"]))
                raise ContentError(f"partitions[{index}]: {topic} partition {partition} is not in its intent")

    def _forget(self, identifier: str) -> None:
        self._open.pop(identifier, None)
        self._in_doubt.pop(identifier, None)
        self._unanswered_by.pop(identifier, None)
        self._listed.pop(identifier, None)

    def _refuse_other_clusters(self) -> None:
        # Open orders of another cluster with this name cannot be restored here. Its finished entries do not matter.
        for foreign in {self._clusters[identifier] for identifier in self._open} - {self._cluster_id}:
            raise RecoveryError(
                f"{self.path} has unfinished work on cluster {foreign}, but this is {self._cluster_id}; "
                "use another workdir or inventory name for this cluster"
            )

    def left_behind(self) -> Left:
        """Return the orders that killed runs or this one have changed and not restored, by partition."""
        with self._guard:
            return _by_partition(order for orders in self._open.values() for order in orders)

    def origins(self) -> dict[TopicPartition, Origin | None]:
        """Return the run that recorded each order of `left_behind` last, None if the journal does not name it."""
        with self._guard:
            return {order.key: self._origins.get(identifier) for identifier, orders in self._open.items() for order in orders}

    def known(self) -> Left:
        """Return the orders that killed runs had changed when the journal was opened, and those changed since, restored or not, by partition."""
        with self._guard:
            return _by_partition(self._known)

    def restored(self) -> set[TopicPartition]:
        """Return the partitions of `known` whose orders were restored since the journal was opened."""
        return with_another_order(self.known()).keys() - with_another_order(self.left_behind()).keys()

    def intend(self, orders: Sequence[ChangedOrder], listed: Collection[int]) -> str:
        """Record changes before they are made; they are on disk when this returns. Returns the id of this intent, for `close`.

        `listed`: the brokers that may get the changes. Raises FileError if the journal cannot be written: then no order may be changed.
        """
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
            self._append({"kind": "intent", "id": identifier, "cluster_id": self._cluster_id, "orders": rows, "listed": sorted(listed)})
            self._open[identifier] = list(orders)
            self._listed[identifier] = frozenset(listed)
            self._known += orders
        return identifier

    def elections_in_doubt(self) -> set[TopicPartition]:
        """Return the partitions of open intents that an election may still reach. It would follow the order that the partition has by then."""
        with self._guard:
            return {key for keys in self._in_doubt.values() for key in keys}

    def unanswered_by(self) -> dict[TopicPartition, frozenset[int] | None]:
        """Return the brokers that may still change an order, by partition of `left_behind`. None: any broker, as the run was killed before it knew."""
        found: dict[TopicPartition, frozenset[int] | None] = {}
        with self._guard:
            for identifier, orders in self._open.items():
                brokers = self._unanswered_by.get(identifier)
                for key in {order.key for order in orders}:
                    others = found.get(key, frozenset())
                    found[key] = None if brokers is None or others is None else brokers | others
        return found

    def listed(self) -> set[int]:
        """Return the brokers that may still change open orders, or elect by them: those that were listed, or that did not answer if only orders are open."""
        with self._guard:
            return {broker for identifier in self._open for broker in self._may_act(identifier)}

    def _may_act(self, identifier: str) -> frozenset[int]:
        brokers = self._unanswered_by.get(identifier, frozenset())
        is_known = identifier in self._unanswered_by and not self._in_doubt.get(identifier)
        return brokers if is_known else brokers | self._listed[identifier]

    def expect(self, identifier: str, elections: Collection[TopicPartition], unanswered_by: Collection[int]) -> None:
        """Record what may still be done to the partitions of an intent. It is on disk when this returns.

        `identifier`: as `intend` returned it. `elections`: the partitions of it that an election may reach. `unanswered_by`: brokers that may change orders of
        it. Raises FileError if the journal cannot be written.
        """
        with self._guard:
            if ({*elections}, {*unanswered_by}) == (self._in_doubt.get(identifier), self._unanswered_by.get(identifier)):
                return
            rows = [{"topic": topic, "partition": partition} for topic, partition in sorted(elections)]
            self._append({"kind": "election", "id": identifier, "partitions": rows, "unanswered_by": sorted(unanswered_by)})
            self._in_doubt[identifier] = {*elections}
            self._unanswered_by[identifier] = frozenset(unanswered_by)

    def answered_by_all_but(self, silent: Collection[int]) -> None:
        """Record that no broker but the `silent` ones may still change an order, or elect. Raises FileError if the journal cannot be written."""
        for identifier in list(self._open):
            elections = self._in_doubt.get(identifier, ()) if silent else ()
            self.expect(identifier, elections, self._unanswered_by.get(identifier, frozenset(silent)) & {*silent})

    def close(self, identifier: str) -> None:
        """Record that the orders of this intent are restored. Raises FileError if the journal cannot be written."""
        with self._guard:
            self._append({"kind": "done", "id": identifier})
            self._forget(identifier)

    def settle(self, unsettled: Mapping[TopicPartition, Sequence[ChangedOrder]], unanswered_by: Collection[int] = ()) -> None:
        """Record that all open orders are restored but those in `unsettled`, a part of what `left_behind` returned.

        `unanswered_by`: the brokers that may still change these. Raises FileError if the journal cannot be written.
        """
        before = list(self._open)
        rest = [order for orders in unsettled.values() for order in orders]
        as_before = rest == [order for orders in self._open.values() for order in orders]
        if as_before and all(self._unanswered_by.get(identifier) == {*unanswered_by} for identifier in before):
            return
        if rest:
            self.expect(self.intend(rest, self.listed()), self.elections_in_doubt() & unsettled.keys(), unanswered_by)
        for identifier in before:
            self.close(identifier)


def _by_partition(orders: Iterable[ChangedOrder]) -> Left:
    left: dict[TopicPartition, tuple[ChangedOrder, ...]] = {}
    for order in orders:
        left[order.key] = (*left.get(order.key, ()), order)
    return left


def with_another_order(left: Left) -> Left:
    """Return the changes to another order than before: only these set one. Elections that need none set none, and leave nothing to restore."""
    return {key: another for key, changes in left.items() if (another := tuple(change for change in changes if change.is_another))}


def order_before(order: tuple[int, ...], changes: Iterable[ChangedOrder]) -> tuple[int, ...]:
    """Return the order that a partition had before these changes, oldest first, gave it this one; the same one if none did.

    Between two of them another tool may have set an order. Then that is the one from before.
    """
    for change in reversed([*changes]):
        if change.changed == order:
            order = change.original
    return order


def to_restore(left: Left, states: Mapping[TopicPartition, PartitionState]) -> dict[TopicPartition, tuple[int, ...]]:
    """Return the orders to restore, by partition: only if the present order is one that a run of this workdir set, on the same topic.

    `states`: present states. An order that another tool has set since is not touched. Whatever the journal has, only the order changes, not the replicas.
    """
    orders = {}
    for key, state, ours in _of_present(with_another_order(left), states):
        if (before := order_before(state.replicas, ours)) != state.replicas:
            orders[key] = before
    return orders


def foreign(left: Left, states: Mapping[TopicPartition, PartitionState]) -> Left:
    """Return the changes of partitions that have the same replicas, but neither the original order nor one that this workdir's runs set.

    A run with another workdir may have set that order. It restores the order that it found, which may be one of this workdir's. Older changes may be of
    a topic that was created again, or of other replicas: they say nothing about the present order.
    """
    another = with_another_order(left)
    return {
        key: another[key]
        for key, state, ours in _of_present(another, states)
        if ours and state.replicas not in {order for change in ours for order in (change.original, change.changed)}
    }


def of_other_replicas(left: Left, states: Mapping[TopicPartition, PartitionState]) -> set[TopicPartition]:
    """Return the partitions that have other replicas than those of which runs of this workdir set another order, or are of another topic."""
    return {key for key, _state, ours in _of_present(with_another_order(left), states) if not ours}


def _of_present(
    left: Left, states: Mapping[TopicPartition, PartitionState]
) -> Iterator[tuple[TopicPartition, PartitionState, list[ChangedOrder]]]:
    """Yield the partitions that have a state, each with that and its changes that are of the same topic and replicas."""
    for key, changes in left.items():
        if (state := states.get(key)) is not None:
            yield key, state, [change for change in changes if change.is_of(state)]
