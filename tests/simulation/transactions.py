# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The transaction coordinator of a simulated cluster, and how leaders take batches and markers of producers (KIP-98, KIP-890's verification).

What it knows is never lost: `__transaction_state` is not simulated as a log. One live broker coordinates all transactions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from unit.record_batches import Content

from simulation.kraft import Key
from simulation.logs import Batch, End, Log, Sent, batch_with, end_marker
from simulation.producer_logs import ProducerState, producers

if TYPE_CHECKING:
    from simulation.broker import Broker
    from simulation.cluster import SimulatedCluster

MARKER_SECONDS = 0.2  # after which a coordinator looks again whether a marker is in all replicas
EMPTY, ONGOING, COMPLETE_COMMIT, COMPLETE_ABORT = "Empty", "Ongoing", "CompleteCommit", "CompleteAbort"
PREPARED = {"PrepareCommit": COMPLETE_COMMIT, "PrepareAbort": COMPLETE_ABORT}
FIRST_PRODUCER = 1000


@dataclass
class Transaction:
    """What the coordinator knows of a transactional id. `timeout`: seconds. `started_at`: of the transaction that is under way, by the wall clock.

    `left`: partitions that lack the marker; `number`: of the transaction, from 1
    """

    transactional_id: str
    producer_id: int
    timeout: float
    producer_epoch: int = 0
    state: str = EMPTY
    partitions: set[Key] = field(default_factory=set)
    started_at: float = -1.0
    left: set[Key] = field(default_factory=set)
    number: int = 0


