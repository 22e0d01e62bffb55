# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A partition of a compacted topic: each replica cleans its own log, followers copy what is left of their leader's, and know epochs from that alone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from unit.kafka_logs import KafkaLog

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import LastBatch
from model.partition import LEADER, OUT, Lost, Partition, Replica, Replicas, State, put

Keys = tuple[str, ...]


class Compacted(Partition):
    """The steps of a partition with `cleanup.policy=compact`. `bounds.keys` says which records have one key."""

    def first(self) -> State:
        """Everybody is in sync, and the leader has noted its epoch."""
        state = super().first()
        replicas = [began(one, 0) if one.role == LEADER else one for one in self.replicas(state)]
        return state._replace(replicas=self._code(replicas))

    def steps(self, state: State) -> Iterator[State]:
        """Every state with a leader that follows on this one."""
        yield from super().steps(state)
        replicas = self.replicas(state)
        for index, replica in enumerate(replicas):
            for after in cleanings(replica, self.bounds.keys):
                yield self._with(state, replicas, index, after)

    def _fetches(self, replica: Replica, leader: Replica) -> Iterator[Replica]:
        """As without compaction; a follower truncates as epoch caches say, and copies the next record that its leader still has."""
        if not replica.follows:
            for back in self._restarts(replica) if replica.role == OUT else [replica]:
                yield _truncated(back, leader)._replace(follows=True)
            return
        after = _copied(replica, leader)
        after = after._replace(high_watermark=min(leader.high_watermark, len(after.log)))
        if after != replica:
            yield after
        if replica.role == OUT:
            yield from (back for back in self._restarts(replica) if back != replica)

    def _restarts(self, replica: Replica) -> Iterator[Replica]:
        """As without compaction; epochs without records are forgotten."""
        yield replica
        yield from (_loaded(back) for back in super()._restarts(replica))

    def _led(self, state: State, replicas: Replicas, leader: int) -> State:
        return super()._led(state, put(replicas, leader, began(replicas[leader], state.epoch + 1)), leader)


@cache
def cleanings(replica: Replica, keys: Keys) -> tuple[Replica, ...]:
    """What the cleaner may make of a log. Below an offset that the high watermark has reached it keeps the newest record of each key.

    The segment from there on is the active one, which is not cleaned.
    """
    found = []
    for end in range(1, min(replica.high_watermark, len(replica.log)) + 1):
        kept = [offset for offset in range(end) if offset not in replica.cleaned]
        newest = {key(keys, offset, replica.log[offset]): offset for offset in kept}
        removed = [offset for offset in kept if offset not in newest.values()]
        if removed:
            found.append(replica._replace(cleaned=tuple(sorted([*replica.cleaned, *removed]))))
    return tuple(dict.fromkeys(found))


def began(replica: Replica, epoch: int) -> Replica:
    """The replica has noted that an epoch begins at the end of its log."""
    log = KafkaLog(epochs=[*replica.epochs], end=len(replica.log))
    log.begin(epoch)
    return replica._replace(epochs=tuple(log.epochs))


@cache
def kafka_log(replica: Replica) -> KafkaLog:
    """The log as brokers answer for it: a batch for each record. Not to be changed."""
    written = [LastBatch(offset, offset, epoch, 0, 0) for offset, epoch in enumerate(replica.log)]
    kept = [batch for batch in written if batch.base_offset not in replica.cleaned]
    return KafkaLog(written, kept, [*replica.epochs], 0, len(replica.log))


def key(keys: Keys, offset: int, epoch: int) -> str:
    """The key of the record that was written at an offset in an epoch."""
    return keys[epoch % len(keys)][offset]


def holds(replica: Replica, offset: int, epoch: int) -> bool:
    """Whether the record that was written at an offset in an epoch is in the log."""
    return replica.log[offset : offset + 1] == (epoch,) and offset not in replica.cleaned


def loses(lost: Lost, winner: int, keys: Keys) -> bool:
    """Whether the winner lacks a committed record that a survivor holds, though no later record of its key was committed."""
    return any(True for _record in _given_up(lost, winner, keys))


def removes(lost: Lost, winner: int, keys: Keys) -> bool:
    """As `loses`, and no survivor has the record any more once all have truncated their logs to follow the winner, which leads in a new epoch."""
    leader = began(lost.survivors[winner], 1 + max(epoch for one in lost.survivors for epoch, _start in [(-1, 0), *one.epochs]))
    following = [_truncated(one, leader) for one in lost.survivors]
    return any(not any(holds(one, *record) for one in following) for record in _given_up(lost, winner, keys))


def loses_a_key(lost: Lost, winner: int, keys: Keys) -> bool:
    """Whether the winner has no record of a key at all, and another survivor has a committed one, be it not the newest that was committed."""
    elected = lost.survivors[winner]
    has = {key(keys, offset, epoch) for offset, epoch in enumerate(elected.log) if offset not in elected.cleaned}
    return any(
        key(keys, offset, epoch) not in has and any(holds(one, offset, epoch) for one in lost.survivors)
        for branch in lost.committed
        for offset, epoch in enumerate(branch)
    )


def _given_up(lost: Lost, winner: int, keys: Keys) -> Iterator[tuple[int, int]]:
    for branch in lost.committed:
        for record in {key(keys, offset, epoch): (offset, epoch) for offset, epoch in enumerate(branch)}.values():
            if not holds(lost.survivors[winner], *record) and any(holds(one, *record) for one in lost.survivors):
                yield record


def _copied(replica: Replica, leader: Replica) -> Replica:
    """The replica with the next record that its leader has, if there is one. What the leader has not got any more is not copied."""
    start = len(replica.log)
    offset = next((place for place in range(start, len(leader.log)) if place not in leader.cleaned), None)
    if offset is None:
        return replica
    log = KafkaLog(epochs=[*replica.epochs], end=offset)
    if not log.epochs or log.epochs[-1][0] != leader.log[offset]:
        log.begin(leader.log[offset])
    return replica._replace(
        log=replica.log + leader.log[start : offset + 1], cleaned=(*replica.cleaned, *range(start, offset)), epochs=tuple(log.epochs)
    )


@cache
def _truncated(replica: Replica, leader: Replica) -> Replica:
    log = KafkaLog(epochs=[*replica.epochs], end=len(replica.log))
    log.follow(kafka_log(leader), 0)
    return _cut(replica, log.end, tuple(log.epochs))


@cache
def _loaded(replica: Replica) -> Replica:
    """The replica after a start: its log ends behind the last record that it has."""
    end = max((offset + 1 for offset in range(len(replica.log)) if offset not in replica.cleaned), default=0)
    return _cut(replica, end, tuple(row for row in replica.epochs if row[1] < end))


def _cut(replica: Replica, end: int, epochs: tuple[tuple[int, int], ...]) -> Replica:
    return replica._replace(
        log=replica.log[:end],
        high_watermark=min(replica.high_watermark, end),
        cleaned=tuple(offset for offset in replica.cleaned if offset < end),
        epochs=epochs,
    )
