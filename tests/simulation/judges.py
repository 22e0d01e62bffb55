# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What must hold in every simulated history. Violations are sentences; the judges look at the simulated cluster and at files, not at what the product says."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from simulation.broker import Broker
from simulation.cluster import SimulatedCluster
from simulation.events import Events
from simulation.expected_orders import SENT_SECONDS, ExpectedOrders
from simulation.judged_elections import Change, Election
from simulation.kept_verdicts import KeptVerdicts
from simulation.kraft import NO_LEADER, Key, Partition
from simulation.leaders import Leaders
from simulation.logs import Batch, Log
from simulation.loss_judge import LossJudge
from simulation.model_judge import ModelJudge
from simulation.operator import NAME, REQUEST_SECONDS
from simulation.runs import LATE_SECONDS, Runs
from simulation.unchanged_orders import GUARD_SECONDS, UnchangedOrders
from simulation.workdir_files import WorkdirFiles

# From the moment at which the controller fences a broker until every plan must know it.
FENCED_SECONDS = 0.2
BELOW_HIGH_WATERMARK = "below_high_watermark"
# Sources of upper bounds that a broker states (docs/loss.md).
FROM_STATES = "isr", "elr"


class Judges:
    """Watches a cluster from now on. `violations`: what was wrong so far.

    `saves`: runs save now what elections destroy. `elects_preferred`: a command elects preferred leaders now. `runs`: of control nodes. If a broker has
    answered one wrongly about its logs, neither what these have nor what its own election costs is judged. `files`: of the workdir.
    """

    def __init__(
        self, cluster: SimulatedCluster, workdir: Path, events: Events, model: ModelJudge, gives_up: bool, history: bool = True
    ) -> None:
        """`gives_up`: the strategy is aggressive, which waits for no broker. `history`: control nodes read the history of ISRs, which may resolve forks.

        model  judges the last run
        """
        self._cluster, self._events, self._gives_up = cluster, events, gives_up
        self.files = WorkdirFiles(workdir)
        self._holds_forks = not gives_up and not history
        self._kept_verdicts = KeptVerdicts(cluster, self.files, self.is_saved)
        self._model, self._loss = model, LossJudge(cluster)
        self.orders = ExpectedOrders(cluster, self.files)
        self._unchanged_orders = UnchangedOrders(cluster)
        self.leaders = Leaders(cluster)
        self._fenced_since: dict[int, float] = {}
        self._looked_lost_at: dict[int, float] = {}  # when a broker that runs did so last
        # Partitions, with the leader that a plan or result chose on a fork that nothing resolved.
        self._on_forks: set[tuple[Key, int]] = set()
        # The same where logs could not be compared, for example because one starts where another has ended before.
        self._on_gaps: set[tuple[Key, int]] = set()
        # The same on evidence that says that committed records will be lost: it is elected only if an operator names the partition.
        self._in_spite_of_proof: set[tuple[Key, int]] = set()
        # Brokers whose logs the last plan knew that chose this leader of this partition.
        self._survivors: dict[tuple[Key, int], frozenset[int]] = {}
        self.violations: list[str] = []
        self.elections: list[Election] = []
        self.changes = 0
        self.requested = 0  # changes of control nodes, without what brokers carry out late
        # The same without orders that are restored.
        self.own_changes: list[Change] = []
        self.own_elected: list[Key] = []
        self.unnamed: set[Key] = set()  # partitions that operators do not name, although they name others
        self.runs = Runs(cluster.world)
        self.misled_elections = 0  # by runs that got wrong answers
        self.elects_preferred = False
        self.disks_read_at: dict[int, float] = {}  # when the disks of brokers became evidence
        self._needed_verdicts: set[int] = set()  # of brokers that had records which a leader lacked
        self.saves = True
        self.left_by_killed = set[Path]()  # temporary files of control nodes that were killed
        self._lost_before = frozenset[str]()  # of the partition that is about to be changed
        self._seen = len(cluster.destroyed)
        cluster.after_new_topic = self._forget
        cluster.before_change = self._look_before
        cluster.before_config = lambda _resource, _operations: self.count_change()
        cluster.after_election = self._look_after

    def watch(self) -> None:
        """Note which brokers are fenced or look lost now, and which partitions can get no order. Called again and again."""
        self._unchanged_orders.watch()
        for broker in self._cluster.brokers:
            if self._cluster.controller.alive(broker):
                self._fenced_since.pop(broker, None)
            else:
                self._fenced_since.setdefault(broker, self._cluster.world.now)
            if self._cluster.brokers[broker].looks_lost:
                self._looked_lost_at[broker] = self._cluster.world.now

    def has_looked_lost(self, broker: int, since: float) -> bool:
        """Return whether a broker has run at some time since then, and no control node could know that."""
        return self._looked_lost_at.get(broker, -math.inf) >= since

    def _forget(self, key: Key) -> None:
        """Forget a partition whose topic was deleted and created again: it has another order, and no election concerns it yet."""
        self.orders.forget(key)
        self.elections = [one for one in self.elections if one.key != key]
        for chosen in (self._on_forks, self._on_gaps, self._in_spite_of_proof):
            chosen -= {one for one in chosen if one[0] == key}

    def _look_before(self, what: str, key: Key, order: tuple[int, ...]) -> None:
        self.count_change()
        self._lost_before = frozenset(self._loss.lost_before[key])
        if self._events.acts_for_others:
            self.orders.note_others(what, key, order)
            return
        self.requested += not self._cluster.world.late
        self.watch()
        if self.elects_preferred:
            return
        since = self.leaders.had_since(key)
        restores = what == "reorder" and order in self.orders.allowed(key)
        if not restores and not self._cluster.world.late:
            self.own_changes.append(Change(what, key, self._cluster.controller.fenced(), self._cluster.alive()))
        if key in self.unnamed and not restores and not self.runs.has_named(key):
            self.add_violation(f"{what} of {name(key)}, which is not named, although others are")
        if since is not None and not restores and self._cluster.world.now - since > self._unseen_seconds():
            self.add_violation(f"{what} of {name(key)}, which has had a leader for {self._cluster.world.now - since:.1f} s")
        if what == "reorder" and not restores and order not in self.files.open_orders().get(key, []):
            self.add_violation(f"{name(key)} gets the order {order}, which no journal has")
        if what == "reorder":
            self.orders.note_own(key)

    def count_change(self) -> None:
        """Count a change of the cluster that is about to be made."""
        self.changes += 1

    def _unseen_seconds(self) -> float:
        """Return for how long a leader, an order or the loss of a broker need not be known to the run that has sent the request of now."""
        return LATE_SECONDS if self._cluster.world.late else GUARD_SECONDS + self._unanswered_seconds()

    def _unanswered_seconds(self) -> float:
        """Return for how long what brokers have learnt need not be known to the run that has sent the request of now, although it has asked right before."""
        # A broker that hangs carries out what it has if it goes on before the connection is closed.
        on_the_way = REQUEST_SECONDS if self._events.slowed else SENT_SECONDS
        return on_the_way + self._cluster.metadata_seconds[1]

    def _is_unread(self, broker: Broker) -> bool:
        """Return whether the run that has sent the request of now need not know that the log of a broker can be read.

        It came back a short time ago, or it hangs since before it has opened its port: then it looks as if it did not run. Or it is fenced and throttles its
        clients: a run waits for the answers of fenced brokers for a short time only, and `aggressive` gives up what such a broker holds.
        """
        if broker.hangs and not broker.has_open_port:
            return True
        if self._gives_up and self._cluster.client_quotas.rate is not None and not self._cluster.controller.alive(broker.node_id):
            return True
        world = self._cluster.world
        asked_at = world.requested_at if world.late else world.now
        is_known = broker.unfenced_at >= broker.started_at and asked_at - broker.unfenced_at > self._unanswered_seconds()
        return not is_known and asked_at - broker.started_at < GUARD_SECONDS + self._unanswered_seconds()

    def _is_out_of_reach(self, broker: Broker, key: Key, leader: int) -> bool:
        """Return whether control nodes do not reach a broker, and did not when the election was planned: `aggressive` gives up what it holds."""
        known = self._survivors.get((key, leader))
        return self._gives_up and broker.unreachable and known is not None and broker.node_id not in known

    def _look_after(self, key: Key, before: Partition, after: Partition) -> None:
        if after.leader == NO_LEADER or after.epoch == before.epoch or self._events.acts_for_others or self.elects_preferred:
            return
        self.own_elected += [] if self._cluster.world.late else [key]
        self.misled_elections += self.runs.is_misled()
        liars, is_named = self.runs.liars(), self.runs.has_named(key)
        if after.leader in liars or self._is_of_unknown_order(key):
            self._cluster.give_up_committed(key, self._cluster.brokers[after.leader].logs.get(key, Log()))
            return
        if self._events.calm and self.runs.are_working() and not is_named and not self._cluster.world.late:
            other = self._model.other_leader(key, before, after.leader, dict(self._on_disks(key, before)))
            if other is not None:
                self.add_violation(f"{name(key)}: {other}")
        brokers = self._cluster.brokers
        returning = [
            one
            for one in (*before.isr, *before.elr)
            if brokers[one].running
            and brokers[one].is_registering
            and brokers[one].known_to_come_at <= self._cluster.quorum_read_at
            and self._cluster.is_heard(brokers[one])  # how long one stays fenced that is cut off is not known
            and key in brokers[one].logs
        ]
        if returning and not self._gives_up and not is_named and not self._cluster.world.late:
            self.add_violation(
                f"broker {after.leader} is elected for {name(key)} while broker {returning[0]}, a clean leader, is coming back"
            )
        # A request that a broker carries out late elects another one if the one that was designated is fenced by then. It was to keep its records.
        designated = after.replicas[0] if self._cluster.world.late and not self._cluster.controller.alive(after.replicas[0]) else None
        logs = {
            one: brokers[one].logs[key].copy()
            for one in after.replicas
            if one not in (*liars, designated)
            and brokers[one].running
            and not self._is_unread(brokers[one])
            and not self._is_out_of_reach(brokers[one], key, after.leader)
            and key in brokers[one].logs
            and self._cluster.world.now - self._looked_lost_at.get(one, -math.inf) > self._unseen_seconds()
            and (self._cluster.controller.alive(one) or brokers[one].answers_fenced or not self._gives_up)
        }
        leader = brokers[after.leader]
        elected = leader.logs.get(key) or leader.disks.kept.get(key, Log())
        electable = frozenset(one for one in logs if self._cluster.controller.alive(one))
        read_at = {one: self._cluster.read_at.get((one, key), -math.inf) for one in logs}
        committed = dict(self._cluster.committed.get(key, {}))
        if self._cluster.world.now - leader.started_at < self._unseen_seconds():
            # It was read before it crashed, and lost the end of its log.
            committed = {one: batch for one, batch in committed.items() if one not in self._cluster.lost_ends.get(key, ())}
        self._look_for_verdicts(key, after, elected)
        self.elections.append(
            Election(
                key, after.epoch, after.leader, logs, elected.copy(), read_at, electable, committed, self.saves, is_named, self._lost_before
            )
        )
        # The log of a fenced broker may resolve a fork, too.
        if self._holds_forks and not is_named and not any(one.answers_fenced for one in brokers.values()):
            self._look_for_forks(self.elections[-1])

    def _is_of_unknown_order(self, key: Key) -> bool:
        """Return whether the run that has requested the election of now could not know which replica it would take: Kafka's requests have no condition."""
        if self.orders.is_unseen(key) or self.orders.seconds_since_change(key) < self._unseen_seconds():
            return True  # it elects the first replica of another tool's order
        requested_at = self._cluster.world.requested_at
        has_led_since = self.leaders.lost_at(key) > requested_at
        return self._cluster.world.late and (has_led_since or self._unchanged_orders.includes(key, requested_at))

    def _look_for_verdicts(self, key: Key, after: Partition, elected: Log) -> None:
        """Lost brokers with records that the elected one lacks are known not to be safe to start: control nodes have said so in a file before."""
        for one in after.replicas:
            broker, since = self._cluster.brokers[one], self._fenced_since.get(one, math.inf)
            lacking = [batch for batch in broker.logs.get(key, Log()).batches if not elected.has(batch)]
            is_lost = (not broker.running or broker.looks_lost) and self._cluster.world.now - since > self._unseen_seconds()
            if not (lacking and is_lost):
                continue
            self._needed_verdicts.add(one)
            if self.files.is_unsafe(one):
                if not broker.running:
                    self._kept_verdicts.note(one, key, lacking[0])
                continue
            if self.files.damaged == self.files.verdict(one):
                self.files.needs_damaged = True
            else:
                self.add_violation(
                    f"{name(key)} is elected without broker {one}, which has {lacking[0].name}, and no file says that it is not safe to start"
                )

    def verdicts_of_lost_brokers(self) -> list[Path]:
        """Return the verdicts of earlier runs that elections of now need: on brokers that are down and have records which no replica has that runs."""
        wanted = set[int]()
        for key in self._cluster.without_leader():
            logs = {one: self._cluster.brokers[one].logs.get(key, Log()) for one in self._cluster.controller.partitions[key].replicas}
            live = [log for one, log in logs.items() if self._cluster.brokers[one].running]
            down = {one: log for one, log in logs.items() if not self._cluster.brokers[one].running}
            wanted |= {one for one, log in down.items() if any(not any(other.has(batch) for other in live) for batch in log.batches)}
        return [file for file in map(self.files.verdict, sorted(wanted)) if file.exists()]

    @contextmanager
    def keeps_verdicts(self) -> Iterator[None]:
        """Judge the block, in which a control node loses power: what an election needed was on its disk before."""
        unsafe = [broker for broker in sorted(self._needed_verdicts) if self.files.is_unsafe(broker)]
        yield
        for broker in unsafe:
            if not self.files.is_unsafe(broker):
                self.add_violation(f"power is lost after an election, and no file says any more that broker {broker} is not safe to start")

    def _look_for_forks(self, election: Election) -> None:
        for broker, log in election.logs.items():
            lacking = [batch for batch in log.batches if election.destroys(broker, batch)]
            if lacking:
                self.add_violation(
                    f"broker {election.leader} is elected for {name(election.key)} and lacks {lacking[0].name}, which broker {broker} has"
                )

    def judge_plan(self, plan: dict[str, Any]) -> None:
        """A plan bounds what is lost, and holds no partition because of a broker that is fenced, if nothing else was slow. `plan`: just made."""
        self.note_evidence(plan["partitions"])
        for row in plan["partitions"]:
            known = frozenset(one["broker_id"] for one in row["guards"]["survivors"])
            self._survivors[(row["topic"], row["partition"]), row["designatedLeader"]] = known
        for row in (*plan["partitions"], *plan["held"]):
            leader = row["designatedLeader"] if "designatedLeader" in row else row["candidate"]
            key = row["topic"], row["partition"]
            if leader is None or key not in self._cluster.without_leader():
                # A leader since the evidence was collected may have committed more.
                continue
            if not self.runs.liars().isdisjoint(self._cluster.controller.partitions[key].replicas):
                continue
            if row["loss"]["upper_bound_from"] in FROM_STATES and self.runs.is_misstated():
                continue
            if (violation := self._loss.violation(key, leader, row["loss"])) is not None:
                self.add_violation(f"{name(key)} {violation}")
        if self._events.slowed:
            return
        unfenced = {row["broker_id"] for row in plan["brokers"] if row["broker_state"] == "unfenced"}
        for row in plan["held"]:
            key = row["topic"], row["partition"]
            for broker in self._cluster.controller.partitions[key].replicas if row["reason_code"] == "incomplete" else ():
                since = self._fenced_since.get(broker, self._cluster.world.now)
                if broker in unfenced and not self._cluster.brokers[broker].running and self._cluster.world.now - since > FENCED_SECONDS:
                    self.add_violation(
                        f"{name(key)} is held for broker {broker}, which was fenced {self._cluster.world.now - since:.1f} s before"
                    )

    def judge_end(self, result: dict[str, Any]) -> None:
        """Judge a run that has ended without an error. `result`: of its election."""
        self.note_evidence(result["results"])
        self.violations += self._kept_verdicts.missing()
        damaged = self.files.damaged
        if damaged is not None and self.files.needs_damaged and not any(damaged.name in one for one in result["warnings"]):
            self.add_violation(f"{damaged.name} was damaged before an election that needed it, and the run does not warn of it")
        said = " ".join(result["repaired"])
        for key, state in self._cluster.controller.partitions.items():
            if not self._is_settled(key, state) and key not in self.files.open_orders():
                self.add_violation(f"{name(key)} is left with the order {state.replicas}, and no journal has that; the run said {said!r}")

    def judge_undisturbed_end(self) -> None:
        """Judge a run in peace that has ended without an error: it leaves nothing for the next one."""
        # An order of another tool may be that of a run with another workdir: the product leaves it to people.
        excused = self.orders.changed_meanwhile.keys() | self._awaiting_election() | self._awaiting_unlisted() | self._unconfirmed()
        if left := self.files.open_orders().keys() - excused:
            self.add_violation(f"the journal has orders of {', '.join(map(name, left))} open")

    def judge_calm(self, result: dict[str, Any] | None) -> None:
        """Judge the end: faults have ended, and runs came to their ends. `result`: of the last one, None if it failed."""
        kept = self._awaiting_election() | self._unconfirmed()
        for key, state in self._cluster.controller.partitions.items():
            if not self._is_settled(key, state) and not (key in kept and state.replicas in self.files.open_orders().get(key, ())):
                self.add_violation(f"{name(key)} is left with the order {state.replicas} instead of {self.orders.expected[key]}")
        self.judge_undisturbed_end()
        if result is None:
            if self._cluster.controller.brokers and any(self._cluster.controller.alive(one) for one in self._cluster.brokers):
                self.add_violation("a run in peace fails")
            return
        self._judge_warnings(result.get("warnings", ()))
        rows = {(row["topic"], row["partition"]): row for row in result["results"]}
        for key, state in self._cluster.controller.partitions.items():
            if state.leader != NO_LEADER:
                continue
            if key not in rows:
                self.add_violation(f"{name(key)} has no leader, and the run says nothing of it")
            elif (violation := self._model.violation(key, state, rows[key], dict(self._on_disks(key, state)))) is not None:
                self.add_violation(f"{name(key)} {violation}")
        for election, batch in self.committed_lost():
            elected = election.key, election.leader
            is_excused = elected in self._in_spite_of_proof or (elected in self._on_forks and election.has_latest_epoch())
            on_gap = elected in self._on_gaps and any(
                log.start >= other.end for log in election.logs.values() for other in election.logs.values() if log is not other
            )
            if not (self._gives_up and (is_excused or on_gap or election.had_to_choose(batch))) and not election.is_named:
                self.add_violation(f"{batch.name} was committed and held by a survivor, and broker {election.leader}, elected, lacks it")

    def note_evidence(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Note on which evidence a plan or a result chose leaders: it excuses records that `aggressive` loses. `rows`: of partitions."""
        found = {"forked": self._on_forks, "incomplete": self._on_gaps, BELOW_HIGH_WATERMARK: self._in_spite_of_proof}
        for row in rows:
            if row["evidence"] in found:
                found[row["evidence"]].add(
                    ((row["topic"], row["partition"]), row["leader"] if "leader" in row else row["designatedLeader"])
                )

    def _is_settled(self, key: Key, state: Partition) -> bool:
        """Return whether a partition has the replicas that it must have when all runs have ended."""
        return self.orders.is_settled(key, state)

    def _on_disks(self, key: Key, state: Partition) -> Iterator[tuple[int, Log]]:
        """Yield brokers that are down, each with its log, if that is evidence from its disk."""
        for one in state.replicas:
            file = self.files.workdir / "disks" / NAME / f"{one}.jsonl"
            broker = self._cluster.brokers[one]
            is_old = self.disks_read_at.get(one, -math.inf) < broker.down_since  # it has run since, which makes it void
            logs = {} if broker.running or is_old else broker.logs | broker.disks.kept
            rows = map(json.loads, file.read_text().splitlines() if key in logs and file.exists() else ())
            if any((row.get("topic"), row.get("partition")) == key for row in rows):
                yield one, logs[key]

    def judge_truncations(self) -> None:
        """What brokers truncated that were alive when a leader was elected must have been saved. It is judged when no saved file is damaged any more."""
        if self.files.lacks_saved():
            return
        new, self._seen = self._cluster.destroyed[self._seen :], len(self._cluster.destroyed)
        for key, epoch, broker, gone in new:
            for batch in gone:
                # The leader may have changed since: what counts is who was elected without the records.
                election = next(
                    (one for one in reversed(self.elections) if one.key == key and one.epoch <= epoch and one.destroys(broker, batch)), None
                )
                if (
                    election is None
                    or not election.saves
                    or self._cluster.written_to_old.get(batch.name, -math.inf) > election.read_at[broker]
                ):
                    continue
                if not self.is_saved(key, batch):
                    self.add_violation(
                        f"broker {broker} truncated {batch.name} of {name(key)} after the election of broker {election.leader}, not saved"
                    )

    def judge_rescue(self, broker: int, since: int, given_up: Collection[Key]) -> None:
        """Judge the start of a broker that the last verdict on its disk allows: what it truncates, or others when it leads again, is saved.

        since     number of truncations before its start
        given_up  partitions that operators do without
        """
        new, self._seen = self._cluster.destroyed[since:], len(self._cluster.destroyed)
        for key, _epoch, truncated, gone in new:
            leader = self._cluster.brokers.get(self._cluster.controller.partitions[key].leader)
            for batch in gone if key not in given_up else ():
                if (leader is None or key not in leader.logs or not leader.logs[key].has(batch)) and not self.is_saved(key, batch):
                    self.add_violation(
                        f"broker {broker} was safe to start, and broker {truncated} truncated {batch.name} of {name(key)}, not saved"
                    )

    def judge_kept(self, key: Key, broker: int, batches: Sequence[Batch], why: str) -> None:
        """Judge the start of a broker: these batches, which only its disk has, are saved. `why`: what of them makes that necessary."""
        for batch in batches:
            if not self.is_saved(key, batch):
                self.add_violation(f"{batch.name} of {name(key)} on the disk of broker {broker} {why}, and is not saved")

    def is_saved(self, key: Key, batch: Batch) -> bool:
        """Return whether a part of saved records has these. Saved from another replica, they may have records that the cleaner has removed from this one."""
        written = [one.data for one in self._cluster.written.get(key, ()) if one.name == batch.name]
        return self.files.has_saved(key, (batch.data, *written))

    def _judge_warnings(self, warnings: Sequence[str]) -> None:
        """Judge whether a run in peace warns of what brokers may still carry out."""
        for key in self._awaiting_election():
            if not any(name(key) in warning and "election" in warning for warning in warnings):
                self.add_violation(f"an election of {name(key)} may still be under way, and the run does not warn of it")
        for key in self._awaiting_unlisted():
            if not any(name(key) in warning and "never answered" in warning for warning in warnings):
                self.add_violation(f"a broker may still change the order of {name(key)}, and the run does not warn of it")

    def judge_temporary_files(self) -> None:
        """Judge the end, when no run works: of files that stand for others while these are written, only control nodes that were killed leave some."""
        if left := self.files.temporary() - self.left_by_killed:
            self.add_violation(f"the temporary file {min(left).relative_to(self.files.workdir)} is left")

    def state(self, *may_be_written: str) -> tuple[int, list[str]]:
        """Return how many changes there were, and the files of the workdir, each with a digest, but for those that `WorkdirFiles.digests` leaves out."""
        return self.changes, self.files.digests(*may_be_written)

    def _awaiting_election(self) -> set[Key]:
        """Return the partitions without a leader for which the journal has an election that a killed run may have sent.

        One that a controller carries out late takes the first live replica, so they keep the order of that election.
        """
        return {key for key in self.files.open_elections() if self._cluster.controller.partitions[key].leader == NO_LEADER}

    def _awaiting_unlisted(self) -> set[Key]:
        """Return the partitions whose orders the journal has open for a broker that is down and not listed: it may hang, for all that a run can know.

        Also for an id that a broker has invented, which lies: it looks the same.
        """
        if not self._cluster.release.is_oldest:
            return set()
        return self.files.open_for_others([number for number, one in self._cluster.brokers.items() if one.running])

    def _unconfirmed(self) -> set[Key]:
        """Return the partitions that the journal has open with another order while no second broker lives, which must state the same replicas.

        The controller states none, and an order of wrong replicas would be a reassignment. An election without another order needs no second broker.
        """
        alive = [one for one in self._cluster.brokers if self._cluster.controller.alive(one)]
        return self.files.changed_orders() if len(alive) < 2 else set()

    def committed_lost(self) -> list[tuple[Election, Batch]]:
        """Return the committed records that a survivor had, and the elected one had not. To give up means to wait for no broker that is fenced."""
        return [
            (one, batch)
            for one in self.elections
            for batch in one.committed.values()
            if any(one.destroys(broker, batch) for broker in (one.electable if self._gives_up else one.logs))
        ]

    def add_violation(self, text: str) -> None:
        """Note a violation."""
        self._cluster.world.tell(f"VIOLATION: {text}")
        self.violations.append(text)


def name(key: Key) -> str:
    """Return a partition's name."""
    return f"{key[0]}-{key[1]}"
