# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replays in check mode, and lists of affected groups, of which one broker answers wrongly: they must change no log, whatever it answers."""

from __future__ import annotations

from collections import Counter
from functools import partial

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from simulation.cluster import SimulatedCluster
from simulation.judges import Judges
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


def replay_with_wrong_answers(
    number: int, cluster: SimulatedCluster, replayer: ReplayOperator, replay_judges: ReplayJudges, judges: Judges, counts: Counter[str]
) -> None:
    """Replay in check mode what each run has saved. `number` chooses the brokers that answer wrongly, and how."""
    wrong = WrongAnswers(cluster.world.tell)
    cluster.falsified, before = wrong.falsified, replay_judges.replayed()
    for run in range(RUNS):
        wrong.begin(number + run, [*cluster.brokers], REQUESTS)
        for run_id in replayer.saved_runs():
            undecided = bool((number + run) % 2)
            for what, act in (
                ("the replay", partial(replayer.replay, run_id, check_mode=True, include_undecided=undecided, include_aborted=undecided)),
                ("the impact", partial(replayer.impact, run_id)),
            ):
                counts["replays in check mode with wrong answers"] += what == "the replay"
                try:
                    act()
                except RecoveryError as error:
                    cluster.world.tell(f"{what} of {run_id} fails: {error}")
    wrong.rest()
    if replay_judges.replayed() != before:
        judges.add_violation("a replay in check mode that got wrong answers has changed a log")
