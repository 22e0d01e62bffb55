"""One Kafka partition, small enough to look at every state it can reach.

A state is what the controller and the replicas know; a step is one thing that can happen. Replicas are interchangeable, so a state is kept once
for all orders of its replicas. docs/model.md says what is modelled, and how far.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from typing import NamedTuple

from model.logs import Log, common, truncated

OUT, IN_SYNC, LEADER = range(3)
# What has happened to a partition since a replica left its ISR.
NOTHING, WITHOUT_LEADER, UNCLEAN_ELECTION = range(3)


class Replica(NamedTuple):
    """A replica, and what the metadata log records about it.

    `follows`: its log is truncated to the present leader's. For a replica outside the ISR: `left`, its place in the order in which those
    outside left (1 is first; equal for one change); `overtaken`, whether the ISR has since had min.insync.replicas members at some moment; `since`, the worst
    that has happened since; `eligible`, whether it is in the ELR (KIP-966).

    Where logs are compacted (model.compaction): `cleaned`, the offsets whose records this replica has not got any more; `epochs`, its epoch cache,
    (epoch, first offset) each. `log` then says what was written at each offset, cleaned or not.
    """

    log: Log = ()
    high_watermark: int = 0
    role: int = IN_SYNC
    follows: bool = False
    left: int = 0
    overtaken: bool = False
    since: int = NOTHING
    eligible: bool = False
    cleaned: tuple[int, ...] = ()
    epochs: tuple[tuple[int, int], ...] = ()


Replicas = list[Replica]


class State(NamedTuple):
    """A partition with a leader. `committed`: the longest logs that ever lay below a leader's high watermark; more than one only where
    Kafka itself has lost records. `replicas`: codes of replicas, sorted."""

    epoch: int
    min_isr: int
    committed: tuple[Log, ...]
    replicas: tuple[int, ...]


class Lost(NamedTuple):
    """A partition whose ISR is lost for good: what was committed, and two or more replicas which are not lost, sorted."""

    committed: tuple[Log, ...]
    survivors: tuple[Replica, ...]


@dataclass(frozen=True)
class Bounds:
    """How large the partition is (`records`: at most so many in a log at a time), and what can happen to it.

    `keys`: the keys of the records, one letter for each offset, in the first epoch, the second one and so on, and again from the first; the log is
    compacted then. The last three are no part of Kafka: taken away, they show that the model can tell.
    """

    min_isr: int
    replicas: int = 3
    records: int = 3
    epochs: int = 4
    unclean_elections: bool = False
    min_isr_changes: bool = False
    power_cuts: bool = False
    eligible_leader_replicas: bool = False
    keys: tuple[str, ...] = ()
    truncation: bool = True
    growth_needs_caught_up: bool = True
    commit_needs_min_isr: bool = True


class Partition:
    """The steps of a partition within `bounds`."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self._codes: dict[Replica, int] = {}
        self._decoded: Replicas = []
        self._fetched = cache(lambda replica, leader: tuple(self._fetches(replica, leader)))

    def first(self) -> State:
        """Everybody is in sync, and nothing is written."""
        replicas = [Replica(role=LEADER, follows=True)] + [Replica() for _ in range(self.bounds.replicas - 1)]
        return State(0, self.bounds.min_isr, ((),), self._code(replicas))

    def steps(self, state: State) -> Iterator[State]:
        """Every state with a leader that follows on this one."""
        replicas = self.replicas(state)
        place = next(index for index, replica in enumerate(replicas) if replica.role == LEADER)
        in_sync = [index for index, replica in enumerate(replicas) if replica.role == IN_SYNC]
        leader = replicas[place]
        if len(leader.log) < self.bounds.records:
            yield self._with(state, replicas, place, leader._replace(log=(*leader.log, state.epoch)))
        yield from self._commits(state, replicas, place, in_sync)
        for index, replica in enumerate(replicas):
            if index != place:
                for after in self._fetched(replica, leader):
                    yield self._with(state, replicas, index, after)
        yield from self._isr_changes(state, replicas, place, in_sync)
        if self.bounds.min_isr_changes:
            yield self._settled(state._replace(min_isr=3 - state.min_isr), replicas)
        if state.epoch + 1 < self.bounds.epochs:
            if in_sync:
                # The leader dies and leaves the ISR, or hands over and stays in it (preferred election, KIP-460).
                died, handed_over = self._left(replicas, [place]), put(replicas, place, leader._replace(role=IN_SYNC))
                yield from (self._led(state, after, index) for index in in_sync for after in (died, handed_over))
            else:
                yield from self._returns(state, replicas, place)

    def replicas(self, state: State) -> Replicas:
        """The replicas of a state."""
        return [self._decoded[code] for code in state.replicas]

    def survivors(self, state: State) -> Iterator[tuple[int, ...]]:
        """Where the leader is alone in the ISR and now dies for good: each set of two or more replicas that may survive it, by their places.

        Members of the ELR are lost too: they would lead.
        """
        replicas = self.replicas(state)
        if all(replica.role != IN_SYNC for replica in replicas):
            able = [index for index, replica in enumerate(replicas) if replica.role == OUT and not replica.eligible]
            for count in range(2, len(able) + 1):
                yield from combinations(able, count)

    def lost(self, state: State) -> Iterator[Lost]:
        """The partition without a leader, for each set of survivors. High watermarks are the last ones known, see `crashed`."""
        for places in self.survivors(state):
            replicas = self.replicas(state)
            yield Lost(state.committed, tuple(sorted(survivors_alone([replicas[place] for place in places]))))

    def crashed(self, lost: Lost) -> Iterator[Lost]:
        """`lost` and everything that crashes and restarts of its survivors can make of it."""
        for survivors in product(*(list(self._restarts(replica)) for replica in lost.survivors)):
            yield Lost(lost.committed, tuple(sorted(survivors)))

    def _commits(self, state: State, replicas: Replicas, place: int, in_sync: list[int]) -> Iterator[State]:
        """The high watermark goes up to the shortest log in the ISR, and stands still while the ISR is too small (Kafka 3.7, KIP-966)."""
        leader = replicas[place]
        if len(in_sync) + 1 < state.min_isr and self.bounds.commit_needs_min_isr:
            return
        if all(replicas[index].follows for index in in_sync):
            least = min([len(leader.log), *(len(replicas[index].log) for index in in_sync)])
            if least > leader.high_watermark:
                after = state._replace(committed=_committed(state.committed, leader.log[:least]))
                yield self._with(after, replicas, place, leader._replace(high_watermark=least))

    def _fetches(self, replica: Replica, leader: Replica) -> Iterator[Replica]:
        """A follower truncates its log to the leader's, or copies the next record, or learns the high watermark; or it does so after a crash."""
        if not replica.follows:
            for back in self._restarts(replica) if replica.role == OUT else [replica]:
                log = truncated(back.log, leader.log) if self.bounds.truncation else back.log
                yield back._replace(log=log, high_watermark=min(back.high_watermark, len(log)), follows=True)
            return
        log = replica.log + leader.log[len(replica.log) : len(replica.log) + 1]
        high_watermark = min(leader.high_watermark, len(log))
        if log != replica.log or high_watermark != replica.high_watermark:
            yield replica._replace(log=log, high_watermark=high_watermark)
        if replica.role == OUT:
            yield from (back for back in self._restarts(replica) if back != replica)

    def _restarts(self, replica: Replica) -> Iterator[Replica]:
        """What a replica outside the ISR may come back with: its high watermark is as old as the checkpoint on its disk, and after a power cut
        the end of its log is missing. A broker that crashed loses the place in the ELR."""
        yield replica
        for end in range(0 if self.bounds.power_cuts else len(replica.log), len(replica.log) + 1):
            for high_watermark in range(min(end, replica.high_watermark) + 1):
                yield replica._replace(log=replica.log[:end], high_watermark=high_watermark, eligible=False)

    def _isr_changes(self, state: State, replicas: Replicas, place: int, in_sync: list[int]) -> Iterator[State]:
        """One or several leave in one change. Who has caught up with the high watermark and the start of the leader's epoch joins."""
        for count in range(1, len(in_sync) + 1):
            for some in combinations(in_sync, count):
                yield self._settled(state, self._left(replicas, some))
        leader = replicas[place]
        start = sum(1 for epoch in leader.log if epoch < state.epoch)
        needed = max(start, leader.high_watermark) if self.bounds.growth_needs_caught_up else 0
        for index, replica in enumerate(replicas):
            if replica.role == OUT and replica.follows and len(replica.log) >= needed:
                yield self._settled(state, _dense(put(replicas, index, _inside(replica, IN_SYNC))))

    def _returns(self, state: State, replicas: Replicas, place: int) -> Iterator[State]:
        """The leader was alone in the ISR, died, and some replica leads again: itself, another member of the ELR, or, in an unclean election, anybody."""
        gone = self._left(replicas, [place])
        for index, replica in enumerate(gone):
            for back in self._restarts(replica):
                if back.eligible or (index == place and not self.bounds.eligible_leader_replicas):
                    yield self._led(state, put(_since(gone, WITHOUT_LEADER), index, back), index)
                elif self.bounds.unclean_elections or (index == place and not any(one.eligible for one in put(gone, index, back))):
                    # With ELR, Kafka has the last known leader lead again, and calls that unclean.
                    yield self._led(state, put(_since(gone, UNCLEAN_ELECTION), index, back), index)

    def _led(self, state: State, replicas: Replicas, leader: int) -> State:
        """The next epoch, led by `leader`."""
        after = [_unfollowing(replica) if replica.follows else replica for replica in replicas]
        after[leader] = _inside(replicas[leader], LEADER)
        return self._settled(state._replace(epoch=state.epoch + 1), _dense(after))

    def _left(self, replicas: Replicas, leaving: Iterable[int]) -> Replicas:
        """Take those who leave out of the ISR, in one change."""
        last = 1 + max(replica.left for replica in replicas)
        after = list(replicas)
        for index in leaving:
            after[index] = _outside(replicas[index], last, self.bounds.eligible_leader_replicas)
        return after

    def _settled(self, state: State, replicas: Replicas) -> State:
        """After a change of the ISR or of min ISR: an ISR that is large enough overtakes every replica that is outside, and empties the ELR."""
        if sum(replica.role != OUT for replica in replicas) >= state.min_isr:
            replicas = [_overtaken(replica) if replica.role == OUT else replica for replica in replicas]
        return State(state.epoch, state.min_isr, state.committed, self._code(replicas))

    def _with(self, state: State, replicas: Replicas, index: int, replica: Replica) -> State:
        return State(state.epoch, state.min_isr, state.committed, self._code(put(replicas, index, replica)))

    def _code(self, replicas: Replicas) -> tuple[int, ...]:
        found = []
        for replica in replicas:
            code = self._codes.get(replica)
            if code is None:
                code = self._codes[replica] = len(self._decoded)
                self._decoded.append(replica)
            found.append(code)
        return self._ordered(found)

    def _ordered(self, codes: list[int]) -> tuple[int, ...]:
        return tuple(sorted(codes))


