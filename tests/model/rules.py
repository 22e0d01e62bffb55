"""The rules of decision under test: the one place that states them for the model.

A rule gets the survivors of a partition without a live leader, as an operator who recovers it can know them: what each one's log holds, its own high
watermark and, for the last rules, what the metadata log records about its place in the ISR. It returns those that it would elect, as places in `survivors`:
the one that stands first in the assignment leads. No place: the partition is held.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import chain, combinations

from model.logs import Log, common, is_prefix
from model.partition import NOTHING, UNCLEAN_ELECTION, Replica

Survivors = Sequence[Replica]
Winners = frozenset[int]
Rule = Callable[[Survivors], Winners]
# A log, and an offset below which it is proven to be committed.
Proven = Collection[tuple[Log, int]]

HOLD: Winners = frozenset()


def first_in_order(survivors: Survivors) -> Winners:
    """Stock Kafka's unclean election: the first live replica of the assignment, whichever that is."""
    return frozenset(range(len(survivors)))


def log_end_offset(survivors: Survivors) -> Winners:
    """KIP-1275 as it works out: all replicas report the same partition leader epoch, so length alone decides."""
    longest = max(len(replica.log) for replica in survivors)
    return frozenset(place for place, replica in enumerate(survivors) if len(replica.log) == longest)


def last_written_epoch(survivors: Survivors) -> Winners:
    """KIP-966's unclean recovery: the greatest (epoch of the last record, log end offset)."""
    return _best(survivors, range(len(survivors)))


def ours(survivors: Survivors) -> Winners:
    """`balanced`: every survivor's log is a prefix of the winner's, and the winner reaches every survivor's high watermark."""
    watermark = max(replica.high_watermark for replica in survivors)
    return frozenset(
        place
        for place, winner in enumerate(survivors)
        if len(winner.log) >= watermark and all(is_prefix(replica.log, winner.log) for replica in survivors)
    )


def isr_history(survivors: Survivors, proven: Proven = ()) -> Winners:
    """`ours` and, where logs fork, what the metadata log records about the ISR.

    A survivor since whose leaving the ISR has always been smaller than min.insync.replicas holds every committed record: it did when it left, and
    nothing was committed since. (This is what puts a replica into the ELR of KIP-966, found out afterwards.) A log that continues such a log does too;
    the best of these by (last-written epoch, log end offset) gives up the least. Held where, since any survivor left, the partition was without a leader
    for a while: the leader that came back may have lost the end of its log, or was elected unclean, and that survivor may be the last to hold what was lost.
    What lacks something that is proven to be committed is not elected.
    """
    return _with_history(survivors, NOTHING, proven)


def lost_members(survivors: Survivors, members: Sequence[Log], proven: Proven = ()) -> Winners:
    """`isr_history` where the logs of lost members of the ISR or the ELR are known, as from their disks.

    Each has every committed record, or has lost its end. So of logs that fork, those that agree longest with each of these hold all committed records that any
    survivor holds. A log that is a prefix of both branches says nothing. Held as by `isr_history` where another leader led since any survivor left; and where
    a member has more than the winner, because its broker brings it back.
    """
    elected = ours(survivors)
    if not elected:
        agreeing = agree_longest(survivors, members)
        undisturbed = all(replica.since == NOTHING for replica in survivors)
        trusted = {*able(survivors), *(agreeing if undisturbed else ())}
        sound = [place for place in trusted if all(common(survivors[place].log, log) >= offset for log, offset in proven)]
        elected = _best(survivors, {*sound} & agreeing or sound)
    return frozenset(place for place in elected if all(is_prefix(member, survivors[place].log) for member in members))


def agree_longest(survivors: Survivors, members: Sequence[Log]) -> set[int]:
    """Of logs that fork: those that no other survivor's log surpasses in how long it agrees with each member's log which is on one branch."""
    logs = [replica.log for replica in survivors]
    forks = [(one, other) for one, other in combinations(logs, 2) if not is_prefix(one, other) and not is_prefix(other, one)]
    telling = [member for member in members if not any(is_prefix(member, one) and is_prefix(member, other) for one, other in forks)]
    if not forks or not telling:
        return set()
    return {
        place for place, log in enumerate(logs) if all(common(log, member) >= common(other, member) for other in logs for member in telling)
    }


