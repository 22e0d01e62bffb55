# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One simulated history: a cluster is damaged, recovered while more goes wrong, left in peace, and recovered to the end. Its script decides everything."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from simulation.cluster import SESSION_SECONDS, SimulatedCluster
from simulation.command_operator import CommandOperator
from simulation.confirmed_numbers import confirmed, judge_confirmed
from simulation.damaged_files import DamagedFiles
from simulation.elected_judge import ElectedJudge
from simulation.events import Events
from simulation.judges import Judges
from simulation.kraft import Key
from simulation.later_runs import LaterRun
from simulation.limits_judge import LimitsJudge
from simulation.login_judge import LoginJudge
from simulation.logins import ALTER
from simulation.lost_names import LOST_BROKERS, with_lost_brokers
from simulation.model_judge import ModelJudge
from simulation.operator import Operator, simulated
from simulation.other_commands import OtherCommands
from simulation.plan_changes import PlanChanges
from simulation.power_loss import DurableFiles
from simulation.refused_plans import RUN, named_leaders, refused_plans
from simulation.rehearsal import Rehearsal, judge_list
from simulation.report_judge import ReportJudge
from simulation.request_script import NO_REQUEST, RequestScript
from simulation.rescue import Rescue
from simulation.runs_with_wrong_answers import RunsWithWrongAnswers
from simulation.script import LONG_HANG, Script
from simulation.small_limits import small_limits
from simulation.snapshots import Snapshots
from simulation.steps import Step
from simulation.story_lines import elections
from simulation.verify_judge import judge_verified
from simulation.versions import RELEASES
from simulation.world import CHANGES, Process, World

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # macOS has none
RUNS = 2  # one after faults have ended, and one that must change nothing
CALM_SECONDS = 40.0
LEAST_CALM_DURATION = 3.0
WATCH_SECONDS = 0.25
PAUSE_SECONDS = 0.1
SETTLED_SECONDS = 3.0  # in which brokers that live follow a new leader
LONGEST_HANG = 16.0  # of a broker at a request that changes the cluster
MANY_PARTITIONS, MANY_EPOCHS = 8, 10


@dataclass
class Outcome:
    """What came of a history. `violations`: sentences; `story`: what happened; `counts`: of what happened, by kind."""

    violations: list[str] = field(default_factory=list)
    story: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


def play(script: Script) -> Outcome:
    """Play a history."""
    from simulation.move_history import MoveHistory
    from simulation.replay_history import ReplayHistory

    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        kind = MoveHistory if script.moves else ReplayHistory if script.replay else History
        workdir = Path(folder, "workdir")
        workdir.mkdir()
        return kind(script, workdir).play()