def survivors_alone(survivors: Iterable[Replica]) -> Replicas:
    """What can be known of survivors when the others are gone."""
    return _dense(_unfollowing(replica) for replica in survivors)


def put(replicas: Replicas, index: int, replica: Replica) -> Replicas:
    after = list(replicas)
    after[index] = replica
    return after


# There are few replicas that differ, and millions of steps: what becomes of a replica is computed once.


@cache
def _inside(replica: Replica, role: int) -> Replica:
    return Replica(replica.log, replica.high_watermark, role, follows=True, cleaned=replica.cleaned, epochs=replica.epochs)


@cache
def _outside(replica: Replica, left: int, eligible: bool) -> Replica:
    return replica._replace(role=OUT, left=left, eligible=eligible)


@cache
def _unfollowing(replica: Replica) -> Replica:
    return replica._replace(follows=False)


@cache
def _overtaken(replica: Replica) -> Replica:
    return replica._replace(overtaken=True, eligible=False)


def _since(replicas: Replicas, happened: int) -> Replicas:
    return [replica._replace(since=max(replica.since, happened)) for replica in replicas]


def _dense(replicas: Iterable[Replica]) -> Replicas:
    """Number the order of leaving without gaps."""
    replicas = list(replicas)
    order = sorted({replica.left for replica in replicas if replica.left})
    if not order or order[-1] == len(order):
        return replicas
    return [replica._replace(left=order.index(replica.left) + 1) if replica.left else replica for replica in replicas]


def _committed(known: tuple[Log, ...], log: Log) -> tuple[Log, ...]:
    """Add a committed log to the known ones, and keep the longest."""
    if any(common(log, one) == len(log) for one in known):
        return known
    return tuple(sorted([log, *(one for one in known if common(log, one) < len(one))]))