def isr_history_trusting_disks(survivors: Survivors) -> Winners:
    """The same, held only after an unclean election: right as long as no crash costs a leader the end of its log."""
    return _with_history(survivors, UNCLEAN_ELECTION - 1)


def last_to_leave(survivors: Survivors) -> Winners:
    """The rule in its plain words: of the logs that are no prefix of another, the one of the replica that left the ISR last."""
    longest = [
        place
        for place, one in enumerate(survivors)
        if not any(len(one.log) < len(other.log) and is_prefix(one.log, other.log) for other in survivors)
    ]
    last = max(survivors[place].left for place in longest)
    return frozenset(place for place in longest if survivors[place].left == last)


def waited_for(
    isr: Collection[int], elr: Collection[int], last_known: Collection[int], present: Collection[int], keeps_elr: bool
) -> set[int]:
    """Whom of those that are alive or come back the controller may elect by itself: a member of the ISR, or of the ELR if the ISR has none, or the last
    known leader if neither has one. Any of them may have been shut down uncleanly, and is struck off both lists then. Without ELR none is."""
    if not keeps_elr:
        return {*(isr or elr)} & {*present}
    last = {*last_known} if len(last_known) == 1 else set()
    struck = chain.from_iterable(combinations(present, count) for count in range(len(present) + 1))
    return {one for some in struck for one in ({*isr} - {*some} or {*elr} - {*some} or last) & {*present}}


RULES: dict[str, Rule] = {
    "first in order": first_in_order,
    "LEO only": log_end_offset,
    "(last-written epoch, LEO)": last_written_epoch,
    "ours": ours,
    "ISR history": isr_history,
}
# What the conditions of the last rule are worth.
LOOSER_RULES: dict[str, Rule] = {
    "ISR history, trusting disks": isr_history_trusting_disks,
    "last to leave the ISR": last_to_leave,
}


def _with_history(survivors: Survivors, tolerated: int, proven: Proven = ()) -> Winners:
    if elected := ours(survivors):
        return elected
    sound = [place for place in able(survivors, tolerated) if all(common(survivors[place].log, log) >= offset for log, offset in proven)]
    return _best(survivors, sound)


def able(survivors: Survivors, tolerated: int = NOTHING) -> list[int]:
    """Those that hold every committed record by the ISR history: what is still complete, and what continues it."""
    if any(replica.since > tolerated for replica in survivors):
        return []
    complete = still_complete(survivors)
    return [place for place, one in enumerate(survivors) if any(is_prefix(replica.log, one.log) for replica in complete)]


def best_first(survivors: Survivors, by_history: Collection[int], agreeing: Collection[int], proven: Proven, starts: Sequence[int]) -> bool:
    """Whether the survivors stand best-first, as the controller elects them from their order: the more is proven of one, the better, then what is complete
    by the ISR history, then what agrees longest with lost members, then (last-written epoch, log end offset), then the log that starts first."""
    ranks = [
        (
            max([0, *(min(common(one.log, log), offset) for log, offset in proven)]),
            place in by_history,
            place in agreeing,
            one.log[-1:],
            len(one.log),
            -starts[place],
        )
        for place, one in enumerate(survivors)
    ]
    return ranks == sorted(ranks, reverse=True)


def still_complete(survivors: Survivors) -> list[Replica]:
    """The survivors that hold every committed record by the ISR history, without those that end before a fork: they may have lost their end since, in a
    power cut, so they do not say which branch they were."""
    forks = [
        (one.log, other.log)
        for one, other in combinations(survivors, 2)
        if not is_prefix(one.log, other.log) and not is_prefix(other.log, one.log)
    ]
    return [
        replica
        for replica in survivors
        if not replica.overtaken and not any(is_prefix(replica.log, one) and is_prefix(replica.log, other) for one, other in forks)
    ]


def _best(survivors: Survivors, among: Iterable[int]) -> Winners:
    ranks = {place: (survivors[place].log[-1:], len(survivors[place].log)) for place in among}
    best = max(ranks.values(), default=None)
    return frozenset(place for place, rank in ranks.items() if rank == best)
