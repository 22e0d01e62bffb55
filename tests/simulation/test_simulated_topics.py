# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated logs start later, are compacted, and go with their topic, as those of Kafka do."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch

from simulation.cluster import SESSION_SECONDS, SimulatedCluster
from simulation.kraft import Key
from simulation.log_answers import log_error
from simulation.logs import NO_EPOCH, Log, batch
from simulation.world import World

KEY: Key = ("orders", 0)


def keyed(*sizes: int) -> Log:
    """A log of batches of so many records, of two keys."""
    log = Log()
    for number, records in enumerate(sizes):
        log.append(batch(log.end, number, str(number), records, keys=2))
    log.high_watermark = log.end
    return log


def test_what_is_deleted_is_no_loss_and_its_epochs_are_forgotten() -> None:
    log = keyed(2, 2, 2)
    first, second, _third = log.batches
    log.delete_before(4)
    assert (log.start, log.end, log.epochs) == (4, 6, [(2, 4)])
    assert log.has(first) and not log.holds(second)
    assert log.end_of_epoch(1) == (1, 4)
    log.delete_before(6)
    assert (log.start, log.end, log.epochs, log.end_of_epoch(2)) == (6, 6, [(2, 6)], (2, 6))


@given(st.lists(st.integers(1, 4), min_size=2, max_size=8))
def test_the_cleaner_keeps_the_last_record_of_each_key_and_all_offsets(sizes: list[int]) -> None:
    log, whole = keyed(*sizes), keyed(*sizes)
    log.clean()
    assert (log.end, log.epochs, log.batches[-1]) == (whole.end, whole.epochs, whole.batches[-1])
    last = {record.key: record.offset for one in whole.batches[:-1] for record in DefaultRecordBatch(one.data)}
    cleaned = [DefaultRecordBatch(one.data) for one in log.batches[:-1]]
    assert all(one.validate_crc() for one in cleaned)
    assert {record.key: record.offset for one in cleaned for record in one} == last
    assert [(one.base, one.last, one.epoch) for one in log.had] == [(one.base, one.last, one.epoch) for one in whole.batches]


def test_a_broker_that_starts_ends_its_log_behind_the_last_batch() -> None:
    log = keyed(2, 2, 2)
    log.delete_before(2)
    log.clean()
    log.truncate(log.batches[-1].base)
    log.load()
    assert log.end == (log.batches[-1].last + 1 if log.batches else log.start) >= log.high_watermark


@given(st.lists(st.integers(1, 3), min_size=3, max_size=6), st.integers(0, 2), st.integers(1, 2))
def test_a_follower_has_what_its_leader_had(sizes: list[int], copied: int, keep: int) -> None:
    leader, follower = keyed(*sizes), Log()
    for one in leader.batches[:copied]:
        follower.append(one)
    leader.clean(keep)
    assert follower.follow(leader) == []
    for one in leader.from_offset(follower.end):
        follower.take_deleted(leader, one.base)
        follower.append(one)
    assert [one.name for one in follower.had] == [one.name for one in leader.had]
    assert follower.end == leader.end and follower.end_of_epoch(len(sizes)) == (NO_EPOCH, -1)


def test_followers_start_where_their_leader_starts() -> None:
    cluster = SimulatedCluster(World(1), 3, {"orders": [[1, 2, 3]]}, {"orders": 1}, elr=False)
    for number in range(3):
        cluster.write(KEY, str(number), 2)
        cluster.replicate(KEY, 2)
    cluster.shrink(KEY, 3)
    cluster.world.wait(1)
    cluster.write(KEY, "last", 1)
    cluster.replicate(KEY, 2)
    cluster.brokers[1].logs[KEY].delete_before(4)
    cluster.replicate(KEY, 2)
    cluster.replicate(KEY, 3)  # its log ends before the leader's starts
    assert {cluster.brokers[one].logs[KEY].start for one in (1, 2, 3)} == {4}
    assert cluster.brokers[3].logs[KEY].end == 7 and not cluster.destroyed


def test_a_topic_that_is_created_again_has_new_logs() -> None:
    cluster = SimulatedCluster(World(1), 3, {"orders": [[1, 2, 3]]}, {"orders": 1}, elr=False)
    cluster.write(KEY, "record", 1)
    cluster.replicate(KEY, 3)
    cluster.crash(3)
    cluster.world.wait(SESSION_SECONDS + 1)
    cluster.create_again("orders")
    cluster.world.wait(1)
    state = cluster.controller.partitions[KEY]
    assert (state.topic_id, state.epoch, {*state.replicas}) == (1, 0, {1, 2})
    assert cluster.brokers[state.leader].logs[KEY].end == 0 and cluster.brokers[3].logs[KEY].end == 1
    cluster.start(3, clean=False)
    cluster.world.wait(SESSION_SECONDS)
    assert KEY not in cluster.brokers[3].logs and log_error(cluster.brokers[3], KEY) == "NOT_LEADER_OR_FOLLOWER"
