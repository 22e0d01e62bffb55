# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Producers and transactions of the simulated cluster do as Kafka's: fencing, sequences, markers, what consumers with read_committed get."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from simulation.cluster import SimulatedCluster
from simulation.events import Events
from simulation.judges import Judges
from simulation.logs import Log, Sent, contents
from simulation.model_judge import ModelJudge
from simulation.producer_logs import aborted, committed, last_stable_offset
from simulation.replay_judges import ReplayJudges
from simulation.world import World

KEY = ("orders", 0)
ID = "application"


def cluster_of_one_partition() -> SimulatedCluster:
    return SimulatedCluster(World(1), 3, {"orders": [[1, 2, 3]]}, {"orders": 1}, elr=True)


def log_of(cluster: SimulatedCluster) -> Log:
    return cluster.brokers[1].logs[KEY]


def begin(cluster: SimulatedCluster) -> Sent:
    error, sent = cluster.transactions.begin_producer(ID, 60.0)
    assert error is None
    assert cluster.transactions.add_partition(ID, sent, KEY) is None
    return sent


def produce(cluster: SimulatedCluster, name: str, sent: Sent) -> str | None:
    content = contents(log_of(cluster).end, name, 2)
    return cluster.transactions.produce(cluster.brokers[1], KEY, name, content, sent, ID)[0]


def settle(cluster: SimulatedCluster) -> None:
    for _ in range(3):
        cluster.world.wait(0.5)
        for follower in (2, 3):
            cluster.replicate(KEY, follower)


def test_a_new_producer_aborts_the_transaction_of_the_one_before_and_fences_it() -> None:
    cluster = cluster_of_one_partition()
    old = begin(cluster)
    assert produce(cluster, "a", old) is None
    assert cluster.transactions.begin_producer(ID, 60.0)[0] == "CONCURRENT_TRANSACTIONS"
    settle(cluster)
    error, new = cluster.transactions.begin_producer(ID, 60.0)
    assert (error, new.producer_epoch) == (None, old.producer_epoch + 2)
    assert produce(cluster, "b", old._replace(sequence=2)) == "INVALID_PRODUCER_EPOCH"
    assert cluster.transactions.end(ID, old, commits=True) == "PRODUCER_FENCED"
    assert list(aborted(log_of(cluster))) == [(old.producer_id, 0, 2)]


def test_a_batch_that_is_sent_again_is_appended_once() -> None:
    cluster = cluster_of_one_partition()
    sent = begin(cluster)
    assert [produce(cluster, "a", sent) for _ in range(2)] == [None, None]
    assert produce(cluster, "b", sent._replace(sequence=3)) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert [one.name for one in log_of(cluster).batches] == ["a"]


def test_read_committed_ends_before_a_transaction_that_is_open_until_its_marker_is_in_all_replicas() -> None:
    cluster = cluster_of_one_partition()
    sent = begin(cluster)
    produce(cluster, "a", sent)
    settle(cluster)
    assert (last_stable_offset(log_of(cluster)), log_of(cluster).high_watermark, committed(log_of(cluster))) == (0, 2, [])
    assert cluster.transactions.end(ID, sent, commits=True) is None
    settle(cluster)
    assert last_stable_offset(log_of(cluster)) == 3
    assert [one.value for one in committed(log_of(cluster))] == [b"a.0", b"a.1"]
    assert produce(cluster, "late", sent._replace(sequence=2)) == "INVALID_TXN_STATE"


def test_the_judges_see_a_record_that_is_there_twice(tmp_path: Path) -> None:
    cluster = cluster_of_one_partition()
    judges = Judges(cluster, tmp_path, Events(cluster, Counter()), ModelJudge(cluster, False, False, False), gives_up=False)
    for _ in range(2):
        cluster.write(KEY, "a", 1)
    settle(cluster)
    ReplayJudges(cluster, tmp_path, judges, None).judge_end()
    assert judges.violations == ["a.0 is 2 times in orders-0"]
