# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The model judges why a partition is held by the logs of the simulated cluster, and not by what a run says."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from simulation.cluster import SESSION_SECONDS, SimulatedCluster
from simulation.dynamic_configs import TOPIC
from simulation.kraft import Key
from simulation.model_judge import ModelJudge
from simulation.settings import MIN_ISR
from simulation.world import World

KEY: Key = ("orders", 0)
KNOWN_SECONDS = SESSION_SECONDS + 1  # until all know who is alive


class Fork:
    """Broker 1 has led, then 2, then 3. All were lost, and 1 and 2 are back: their logs fork. Broker 2 left the ISR last, with all that was committed."""

    def __init__(self, min_isr: int = 2, gives_up: bool = False, history: bool = True, later: Sequence[str | None] = ()) -> None:
        """`later`: values that min.insync.replicas gets while broker 3 leads alone."""
        self.cluster = SimulatedCluster(World(1), 3, {"orders": [[1, 2, 3]]}, {"orders": min_isr}, elr=False)
        self.judge = ModelJudge(self.cluster, gives_up, history, snapshots=False)
        for broker in (1, 2, 3):
            self.write()
            if broker == 2:
                self.cluster.replicate(KEY, 3)
            for value in later if broker == 3 else ():
                self.cluster.set_config((TOPIC, KEY[0]), MIN_ISR, value)
            self.crash(broker)
        for broker in (1, 2):
            self.cluster.start(broker, clean=False)
            self.cluster.brokers[broker].logs[KEY].high_watermark = 0
        self.cluster.world.wait(KNOWN_SECONDS)

    def write(self) -> None:
        assert self.cluster.write(KEY, f"batch {self.cluster.world.now}", 2)
        self.cluster.world.wait(1)

    def crash(self, broker: int) -> None:
        self.cluster.crash(broker)
        self.cluster.world.wait(KNOWN_SECONDS)

    def violation(self, reason: str, outcome: str = "held") -> str | None:
        """Return what is wrong with a partition that is held for this reason."""
        row = {"outcome": outcome, "reason_code": reason}
        return self.judge.violation(KEY, self.cluster.controller.partitions[KEY], row, {})


def test_what_the_history_resolves_must_be_elected() -> None:
    assert Fork().violation("forked") == "is held (forked), and the model elects a survivor"


def test_without_the_history_a_fork_is_held() -> None:
    assert Fork(history=False).violation("forked") is None


def test_a_history_in_which_records_were_committed_later_resolves_nothing() -> None:
    assert Fork(min_isr=1).violation("forked") is None


@pytest.mark.parametrize(
    ("min_isr", "later", "is_proven"),
    [(1, ["2"], False), (2, ["1"], False), (2, ["1", "2"], False), (2, [None, "2"], False), (2, ["3", "2"], True)],
)
def test_of_min_insync_replicas_the_least_of_the_past_counts(min_isr: int, later: Sequence[str | None], is_proven: bool) -> None:
    violation = "is held (forked), and the model elects a survivor" if is_proven else None
    assert Fork(min_isr, later=later).violation("forked") == violation


def test_aggressive_elects_a_fork() -> None:
    assert Fork(gives_up=True).violation("forked") == "is held (forked), and the model elects a survivor"


@pytest.mark.parametrize("reason", ["no_survivor", "incomplete", "forked_proven", "wait_for_clean_leader"])
def test_another_reason_is_wrong(reason: str) -> None:
    assert Fork(history=False).violation(reason) == f"is held ({reason}), and the model holds it for forked"


def test_a_partition_may_not_be_stale_when_all_is_at_peace() -> None:
    assert Fork(history=False).violation("replica_returned", "stale") == "is stale (replica_returned), and the model holds it for forked"


def test_what_high_watermarks_prove_on_one_branch() -> None:
    fork = Fork(history=False)
    log = fork.cluster.brokers[1].logs[KEY]
    log.high_watermark = log.end
    assert fork.violation("forked") == "is held (forked), and the model holds it for forked_proven"
    other = fork.cluster.brokers[2].logs[KEY]
    other.high_watermark = other.end
    assert fork.violation("below_high_watermark") is None


def test_a_lost_disk_with_more_records() -> None:
    fork = Fork(history=False)
    state = fork.cluster.controller.partitions[KEY]
    lost = {3: fork.cluster.brokers[3].logs[KEY]}
    row = {"outcome": "held", "reason_code": "fenced_broker_holds_more"}
    assert fork.judge.violation(KEY, state, row, lost) is None


def test_without_survivors_nothing_is_elected() -> None:
    fork = Fork()
    for broker in (1, 2):
        fork.crash(broker)
    assert fork.violation("no_survivor") is None
    assert fork.violation("forked") == "is held (forked), and the model holds it for no_survivor"


@pytest.mark.parametrize(
    ("history", "leader", "wrong"),
    [
        (True, 2, None),
        (True, 1, "broker 1 is elected, and the model elects [2]"),
        (False, 2, "broker 2 is elected, and the model holds it"),
    ],
)
def test_whom_the_model_elects(history: bool, leader: int, wrong: str | None) -> None:
    fork = Fork(history=history)
    before = fork.cluster.controller.partitions[KEY]
    fork.cluster.reassign(KEY, (leader, *(one for one in before.replicas if one != leader)))
    offline = fork.cluster.controller.partitions[KEY]
    fork.cluster.elect(KEY, unclean=True)
    assert fork.cluster.controller.partitions[KEY].leader == leader
    assert fork.judge.other_leader(KEY, offline, leader, {}) == wrong


def test_aggressive_may_elect_whom_it_wants() -> None:
    fork = Fork(gives_up=True)
    assert fork.judge.other_leader(KEY, fork.cluster.controller.partitions[KEY], 1, {}) is None


def test_what_the_cleaner_has_removed_keeps_no_longer_log_from_leading() -> None:
    """Broker 3 led alone at last, and is lost. Broker 2 has all that broker 1 has, and more, and has removed some of it."""
    cluster = SimulatedCluster(World(1), 3, {"orders": [[3, 1, 2]]}, {"orders": 1}, elr=False)
    judge = ModelJudge(cluster, gives_up=False, history=False, snapshots=False)
    for name in ("first", "second", "third"):
        assert cluster.write(KEY, name, 1)
        cluster.replicate(KEY, 2)
    cluster.replicate(KEY, 1, 2)
    for broker in (1, 2):
        cluster.shrink(KEY, broker)
    cluster.crash(3)
    cluster.world.wait(KNOWN_SECONDS)
    cluster.brokers[2].logs[KEY].delete_before(1)
    row = {"outcome": "held", "reason_code": "retention_gap"}
    state = cluster.controller.partitions[KEY]
    assert judge.violation(KEY, state, row, {}) == "is held (retention_gap), and the model elects a survivor"
    cluster.brokers[2].logs[KEY].delete_before(2)
    assert judge.violation(KEY, state, row, {}) is None  # broker 1 ends where broker 2 starts
