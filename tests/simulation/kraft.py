# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller of a KRaft cluster: leader, ISR, ELR and replica order of each partition, and which brokers are fenced.

As Kafka's PartitionChangeBuilder and ReplicationControlManager have it (4.3), with and without eligible leader replicas (KIP-966).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from simulation.assignments import Assignment

NO_LEADER = -1
Key = tuple[str, int]


class Partition(NamedTuple):
    """What the controller knows of a partition. `last_known`: the leader that it had last (Kafka's lastKnownElr). `epoch`: its leader epoch.

    `recovering`: its leader was elected uncleanly, and has not changed the ISR since.
    """

    topic_id: int
    replicas: tuple[int, ...]
    leader: int
    epoch: int
    isr: tuple[int, ...]
    elr: tuple[int, ...] = ()
    last_known: tuple[int, ...] = ()
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    recovering: bool = False

    @property
    def leadership(self) -> tuple[int, int, int]:
        """Return the topic's id, the leader and its epoch: what changes when another leader is elected, or the topic is created again."""
        return self.topic_id, self.leader, self.epoch

    @property
    def assignment(self) -> Assignment:
        """Return its replicas, with those that a move adds and removes."""
        return Assignment(self.replicas, self.adding, self.removing)


@dataclass
class Registration:
    """A broker as it registered last.

    lost        its replicas on a log dir that has failed since, or that it registered without
    unassigned  its replicas of which the controller does not know the log dir. Where it fails, they stay in the ISR.
    """

    epoch: int
    fenced: bool = True
    lost: set[Key] = field(default_factory=set)
    unassigned: set[Key] = field(default_factory=set)


