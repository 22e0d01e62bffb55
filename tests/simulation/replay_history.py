# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated history at whose end saved records are replayed: under faults, and then to the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError, RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.consumer_impact import impact_lines
from simulation import story_lines
from simulation.applications import Applications
from simulation.cluster import SESSION_SECONDS
from simulation.command_operator import CommandOperator
from simulation.damaged_journals import damaged_replays
from simulation.groups import NAMES
from simulation.history import CALM_SECONDS, PAUSE_SECONDS, RUNS, History
from simulation.kraft import Key
from simulation.replay_judges import ReplayJudges
from simulation.replay_operator import ReplayOperator
from simulation.replay_requests import ReplayRequests
from simulation.script import Script
from simulation.wrong_replays import ReplaysInCheckMode


class ReplayHistory(History):
    """A history at whose end saved records are replayed, if there are any."""

    def __init__(self, script: Script, workdir: Path) -> None:
        assert script.replay is not None
        self._replay = script.replay
        super().__init__(script, workdir)
        self._is_asked_for = False  # with the options, or the approved files, of the script
        self._replayer = ReplayOperator(self._cluster, workdir)
        if script.replay.producers:
            self._events.applications = Applications(self._cluster, self._counts, Random(f"applications of {script.seed}"))
        self._replay_judges = ReplayJudges(self._cluster, workdir, self._judges, self._events.applications)
        self._replay_judges.is_side_by_side = script.replay.second is not None
        self._check_mode = ReplaysInCheckMode(self._cluster, self._replayer, self._replay_judges, self._judges, self._counts)
        self._requests = ReplayRequests(self._replayer, script.reviews, self._judges, self._replay_judges, self._counts)

    def _recover_to_the_end(self) -> None:
        super()._recover_to_the_end()
        if self._replay.is_named:
            self._elect_named()

    def _end(self) -> None:
        has_groups, has_saved = bool(self._cluster.groups.positions), bool(self._replayer.saved_runs())
        is_unsaved = not self._script.request.options.get("save_records", True)  # what was given up is counted, too
        if not has_saved and not has_groups and not is_unsaved:
            return
        if self._replay.wrong is not None:
            self._world.run({"operator": self._check_mode.while_brokers_are_down})
        self._start_all()
        if has_groups or is_unsaved:
            self._world.run({"impact": self._assess})
        if not has_saved:
            return
        self._events.calm = False
        for step in self._replay.before:
            self._events.happen(step)
            self._world.wait(PAUSE_SECONDS)
        if self._script.seed % 3 == 0:
            self._cluster.groups.with_members = {NAMES[0]}
        self._ask_before()
        self._replay_under_faults()
        self._start_all()
        if self._script.damaged is not None:
            self._world.run({"operator": partial(self._damage_files, self._script.damaged)})
        if self._replay.wrong is not None:
            self._world.run({"operator": partial(self._check_mode.with_wrong_answers, self._replay.wrong)})
            self._world.run({"operator": self._check_mode.with_other_logins})
        if self._script.reviews.replay:
            self._world.run({"asked for again": self._replay_as_asked})
            self._world.wait(CALM_SECONDS / 2)
        self._is_asked_for = False
        self._cluster.groups.with_members = set()
        self._replay_to_the_end()

    def _ask_before(self) -> None:
        reviews = self._script.reviews
        self._replay_judges.asked = reviews.replay
        self._is_asked_for = reviews.approves or bool(reviews.replay)
        if self._is_asked_for or reviews.refuses:
            self._world.run({"operator": self._requests.prepare})

    def _damage_files(self, number: int) -> None:
        script = self._script
        commands = CommandOperator(self._cluster, self._workdir, script.strategy, script.controllers)
        damaged_replays(number, commands, self._replayer, self._replay_judges, self._judges, self._counts, self._world.tell)

    def _elect_named(self) -> None:
        """Elect leaders that an operator names, for partitions that are held. What the others have is saved."""
        leaders: dict[Key, int] = {}
        for key in self._cluster.without_leader():
            replicas = self._cluster.controller.partitions[key].replicas
            live = [one for one in replicas if self._cluster.controller.may_lead(one, key) and key in self._cluster.brokers[one].logs]
            if live:
                leaders[key] = live[self._script.seed % len(live)]
        if not leaders:
            return
        self._world.run({"operator": lambda: self._elect("named", leaders)})
        self._world.wait(CALM_SECONDS)
        self._judges.judge_truncations()

    def _elect(self, run_id: str, leaders: Mapping[Key, int]) -> None:
        with self._judges.runs.working():
            self._judges.runs.name(leaders)
            result = self._replayer.elect(run_id, leaders)
        self._world.tell(f"{run_id} ends: {story_lines.elections(result)}")
        self._counts["leaders named"] += len(leaders)

    def _assess(self) -> None:
        """Assess the impact of each run, in peace."""
        named: dict[tuple[str, Key], bool] = {}
        for run_id in self._replayer.elected_runs():
            try:
                result = self._replayer.impact(run_id)
            except RecoveryError as error:
                self._world.tell(f"the impact of {run_id} fails: {error}")
                continue
            self._counts["impact"] += 1
            for row in result["offsets"]:
                self._counts[f"impact: {row['reason']}"] += 1
                group = row["group"], (row["topic"], row["partition"])
                named[group] = named.get(group, False) or row["certain"]
            self._world.tell(story_lines.impact(run_id, result["offsets"]))
            for line in impact_lines(result):  # as the playbook shows it
                self._world.tell(f"the impact of {run_id}: {line}")
        self._replay_judges.judge_impact(named)

    def _start_all(self) -> None:
        """Let all brokers run, with all disks."""
        self._events.calm = True
        for broker in self._cluster.brokers.values():
            if broker.disks.has_failed:
                self._cluster.crash(broker.node_id)
            self._cluster.start(broker.node_id, broker.was_shut_down)
        self._world.wait(SESSION_SECONDS + CALM_SECONDS)

    def _replay_under_faults(self) -> None:
        for step in self._replay.faults:
            self._world.after(step.at, partial(self._events.happen, step))
        if self._replay.strike is not None:
            self._events.strike_at(self._replay.strike)
        if (seconds := self._script.reviews.offline) is not None:
            self._events.other_tools.rest = False
            self._events.other_tools.lose_network_at("EndTxnRequest", self._script.seed % 2, seconds)
        works: dict[str, Callable[[], Any]] = {"first": self._replay_all}
        if (delay := self._replay.second) is not None:
            works["second"] = lambda: self._replay_all(delay)
        kill = {} if self._replay.kill_at is None else {"first": self._replay.kill_at}
        stop = {} if self._replay.stop_at is None else {"first": self._replay.stop_at}
        processes = self._world.run(works, kill, stop)
        self._count_struck(processes)
        self._counts["replays that got SIGTERM"] += sum(process.signals.pending is not None for process in processes.values())
        killed = sum(process.killed for process in processes.values())
        self._counts["replays killed"] += killed
        if killed:
            self._world.run(
                {"again": self._replay_all}
            )  # at once: the coordinator may still end the transaction of the one that was killed
        self._events.other_tools.rest = True

    def _replay_all(self, delay: float = 0.0) -> bool:
        """Replay what each run has saved, after `delay` seconds. Return whether all has come to its end."""
        if delay:
            self._world.sleep(delay)
        results = [self._replay_run(run_id) for run_id in self._replayer.saved_runs()]
        return all(results)

    def _replay_run(self, run_id: str) -> bool:
        self._counts["replays"] += 1
        try:
            result = self._requests.replay(run_id) if self._is_asked_for else self._replay_what_is_there(run_id)
        except RecoveryError as error:
            self._world.tell(f"the replay of {run_id} fails: {error}")
            self._counts["replays failed"] += 1
            return {*self._script.topics} <= self._cluster.created_again
        self._world.tell(story_lines.replay(run_id, result))
        if self._is_asked_for and self._is_undisturbed_replay():
            self._requests.judge(run_id, result)
        self._counts["replays stopped"] += result["counts"]["left"] > 0
        self._counts["COMMIT markers written by replays"] += result["counts"]["markers"]
        offsets = [row for partition in result["partitions"] for row in partition["group_offsets"]]
        self._counts["offsets of groups committed again"] += sum(row["written"] for row in offsets)
        self._counts["offsets of groups held"] += sum(row["reason"] is not None for row in offsets)
        self._counts["records replayed"] += result["counts"]["replayed"]
        for reason, number in result["counts"]["skipped"].items():
            self._counts[f"records not replayed: {reason}"] += number
        left = sum(row["left"] for row in result["partitions"] if not self._stays(row["topic"], row["partition"]))
        has_log = self._cluster.groups.log.exists  # of some offsets it is not proven that they are right
        return not result.get("failed") and (left == 0 or has_log)

    def _replay_what_is_there(self, run_id: str) -> dict[str, Any]:
        """Replay what a run has saved. Records of topics that were created again are refused: then only those of others are replayed."""
        others = sorted({*self._script.topics} - self._cluster.created_again)
        try:
            return self._replayer.replay(run_id)
        except ClusterError:
            raise
        except RecoveryError:
            if not self._cluster.created_again or not others:
                raise
            return self._replayer.replay(run_id, topics=others)

    def _stays(self, topic: str, partition: int) -> bool:
        """Return whether saved records stay where they are: of compacted topics, and of logs that start behind what may have been replayed."""
        leader = self._cluster.brokers.get(self._cluster.controller.partitions[topic, partition].leader)
        log = None if leader is None else leader.logs.get((topic, partition))  # its disk may have failed since
        return topic in self._cluster.compacted or (log is not None and log.start > 0)

    def _replay_as_asked(self) -> None:
        if self._replay_all():
            self._replay_judges.judge_target()

    def _is_undisturbed_replay(self) -> bool:
        replay = self._replay
        return (
            not replay.faults
            and not self._events.slowed
            and self._script.reviews.offline is None
            and replay.strike is replay.kill_at is replay.second is replay.stop_at is None
        )

    def _replay_to_the_end(self) -> None:
        done = False

        def run() -> None:
            nonlocal done
            done = self._replay_all()

        for _ in range(RUNS):
            before = self._replay_judges.ends()
            self._world.run({"last replay": run})
            self._world.wait(CALM_SECONDS / 2)
            if done and self._replay_judges.ends() == before:
                break
        else:
            self._judges.add_violation(f"{RUNS} replays in peace have not come to an end")
        self._replay_judges.judge_end()
