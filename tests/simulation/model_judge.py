# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""For which reasons a partition may be held when all is at peace: by the rules of tests/model, from the logs and ISRs of the simulated cluster.

The last run in peace has read all that these rules know, so it must come to the same end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from model import rules
from model.logs import Log as Epochs
from model.logs import common, is_prefix
from model.partition import NOTHING, OUT, UNCLEAN_ELECTION, WITHOUT_LEADER, Replica

from simulation.cluster import SimulatedCluster
from simulation.group_log import GROUP_LOG
from simulation.kraft import NO_LEADER, Key, Partition
from simulation.logs import Log
from simulation.settings import least_min_isr

# What the codes of evidence may be if some records were removed by the cleaner: the model knows what was there, brokers do not.
OF_CLEANED_LOGS = {"incomplete", "weak", "retention_gap", "forked", "forked_proven", "contradicted", "below_high_watermark"}
ALARMING = {"below_high_watermark", "contradicted"}


class IsrHistory:
    """What the controller has decided about each partition, from now on.

    Of min.insync.replicas the least of the past counts for all of it, as in `docs/decisions.md`: a leader may learn late that it was raised.
    """

    def __init__(self, cluster: SimulatedCluster) -> None:
        controller, self._cluster = cluster.controller, cluster
        self._states = {key: [state] for key, state in controller.partitions.items()}
        self._least = {key: self._min_isr(key) for key in self._states}
        self._note_elsewhere, controller.on_change = controller.on_change, self._note
        cluster.after_setting = self._note_min_isr

    def _min_isr(self, key: Key) -> int | None:
        return least_min_isr(self._cluster.settings.values, key[0], self._cluster.brokers)

    def _note_min_isr(self) -> None:
        for key, least in self._least.items():
            now = self._min_isr(key)
            self._least[key] = None if least is None or now is None else min(least, now)

    def _note(self, key: Key, before: Partition | None, after: Partition) -> None:
        self._note_elsewhere(key, before, after)
        self._states[key] = [*([] if before is None else self._states[key]), after]
        if before is None:
            self._least[key] = self._min_isr(key)

    def replica(self, key: Key, state: Partition, broker: int, epochs: Epochs, high_watermark: int) -> Replica:
        """Return a survivor as the model has it: its log, and what the history of ISRs up to `state` says of it."""
        last = max(place for place, one in enumerate(self._states[key]) if one is state)
        states = self._states[key][: last + 1]
        inside = [place for place, state in enumerate(states) if broker in state.isr]
        since = states[inside[-1] :] if inside else states
        least = self._least[key]
        overtaken = least is None or any(len(state.isr) >= min(least, len(state.replicas)) for state in since[1:])
        happened = _worst(since)
        if not inside or broker in (*states[-1].isr, *states[-1].elr, *states[-1].last_known):
            happened = UNCLEAN_ELECTION  # the history proves nothing
        return Replica(epochs, high_watermark, OUT, overtaken=overtaken, since=happened)


def _worst(states: Sequence[Partition]) -> int:
    """Return the worst that has happened after the first of these states. A move counts as an unclean election: neither lets the history prove anything."""
    pairs = list(pairwise(states))
    # The recovery state does not show it: it stays when another leader is elected, cleanly or not.
    if any(after.leader not in (before.leader, NO_LEADER, *before.isr, *before.elr) for before, after in pairs) or any(
        {*before.replicas} != {*after.replicas} or after.assignment.is_moving for before, after in pairs
    ):
        return UNCLEAN_ELECTION
    led = [place for place, state in enumerate(states) if state.leader != NO_LEADER]
    return WITHOUT_LEADER if led and any(state.leader == NO_LEADER for state in states[: led[-1]]) else NOTHING