@dataclass
class Controller:
    """The active controller. `elr`: whether the feature is on. `min_isr`: min.insync.replicas by topic. `on_change`: gets each change of a partition.

    `awaits_target`: a move ends as on Kafka 3.9. `unclean`: topics with unclean.leader.election.enable.
    """

    elr: bool
    min_isr: Mapping[str, int]
    partitions: dict[Key, Partition] = field(default_factory=dict)
    brokers: dict[int, Registration] = field(default_factory=dict)
    version: int = 0  # incremented with each change
    awaits_target: bool = False
    unclean: Collection[str] = ()
    on_change: Callable[[Key, Partition | None, Partition], None] = lambda _key, _before, _after: None

    def create(self, key: Key, topic_id: int, replicas: Sequence[int]) -> None:
        """Create a partition on brokers that are alive."""
        self._put(key, Partition(topic_id, tuple(replicas), replicas[0], 0, tuple(replicas)))

    def create_again(self, key: Key, topic_id: int, replicas: Sequence[int]) -> None:
        """Create a partition of a topic that was deleted, and has another id now."""
        del self.partitions[key]
        for one in self.brokers.values():
            one.lost.discard(key)
            one.unassigned.discard(key)
        self.create(key, topic_id, replicas)

    def alive(self, broker: int) -> bool:
        """Return whether a broker is unfenced."""
        return broker in self.brokers and not self.brokers[broker].fenced

    def fenced(self) -> frozenset[int]:
        """Return the brokers that are registered and fenced."""
        return frozenset(broker for broker, one in self.brokers.items() if one.fenced)

    def may_lead(self, broker: int, key: Key) -> bool:
        """Return whether a broker is unfenced and its replica is not on a log dir that has failed (Kafka's LeaderAcceptor)."""
        return self.alive(broker) and key not in self.brokers[broker].lost

    # --- brokers -------------------------------------------------------------------------------------------------

    def register(self, broker: int, clean: bool, lost: Collection[Key] = ()) -> None:
        """Register a broker that starts. After an unclean shutdown it is no eligible leader any more (KIP-966), so it leaves ISR and ELR.

        `lost`: its replicas on a log dir that has failed.
        """
        self.version += 1
        before = self.brokers.get(broker)
        self.brokers[broker] = Registration(self.version, lost=set(lost), unassigned=set() if before is None else before.unassigned)
        if self.elr and not clean:
            for key, state in self.partitions.items():
                if broker in (*state.isr, *state.elr):
                    self._change(key, isr=[one for one in state.isr if one != broker], unclean={broker})

    def unfence(self, broker: int) -> None:
        """The broker has caught up with the metadata log. It leads partitions again that wait for it."""
        self.version += 1
        self.brokers[broker].fenced = False
        for key in [*self.brokers[broker].unassigned]:  # a broker that has started reports where its replicas are
            self._assign_directories(key, self.partitions[key].replicas)
        for key, state in self.partitions.items():
            if state.leader == NO_LEADER and (broker in state.replicas or key[0] in self.unclean):  # Kafka examines all without a leader
                self._change(key)

    def fence(self, broker: int) -> None:
        """The broker's session has ended, or it shuts down."""
        self.version += 1
        self.brokers[broker].fenced = True
        for key, state in self.partitions.items():
            if broker in state.isr or state.leader == broker:
                self._change(key, isr=[one for one in state.isr if one != broker])

    def fail_log_dir(self, broker: int, keys: Iterable[Key]) -> None:
        """A broker reports that the log dir with these replicas has failed (KIP-858)."""
        self.version += 1
        for key in keys:
            state = self.partitions[key]
            if broker not in state.replicas or key in self.brokers[broker].unassigned:
                continue
            self.brokers[broker].lost.add(key)
            if broker in state.isr or state.leader == broker:
                self._change(key, isr=[one for one in state.isr if one != broker])

    def clear_elr(self, topic: str | None) -> None:
        """Forget the eligible leader replicas and the last known leaders of a topic, None: of all (Kafka's ClearElrRecord)."""
        for key, state in self.partitions.items():
            if topic in (None, key[0]):
                self._put(key, state._replace(elr=(), last_known=()))

    # --- requests ------------------------------------------------------------------------------------------------

    def alter_isr(self, key: Key, leader: int, epoch: int, isr: Iterable[int]) -> bool:
        """A leader changes its ISR. Return whether that was accepted: it must lead in this epoch, and members must be replicas that are unfenced."""
        state = self.partitions[key]
        new = tuple(isr)
        if (state.leader, state.epoch) != (leader, epoch) or not all(one in state.replicas and self.alive(one) for one in new):
            return False
        self._change(key, isr=new)
        self._put(key, self.partitions[key]._replace(recovering=False))
        return True

    def elect_unclean(self, key: Key) -> str | None:
        """Elect the first live replica if there is no clean one (KIP-460). Return Kafka's error."""
        state = self.partitions.get(key)
        if state is None:
            return "UNKNOWN_TOPIC_OR_PARTITION"
        if state.leader != NO_LEADER:
            return "ELECTION_NOT_NEEDED"
        self._change(key, election_is_unclean=True)
        return None if self.partitions[key].leader != NO_LEADER else "ELIGIBLE_LEADERS_NOT_AVAILABLE"

    def elect_leaderless(self) -> None:
        """Elect leaders uncleanly where that is allowed, as Kafka does now and then (maybeElectUncleanLeaders)."""
        for key, state in self.partitions.items():
            if key[0] in self.unclean and state.leader == NO_LEADER:
                self.elect_unclean(key)

    def elect_preferred(self, key: Key) -> str | None:
        """Let the first replica lead if it is in sync (KIP-460). Return Kafka's error."""
        state = self.partitions.get(key)
        if state is None:
            return "UNKNOWN_TOPIC_OR_PARTITION"
        first = state.replicas[0]
        if state.leader == first:
            return "ELECTION_NOT_NEEDED"
        if first not in state.isr or not self.may_lead(first, key):
            return "PREFERRED_LEADER_NOT_AVAILABLE"
        self._put(key, state._replace(leader=first, epoch=state.epoch + 1))
        return None

    def reassign(self, key: Key, replicas: Sequence[int] | None, factor_may_change: bool = True) -> str | None:
        """Move a partition to other replicas, or give it the same ones in another order; None cancels a move (KIP-455). Return Kafka's error.

        `factor_may_change`: whether their number may be another one (KIP-860).
        """
        state = self.partitions.get(key)
        if state is None:
            return "UNKNOWN_TOPIC_OR_PARTITION"
        if replicas is None:
            return self._cancel(key, state)
        if not replicas or len(set(replicas)) < len(replicas) or not set(replicas) <= self.brokers.keys():
            return "INVALID_REPLICA_ASSIGNMENT"
        if not factor_may_change and len(state.assignment.target) != len(replicas):
            return "INVALID_REPLICATION_FACTOR"
        return self._change(key, assignment=state.assignment.moved_to(replicas))

    def _cancel(self, key: Key, state: Partition) -> str | None:
        if not state.assignment.is_moving:
            return "NO_REASSIGNMENT_IN_PROGRESS"
        original, may_be_unclean = state.assignment.original, key[0] in self.unclean
        isr = [one for one in state.isr if one not in state.adding]
        if not isr and not may_be_unclean:
            return "INVALID_REPLICA_ASSIGNMENT"
        # Kafka takes the first of the original replicas for the ISR if none of them is in it, whether it lives or not (PartitionReassignmentRevert).
        self._change(key, isr=isr or original[:1], election_is_unclean=may_be_unclean, assignment=Assignment(original))
        return None

    # --- PartitionChangeBuilder ----------------------------------------------------------------------------------

    def _change(
        self,
        key: Key,
        isr: Iterable[int] | None = None,
        unclean: Collection[int] = (),
        election_is_unclean: bool = False,
        assignment: Assignment | None = None,
    ) -> str | None:
        """Change a partition, and elect a leader if it needs one. Return Kafka's error: then nothing was changed.

        A topic that allows unclean elections gets them by each change but a new target of its replicas.
        """
        election_is_unclean = election_is_unclean or (assignment is None and key[0] in self.unclean)
        state = self.partitions[key]
        target = state.assignment if assignment is None else assignment
        target_isr = state.isr if isr is None else tuple(isr)
        if (ended := target.ended(target_isr, self.awaits_target)) is not None:
            target, target_isr = ended
        elr, last_known = self._eligible(key, state, target_isr, unclean)
        leader, by_force = self._elected(
            state.leader, [one for one in target.replicas if self.may_lead(one, key)], target_isr, elr, last_known, election_is_unclean
        )
        if leader not in (NO_LEADER, *state.replicas):
            # A broker that was moved away stays in the ELR. It cannot lead by the change that assigns it again ("Replica 2 is not assigned to this partition").
            return "UNKNOWN_SERVER_ERROR"
        if by_force:
            target_isr, elr, last_known = (leader,), (), ()
        elif leader in elr:
            target_isr, elr = (leader,), tuple(one for one in elr if one != leader)
        if not target_isr and not self.elr:
            target_isr = state.isr  # the last member stays
        last_known = self._last_known(state, leader, last_known)
        epoch = state.epoch + (leader != state.leader or not {*state.replicas} <= {*target.replicas})
        recovering = by_force or state.recovering  # until a leader changes the ISR (`alter_isr`)
        self._put(
            key,
            Partition(
                state.topic_id, target.replicas, leader, epoch, target_isr, elr, last_known, target.adding, target.removing, recovering
            ),
        )
        return None

    def _eligible(
        self, key: Key, state: Partition, isr: tuple[int, ...], unclean: Collection[int]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        # Kafka takes the number of replicas of the topic's first partition.
        if not self.elr or len(isr) >= min(self.min_isr[key[0]], len(self.partitions[key[0], 0].replicas)):
            return (), ()
        elr = tuple(one for one in dict.fromkeys((*state.elr, *state.isr)) if one not in isr and one not in unclean)
        return elr, state.last_known

    def _elected(
        self,
        leader: int,
        live: Sequence[int],
        isr: tuple[int, ...],
        elr: tuple[int, ...],
        last_known: tuple[int, ...],
        by_force: bool,
    ) -> tuple[int, bool]:
        """Return the leader, and whether its election is unclean. `leader`: before. `live`: replicas that may lead, in their order."""
        clean = [one for one in live if one in (*isr, *elr)]
        if leader in clean:
            return leader, False
        if clean:
            return clean[0], False
        if self.elr and not elr and not isr and len(last_known) == 1 and last_known[0] in live:
            return last_known[0], True
        if by_force and live:
            return live[0], True
        return NO_LEADER, False

    def _last_known(self, state: Partition, leader: int, last_known: tuple[int, ...]) -> tuple[int, ...]:
        if not self.elr or leader != NO_LEADER:
            return ()
        return (state.leader,) if state.leader != NO_LEADER else last_known

    def _put(self, key: Key, state: Partition) -> None:
        before = self.partitions.get(key)
        if state != before:
            self.version += 1
            for broker in {*state.replicas} - {*(before.replicas if before else ())}:
                self.brokers[broker].lost.discard(key)  # a new replica is not on that log dir
            if before is not None and before.topic_id == state.topic_id and before.replicas != state.replicas:
                self._note_directories(key, before.replicas, state.replicas)
            self.partitions[key] = state
            self.on_change(key, before, state)

    def _note_directories(self, key: Key, before: Collection[int], replicas: Collection[int]) -> None:
        """Brokers report where a replica is when a change names replicas and they had one before (TopicDelta.localChanges).

        So the log dir of one that is added stays unknown until the next change of the replicas, as the end of a move that removes one.
        """
        self._assign_directories(key, before)
        for broker in {*replicas} - {*before}:
            self.brokers[broker].unassigned.add(key)

    def _assign_directories(self, key: Key, replicas: Iterable[int]) -> None:
        for broker in replicas:
            if self.alive(broker):
                self.brokers[broker].unassigned.discard(key)
