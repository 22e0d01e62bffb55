# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replays in check mode, and lists of affected groups: with wrong answers, with logins that lack permissions, and while brokers are down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from simulation.cluster import SimulatedCluster
from simulation.judges import Judges
from simulation.logins import OF_REPLAYS as LACKING
from simulation.replay_judges import ReplayJudges
from simulation.replay_operator import ReplayOperator
from simulation.wrong_answers import WrongAnswers

RUNS = 6
# What a replay reads. What it reads often, and decides by, stands here more than once.
REQUESTS = (
    "FetchRequest", "FetchRequest", "FetchRequest", "ListOffsetsRequest", "OffsetForLeaderEpochRequest", "OffsetForLeaderEpochRequest",
    "DescribeProducersRequest", "DescribeProducersRequest", "ListTransactionsRequest", "DescribeTransactionsRequest", "DescribeTopicPartitionsRequest",
    "DescribeConfigsRequest", "DescribeGroupsRequest", "OffsetFetchRequest", "FindCoordinatorRequest",
)  # fmt: skip


class ReplaysInCheckMode:
    """Replays in check mode what each run has saved, and assesses its impact. No log may change, whatever brokers answer."""

    def __init__(
        self, cluster: SimulatedCluster, replayer: ReplayOperator, replay_judges: ReplayJudges, judges: Judges, counts: Counter[str]
    ) -> None:
        self._cluster, self._replayer, self._replay_judges = cluster, replayer, replay_judges
        self._judges, self._counts = judges, counts

    def with_wrong_answers(self, number: int) -> None:
        """Let one broker answer wrongly in each run. `number` chooses the brokers, and how."""
        wrong = WrongAnswers(self._cluster.world.tell, self._judges.runs.note_wrong_answer)
        self._cluster.falsified, before = wrong.falsified, self._replay_judges.traces()
        for run in range(RUNS):
            wrong.begin(number + run, [*self._cluster.brokers], requests=REQUESTS)
            self._replay("replays in check mode with wrong answers", bool((number + run) % 2))
        wrong.rest()
        self._judge(before, "that got wrong answers")

    def with_other_logins(self) -> None:
        """Let the login lack other permissions in each run."""
        before = self._replay_judges.traces()
        for number, lacked in enumerate(LACKING):
            self._cluster.lacking = lacked
            self._replay("replays in check mode with a login that lacks permissions", bool(number % 2))
        self._cluster.lacking = ()
        self._judge(before, "whose login lacks permissions")

    def while_brokers_are_down(self) -> None:
        """Replay while brokers may be down, and partitions without a leader."""
        before = self._replay_judges.traces()
        self._replay("replays in check mode while brokers are down", True)
        self._try("the replay of a run that has saved nothing", partial(self._replayer.replay, "nothing", check_mode=True))
        self._judge(before, "while brokers were down")

    def _replay(self, counted: str, undecided: bool) -> None:
        options = {"check_mode": True, "include_undecided": undecided, "include_aborted": undecided}
        for run_id in self._replayer.saved_runs():
            self._counts[counted] += 1
            for what, act in (
                ("the replay", partial(self._replayer.replay, run_id, **options)),
                ("the impact", partial(self._replayer.impact, run_id)),
            ):
                self._try(f"{what} of {run_id}", act)

    def _try(self, what: str, act: Callable[[], object]) -> None:
        try:
            act()
        except RecoveryError as error:
            self._cluster.world.tell(f"{what} fails: {error}")

    def _judge(self, before: object, how: str) -> None:
        if self._replay_judges.traces() != before:
            self._judges.add_violation(f"a replay in check mode {how} has changed a log, or has begun a producer")
