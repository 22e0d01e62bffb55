# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated history in which replicas are moved: under faults, and then to the end, by the same moves again or by removing what is left."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import moves_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.throttle_rate import LEAST_RATE
from simulation.cluster import SESSION_SECONDS
from simulation.command_operator import CommandOperator
from simulation.damaged_journals import damaged_moves
from simulation.history import CALM_SECONDS, PAUSE_SECONDS, RUNS, History
from simulation.kraft import NO_LEADER, Key
from simulation.move_judges import MoveJudges
from simulation.move_operator import MoveOperator
from simulation.refused_moves import entries_of, rate_of, refused_approvals, refused_journals, refused_moves, refused_throttles
from simulation.report_judge import ReportJudge
from simulation.request_script import NAMED
from simulation.script import Script
from simulation.story_lines import ending
from simulation.world import FASTEST

OTHER_BROKER, OTHER_RATE = 89, 5_000


class MoveHistory(History):
    """A history in which replicas are moved. Records are large, so that copying them at a throttled rate takes a while."""

    record_bytes = 400
    not_judged = "AlterPartitionReassignmentsRequest", "IncrementalAlterConfigsRequest", "DescribeConfigsRequest"
    _judges: MoveJudges

    def __init__(self, script: Script, workdir: Path) -> None:
        assert script.moves is not None
        self._moves = script.moves
        self._approved: bytes | None = None
        super().__init__(script, workdir)
        self._mover = MoveOperator(self._cluster, workdir, script.strategy, script.controllers)

    def _made_judges(self) -> MoveJudges:
        calm = not self._script.faults and self._script.second is None
        return MoveJudges(self._cluster, self._workdir, self._events, self._model, self._gives_up(), self._moves, calm)

    def _damage(self) -> None:
        super()._damage()
        if "topic" in self._moves.others:
            self._events.throttle_topic(self._events.keys[0], OTHER_BROKER)
        if "broker" in self._moves.others:
            self._events.throttle_broker(1 + self._script.seed % len(self._cluster.brokers), OTHER_RATE)
        self._world.wait(PAUSE_SECONDS)  # brokers learn of that: a control node reads their configs from them

    def _recover_under_faults(self) -> None:
        self._move_under_faults()
        if self._script.request.options.get("remove_expired_throttle"):
            self._world.wait(SESSION_SECONDS)
            self._world.run({"after it": lambda: self._do("recover", "after")})

    def _move_under_faults(self) -> None:
        if self._script.reviews.full:
            self._cluster.full = {self._added()[self._script.seed % len(self._added())]}
        if self._moves.standing is not None:
            self._world.run({"operator": lambda: self._do("named" if self._script.request.moves == NAMED else "present")})
        super()._recover_under_faults()
        if self._script.seed % 3 == 0:
            self._world.run({"operator": self._look_for_throttles})

    def _added(self) -> list[int]:
        """Return the brokers that get a replica by the moves, all brokers if none does."""
        partitions = self._cluster.controller.partitions
        added = {one for key, target in self._judges.targets.items() for one in target if one not in partitions[key].replicas}
        return sorted(added or self._cluster.brokers)

    def _look_for_throttles(self) -> None:
        """Check readiness, which warns of each throttle that a run has left."""
        left = self._judges.left_by_runs()
        try:
            result = self._operator.check_readiness(check_mode=self._script.seed % 2 == 0)
        except RecoveryError as error:
            self._world.tell(f"the check of readiness fails: {error}")
            return
        self._counts["checks of readiness"] += 1
        if left and not any("throttle" in warning for warning in result["warnings"]):
            self._judges.add_violation(f"a run has left the throttle {left[0]}, and a check of readiness does not warn of it")

    def _rehearse(self) -> None:
        """Move in check mode, and in ways that are wrong, which must change nothing. What is approved is proposed now."""
        self._wrong.begin(self._wrong.first)
        if self._script.reviews.approves and self._moves.options["wait"]:
            approved = None if self._moves.throttle is None else max(LEAST_RATE, self._moves.throttle - self._script.seed % 2 * 1000)
            self._approved = moves_file.FORMAT.sealed(self._mover.proposed(self._judges.targets, approved), "proposal")
            if self._script.second is None:  # an operator may set another rate while they are under way
                self._judges.approved_rate = approved
        if self._script.request.rehearsal is None and not self._script.reviews.refuses:
            return
        before = self._judges.state()
        self._world.run({"rehearsal": lambda: self._do("rehearsal")})
        if self._judges.state() != before:
            self._judges.add_violation("moves in check mode have changed the cluster, or files of the workdir")
        self._world.run({"rehearsal": self._ask_wrongly})
        if self._judges.changes != before[0] and self._moves.expires_after is None:  # what has expired is removed
            self._judges.add_violation("wrong moves or throttles have changed the cluster")

    def _ask_wrongly(self) -> None:
        key = self._events.keys[0]
        replicas = self._cluster.controller.partitions[key].replicas
        for what, ask in (
            *refused_moves(self._mover, self._workdir, key, replicas),
            *refused_throttles(self._mover, key, replicas),
            *refused_approvals(self._mover, self._judges.targets),
            *refused_journals(self._mover, self._cluster.cluster_id),
        ):
            self._counts["wrong moves and throttles"] += 1
            try:
                result = ask()
            except RecoveryError:
                continue
            if not result.get("failed"):
                self._judges.add_violation(f"{what} is not refused")

    def _named_replicas(self) -> tuple[str, list[str] | None]:
        """Return a topic, with entries of a throttle for some of its replicas, None for all."""
        (topic, number), state = min(self._cluster.controller.partitions.items())
        return topic, [f"{number}:{broker}" for broker in state.replicas] if self._script.seed % 3 else None

    def _start_some(self) -> None:
        """Let all brokers run in the end, with all disks: a move to one that is down does not end."""
        if not self._events.calm:
            super()._start_some()
            return
        self._cluster.full = set()
        self._judges.approved_rate = None
        for broker in self._cluster.brokers.values():
            if broker.disks.has_failed:
                self._cluster.crash(broker.node_id)
            self._cluster.start(broker.node_id, broker.was_shut_down)
        self._world.wait(SESSION_SECONDS + 1)

    def _run(self, run_id: str, delay: float = 0.0) -> dict[str, Any] | None:
        """Move, or do what a second control node does."""
        if delay:
            self._world.sleep(delay)
        other = self._script.request.moves or self._moves.second
        if run_id == "second":
            self._do("status", run_id)
        first = "move" if self._approved is None else "approved"
        return self._do(first if run_id == "first" else other, run_id)

    def _do(self, what: str, run_id: str = "operator", keys: list[Key] | None = None) -> dict[str, Any] | None:
        """Do one thing. Return its result, None if it fails."""
        if what == "recover":
            before, began = self._judges.standing(), self._world.now
            recovered = super()._run(run_id)
            removes = (
                recovered is not None and self._script.request.options.get("remove_expired_throttle") and not run_id.startswith("last")
            )
            if self._script.second is None or self._events.calm:
                self._judges.judge_standing(before, began, bool(removes) and not self._events.slowed)
            return recovered
        moves, topics = self._moves, sorted({key[0] for key in self._events.keys})
        standing = moves.standing or 2_000
        targets = {key: target for key, target in self._judges.targets.items() if keys is None or key in keys}
        acts: dict[str, Callable[[], dict[str, Any]]] = {
            "approved": lambda: self._mover.move_approved(run_id, self._approved or b"", throttle=moves.throttle, **moves.options),
            "move": lambda: self._mover.move(run_id, targets, throttle=moves.throttle, **moves.options),
            "rehearsal": lambda: self._mover.move(run_id, targets, check_mode=True, throttle=moves.throttle, **moves.options),
            "finish": lambda: self._mover.move(run_id, targets, throttle=moves.throttle),
            "present": lambda: self._mover.throttle("present", standing, moves.expires_after),
            "cancel": lambda: self._mover.cancel(run_id, None if self._script.seed % 2 else targets),
            "named": lambda: self._mover.throttle(
                "present",
                standing,
                moves.expires_after,
                broker_rates=[rate_of(1 + self._script.seed % len(self._cluster.brokers))],
                throttled_replicas=[entries_of(*self._named_replicas())],
            ),
            "absent": lambda: self._mover.throttle("absent"),
            "status": lambda: self._mover.status(
                run_id, targets if self._script.seed % 2 else None, float(self._script.seed % 3), layout=self._script.seed % 5 == 0
            ),
            "cleaned": lambda: self._mover.throttle("cleaned"),
            "leftovers": lambda: self._mover.clean(run_id, topics),
        }
        self._counts[f"runs: {what}"] += 1
        self._judges.may_be_unthrottled |= what == "absent"
        if what in ("present", "named"):
            self._judges.ask_for(standing)  # it also changes the rate of moves that are under way
        before, began, report = self._judges.standing(), self._world.now, ReportJudge(self._judges, self._cluster)
        try:
            is_judged = what in ("move", "approved", "finish") and self._script.second is None
            with self._judges.moves() if is_judged else nullcontext():
                result = acts[what]()
        except RecoveryError as error:
            self._world.tell(f"{run_id} ({what}) fails: {error}")
            self._counts[f"runs failed: {what}"] += 1
            if what in ("present", "named"):  # what is in the journal may not be set
                self._judges.standing_from = -math.inf
            return None
        self._world.tell(f"{run_id} ({what}) ends: {ending(result)}")
        if what not in ("rehearsal", "status") and (self._script.second is None or self._events.calm):
            report.judge_moves(result, self._events.calm)
        if what in ("present", "named"):
            expires_after = self._moves.expires_after
            self._counts["standing throttles that expire by a wrong clock"] += expires_after is not None and self._world.drift > 0
            # The machine that set it and a second one may both have wrong clocks. Of one machine only the rate matters.
            skew = 0.0 if self._script.second is None else 2 * self._world.drift
            skew += (expires_after or 0.0) * FASTEST if self._world.drift else 0.0
            self._judges.standing_from = math.inf if expires_after is None else began + expires_after - skew
            self._judges.standing_until = math.inf if expires_after is None else self._world.now + expires_after + skew
        if what in ("move", "approved", "finish"):
            if self._script.second is None or self._events.calm:
                self._judges.judge_standing(before, began, not result.get("failed") and not result["warnings"])
            for row in result["results"]:
                self._counts[f"moves: {row['outcome']}"] += 1
            self._judges.judge_moved(result, self._script.second is None or self._events.calm)
        return result

    def _damage_files(self, number: int) -> None:
        script = self._script
        commands = CommandOperator(self._cluster, self._workdir, script.strategy, script.controllers)
        damaged_moves(number, commands, self._mover, self._judges.targets, self._judges, self._counts, self._world.tell)

    def _recover_to_the_end(self) -> None:
        if self._script.damaged is not None:
            self._world.run({"operator": partial(self._damage_files, self._script.damaged)})
        done = restored = False
        elected: dict[str, Any] | None = {"results": []}

        def run(number: int) -> None:
            nonlocal done, restored, elected
            if self._cluster.without_leader() or self._moves.ending == "move":
                elected = self._do("recover", f"last-{number}")
                restored |= bool(elected and elected["repaired"])
            self._events.other_tools.cancel_moves_without_end()
            led = [key for key, state in self._cluster.controller.partitions.items() if state.leader != NO_LEADER]
            if self._moves.ending == "move":
                result = self._do("finish", f"last-{number}", led) if {*led} & {*self._judges.targets} else {}
            else:
                result = self._do("leftovers", f"last-{number}")
            done = result is not None and not result.get("failed")
            self._judges.arrived = done and self._moves.ending == "move"
            if (
                self._moves.standing is not None
                or "present" in (self._moves.second, self._script.request.moves)
                or self._script.request.moves == NAMED
            ):
                done = self._do("absent") is not None and done

        for number in range(RUNS + 1):
            before = self._judges.changes
            self._world.run({"last": partial(run, number)})
            self._world.wait(CALM_SECONDS / 2)
            self._judges.judge_truncations()
            if done and self._judges.changes == before:
                break
            # Moves that follow at once may find a broker that still shows the order of before, and are stale.
            if number + 1 == RUNS + restored:
                self._judges.add_violation(f"{number + 1} runs in peace have not come to an end")
                break
        self._judges.judge_calm(elected)
        self._judges.judge_end_of_moves()
