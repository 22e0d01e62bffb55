# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the logs of one partition relate, two by two, and what a fork of two of them says about a third. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import (
    FORKED,
    PREFIX,
    SAME,
    UNKNOWN,
    Log,
    Pair,
    PartitionEvidence,
)


class LogPairs:
    """The comparisons of one partition's logs. `survivors` and `fenced`: the logs that answered."""

    def __init__(self, evidence: PartitionEvidence, survivors: tuple[Log, ...], fenced: tuple[Log, ...]) -> None:
        self.evidence, self.survivors, self.fenced = evidence, survivors, fenced
        self.forks = tuple([pair for pair in evidence.pairs.values() if pair.relation == FORKED])

    def pair(self, one: int, other: int) -> Pair | None:
        """Return how the logs of two brokers relate. A fork between logs identical to them counts: where one was compacted, no trace of it may be left."""
        pair = self.evidence.pair(one, other)
        if not self.forks or pair is None or pair.relation not in (SAME, PREFIX):
            return pair
        alike, others = self._identical(one), self._identical(other)
        return next((fork for fork in self.forks if _is_between(fork, alike, others)), pair)

    def _identical(self, broker: int) -> set[int]:
        same = (pair for pair in self.evidence.pairs.values() if pair.relation == SAME and broker in (pair.broker_a, pair.broker_b))
        return {broker, *(one for pair in same for one in (pair.broker_a, pair.broker_b))}

    def is_known_start(self, broker: int, other: int) -> bool:
        """Return whether the log of `broker` is the start of that of `other`: by their comparison or, without one, because it is the start of a third log
        which is the start of it. Retention may leave two such logs without a common offset."""
        pair = self.pair(broker, other)
        if pair is not None and pair.relation != UNKNOWN:
            return self._is_start(broker, other)
        return any(self._is_start(broker, log.broker_id) and self._is_start(log.broker_id, other) for log in self.survivors)

    def _is_start(self, broker: int, other: int) -> bool:
        """Return whether the log of `broker` is the same as that of `other`, or a prefix of it."""
        pair = self.pair(broker, other)
        return pair is not None and (pair.relation == SAME or (pair.relation == PREFIX and pair.shorter == broker))

    def ends_before_a_fork(self, broker: int) -> bool:
        """Return whether this broker's log is the same as, or a prefix of, both logs of a fork. Such a log does not say which of them it continued in.

        A prefix of one of them that ends where they fork, or before, is a prefix of the other one, too, also if it was not compared with that.
        """
        return any(broker not in brokers_of([fork]) and self._is_start_of_both(broker, fork) for fork in self.forks)

    def _is_start_of_both(self, broker: int, fork: Pair) -> bool:
        starts = [self._is_start(broker, other) for other in (fork.broker_a, fork.broker_b)]
        end = next((log.end for log in (*self.survivors, *self.fenced) if log.broker_id == broker), 0)
        return all(starts) or (any(starts) and end <= (fork.common_offset or 0))

    def lost_members(self, members: Collection[int]) -> tuple[Log, ...]:
        """Return the logs of these lost members of the ISR or the ELR that say something about a fork: those that are on one branch of each, and were
        compared with all survivors. Each has every committed record, or has lost its end."""
        logs = [log for log in self.fenced if log.broker_id in members and not self.ends_before_a_fork(log.broker_id)] if self.forks else []
        return tuple([log for log in logs if all(self._agreement(one, log) is not None for one in self.survivors)])

    def agreeing_longest(self, members: Collection[Log]) -> tuple[int, ...]:
        """Return those survivors than which no other one agrees longer with the log of any of these members; none without members."""
        longest = {member: max((self._agreement(one, member) or 0 for one in self.survivors), default=0) for member in members}
        return tuple(
            log.broker_id
            for log in (self.survivors if longest else ())
            if all((self._agreement(log, member) or 0) >= offset for member, offset in longest.items())
        )

    def fork_shown_by_others(self, one: int, other: int) -> int | None:
        """Return the least offset at which the logs of two brokers fork by what others show: two logs fork there, and beyond that offset one of these agrees
        with the log of `one`, and the other with that of `other`. None if no logs show a fork."""
        shown = [
            fork.common_offset or 0
            for fork in self.forks
            if _is_between(fork, self._agreeing_beyond(fork, one), self._agreeing_beyond(fork, other))
        ]
        return min(shown, default=None)

    def _agreeing_beyond(self, fork: Pair, broker: int) -> set[int]:
        """Return the brokers whose logs agree beyond the offset of a fork with that of `broker`, or with one that does so; this broker, too."""
        offset, compared = fork.common_offset or 0, brokers_of(self.evidence.pairs.values())
        agreeing, added = set[int](), {broker}
        while added:
            agreeing |= added
            pairs = (self.pair(known, other) for known in added for other in compared - agreeing)
            added = brokers_of(pair for pair in pairs if pair is not None and (pair.common_offset or 0) > offset) - agreeing
        return agreeing

    def _agreement(self, one: Log, other: Log) -> int | None:
        """Return the offset below which two logs hold the same records, None if it is not known."""
        pair = self.pair(one.broker_id, other.broker_id)
        return pair and pair.common_offset


def brokers_of(pairs: Iterable[Pair]) -> set[int]:
    """Return the brokers of these pairs."""
    return {broker for pair in pairs for broker in (pair.broker_a, pair.broker_b)}


def _is_between(fork: Pair, ones: Collection[int], others: Collection[int]) -> bool:
    """Return whether one log of this fork is of the first brokers, and the other log of the others."""
    return (fork.broker_a in ones and fork.broker_b in others) or (fork.broker_a in others and fork.broker_b in ones)
