# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated follower truncates its log to its leader's, whatever has happened to both, and the ends of epochs are those of Kafka."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from simulation.cluster import SESSION_SECONDS, SimulatedCluster
from simulation.logs import NO_EPOCH, NO_OFFSET, Log, batch
from simulation.world import World

# Of one epoch each: who leads, and how many batches it writes that each other replica copies.
EPOCHS = st.lists(st.tuples(st.integers(0, 2), st.lists(st.sets(st.integers(0, 2)), max_size=3)), min_size=1, max_size=6)


@given(EPOCHS)
def test_after_truncation_a_log_is_the_beginning_of_its_leaders(epochs: list[tuple[int, list[set[int]]]]) -> None:
    logs = [Log(), Log(), Log()]
    for epoch, (leader, batches) in enumerate(epochs):
        logs[leader].begin_epoch(epoch)
        for follower, log in enumerate(logs):
            if follower != leader:
                log.follow(logs[leader])
                assert [one.name for one in log.batches] == [one.name for one in logs[leader].batches[: len(log.batches)]]
        for number, copying in enumerate(batches):
            logs[leader].append(batch(logs[leader].end, epoch, f"{epoch}.{number}", 1 + number))
            for follower in copying - {leader}:
                for one in logs[leader].from_offset(logs[follower].end):
                    logs[follower].append(one)


def test_ends_of_epochs() -> None:
    log = Log()
    for epoch, records in ((2, 3), (5, 4)):
        log.begin_epoch(epoch)
        log.append(batch(log.end, epoch, str(epoch), records))
    assert log.end_of_epoch(5) == (5, 7)
    assert log.end_of_epoch(4) == log.end_of_epoch(2) == (2, 3)
    assert log.end_of_epoch(1) == (1, 0)
    assert log.end_of_epoch(6) == (NO_EPOCH, NO_OFFSET)


def test_a_leader_that_has_written_nothing_forgets_its_epoch_when_it_follows_another_one() -> None:
    leader, follower = Log(), Log()
    follower.begin_epoch(3)
    for epoch in (0, 4):
        leader.begin_epoch(epoch)
        leader.append(batch(leader.end, epoch, str(epoch), 1))
    assert follower.follow(leader) == []
    for one in leader.batches:
        follower.append(one)
    assert follower.epochs == leader.epochs == [(0, 0), (4, 1)]


def test_a_new_leader_commits_nothing_before_followers_have_fetched_from_it() -> None:
    cluster = SimulatedCluster(World(1), 3, {"orders": [[3, 2, 1]]}, {"orders": 2}, elr=False)
    key = ("orders", 0)
    cluster.write(key, "unknown to broker 2", 1)
    cluster.replicate(key, 1)
    cluster.crash(3)
    cluster.world.wait(SESSION_SECONDS + 1)
    assert cluster.controller.partitions[key].leader == 2
    cluster.write(key, "new", 1)
    leader = cluster.brokers[2].logs[key]
    assert leader.high_watermark == 0 and not cluster.committed.get(key)
    cluster.replicate(key, 1)
    assert leader.high_watermark == 1 and [*cluster.committed[key]] == ["new"]
