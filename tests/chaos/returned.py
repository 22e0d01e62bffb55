"""One history whose lost disks are returned: damage, an election under a fault, rescue of every disk before its broker starts, replay, and the judge."""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import yaml
from integration.stepping import Job, Run, run_chains
from integration.support import Operator, Played, play

from chaos import history, record_judge
from chaos.disks import Held, on_disks
from chaos.faults import FAULTS, CleanLeaderReturns, DesignatedKilled, Fault, SurvivorKilled, SurvivorStopped
from chaos.history import Script, Step
from chaos.in_flight import InFlight
from chaos.judge import Violation
from chaos.keys import is_compacted
from chaos.ledger import ALL
from chaos.record_judge import Aborted, Kept
from chaos.recovery import Recovered, Recovery
from chaos.stage import Stage
from chaos.transactions import abort_hanging, unreadable
from chaos.watch import Watcher
from rig import KafkaCluster, RigError
from rig.admin import TopicPartition

RESCUE, REPLAY = "kafka_lost_disk_records", "kafka_record_replay"
STRATEGIES = ("aggressive", "balanced")
ONLINE_SECONDS = 90
# At about so many steps these modules do something that leaves the process; a run that ends before is not killed.
STEPS = {RESCUE: 30, REPLAY: 120}
MOST_KILLS = 3
NEW = 3  # records for each partition, after the election


@dataclass
class Returned:
    """What came of one history.

    `rescues`: runs for one disk each. `aborted`: partitions with a transaction that hung. `skipped`: records that replays did not write, by reason.
    """

    seed: int
    strategy: str
    story: str
    fault: str = ""
    partitions: int = 0
    elected: int = 0
    held: dict[str, int] = field(default_factory=dict)
    attempts: int = 0
    rescues: int = 0
    by_playbook: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    saved_from_disks: int = 0
    replayed: int = 0
    aborted: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    kept: Kept = field(default_factory=Kept)
    violations: list[Violation] = field(default_factory=list)
    seconds: float = 0.0
    phases: dict[str, float] = field(default_factory=dict)
    recovered: Recovered | None = None

    def document(self) -> dict[str, Any]:
        """Everything but the recovery, for JSON."""
        shown = {name: value for name, value in vars(self).items() if name != "recovered"}
        return {**shown, "kept": vars(self.kept), "violations": list(map(str, self.violations))}


class RescuingStage(Stage):
    """A stage on which no disk is started before `rescue` has read it. A broker that hangs counts as lost: it is killed first."""

    def __init__(self, cluster: KafkaCluster) -> None:
        super().__init__(cluster)
        # Saves what only this broker's disk has, and returns whether it is safe to start. None: brokers start as they are.
        self.rescue: Callable[[int], bool] | None = None
        self.in_flight: InFlight | None = None
        self._last_to_die: Step | None = None

    def begin(self, seed: int, idempotent: bool = False) -> None:
        """Let the producers of a history begin, without any rescue."""
        super().begin(seed, idempotent)
        self.rescue, self.in_flight = None, None

    def play(self, script: Script) -> None:
        """Play a script. The last broker dies while it has records that it has not acknowledged."""
        self._last_to_die = [step for step in script.steps if step.broker == script.lost][-1]
        super().play(script)

    def _do(self, step: Step, tag: str) -> None:
        if step is self._last_to_die and step.what == "kill" and self.in_flight is not None:
            topics = {state.topic for state in self.cluster.describe() if not state.topic.startswith("__")}
            own = [key for key, state in self.states(topics).items() if state.leader == step.broker]
            with self.in_flight.during(step.broker, own, tag):
                super()._do(step, tag)
        else:
            super()._do(step, tag)

    def revive(self, brokers: Collection[int]) -> None:
        """These brokers run and are unfenced, each after its rescue. One that is safe to start comes first: the others are compared with what it leads.

        If none is safe, one comes back without a leader for some of its partitions. The next rescue saves what it has there before it loses that.
        """
        cluster = self.cluster
        if self.rescue is None:
            super().revive(brokers)
            return
        for broker in brokers:
            if cluster.is_running(broker) and broker in cluster.paused():
                cluster.kill(broker)
        while down := [broker for broker in brokers if not cluster.is_running(broker) and cluster.answering()]:
            cluster.wait_fenced(down)
            safe = [broker for broker in down if self.rescue(broker)]
            super().revive((safe or down)[:1])
        super().revive(brokers)