class Transactions:
    """Coordinates the transactions of a cluster."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster
        self.by_id: dict[str, Transaction] = {}
        self.ended: dict[tuple[str, int], bool] = {}  # whether a transaction is committed, by its id and number
        self.ended_by_requests: list[Batch] = []  # markers that a client has let leaders write
        self._last_producer = FIRST_PRODUCER
        self._last_coordinator: int | None = None
        self._coordinator_epoch = 0

    @property
    def coordinator(self) -> int | None:
        """The broker that coordinates, None if there is none."""
        return min((one for one in self._cluster.brokers if self._cluster.controller.alive(one)), default=None)

    def new_producer_id(self) -> int:
        """Return an id that no producer had before."""
        self._last_producer += 1
        return self._last_producer

    # --- requests of producers ---------------------------------------------------------------------------------------

    def begin_producer(self, transactional_id: str, timeout: float) -> tuple[str | None, Sent]:
        """Return Kafka's error, or the id and epoch of a producer that fences all others of its transactional id (InitProducerId)."""
        one = self.by_id.get(transactional_id)
        if one is None:
            one = self.by_id[transactional_id] = Transaction(transactional_id, self.new_producer_id(), timeout)
        elif one.state == ONGOING:
            one.producer_epoch += 1
            self._prepare(one, commits=False)
        if one.state in PREPARED:
            return "CONCURRENT_TRANSACTIONS", Sent(-1, -1)
        if one.state != EMPTY:
            one.producer_epoch, one.state = one.producer_epoch + 1, EMPTY
        one.timeout = timeout
        return None, Sent(one.producer_id, one.producer_epoch, transactional=True)

    def add_partition(self, transactional_id: str, sent: Sent, key: Key) -> str | None:
        """Add a partition to a transaction, which begins with the first one (AddPartitionsToTxn). Return Kafka's error."""
        one = self.by_id[transactional_id]
        if sent.producer_epoch != one.producer_epoch:
            return "PRODUCER_FENCED"
        if one.state in PREPARED:
            return "CONCURRENT_TRANSACTIONS"
        if one.state != ONGOING:
            one.state, one.partitions, one.started_at = ONGOING, set(), self._cluster.world.wall_clock()
            one.number += 1
            self._cluster.world.after(one.timeout, partial(self._time_out, one, one.started_at))
        one.partitions.add(key)
        return None

    def end(self, transactional_id: str, sent: Sent, commits: bool) -> str | None:
        """End a transaction: its markers follow (EndTxn). Return Kafka's error."""
        one = self.by_id[transactional_id]
        if sent.producer_epoch != one.producer_epoch:
            return "PRODUCER_FENCED"
        if one.state == ONGOING:
            self._prepare(one, commits)
            return None
        if one.state == (COMPLETE_COMMIT if commits else COMPLETE_ABORT):
            return None
        return (
            "CONCURRENT_TRANSACTIONS"
            if PREPARED.get(one.state) == (COMPLETE_COMMIT if commits else COMPLETE_ABORT)
            else "INVALID_TXN_STATE"
        )

    def end_as_client(self, transactional_id: str, sent: Sent, commits: bool, own_epoch: bool) -> tuple[str | None, Sent]:
        """End a transaction, and return Kafka's error and the numbers of the producer from then on. `own_epoch`: each transaction has one (KIP-890)."""
        one = self.by_id[transactional_id]
        if one.state != ONGOING or sent.producer_epoch != one.producer_epoch:
            return self.end(transactional_id, sent, commits), sent
        one.producer_epoch += own_epoch
        self._prepare(one, commits)
        return None, sent._replace(producer_epoch=one.producer_epoch)

    def under_way(self, transactional_id: str) -> tuple[str, int]:
        """Return what names the transaction of a transactional id that is under way, or was last."""
        return transactional_id, self.by_id[transactional_id].number

    def _time_out(self, one: Transaction, began: float) -> None:
        if one.state == ONGOING and one.started_at == began:
            one.producer_epoch += 1
            self._cluster.world.tell(f"the transaction of {one.transactional_id} has timed out")
            self._prepare(one, commits=False)

    # --- markers -------------------------------------------------------------------------------------------------------

    def _prepare(self, one: Transaction, commits: bool) -> None:
        one.state = "PrepareCommit" if commits else "PrepareAbort"
        one.left = set(one.partitions)
        self.ended[one.transactional_id, one.number] = commits
        if self.coordinator != self._last_coordinator:
            self._last_coordinator, self._coordinator_epoch = self.coordinator, self._coordinator_epoch + 1
        end = End(one.producer_id, one.producer_epoch, commits, self._coordinator_epoch)
        self._cluster.world.after(MARKER_SECONDS / 10, lambda: self._write_markers(one, end, {}))

    def _write_markers(self, one: Transaction, end: End, written: dict[Key, Batch]) -> None:
        """Write the markers that are not in all replicas yet, and look again later. `written`: those that a leader has taken."""
        coordinator = self._cluster.brokers.get(self.coordinator or 0)
        if coordinator is not None and coordinator.running and not coordinator.hangs:
            for key in sorted(one.left):
                leader = self.leader(key)
                if leader is None:
                    continue
                log = leader.logs[key]
                if key not in written or not log.has(written[key]):
                    error, marker = self.append_marker(leader, key, end)
                    if marker is None:
                        one.left -= {key} if error == "INVALID_PRODUCER_EPOCH" else set()
                        continue
                    written[key] = marker
                if log.high_watermark > written[key].last:
                    one.left.discard(key)
        if one.left:
            self._cluster.world.after(MARKER_SECONDS, lambda: self._write_markers(one, end, written))
        else:
            one.state, one.started_at = PREPARED[one.state], -1.0

    def leader(self, key: Key) -> Broker | None:
        """Return the leader of a partition, None if it has none that answers other brokers."""
        state = self._cluster.controller.partitions[key]
        broker = self._cluster.brokers.get(state.leader)
        return broker if broker is not None and self._cluster.leads(broker, key) else None

    # --- requests to leaders ---------------------------------------------------------------------------------------------

    def append_marker(self, leader: Broker, key: Key, end: End) -> tuple[str | None, Batch | None]:
        """Let a leader append the end of a transaction (WriteTxnMarkers). Return Kafka's error, and what it has appended."""
        if (error := self._refusal(leader, key)) is not None:
            return error, None
        log = leader.logs[key]
        if (error := _state(log, end.producer_id).ended_by(end)) is not None:
            return error, None
        marker = end_marker(log.end, leader.image[key].epoch, end, int(self._cluster.world.wall_clock() * 1000))
        self._cluster.append(leader, key, marker)
        return None, marker

    def produce(
        self, leader: Broker, key: Key, name: str, content: Sequence[Content], sent: Sent, transactional_id: str | None = None
    ) -> tuple[str | None, Batch | None]:
        """Let a leader append a batch, with acks=all (Produce). Return Kafka's error, and the batch, which is acknowledged when it is committed."""
        if (error := self._refusal(leader, key)) is not None:
            return error, None
        log = leader.logs[key]
        producer = _state(log, sent.producer_id)
        if (known := producer.sent_before(sent)) is not None:
            return None, known
        if (error := producer.refusal(sent)) is not None:
            return error, None
        if transactional_id is not None and producer.begins is None and not self._is_under_way(transactional_id, sent, key):
            return "INVALID_TXN_STATE", None
        batch = batch_with(log.end, leader.image[key].epoch, name, content, sent)
        self._cluster.append(leader, key, batch)
        return None, batch

    def _refusal(self, leader: Broker, key: Key) -> str | None:
        """Return Kafka's error for anything that is written to a broker with acks=all, None if it takes it."""
        if not self._cluster.leads(leader, key):
            return "NOT_LEADER_OR_FOLLOWER"
        state = leader.image[key]
        return "NOT_ENOUGH_REPLICAS" if len(state.isr) < leader.min_isr(key) else None

    def _is_under_way(self, transactional_id: str, sent: Sent, key: Key) -> bool:
        """Return whether the coordinator has the transaction of a batch under way: the leader asks it before the first one."""
        one = self.by_id[transactional_id]
        return (one.state, one.producer_epoch) == (ONGOING, sent.producer_epoch) and key in one.partitions


def _state(log: Log, producer_id: int) -> ProducerState:
    return producers(log).get(producer_id, ProducerState())