class History:
    """A history in which leaders are elected."""

    record_bytes = 0
    not_judged: tuple[str, ...] = ()  # requests whose answers alone tell what was done

    def __init__(self, script: Script, workdir: Path) -> None:
        self._script, self._workdir, self._world = script, workdir, World(script.seed)
        self._world.drift = script.drift
        self._cluster = SimulatedCluster(
            self._world, script.brokers, script.topics, script.min_isr, script.elr, script.compacted, RELEASES[script.kafka]
        )
        self._outcome = Outcome(story=self._world.story)
        self._counts = self._outcome.counts
        self._disturbed: set[str] = set()  # runs during which something happened, that got wrong answers, or that met a damaged file
        self._with_work: set[str] = set()  # runs with a partition to elect, before faults ended
        self._files = DurableFiles(workdir)
        if script.loses_power:
            self._cluster.after_sync = self._files.sync
        self._events = Events(self._cluster, self._counts, self.record_bytes)
        self._model = ModelJudge(self._cluster, script.strategy == "aggressive", script.controllers, bool(script.request.snapshots))
        self._judges = self._made_judges()
        self._elected = ElectedJudge(self._judges, self._cluster)
        self._operator = Operator(self._cluster, workdir, script.strategy, script.controllers, script.duration)
        self._logins = LoginJudge(self._judges, self._cluster, workdir)
        # In half of the histories what the first run has left is found by a login that lacks permissions.
        self._lacks_later = script.moves is None and script.seed % 2 == 1
        self._rehearsal: Rehearsal | None = None
        self._wrong = RunsWithWrongAnswers(
            script, self._cluster, workdir, self._judges, self._events, self._counts, self._disturbed, self.not_judged
        )
        self._snapshots = Snapshots(script.request.snapshots, self._world, self._operator, self._events, self._counts)
        commands = CommandOperator(self._cluster, workdir, script.strategy, script.controllers)
        self._damaged = (
            None
            if script.damaged is None or script.moves
            else DamagedFiles(script.damaged, commands, self._judges, self._counts, self._world.tell)
        )
        self._commands = (
            None
            if script.commands is None
            else OtherCommands(script.commands, self._cluster, commands, self._judges, self._events, self._counts)
        )
        disks = script.disks
        self._rescue = None if disks is None else Rescue(disks, script.seed, self._cluster, workdir, self._judges, self._counts)

    def _made_judges(self) -> Judges:
        return Judges(self._cluster, self._workdir, self._events, self._model, self._gives_up(), self._script.controllers)

    def _gives_up(self) -> bool:
        return "aggressive" in {self._script.strategy, *self._script.request.strategies}

    def play(self) -> Outcome:
        """Play it."""
        with simulated(self._cluster), small_limits(self._script.small_limits):
            self._counts["histories with small limits"] += self._script.small_limits
            self._counts["histories of Kafka 3.9"] += self._cluster.release.is_oldest
            self._damage()
            self._watch()
            self._cluster.client_quotas.rate = self._script.quota
            if not self._lacks_later:
                self._lose_permissions()
            self._read_disks()
            if self._damaged is not None:
                self._world.run({"operator": self._damaged.before_recovery})
                self._world.wait(SETTLED_SECONDS)
                self._judges.judge_truncations()
            if self._commands is not None:
                self._count_stops(self._world.run({"operator": self._commands.before_recovery}, stop_at=self._commands.stop_at))
            with self._wrong.answering_wrongly():
                self._recover_under_faults()
            self._cluster.lacking, self._cluster.client_quotas.rate = (), None
            self._events.calm = self._events.other_tools.rest = True
            self._world.at_first_change = []
            self._events.other_tools.tidy_up()
            self._start_some()
            self._await_all(CALM_SECONDS)
            self._events.slowed = False
            self._judges.judge_truncations()
            if self._damaged is not None:
                self._world.run({"operator": self._damaged.between_runs})
            self._recover_to_the_end()
            if self._script.disks and self._rescue and self._script.disks.rescue:
                self._rescue.save_and_start()
                self._rescue.forget_evidence()
            if self._commands is not None:
                work = partial(self._commands.at_the_end, self._script.replay is None)
                self._count_stops(self._world.run({"operator": work}, stop_at=self._commands.stop_at))
                self._world.wait(CALM_SECONDS)
                self._judges.judge_truncations()
            self._end()
        self._judges.judge_temporary_files()
        self._counts["records of an old leader given up by an election"] += sum(
            election.destroys(broker, batch) and batch.name in self._cluster.written_to_old
            for election in self._judges.elections
            for broker, log in election.logs.items()
            for batch in log.batches
        )
        self._counts["elections with wrong answers"] += self._judges.misled_elections
        self._counts["answers without records because of a quota"] += self._cluster.client_quotas.count
        self._counts["recoveries that met a fault"] += len(self._disturbed)
        self._counts["recoveries with a partition to elect before faults ended"] += len(self._with_work)
        self._counts["recoveries with a partition to elect that met a fault"] += len(self._with_work & self._disturbed)
        self._outcome.violations = self._judges.violations
        return self._outcome

    def _read_disks(self) -> None:
        """Read the disks of lost brokers, before the recovery."""
        if self._script.disks and self._rescue:
            if self._script.disks.is_evidence:
                self._rescue.make_evidence()
            if self._script.disks.is_early:
                self._rescue.compare_early()

    def _end(self) -> None:
        """Do what comes when the last run has ended."""

    def _damage(self) -> None:
        for key in self._events.keys:
            self._events.write((self._events.keys.index(key), 1, 0, 0))  # a plain batch
            for follower in self._cluster.controller.partitions[key].replicas:
                self._cluster.replicate(key, follower)
        self._snapshots.take()
        for step in self._script.damage:
            self._damage_by(step)
        self._judges.watch()
        self._world.wait(SESSION_SECONDS + 1)
        self._start_some()
        if self._script.request.snapshots and self._script.seed % 2:
            self._snapshots.take_one(("all", "out_of_sync")[self._script.seed // 2 % 2])
            self._counts["snapshots of damaged clusters"] += 1
        self._counts["offline partitions"] += len(self._cluster.without_leader())
        self._counts["histories with many partitions"] += len(self._events.keys) >= MANY_PARTITIONS
        epochs = (len(log.epochs) for broker in self._cluster.brokers.values() for log in broker.logs.values())
        self._counts["histories with many leader epochs"] += max(epochs, default=0) >= MANY_EPOCHS

    def _damage_by(self, step: Step) -> None:
        """Let a step happen. A crash is noticed late: mostly the history goes on when it is."""
        self._judges.watch()
        self._events.happen(step)
        noticed = step.what == "cut_off_leader" or (step.what.startswith("crash") and step.numbers[3] % 4)
        self._world.wait(SESSION_SECONDS + 1 if noticed else PAUSE_SECONDS)

    def _rehearse(self) -> None:
        if self._script.reviews.refuses:
            self._world.run({"rehearsal": self._ask_wrongly})
        self._wrong.begin(self._wrong.first)
        kind = self._script.request.rehearsal
        if kind is None:
            return
        self._rehearsal = rehearsal = Rehearsal(kind, self._judges, self._cluster, lambda: self._events.happened)
        self._counts[f"rehearsals: {kind}"] += 1
        self._world.run({"rehearsal": lambda: rehearsal.judge(self._run("rehearsal"))})

    def _ask_wrongly(self) -> None:
        """Elect with plans, named leaders and journals that are wrong."""
        before = self._judges.changes
        try:
            self._operator.collect(RUN)
        except RecoveryError:  # no broker answers
            return
        for what, ask in refused_plans(self._operator, self._cluster.cluster_id):
            self._counts["wrong elections"] += 1
            try:
                ask()
            except RecoveryError:
                continue
            if self._wrong.wrong is None or self._wrong.wrong.node_id is None:  # a wrong cluster id names another journal
                self._judges.add_violation(f"{what} is not refused")
        if self._judges.changes != before:
            self._judges.add_violation("a wrong election has changed the cluster")

    def _elect_by_hand(self, run_id: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """Elect leaders that an operator names, in an option or in a file."""
        reviews = self._script.reviews
        assert reviews.names is not None
        rows = named_leaders({key: state.replicas for key, state in self._cluster.controller.partitions.items()}, reviews.names)
        self._judges.runs.name({(row["topic"], row["partition"]) for row in rows})
        self._counts["leaders named in first runs"] += len(rows)
        numbered = confirmed(options, len(rows))
        result = (
            self._operator.elect_file(run_id, rows, **numbered)
            if reviews.in_file
            else self._operator.elect(run_id, partitions=rows, **numbered)
        )
        judge_confirmed(self._judges, options, rows, result)
        return result

    def _await_all(self, seconds: float) -> None:
        """Wait so many seconds, and until brokers that hang, or are cut off, have gone on and are known to be alive."""
        self._world.wait(seconds - SESSION_SECONDS - 1)
        while any(one.hangs or one.cut_off for one in self._cluster.brokers.values()):
            self._world.wait(1.0)
        self._world.wait(SESSION_SECONDS + 1)

    def _start_some(self) -> None:
        """Let as many brokers run as the script says, so that there is a cluster."""
        down = [one for _, one in sorted((broker.down_since, one) for one, broker in self._cluster.brokers.items() if not broker.running)]
        for broker in down[: max(0, self._script.least_brokers - (len(self._cluster.brokers) - len(down)))]:
            self._cluster.start(broker, self._cluster.brokers[broker].was_shut_down)
        self._world.wait(SESSION_SECONDS + 1)

    def _watch(self) -> None:
        """Let followers fetch and judges look on, until the end."""

        def look() -> None:
            self._judges.watch()
            for key in self._events.keys:
                for follower in self._cluster.controller.partitions[key].replicas:
                    if self._world.random.random() < 0.5:
                        self._cluster.replicate(key, follower)
            self._world.after(WATCH_SECONDS, look)

        look()

    def _recover_under_faults(self) -> None:
        request = self._script.request
        self._judges.saves = request.options.get("save_records", True)
        if self._script.moves is None and (named := request.of(self._events.keys)) is not None:
            self._judges.unnamed = {*self._events.keys} - {*named}
        self._events.begin_run()
        self._rehearse()
        self._let_strike(self._script.faults)
        if self._script.strike is not None:
            self._events.strike_at(self._script.strike)
        if (meanwhile := self._script.reviews.meanwhile) is not None:
            self._events.other_tools.act_at(*meanwhile)
        works: dict[str, Callable[[], Any]] = {"first": lambda: self._run("first")}
        if (delay := self._script.second) is not None:
            works["second"] = lambda: self._run("second", delay)
        kill, stop = self._steps("first", self._script.kill_at), self._steps("first", self._script.request.stop_at)
        self._count_struck(self._world.run(works, kill, stop))
        if self._lacks_later:
            self._lose_permissions()
        self._look_between()
        strike = self._script.strike
        if strike is not None and strike.request in CHANGES and strike.seconds >= LONG_HANG and self._script.moves is None:
            self._world.run({"again": lambda: self._run("again")})  # while the broker hangs with the request of the run before
        for number, later in enumerate(self._script.later):
            for step in later.damage:
                self._damage_by(step)
            self._start_some()
            self._events.begin_run()
            self._wrong.begin(later.wrong)
            with self._damaged.one_is_damaged() if self._damaged is not None else nullcontext(False) as is_damaged:
                self._disturbed |= {f"later-{number}"} if is_damaged else set()
                self._recover_later(f"later-{number}", later)

    def _may_elect(self) -> bool:
        """Return whether a run that begins now may have something to elect: a partition without a leader that has a replica which runs."""
        partitions = (self._cluster.controller.partitions[key] for key in self._cluster.without_leader())
        return any(self._cluster.brokers[one].running for state in partitions for one in state.replicas)

    def _steps(self, run_id: str, at: int | None) -> dict[str, int]:
        """Return the step at which the run that begins now is struck, if it is: from its first change on, if that is negative and there may be one."""
        return {} if at is None else {run_id: at if self._may_elect() else abs(at)}

    def _let_strike(self, faults: Sequence[Step]) -> None:
        """Let faults strike the run that begins now: so many seconds after its begin, or, if these are negative, after its first change of the cluster."""
        if not self._may_elect():
            faults = [step._replace(at=abs(step.at)) for step in faults]
        self._world.at_first_change = [
            partial(self._world.after, -step.at, partial(self._strike_after_change, step)) for step in faults if step.at < 0
        ]
        for step in faults:
            if step.at >= 0:
                self._world.after(step.at, partial(self._events.strike, step))

    def _strike_after_change(self, step: Step) -> None:
        self._counts["faults after the first change of a run"] += 1
        self._events.strike(step)

    def _lose_permissions(self) -> None:
        """Take permissions from the login, in some histories, and let preflight name them."""
        if not self._script.lacks:
            return
        self._cluster.lacking = self._script.lacks
        self._counts["histories with a login that lacks permissions"] += 1
        named = self._script.request.of(self._events.keys) if self._script.moves is None else None
        self._world.run({"preflight": partial(self._find_missing_permissions, named)})

    def _find_missing_permissions(self, named: list[Key] | None) -> None:
        try:
            found = self._operator.missing_permissions(named)
        except RecoveryError as error:
            self._world.tell(f"preflight fails: {error}")
            return
        self._counts["preflight checks of a login that lacks permissions"] += 1
        self._logins.judge_missing(found, self._script.controllers, named)

    def _look_between(self) -> None:
        """Recover in check mode, which must change nothing, while a broker hangs with the request of a killed run, and again after other tools have acted."""
        if not self._script.between:
            return
        self._look_on()
        # A late election takes the first live replica, no matter which tool has set the order.
        self._await_all(LONGEST_HANG)
        for step in self._script.between:
            self._events.happen(step)
            self._world.wait(PAUSE_SECONDS)
        self._look_on()
        self._world.run({"again": lambda: self._run("again")})

    def _look_on(self) -> None:
        self._counts["runs in check mode after a killed one"] += 1
        own, (_changes, files) = self._judges.requested, self._judges.state()
        self._world.run({"looks": lambda: self._look("looks")})
        if self._judges.requested != own or self._judges.state()[1] != files:
            self._judges.add_violation("a run in check mode after a killed one has changed the cluster, its journal or saved records")

    def _look(self, run_id: str) -> None:
        try:
            result = self._operator.recover(run_id, check_mode=True)
        except RecoveryError as error:
            self._world.tell(f"{run_id} fails: {error}")
            return
        self._world.tell(f"{run_id} ends: {elections(result)}")

    def _recover_later(self, run_id: str, later: LaterRun) -> None:
        """Recover once more while faults strike."""
        self._let_strike(later.faults)
        kill, stop = self._steps(run_id, later.kill_at), self._steps(run_id, later.stop_at)
        self._count_struck(self._world.run({run_id: lambda: self._run(run_id)}, kill, stop))
        if self._damaged is not None:
            self._world.wait(SETTLED_SECONDS)  # what its elections destroy must be saved although a file is damaged
        self._judges.judge_truncations()

    def _count_struck(self, processes: Mapping[str, Process]) -> None:
        """Count the control nodes that were killed or stopped."""
        for name, process in processes.items():
            is_stopped = process.signals.pending is not None
            if process.killed or is_stopped:
                self._disturbed.add(name)
            self._counts["control nodes killed"] += process.killed
            self._counts["control nodes killed after a change"] += process.killed and process.first_change is not None
            self._counts["control nodes stopped by a signal"] += is_stopped
        if self._script.loses_power and any(process.killed for process in processes.values()):
            self._counts["control nodes that lost power"] += 1
            with self._judges.keeps_verdicts():
                self._files.lose_power(self._world.random)
        if any(process.killed for process in processes.values()):
            self._judges.left_by_killed |= self._judges.files.temporary()

    def _count_stops(self, processes: Mapping[str, Process]) -> None:
        self._counts["other commands that got SIGTERM"] += sum(process.signals.pending is not None for process in processes.values())

    def _run(self, run_id: str, delay: float = 0.0) -> dict[str, Any] | None:
        """Recover, after `delay` seconds. The plan of the first run is reviewed before its elections. Return the result, None if the run fails."""
        if delay:
            self._world.sleep(delay)
        self._counts["recoveries"] += 1
        has_work = bool(self._cluster.without_leader())
        self._counts["recoveries with a partition to elect"] += has_work
        if has_work and not self._events.calm and run_id != "rehearsal":
            self._with_work.add(run_id)
        before, wrong = self._events.happened, self._wrong.count()
        strategy = self._script.request.strategy or self._script.strategy
        # A run in check mode gets what the first one gets, which it predicts.
        drawn = Random(f"options of {'first' if run_id == 'rehearsal' else run_id} of {self._script.seed}")
        request = replace(self._script.request, options=with_lost_brokers(self._script.request.options, self._cluster, drawn))
        limits = LimitsJudge(self._judges, self._cluster, run_id, request.options, strategy)
        try:
            with self._judges.runs.working():
                return self._recovered(run_id, NO_REQUEST if run_id.startswith("last") else request)
        finally:
            if self._is_alone(run_id) and not run_id.startswith("last") and (run_id != "first" or self._script.reviews.names is None):
                limits.judge()
            if self._events.happened > before or self._wrong.count() > wrong or run_id == "second":
                self._disturbed.add(run_id)

    def _is_alone(self, run_id: str) -> bool:
        """Return whether no other run works on the cluster meanwhile."""
        return run_id.startswith("last") or (self._script.second is None and run_id.startswith(("first", "again", "later")))

    def _recovered(self, run_id: str, request: RequestScript) -> dict[str, Any] | None:
        """Recover, and judge the run. `request`: what operators ask of it. Return as `_run`."""
        review = self._script.review if run_id == "first" else 0.0
        named = request.of(self._events.keys)
        given = self._rehearsal.options if self._rehearsal and run_id == "rehearsal" else {}
        is_predicted = self._rehearsal is not None and run_id == "first" and self._may_be_predicted() and self._rehearsal.holds
        began, report = self._world.now, ReportJudge(self._judges, self._cluster)
        try:
            if run_id == "first" and self._script.reviews.names is not None:
                result = self._elect_by_hand(run_id, request.options)
            else:
                plans: list[dict[str, Any]] = []
                result = self._operator.recover(run_id, named, review, lambda plan: self._judge_plan(run_id, plan, plans), request, **given)
                judge_confirmed(self._judges, request.options, plans[0]["partitions"], result)
        except RecoveryError as error:
            self._world.tell(f"{run_id} fails: {error}")
            self._counts["recoveries failed"] += 1
            self._logins.judge_run(run_id, None)
            if self._rehearsal and is_predicted:
                self._counts["predictions judged"] += self._rehearsal.judge_next(None, str(error))
            return None
        self._judges.judge_end(result)
        self._logins.judge_run(run_id, result)
        if run_id.startswith("last") or (run_id == "first" and self._is_undisturbed()):
            self._judges.judge_undisturbed_end()
        judge_list(self._judges, result)
        if self._rehearsal and is_predicted:
            self._counts["predictions judged"] += self._rehearsal.judge_next(result)
        self._world.tell(f"{run_id} ends: {elections(result)}")
        if run_id == "rehearsal":
            return result
        self._elected.judge(result, began)
        if self._is_alone(run_id):
            report.judge_election(result, self._events.calm or (run_id == "first" and self._is_undisturbed()))
            report.judge_journal(result)
        names_lost = LOST_BROKERS in request.options
        self._counts["recoveries that end and name lost brokers"] += names_lost
        for row in result["results"]:
            self._counts["elected, with lost brokers named"] += names_lost and row["outcome"] == "elected"
            self._counts[f"{row['outcome']} {row['reason_code'] or row['evidence']}"] += 1
        return result

    def _judge_plan(self, run_id: str, plan: dict[str, Any], plans: list[dict[str, Any]]) -> None:
        """Judge a plan. In some histories something changes then, and the plan is reviewed meanwhile."""
        self._judges.judge_plan(plan)
        plans.append(plan)
        if (changes := self._script.reviews.changes) is not None and run_id.startswith("later"):
            self._world.sleep(PlanChanges(changes, self._cluster, self._events, self._counts).change(run_id, plan))

    def _may_be_predicted(self) -> bool:
        """Return whether the first run does as the one before it, if nothing happens meanwhile."""
        script = self._script
        differs = script.reviews.names or script.reviews.meanwhile or self._events.slowed or ALTER in script.lacks or script.quota
        differs = differs or script.duration < LEAST_CALM_DURATION  # what can be read in little time is not the same each time
        return not differs and script.second is script.request.stop_at is None

    def _is_undisturbed(self) -> bool:
        """Return whether nothing happens to the first run."""
        script = self._script
        happens = script.faults or script.strike or script.review or script.reviews.meanwhile or script.reviews.names or self._events.slowed
        return not happens and not script.lacks and not script.quota and script.kill_at is script.second is script.request.stop_at is None

    def _recover_to_the_end(self) -> None:
        self._judges.saves, self._judges.unnamed = True, set()
        self._operator.duration = max(self._operator.duration, LEAST_CALM_DURATION)
        result: dict[str, Any] | None = None

        def run(number: int) -> None:
            nonlocal result
            result = self._run(f"last-{number}")

        for number in range(RUNS):
            before = self._judges.changes
            self._world.run({"last": partial(run, number)})
            self._world.wait(CALM_SECONDS / 2)
            self._judges.judge_truncations()
            if result is not None and self._judges.changes == before:
                break
        else:
            self._judges.add_violation(f"{RUNS} runs in peace have not come to an end")
        self._judges.judge_calm(result)
        if result is not None:
            file = result["results_path"] if self._script.seed % 2 and result["results"] else None
            self._world.run({"verify": lambda: judge_verified(partial(self._operator.verify, file), self._cluster, self._judges)})
            self._counts["runs verified"] += 1
