"""One history with everything that belongs to it: damage, Kafka's own election on twins, recoveries under faults, the way back to health."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from integration.support import Operator

from chaos import disks, history, rivals
from chaos.faults import FAULTS, CleanLeaderReturns, Fault
from chaos.history import GROUPS, TWIN, Script
from chaos.judge import Violation, name
from chaos.keys import is_compacted, missing, missing_afterwards
from chaos.ledger import ALL
from chaos.logs import Log, has_gaps, read_logs, survey, values
from chaos.recovery import OPTIONS, Recovered, Recovery
from chaos.returned import RescuingStage, Returned, ReturningRunner
from chaos.watch import Watcher
from rig import RigError, elect_unclean
from rig.admin import TopicPartition

ONLINE_SECONDS = 60
PLAYBOOK_SHARE = 0.27  # of plain histories, which is one in five of all
LEVELS = {"all": (ALL,), "1": ("1",)}
OURS, HELD, AGGRESSIVE = "ours (balanced)", "not elected by balanced", "of these by aggressive"


@dataclass
class Cost:
    """What a rule loses: acknowledged records that another survivor held, and all, by the worth of their acknowledgement."""

    partitions: int = 0
    another_held: Counter[str] = field(default_factory=Counter)
    total: Counter[str] = field(default_factory=Counter)


@dataclass
class Outcome:
    """What came of one history.

    `witnessed`: partitions whose operations porcupine has judged.
    `cleaned`: logs from which the cleaner has removed records, as recoveries found them.
    `unflushed`: partitions that lost records in power cuts; `failed`: logs on failed disks.
    """

    seed: int
    story: str = ""
    partitions: int = 0
    offline: int = 0
    acknowledged: int = 0
    recoveries: list[Recovered] = field(default_factory=list)
    aggressive: list[Recovered] = field(default_factory=list)
    costs: dict[str, Cost] = field(default_factory=dict)
    stock_checked: int = 0
    witnessed: int = 0
    cleaned: int = 0
    unflushed: int = 0
    failed: int = 0
    violations: list[Violation] = field(default_factory=list)
    seconds: float = 0.0
    phases: dict[str, float] = field(default_factory=dict)
    returned: Returned | None = None


class Runner:
    """Runs histories one after the other on one cluster."""

    def __init__(self, stage: RescuingStage, directory: Path, spark_remote: str | None) -> None:
        self._stage, self._directory, self._spark_remote = stage, directory, spark_remote
        self.watcher = Watcher(stage, directory)
        self._returning = ReturningRunner(stage, directory, spark_remote, self.watcher)

    def close(self) -> None:
        """Stop listening to modules."""
        self.watcher.close()

    def run_returned(self, seed: int) -> Outcome:
        """Play the history of a seed as one whose lost disks are returned: with rescue, replay, and every record read again."""
        done = self._returning.run(seed)
        recoveries = [done.recovered] if done.recovered else []
        offline = sum(len(recovered.partitions) for recovered in recoveries)
        acknowledged = sum(map(len, self._stage.ledger.promises.values()))
        return Outcome(
            seed,
            done.story,
            done.partitions,
            offline,
            acknowledged,
            recoveries,
            violations=done.violations,
            seconds=done.seconds,
            unflushed=len(self._stage.unflushed),
            returned=done,
        )

    def run(self, seed: int, faults: Sequence[str] = ()) -> Outcome:
        """Play the history of a seed and judge everything. `faults`: names to take instead of those that the seed draws."""
        began, stage = time.monotonic(), self._stage
        script, random = history.draw(seed), Random(f"faults of {seed}")
        chosen = list(faults) or draw_faults(random, script)
        by_playbook = draw_playbook(random, chosen)
        outcome = Outcome(seed, story=str(script))
        stage.begin(seed)
        try:
            stage.play(script)
            outcome.phases["play"] = round(time.monotonic() - began, 1)
            self._go_through(script, random, chosen, by_playbook, outcome)
        finally:
            stage.ledger.close()
        outcome.seconds = time.monotonic() - began
        return outcome

    def _go_through(self, script: Script, random: Random, chosen: Sequence[str], by_playbook: int | None, outcome: Outcome) -> None:
        stage, seed = self._stage, script.seed
        topics = [topic.name for topic in script.topics]
        states = stage.states(topics)
        offline = [key for key, state in states.items() if state.leader < 0]
        outcome.partitions, outcome.offline = len(states), len(offline)
        outcome.acknowledged = sum(len(stage.ledger.promises[key]) for key in states)
        outcome.unflushed = len(stage.unflushed)
        outcome.failed = sum(len(logs & states.keys()) for logs in map(stage.cluster.failed_logs, stage.cluster.brokers))
        compacted = disks.on_disks(stage.cluster, (key for key in states if is_compacted(key[0])))
        if seed % 2 == 0:
            self._elect_twins_by_stock(script, outcome)
        for group, fault_name in enumerate(chosen):
            fault = FAULTS[fault_name](stage, self.watcher, random, script)
            topics = history.group_topics(seed, group)
            recovery = Recovery(stage, self.watcher, self.operator(seed, group), topics, by_playbook=group == by_playbook)
            done = recovery.run(f"{seed}-{group}", fault, random)
            outcome.recoveries.append(done)
            outcome.violations += done.violations
            outcome.cleaned += sum(has_gaps(log) for key, logs in done.before.items() if is_compacted(key[0]) for log in logs.values())
            self._compare(done, outcome)
        if script.lost in script.dead and script.lost not in stage.cluster.unfenced() and random.random() < 0.6:
            self._accept_the_rest(script, random, outcome)
        began = time.monotonic()
        self._back_to_health(script, compacted, outcome)
        outcome.phases["back to health"] = round(time.monotonic() - began, 1)

    def operator(self, seed: int, part: int | str) -> Operator:
        """An operator with a workdir of their own. In two of three groups of partitions they ask the controllers for the ISR history, too."""
        cluster = self._stage.cluster
        login: dict[str, Any] = {"bootstrap_servers": cluster.bootstrap_servers.split(","), **OPTIONS}
        if isinstance(part, int) and (seed + part) % 3:
            login["controller_bootstrap_servers"] = cluster.controller_bootstrap_servers.split(",")
        return Operator(cluster, self._directory / f"workdir-{seed}-{part}", self._spark_remote, login=login)

    def _elect_twins_by_stock(self, script: Script, outcome: Outcome) -> None:
        """Kafka's own tool on the twins: does it elect whom we think, and lose what we compute?"""
        cluster, ledger = self._stage.cluster, self._stage.ledger
        twins = [topic.name for topic in script.topics if topic.name.endswith(TWIN)]
        before = {key: state for key, state in self._stage.states(twins).items() if state.leader < 0}
        logs = survey(cluster, cluster.unfenced(), {key: state.replicas for key, state in before.items()})
        before = {key: state for key, state in before.items() if logs[key]}
        if before:
            elect_unclean(cluster, before)
        with suppress(RigError):  # whom it did not elect is judged below
            cluster.wait_for_partitions(
                twins, lambda state: state.leader >= 0 or (state.topic, state.partition) not in before, "with a leader", ONLINE_SECONDS
            )
        after = self._stage.states(twins)
        for key, state in before.items():
            expected = rivals.stock(state.replicas, logs[key])
            leader = after[key].leader
            lost = missing(ledger.promises[key], values(read_logs(cluster, leader, [key])[key])) if leader > 0 else set()
            computed = rivals.cost(expected, logs[key], ledger.promises[key], ("all", "1"))[1]
            outcome.stock_checked += 1
            if (leader, len(lost)) != (expected, computed):
                text = f"Kafka's tool elected {leader} and lost {len(lost)}, computed were {expected} and {computed}"
                outcome.violations.append(Violation("the comparison is wrong", name(key), text))

    def _compare(self, done: Recovered, outcome: Outcome) -> None:
        """What other rules would have cost on the damage that this recovery found, and what ours did."""
        states = self._stage.states({topic for topic, _ in done.partitions}) if done.partitions else {}
        for key, logs in done.before.items():
            if logs:
                # All rules choose among those that were alive when we elected: no rule chooses a survivor that died meanwhile.
                elected, alive = done.elected.get(key, (None, frozenset(logs)))
                there = {broker: log for broker, log in logs.items() if broker in alive}
                for rule, choose in rivals.RULES.items():
                    self._count(outcome, rule, key, choose(states[key].replicas, there), there)
                if elected is not None:
                    self._count(outcome, OURS, key, elected, there)
                else:
                    outcome.costs.setdefault(HELD, Cost()).partitions += 1

    def _count(self, outcome: Outcome, rule: str, key: TopicPartition, elected: int, logs: Mapping[int, Log]) -> None:
        cost = outcome.costs.setdefault(rule, Cost())
        cost.partitions += 1
        for level, acks in LEVELS.items():
            another_held, total = rivals.cost(elected, logs, self._stage.ledger.promises[key], acks)
            cost.another_held[level] += another_held
            cost.total[level] += total

    def _accept_the_rest(self, script: Script, random: Random, outcome: Outcome) -> None:
        """The strategy aggressive on what balanced held: its losses are scored, its bounds and orders judged."""
        topics = [name for group in range(GROUPS) for name in history.group_topics(script.seed, group)]
        if any(state.leader < 0 for state in self._stage.states(topics).values()):
            recovery = Recovery(
                self._stage, self.watcher, self.operator(script.seed, "rest"), topics, {"strategy": "aggressive"}, keeps=False
            )
            done = recovery.run(f"{script.seed}-rest", Fault(self._stage, self.watcher, random, script), random)
            outcome.aggressive.append(done)
            outcome.violations += done.violations
            for key, (elected, _) in done.elected.items():
                self._count(outcome, AGGRESSIVE, key, elected, done.before[key])

    def _back_to_health(self, script: Script, compacted: disks.Held, outcome: Outcome) -> None:
        """Every broker comes back: now each partition has a leader, and consumers read whatever the elected leaders held.

        `compacted`: what any disk held of the partitions that are compacted, before the first election.
        """
        stage = self._stage
        stage.heal()
        topics = [topic.name for topic in script.topics]
        try:
            stage.cluster.wait_for_partitions(topics, lambda state: state.leader >= 0, "with a leader", ONLINE_SECONDS)
            stage.cluster.wait_for_partitions(topics, lambda state: len(state.isr) == len(state.replicas), "in sync", ONLINE_SECONDS)
        except RigError as problem:
            outcome.violations.append(Violation("not online although every broker is back", "", str(problem)))
            return
        # What is above a transaction that has lost its end is there, too.
        call = time.monotonic_ns()
        read = stage.cluster.read_many(stage.states(topics), isolation="read_uncommitted")
        for key, records in read.items():
            stage.ledger.operations.read(key, call, records)
        # A twin is cut by Kafka's tool, a compacted log by the cleaner, and no model of a log loses its end in a power cut.
        whole = [key for key in read if not (key[0].endswith(TWIN) or is_compacted(key[0]) or key in stage.unflushed)]
        verdicts = stage.ledger.operations.verdicts(whole)
        outcome.witnessed = len(verdicts)
        for key in (key for key, verdict in verdicts.items() if verdict == "Illegal"):
            outcome.violations.append(Violation("not the history of one log", name(key), str(stage.ledger.operations.of(key))))
        for done in (*outcome.recoveries, *outcome.aggressive):
            for key, (elected, _) in done.elected.items():
                held = values(done.before[key].get(elected, ()))
                others = {*compacted.get(key, ()), *stage.unflushed.get(key, ())}
                gone = missing_afterwards(held, {value for _, value in read[key]}, others)
                if gone:
                    text = f"consumers no longer read {len(gone)} records that broker {elected} held when it was elected, for example {min(gone)}"
                    outcome.violations.append(Violation("records are gone afterwards", name(key), text))
        stage.forget(script)


def draw_faults(random: Random, script: Script) -> list[str]:
    """One fault for each recovery of a history. The clean leader can only return to the last one: then everything is online."""
    others = [fault for fault in FAULTS if fault != CleanLeaderReturns.name]
    chosen = random.sample(others, k=GROUPS)
    if random.random() < 0.35 and script.lost in script.dead:
        chosen[-1] = CleanLeaderReturns.name
    return chosen


def draw_playbook(random: Random, faults: Sequence[str]) -> int | None:
    """Which group is recovered with the playbook, if one is: one whose fault needs no watcher. A group without any fault only if there is no other."""
    groups = [group for group, fault in enumerate(faults) if FAULTS[fault].unwatched]
    disturbed = [group for group in groups if faults[group] != Fault.name]
    return random.choice(disturbed or groups) if random.random() < PLAYBOOK_SHARE and groups else None
