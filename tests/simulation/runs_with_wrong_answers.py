# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs while a broker answers wrongly: the first and later ones, and before them some in check mode or in a workdir of their own, which must change nothing."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from simulation import odd_metadata
from simulation.cluster import SimulatedCluster
from simulation.command_operator import CommandOperator
from simulation.events import Events
from simulation.judges import Judges
from simulation.script import Script
from simulation.wrong_answers import OF_BRANCHES, OF_SAVING, REQUESTS, WrongAnswers

SAVES, SAVED_TIMES = "saves", 4  # in a workdir of its own, while a broker answers wrongly
KINDS_OF_CHECKS = 3, 6  # of requests that are answered wrongly in a run in check mode


class RunsWithWrongAnswers:
    """Chooses who answers wrongly in each run. `wrong`: the answers, None if all are right. `disturbed`: gets the ids of runs that got wrong ones.

    not_judged  requests whose answers alone tell what was done: they stay right
    """

    def __init__(
        self,
        script: Script,
        cluster: SimulatedCluster,
        workdir: Path,
        judges: Judges,
        events: Events,
        counts: Counter[str],
        disturbed: set[str],
        not_judged: tuple[str, ...],
    ) -> None:
        self._script, self._cluster, self._world, self._workdir = script, cluster, cluster.world, workdir
        self._judges, self._events, self._counts, self._disturbed, self._not_judged = judges, events, counts, disturbed, not_judged
        self.wrong: WrongAnswers | None = None

    @contextmanager
    def answering_wrongly(self) -> Iterator[None]:
        """Let a broker answer wrongly in the block, and before it in runs that change nothing."""
        script = self._script.wrong_answers
        if script is None:
            yield
            return
        self.wrong = wrong = WrongAnswers(self._world.tell, self._judges.runs.note_wrong_answer, self._not_judged)
        workdir = self._workdir.parent / "rehearsals"
        workdir.mkdir()
        operator = CommandOperator(self._cluster, workdir, self._script.strategy, self._script.controllers)
        self._cluster.falsified, self._events.slowed = wrong.falsified, True
        for number in range(script.rehearsals):
            requests = OF_BRANCHES if number % 4 == 1 else REQUESTS
            wrong.begin(script.number + number, self._running(), KINDS_OF_CHECKS, requests, garbles=number % 4 == 2)
            self._world.run({"rehearsal": partial(self._rehearse_with, operator, f"wrong-{number}")})
        if script.rehearsals:
            self._world.run({"rehearsal": partial(self._save_with, operator, script.number)})
        if script.rehearsals and self._script.controllers:
            self._world.run({"rehearsal": partial(self._read_odd_metadata, operator, script.number)})
            self._cluster.falsified = wrong.falsified
        yield
        wrong.rest()
        self._counts["wrong answers"] += wrong.count
        self._counts["histories with wrong answers"] += wrong.count > 0

    def begin(self, number: int | None) -> None:
        """Let a broker that `number` chooses answer wrongly from now on, or none."""
        if self.wrong is None:
            return
        self.wrong.rest()
        if number is not None:
            self._events.slowed = True  # an answer that cannot be read is waited for
            self.wrong.begin(number, self._running())

    @property
    def first(self) -> int | None:
        """What chooses the wrong answers of the first run."""
        return None if self._script.wrong_answers is None else self._script.wrong_answers.number - 1

    def count(self) -> int:
        """Return how many answers were wrong so far."""
        return 0 if self.wrong is None else self.wrong.count

    def _running(self) -> list[int]:
        return [one for one, broker in self._cluster.brokers.items() if broker.running]

    def _rehearse_with(self, operator: CommandOperator, run_id: str) -> None:
        """Recover in check mode, and save in another workdir, which must change nothing, whatever brokers answer."""
        before, wrong = self._judges.state(), self.count()
        self._counts["recoveries"] += 1
        self._counts["runs in check mode with wrong answers"] += 1
        try:
            operator.confirm_cluster_id()
            operator.recover(run_id, check_mode=True)
            operator.plan(run_id, "aggressive")
            operator.save(run_id)
        except RecoveryError as error:
            self._world.tell(f"{run_id} fails: {error}")
        self._disturbed |= {run_id} if self.count() > wrong else set()
        if self._judges.state() != before:
            self._judges.add_violation("a run in check mode that got wrong answers has changed the cluster, its journal or saved records")

    def _save_with(self, operator: CommandOperator, number: int) -> None:
        """Save what a right plan says, in another workdir, while a broker answers wrongly, which must change nothing."""
        before, wrong = self._judges.state(), self.wrong
        assert wrong is not None
        wrong.rest()
        try:
            operator.collect(SAVES)
            operator.plan(SAVES, "aggressive")
        except RecoveryError:  # no broker answers
            return
        for place in range(SAVED_TIMES):
            wrong.begin(number + place, self._running(), (2,), OF_SAVING)
            self._counts["records saved with wrong answers"] += 1
            try:
                operator.save(SAVES)
            except RecoveryError as error:
                self._world.tell(f"saving fails: {error}")
            shutil.rmtree(operator.workdir / "saved", ignore_errors=True)
        if self._judges.state() != before:
            self._judges.add_violation("saving with wrong answers has changed the cluster, its journal or saved records")

    def _read_odd_metadata(self, operator: CommandOperator, number: int) -> None:
        """Recover in check mode by metadata logs that are odd, which must change nothing."""
        before = self._judges.state()
        runs = odd_metadata.recover_in_check_mode(self._cluster, operator, number)
        self._counts["recoveries"] += len(runs)
        self._counts["runs in check mode with odd metadata logs"] += len(runs)
        self._disturbed |= runs
        if self._judges.state() != before:
            self._judges.add_violation(
                "a run in check mode that got an odd metadata log has changed the cluster, its journal or saved records"
            )