class ReturningRunner:
    """Runs such histories one after the other on one cluster."""

    def __init__(self, stage: RescuingStage, directory: Path, spark_remote: str | None, watcher: Watcher) -> None:
        self._stage, self._directory, self._spark_remote, self._watcher = stage, directory, spark_remote, watcher

    def run(self, seed: int, fault: str = "", strategy: str = "", replays: bool = True) -> Returned:
        """Play the history of a seed and judge it. `fault`, `strategy`: instead of those that the seed draws. `replays`: False for a test of the judge."""
        began, stage = time.monotonic(), self._stage
        script, random = history.draw(seed), Random(f"returned disks of {seed}")
        names = [name for name in FAULTS if name != CleanLeaderReturns.name]
        drawn = random.choice(names), random.choice(STRATEGIES)
        # Without a broker that answers no recovery can run. "designated killed" would end the only survivor, too.
        if len(script.survivors) == 1 and drawn[0] in (SurvivorKilled.name, SurvivorStopped.name, DesignatedKilled.name):
            drawn = Fault.name, drawn[1]
        done = Returned(seed, strategy or drawn[1], str(script))
        stage.begin(seed, idempotent=True)
        stage.in_flight = InFlight(stage.cluster, stage.ledger)
        try:
            stage.play(script)
            done.phases["play"] = round(time.monotonic() - began)
            self._go_through(script, random, fault or drawn[0], done, replays)
        finally:
            stage.ledger.close()
        stage.forget(script)
        done.seconds = round(time.monotonic() - began, 1)
        return done

    def _go_through(self, script: Script, random: Random, fault: str, done: Returned, replays: bool) -> None:
        stage, seed = self._stage, script.seed
        # Of the calm topic's partitions some have one survivor, which a fault may take away: held with a reason that stands only until it is back.
        topics = [topic.name for topic in script.topics if topic.name != history.calm_topic(seed)]
        states, alive = stage.states(topics), stage.cluster.unfenced()
        keys = list(states)
        done.partitions = len(keys)
        # Kafka's own leader may be truncating these logs: what only they have is lost without an election.
        followers = {key: {*alive} - {state.leader} for key, state in states.items() if state.leader in alive}
        held = on_disks(stage.cluster, keys, followers)
        operator = Operator(stage.cluster, self._directory / f"workdir-{seed}", self._spark_remote)
        disks = _Disks(stage, operator, self._directory / f"jobs-{seed}", random, done)
        stage.rescue = disks.rescue
        options = {"strategy": done.strategy}
        recovery = Recovery(stage, self._watcher, operator, topics, options, keeps=done.strategy == "balanced")
        done.recovered = recovered = recovery.run(f"{seed}-0", FAULTS[fault](stage, self._watcher, random, script), random)
        _take(recovered, done)
        done.phases["recover"] = round(recovered.seconds)
        stage.ledger.write({key: (NEW, ALL) for key, state in stage.states(topics).items() if state.leader >= 0}, f"{seed}.new")
        assert stage.transactions is not None
        stage.transactions.end()
        assert stage.in_flight is not None
        stage.in_flight.finish()
        stage.return_disks()
        lost = [broker for broker in stage.cluster.brokers if not stage.cluster.is_running(broker)]
        if stage.cluster.answering():
            stage.cluster.wait_fenced(lost)
        if random.random() < 0.2 and lost:
            disks.rescue_by_playbook(lost)
        stage.revive(list(stage.cluster.brokers))
        stage.heal()
        try:
            stage.cluster.wait_for_partitions(topics, lambda state: len(state.isr) == len(state.replicas), "in sync", ONLINE_SECONDS)
        except RigError as problem:
            done.violations.append(Violation("not in sync although every disk is back", "", str(problem)))
            return
        began = time.monotonic()
        # A replay leaves compacted topics to the operator: an old value would replace a newer one.
        if replays:
            disks.replay([topic for topic in topics if not is_compacted(topic)])
        done.phases["replay"] = round(time.monotonic() - began)
        keys = [key for key in keys if not is_compacted(key[0])]
        for key in unreadable(stage.cluster, keys):
            abort_hanging(stage.cluster, key)
            done.aborted += 1
        self._judge(keys, held, disks.aborted, done)

    def _judge(self, keys: Sequence[TopicPartition], held: Held, since: Mapping[TopicPartition, set[Aborted]], done: Returned) -> None:
        cluster, promises = self._stage.cluster, self._stage.ledger.promises
        aborted = self._stage.transactions.aborted if self._stage.transactions else set()
        written, read = on_disks(cluster, keys), cluster.read_many(keys)
        for key in keys:
            got = [value for _offset, value in read[key]]
            done.violations += record_judge.judge(key, promises[key], held[key], written[key], got, done.kept, since.get(key, ()))
            if wrong := aborted.intersection(got):
                done.violations.append(
                    Violation("records of aborted transactions are read", f"{key[0]}-{key[1]}", f"{len(wrong)}, for example {min(wrong)}")
                )