class KnownLogs:
    """What can be known of a partition without a leader.

    survivors  as the model has them, in the order of the assignment
    outside    logs of lost replicas that can be read: `members`: of those in the ISR or ELR
    proven     what high watermarks prove, and the same with what groups or snapshots may prove: each makes a decision of its own
    """

    def __init__(
        self, survivors: list[Replica], outside: list[Epochs], members: list[Epochs], proven: list[list[tuple[Epochs, int]]]
    ) -> None:
        self.survivors, self.outside, self.members, self.proven = survivors, outside, members, proven

    def elected(self, history: bool) -> bool:
        """Return whether a survivor is elected by `balanced`, whatever of the proofs is read."""
        return all(self._winners(history, proven) for proven in self.proven)

    def may_be_elected(self, history: bool) -> set[int]:
        """Return the survivors that `balanced` may elect, as places, by what is read of the proofs."""
        return {place for proven in self.proven for place in self._winners(history, proven)}

    def _winners(self, history: bool, proven: list[tuple[Epochs, int]]) -> list[int]:
        winners = rules.ours(self.survivors)
        if history:
            winners = rules.lost_members(self.survivors, self.members, proven)
        return [place for place in winners if all(is_prefix(log, self.survivors[place].log) for log in self.outside)]

    def evidence_codes(self, history: bool) -> Iterator[str]:
        """Yield for which evidence `balanced` may hold it."""
        best = [one.log for one in self.survivors if not any(one.log != log and is_prefix(one.log, log) for log in self._logs)]
        if not all(is_prefix(outside, log) for outside in self.outside for log in best):
            yield "fenced_broker_holds_more"
        for proven in self.proven:
            yield from self._words(history, best, proven)

    @property
    def _logs(self) -> list[Epochs]:
        return [one.log for one in self.survivors]

    def _words(self, history: bool, best: list[Epochs], proven: list[tuple[Epochs, int]]) -> Iterator[str]:
        holding = [log for log in self._logs if _holds(log, proven)]
        complete = self._complete() if history else []
        if not holding:
            yield "below_high_watermark"
        elif complete and not any(_holds(log, proven) for log in complete):
            yield "contradicted"
        elif len({*best}) > 1:
            # Proof leaves one branch if only logs of it have all that is proven.
            greatest = max((offset for _, offset in proven), default=0)
            reaching = [
                log for log in self._logs if max((min(common(log, one), offset) for one, offset in proven), default=0) >= greatest > 0
            ]
            yield "forked_proven" if any(all(is_prefix(one, log) for one in reaching) for log in reaching) else "forked"

    def _complete(self) -> list[Epochs]:
        places = {*rules.able(self.survivors)}
        if all(one.since == NOTHING for one in self.survivors):
            places |= rules.agree_longest(self.survivors, self.members)
        return [self.survivors[place].log for place in places]


def _holds(log: Epochs, proven: Iterable[tuple[Epochs, int]]) -> bool:
    return all(common(log, one) >= offset for one, offset in proven)


