"""One recovery under one fault: collect, plan, elect, as Ansible would; then again until all is calm; with every judge looking on."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

from integration.support import Answer, Operator, by_partition

from chaos import judge
from chaos.faults import COLLECTING, ELECTING, Fault
from chaos.history import BROKERS
from chaos.hook import PLANNING
from chaos.judge import Violation
from chaos.keys import missing
from chaos.ledger import ALL, Acknowledged
from chaos.logs import Log, Logs, end, survey, values
from chaos.stage import Stage
from chaos.watch import Moment, Seen, Watcher
from rig import PartitionState
from rig.admin import TopicPartition
from rig.cluster import POLL_SECONDS

# Small, for a fault shall not cost minutes; large enough for a busy machine.
OPTIONS = {"request_timeout": 4}
DURATION = 12.0
MOST_OFFLINE = len(BROKERS)  # the operator knows that these brokers are lost
ATTEMPTS = 5
REPLAY_SECONDS = 15.0
PLAYBOOK_SECONDS = 20.0  # a run of the playbook takes about so long
DETECTING = "kafka_partition_info"


class Bounds(NamedTuple):
    """The loss that a plan stated, and how many of the records that all in-sync replicas had acknowledged (or a consumer had read) were lost."""

    lower: int | None
    upper: int | None
    upper_from: str
    lost: int


@dataclass
class Attempt:
    """What one run of the modules came to. `results`: what the election said, by partition."""

    results: dict[TopicPartition, dict[str, Any]] = field(default_factory=dict)
    changed: bool = False
    warnings: list[str] = field(default_factory=list)
    killed: bool = False
    refused: str = ""  # which module failed, with its words
    seen: Seen = field(default_factory=Seen)
    moments: list[Moment] = field(default_factory=list)  # of elections that were not watched


@dataclass
class Recovered:
    """How a recovery went.

    `elected`: who was elected by us, and who was alive then, by partition; `evidence`: on what; `bounds`: of each election's loss. `seconds`: from the
    end of detection to the end of recovery.
    """

    fault: str
    by_playbook: bool = field(default=False, kw_only=True)
    story: str = ""
    partitions: list[TopicPartition] = field(default_factory=list)
    elected: dict[TopicPartition, tuple[int, frozenset[int]]] = field(default_factory=dict)
    held: dict[TopicPartition, str] = field(default_factory=dict)
    outcomes: Counter[str] = field(default_factory=Counter)
    refusals: list[str] = field(default_factory=list)
    attempts: int = 0
    killed: int = 0
    seconds: float = 0.0
    before: Logs = field(default_factory=dict)
    violations: list[Violation] = field(default_factory=list)
    evidence: dict[TopicPartition, str] = field(default_factory=dict)
    bounds: list[Bounds] = field(default_factory=list)


class Recovery:
    """Recovers some topics of a damaged cluster."""

    def __init__(
        self,
        stage: Stage,
        watcher: Watcher,
        operator: Operator,
        topics: Sequence[str],
        options: Mapping[str, str] | None = None,
        keeps: bool = True,
        by_playbook: bool = False,
    ) -> None:
        """`options`: of the plan, strategy balanced where nothing is said. `keeps`: what survivors hold must not be lost.

        `by_playbook`: recover with the playbook, whose requests are not watched. The second run, which must change nothing, is always watched.
        """
        self._stage, self._watcher, self._operator = stage, watcher, operator
        self._by_playbook = by_playbook
        self._options, self._keeps = dict(options or {"strategy": "balanced"}), keeps
        self._topics = list(topics)
        self._all = sorted({state.topic for state in stage.cluster.describe() if not state.topic.startswith("__")})
        self._first = self._states(self._all)
        self._logs: Logs = {}
        self._rows: dict[TopicPartition, dict[str, Any]] = {}  # of the plan that was made last
        self._lost: dict[TopicPartition, set[str]] = {}  # values that elections have lost

    def run(self, run_id: str, fault: Fault, random: Random) -> Recovered:
        """Let the fault strike, end it, and go on until everything is online or held for a reason that stands; then once more."""
        done = Recovered(fault.name, by_playbook=self._by_playbook)
        done.violations += self._detect()
        began = time.monotonic()
        done.partitions = [key for key, state in self._states(self._topics).items() if state.leader < 0]
        done.before = self._look(done.partitions)
        self._recover_internal_topics(run_id)
        fault.begin()
        last = self._attempt(run_id, fault, done)
        if fault.lasting and random.random() < 0.5:
            last = self._attempt(f"{run_id}-meanwhile", fault, done, strike=False)
        fault.end()
        done.story = fault.story
        # A killed run is begun again under its own name, over whatever it left; another one collects again.
        again = run_id if last.killed else f"{run_id}-1"
        # What is held while a survivor is away may not be held once it is back.
        results = {} if fault.lasting else last.results
        while True:
            open_ends = judge.settled(self._states(done.partitions), results)
            if not (open_ends or self._journalled()) or done.attempts == ATTEMPTS + 1:
                break
            self._recover_internal_topics(again)
            last = self._attempt(again, fault, done, strike=False)
            results = last.results
            again = f"{run_id}-{done.attempts}"
        done.seconds = time.monotonic() - began
        done.violations += [
            Violation("neither online nor held for a reason that stands", judge.name(key), text) for key, text in open_ends.items()
        ]
        led = {key for key, state in self._states(done.partitions).items() if state.leader >= 0}
        held = {key: row for key, row in last.results.items() if row["outcome"] == "held" and key not in led}
        done.held = {key: str(row["reason_code"]) for key, row in held.items()}
        self._judge_the_end(run_id, fault, done)
        return done

    def _recover_internal_topics(self, run_id: str) -> None:
        """Recover internal topics first, as a run of the playbook does: while __consumer_offsets is offline no fork is decided."""
        named = [
            {"topic": state.topic, "partition": state.partition}
            for state in self._stage.cluster.describe()
            if state.topic.startswith("__") and state.leader < 0
        ]
        if named:
            files = self._operator.files(f"{run_id}-internal")
            self._operator.ask(COLLECTING, **files, partitions=named)
            self._operator.plan(f"{run_id}-internal", strategy="aggressive")
            self._operator.apply(f"{run_id}-internal", max_offline_brokers=MOST_OFFLINE)

    def _judge_the_end(self, run_id: str, fault: Fault, done: Recovered) -> None:
        journalled = self._journalled()
        now = self._replayed()
        done.violations += judge.same_orders(self._first, now)
        done.violations += judge.nothing_left(self._operator.workdir, done.killed, journalled)
        extra = Recovered(fault.name, partitions=done.partitions)
        second = self._attempt(f"{run_id}-second", fault, extra, strike=False, by_playbook=False)
        done.violations += extra.violations
        done.violations += judge.changed_nothing(second.changed, second.seen.writing, now, self._states(self._all))
        if second.refused:
            done.violations.append(Violation("the second run fails", "", second.refused))

    def _detect(self) -> list[Violation]:
        """What an operator begins with: which partitions have no leader. It must name exactly those."""
        answer = self._ask(DETECTING, {"state": "offline"})
        said = {(row["topic"], row["partition"]) for row in answer.result.get("partitions", ())}
        offline = {key for key, state in self._states(self._all).items() if state.leader < 0}
        wrong = sorted(judge.name(key) for key in said ^ offline if not key[0].startswith("__"))
        return [Violation("detection is wrong", ", ".join(wrong), str(answer.msg))] if wrong or answer.msg else []

    def _attempt(self, run_id: str, fault: Fault, done: Recovered, strike: bool = True, by_playbook: bool | None = None) -> Attempt:
        """Collect, plan, elect, each in a process of its own or all by the playbook; judge what came of it."""
        before, attempt, began = self._states(self._all), Attempt(), time.monotonic_ns()
        logs = self._look([key for key in done.partitions if before[key].leader < 0])
        self._watcher.take()
        try:
            if self._by_playbook if by_playbook is None else by_playbook:
                self._playbook(run_id, fault, attempt, done, strike)
            else:
                self._modules(run_id, fault, attempt, done, strike)
        finally:
            attempt.seen = self._watcher.take(attempt.moments)
        if not self._stage.cluster.answering():
            fault.end()  # it has taken the only survivor, and without a broker nobody tells the state of the cluster
        done.attempts += 1
        done.killed += attempt.killed
        done.outcomes.update(row["outcome"] for row in attempt.results.values())
        if attempt.refused:
            done.refusals.append(attempt.refused)
        journalled = self._journalled()
        after = self._replayed(journalled)
        done.violations += judge.same_orders(self._first, after, journalled)
        if attempt.results:
            done.violations += judge.says_what_is_left(journalled, attempt.warnings)
        written = set().union(*attempt.seen.writing.values())
        done.violations += judge.left_alone(before, after, written, fault.touched)
        for moment in attempt.seen.moments:
            done.violations += judge.left_alone(moment.states, after, moment.partitions, fault.touched)
            for key in moment.partitions:
                self._judge_election(key, moment.alive, after[key], logs, done, began)
        return attempt

    def _judge_election(
        self, key: TopicPartition, alive: frozenset[int], state: PartitionState, logs: Logs, done: Recovered, began: int
    ) -> None:
        # An elected broker that died at once is the only one that could lead without loss.
        last = {state.leader} if state.leader >= 0 else state.clean_candidates
        elected = next(iter(last)) if len(last) == 1 else None
        held = {broker: log for broker, log in logs.get(key, {}).items() if broker in alive or broker == elected}
        if elected is None or elected not in held or elected in self._first[key].clean_candidates:
            self._stage.ledger.operations.give_up(key)
            return
        row = self._rows.get(key, {})
        done.elected[key] = elected, frozenset(held)
        done.evidence[key] = row.get("evidence", "prefix")
        promises = self._stage.ledger.promises[key]
        if self._keeps:
            done.violations += judge.keeps_what_survivors_held(key, elected, held, promises, done.evidence[key])
        lost, most_lost = self._lost.setdefault(key, set()), None
        if row and elected == row["designatedLeader"]:
            unflushed, ended = self._stage.unflushed.get(key, set()), self._stage.ended(key)
            done.violations += judge.within_bounds(key, row, held[elected], logs[key].values(), promises, lost, unflushed, ended)
            promised = {value for value, promise in promises.items() if promise.acks == ALL}
            acknowledged = missing(promised, values(held[elected])) - lost - unflushed
            loss, most_lost = row["loss"], row["loss"]["upper_bound"]
            done.bounds.append(Bounds(loss["lower_bound"], loss["upper_bound"], loss["upper_bound_from"], len(acknowledged)))
        cut = parted(held[elected], {value: promise for value, promise in promises.items() if promise.acks == ALL and value not in lost})
        self._stage.ledger.operations.recovered(key, began, cut, most_lost)
        lost |= missing(promises, values(held[elected]))

    def _modules(self, run_id: str, fault: Fault, attempt: Attempt, done: Recovered, strike: bool) -> None:
        files = self._operator.files(run_id)
        named = [{"topic": topic, "partition": number} for topic, number in sorted(done.partitions)]
        collected = self._run(COLLECTING, {**files, "partitions": named, "duration": DURATION}, attempt, done)
        if collected is None:
            return
        spark = {"spark_remote": self._operator.spark_remote} if self._operator.spark_remote else {}
        params = {"workdir": files["workdir"], "run_id": run_id, "clusters": [files["cluster"]], **self._options, **spark}
        if self._run(PLANNING, params, attempt, done, connected=False) is None:
            return
        plan = self._operator.read("plans", run_id)
        self._rows = by_partition(plan["partitions"])
        if strike:
            fault.between(lambda: plan)
        options = {
            "plan": str(self._operator.path("plans", run_id)),
            "allow_data_loss": True,
            "duration": DURATION,
            "preview": 10_000,
            "max_offline_brokers": MOST_OFFLINE,
        }
        elected = self._run(ELECTING, {**files, **options}, attempt, done)
        if elected is not None:
            attempt.results = by_partition(elected.result["results"])
            attempt.changed = bool(elected.result["changed"])
            attempt.warnings = [str(warning) for warning in elected.result.get("warnings", ())]

    def _playbook(self, run_id: str, fault: Fault, attempt: Attempt, done: Recovered, strike: bool) -> None:
        before, alive = self._states(self._all), self._alive()
        named = [{"topic": topic, "partition": number} for topic, number in sorted(done.partitions)]
        timer = threading.Timer(fault.random.uniform(1, PLAYBOOK_SECONDS) if strike else 0, fault.strike if strike else str)
        timer.start()
        options: dict[str, Any] = {**self._options, "allow_data_loss": True, "partitions": named, "max_offline_brokers": MOST_OFFLINE}
        played = self._operator.play("recover", run_id, **options)
        timer.join()
        done.violations += judge.speaks("recover", played.returncode, played.said, "")
        if self._operator.path("plans", run_id).exists():
            self._rows = by_partition(self._operator.read("plans", run_id)["partitions"])
        if not self._operator.path("results", run_id).exists():
            attempt.refused = f"recover: {played.said[-1000:]}"
            return
        attempt.results = by_partition(self._operator.read("results", run_id)["partitions"])
        attempt.warnings = [played.said]
        elected = tuple(key for key, row in attempt.results.items() if row["outcome"] == "elected")
        attempt.changed = bool(elected)
        if elected:
            # A broker that the fault has taken away may have been alive or not.
            attempt.moments.append(Moment(elected, frozenset(alive & self._alive() - fault.touched), before))

    def _alive(self) -> set[int]:
        cluster = self._stage.cluster
        if not cluster.answering():
            return cluster.paused()
        return {broker for broker in cluster.unfenced() if cluster.is_running(broker)} | (cluster.paused() & cluster.brokers.keys())

    def _ask(self, module: str, params: Mapping[str, Any], connected: bool = True) -> Answer:
        """Run a module."""
        connection = {**self._operator.connection, **OPTIONS} if connected else {}
        return self._watcher.run(module, {**connection, **params})

    def _run(self, module: str, params: Mapping[str, Any], attempt: Attempt, done: Recovered, connected: bool = True) -> Answer | None:
        """Run a module of an attempt. None: it did not get to its end. An election that failed for some partitions did."""
        answer = self._ask(module, params, connected)
        done.violations += judge.speaks(module, answer.returncode, answer.msg, answer.stderr)
        attempt.killed |= answer.returncode == -signal.SIGKILL
        if answer.returncode == 0 or "results" in answer.result:
            return answer
        attempt.refused = "" if attempt.killed else f"{module}: {answer.msg}"
        return None

    def _states(self, topics: Sequence[str] | Sequence[TopicPartition]) -> dict[TopicPartition, PartitionState]:
        names = {topic if isinstance(topic, str) else topic[0] for topic in topics}
        return self._stage.states(names) if names else {}

    def _replayed(self, journalled: Collection[TopicPartition] = ()) -> dict[TopicPartition, PartitionState]:
        """The cluster as it is when the broker that is asked has replayed the last changes: a busy one lags behind. An order that really
        stayed changed does not go away by waiting."""
        deadline = time.monotonic() + REPLAY_SECONDS
        while judge.same_orders(self._first, states := self._states(self._all), journalled) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        return states

    def _look(self, keys: Sequence[TopicPartition]) -> Logs:
        """The logs of all survivors that can be read now, and of the others as they were last read: no producer writes to an offline partition."""
        cluster = self._stage.cluster
        replicas = {key: self._first[key].replicas for key in keys}
        readable = cluster.unfenced() & {node.node_id for node in cluster.answering()}
        fresh = survey(cluster, readable, replicas)
        for key, logs in fresh.items():
            self._logs[key] = {**self._logs.get(key, {}), **logs}
        return {key: dict(self._logs[key]) for key in keys}

    def _journalled(self) -> set[TopicPartition]:
        """Partitions whose order the journal says is changed for now. Read with our own eyes, from the file."""
        journal = self._operator.journal
        if not journal.exists():
            return set()
        open_intents: dict[str, set[TopicPartition]] = {}
        for line in journal.read_text().splitlines():
            try:
                entry = json.loads(line)
            except ValueError:  # cut off by a kill
                continue
            if entry["kind"] == "intent":
                open_intents[entry["id"]] = {(row["topic"], row["partition"]) for row in entry["orders"]}
            elif entry["kind"] == "done":
                open_intents.pop(entry["id"], None)
        return set().union(*open_intents.values())


def parted(log: Log, promises: Mapping[str, Acknowledged]) -> int:
    """The offset from which on a log is another one than that of these promises."""
    here = {(record.offset, record.value) for record in log}
    return min((promise.offset for value, promise in promises.items() if (promise.offset, value) not in here), default=end(log))