def _take(recovered: Recovered, done: Returned) -> None:
    done.fault = f"{recovered.fault}: {recovered.story or 'did not strike'}"
    done.elected, done.attempts = len(recovered.elected), recovered.attempts
    done.held = dict(Counter(recovered.held.values()))
    done.violations += recovered.violations


class _Disks:
    """Rescues the disks of one history, and replays what is saved. Some of these runs are killed, and run again."""

    def __init__(self, stage: RescuingStage, operator: Operator, folder: Path, random: Random, done: Returned) -> None:
        self._stage, self._operator, self._folder, self._random, self._done = stage, operator, folder, random, done
        self._jobs = 0
        # What replays have named as committed and then aborted.
        self.aborted: defaultdict[TopicPartition, set[Aborted]] = defaultdict(set)

    def rescue(self, broker: int) -> bool:
        """Save what only this disk has, and return whether its broker is safe to start.

        If it is not, that is a violation, unless partitions only lack a leader to compare with.
        """
        self._done.rescues += 1
        # An operator may save to the folder of the election, or to another one.
        run_id = self._random.choice((f"{self._done.seed}-0", f"{self._done.seed}-rescue"))
        log_dirs = [str(path) for path in self._stage.cluster.brokers[broker].log_dirs]
        params = {
            **self._operator.files(run_id),
            "log_dirs": log_dirs,
            "broker_id": broker,
            "give_up_partitions": self._never_there(broker),
        }
        safe = False
        for result in self._runs(RESCUE, params):
            safe = result["safe_to_start"]
            self._done.saved_from_disks += result["counts"]["offsets"]
            without_leader = result["counts"]["no_leader"] > 0 and len(result["reasons"]) == 1
            if not safe and not without_leader:
                of_rows = {row["reason"] for row in result["partitions"] if row["saved"] is False and row["reason"]}
                self._done.violations.append(
                    Violation("a disk is not safe to start", f"broker {broker}", "; ".join([*result["reasons"], *of_rows]))
                )
        return safe

    def _never_there(self, broker: int) -> list[dict[str, Any]]:
        """Partitions of internal topics without a log on this broker's disk: it was down already when they were created."""
        log_dirs = self._stage.cluster.brokers[broker].log_dirs
        internal = [state for state in self._stage.cluster.describe() if state.topic.startswith("__") and broker in state.replicas]
        return [
            {"topic": state.topic, "partition": state.partition}
            for state in internal
            if not any((log_dir / f"{state.topic}-{state.partition}").exists() for log_dir in log_dirs)
        ]

    def rescue_by_playbook(self, lost: Sequence[int]) -> None:
        """The same with the playbook. What it calls safe to start is started, and it runs again for the others: they were compared with no leader."""
        left, said = [*lost], ""
        while left:
            played = self._play_rescue(left)
            if played.returncode == 0:
                return
            said = played.said
            safe = [broker for broker in left if f"broker {broker} (disk-{broker}) is safe to start" in said]
            if not safe:
                break
            self._stage.revive(safe)
            left = [broker for broker in left if broker not in safe]
        # Without a leader for some partitions it says that these brokers are not safe to start.
        if left and not self._done.held:
            self._done.violations.append(Violation("the playbook rescue fails", "", said[-2000:]))

    def _play_rescue(self, lost: Sequence[int]) -> Played:
        path = self._operator.inventory()
        content = yaml.safe_load(path.read_text())
        hosts = {
            f"disk-{broker}": {
                "ansible_connection": "local", "ansible_python_interpreter": "{{ ansible_playbook_python }}",
                "kafka_cluster": self._operator.name, "kafka_broker_id": broker,
                "kafka_log_dirs": [str(path) for path in self._stage.cluster.brokers[broker].log_dirs],
                "kafka_give_up_partitions": self._never_there(broker),
            }
            for broker in lost
        }  # fmt: skip
        path.write_text(yaml.safe_dump({**content, "kafka_brokers": {"hosts": hosts}}))
        self._done.by_playbook += 1
        run_id = f"{self._done.seed}-playbook-{self._done.by_playbook}"
        variables = {"kafka_recovery_workdir": str(self._operator.workdir), "kafka_recovery_run_id": run_id}
        return play("streamops.kafka_recovery.rescue", path, variables=variables)

    def replay(self, topics: Sequence[str]) -> None:
        """Replay what every run has saved, in any order, then once more. Then nothing changes, but for transactions that are decided since."""
        undecided = Counter[str]()
        run_ids = sorted(path.parent.name for path in (self._operator.workdir / "saved").glob(f"*/{self._operator.name}"))
        self._random.shuffle(run_ids)
        for run_id in run_ids:
            params = {**self._operator.files(run_id), "topics": [*topics], "allow_replay": True}
            for result in self._runs(REPLAY, params):
                self._done.replayed += result["counts"]["replayed"] + result["counts"]["already_there"]
                self._done.skipped.update(result["counts"]["skipped"])
                undecided[run_id] = result["counts"]["skipped"].get("undecided", 0)
                for row in result["partitions"]:
                    self.aborted[row["topic"], row["partition"]] |= {
                        Aborted(marker["producer_id"], marker["start_offset"], marker["abort_offset"])
                        for marker in row["markers"]
                        if marker["abort_offset"] is not None
                    }
                    if row["left"] or row["unreadable"]:
                        place = f"{row['topic']}-{row['partition']}"
                        self._done.violations.append(Violation("saved records are not replayed", place, json.dumps(row)))
        for run_id in run_ids:
            again = self._operator.ask(REPLAY, **self._operator.files(run_id), topics=[*topics], allow_replay=True)
            decided = undecided[run_id] - again["counts"]["skipped"].get("undecided", 0)
            if again["changed"] and again["counts"]["replayed"] > decided:
                self._done.violations.append(Violation("the second replay says changed", run_id, json.dumps(again["counts"])))

    def _runs(self, module: str, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Run a module to its end, and kill some runs before. Return the last result, nothing if it failed, which is a violation."""
        kills = self._random.choice((0, 0, 1, MOST_KILLS))
        arguments = {**self._operator.connection, **params}
        chain = [self._job(module, arguments, self._random.randint(1, STEPS[module])) for _ in range(kills)]
        (runs,) = run_chains([[*chain, self._job(module, arguments, None)]])
        last: Run = runs[-1]
        self._done.kills[module] += sum(run.returncode == -9 for run in runs)
        for run in runs:
            if run.returncode not in (0, -9) or "Traceback" in run.stderr:
                self._done.violations.append(Violation("a module fails", module, f"{run.returncode}: {run.msg} {run.stderr[-1000:]}"))
        return [last.result] if last.returncode == 0 else []

    def _job(self, module: str, arguments: Mapping[str, Any], stop_at: int | None) -> Job:
        self._jobs += 1
        return Job(module, dict(arguments), str(self._folder / str(self._jobs)), str(self._operator.workdir), stop_at)