class ModelJudge:
    """Judges partitions without a leader.

    gives_up   the strategy is aggressive, else balanced
    history    control nodes read the history of ISRs
    snapshots  they have taken healthy snapshots, which may prove what was committed
    """

    def __init__(self, cluster: SimulatedCluster, gives_up: bool, history: bool, snapshots: bool) -> None:
        self._cluster, self._gives_up, self._history, self._snapshots = cluster, gives_up, history, snapshots
        self._isr_history = IsrHistory(cluster)

    def violation(self, key: Key, state: Partition, row: Mapping[str, object], on_disks: Mapping[int, Log]) -> str | None:
        """Return what is wrong with the row of a partition without a leader in a result, None if nothing is. `on_disks`: logs of disks that are evidence."""
        reasons = self._reasons(key, state, on_disks)
        if row["outcome"] == "held" and row["reason_code"] in reasons:
            return None
        may_be = f"the model holds it for {' or '.join(sorted(reasons))}" if reasons else "the model elects a survivor"
        return f"is {row['outcome']} ({row['reason_code']}), and {may_be}"

    def other_leader(self, key: Key, state: Partition, leader: int, on_disks: Mapping[int, Log]) -> str | None:
        """Return what is wrong with the election of a leader in peace, None if nothing is. `state`: of the partition before."""
        survivors, others = self._logs(key, state, on_disks)
        known = None if self._gives_up or not survivors else self._known(key, state, survivors, others)
        if known is None or _have_a_gap([*survivors.values(), *others.values()]) or any(map(_is_cleaned, survivors.values())):
            return None
        winners = sorted([*survivors][place] for place in known.may_be_elected(self._history))
        if leader in winners:
            return None
        return f"broker {leader} is elected, and the model {f'elects {winners}' if winners else 'holds it'}"

    def _logs(self, key: Key, state: Partition, on_disks: Mapping[int, Log]) -> tuple[dict[int, Log], dict[int, Log]]:
        """Return the logs of survivors, and those of other replicas that can be read."""
        brokers, controller = self._cluster.brokers, self._cluster.controller
        running = {one: brokers[one].logs[key] for one in state.replicas if brokers[one].running and key in brokers[one].logs}
        survivors = {one: log for one, log in running.items() if controller.alive(one)}
        return survivors, {one: log for one, log in {**running, **on_disks}.items() if one not in survivors}

    def _reasons(self, key: Key, state: Partition, on_disks: Mapping[int, Log]) -> set[str]:
        controller, (survivors, others) = self._cluster.controller, self._logs(key, state, on_disks)
        if not survivors:
            return {"no_survivor"}
        found = {"reassignment_in_progress"} if state.assignment.is_moving else set()
        logs = [*survivors.values(), *others.values()]
        if not self._gives_up and rules.waited_for(state.isr, state.elr, state.last_known, [*survivors], controller.elr):
            found.add("wait_for_clean_leader")
        if any(epoch > state.epoch for log in logs for epoch, _ in log.epochs):
            found.add("ahead_of_controller")
        known = self._known(key, state, survivors, others)
        are_cleaned = any(map(_is_cleaned, logs))
        if known is None or _have_a_gap(logs):
            codes = OF_CLEANED_LOGS | {"fenced_broker_holds_more"}
        elif not self._gives_up and known.elected(self._history and not are_cleaned):
            return found  # what was removed keeps no log from leading that has all of the others
        elif are_cleaned:
            codes = OF_CLEANED_LOGS | {"fenced_broker_holds_more"}
        else:
            codes = {*known.evidence_codes(self._history)}
        group_log = controller.partitions.get(GROUP_LOG)
        if codes and group_log is not None and group_log.leader == NO_LEADER:
            codes.add("incomplete")  # offsets of groups cannot be read
        if not self._gives_up:
            return found | codes
        return found | ({"must_be_named"} if codes & ALARMING else set())

    def _known(self, key: Key, state: Partition, survivors: Mapping[int, Log], others: Mapping[int, Log]) -> KnownLogs | None:
        """Return what can be known of a partition, None if it is not known what was removed from its logs."""
        logs = {one: _epochs(log) for one, log in {**survivors, **others}.items()}
        if any(one is None for one in logs.values()):
            return None
        epochs = {one: log for one, log in logs.items() if log is not None}
        replicas = [self._isr_history.replica(key, state, one, epochs[one], log.high_watermark) for one, log in survivors.items()]
        members = [epochs[one] for one in others if one in (*state.isr, *state.elr)]
        watermarks = [(epochs[one], log.high_watermark) for one, log in survivors.items() if log.high_watermark]
        committed = [
            (epochs[one], batch.last + 1)
            for one, log in survivors.items()
            for batch in self._cluster.committed.get(key, {}).values()
            if self._snapshots and log.has(batch)
        ]
        read = [
            (epochs[one], position.offset)
            for one, log in survivors.items()
            for positions in self._cluster.groups.positions.values()
            if (position := positions.get(key)) is not None and log.has(position.read)
        ]
        return KnownLogs(
            replicas, [epochs[one] for one in others], members, [watermarks, [*watermarks, *read], [*watermarks, *read, *committed]]
        )


def _epochs(log: Log) -> Epochs | None:
    """Return the leader epoch of each record, also of those that were removed, None if the log does not know them."""
    found: list[int] = []
    for batch in log.had:
        if batch.base != len(found):
            return None
        found += [batch.epoch] * (batch.last + 1 - batch.base)
    return tuple(found)


def _is_cleaned(log: Log) -> bool:
    """Return whether records were removed from a log, or it starts later."""
    return bool(log.deleted or log.start)


def _have_a_gap(logs: Sequence[Log]) -> bool:
    """Return whether a log starts where another one has ended before."""
    return any(one.start >= other.end for one in logs for other in logs if one is not other)
