# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated broker whose disk fails does what a real one does (Kafka 4.3.1 and 3.9.1: test_simulation_is_kafka.py)."""

from __future__ import annotations

import pytest

from simulation.cluster import SESSION_SECONDS, SimulatedCluster
from simulation.disks import REPORT_SECONDS, fail_disk
from simulation.kraft import NO_LEADER, Key
from simulation.log_answers import log_error
from simulation.world import World

ON_FIRST: Key = ("orders", 1)
ON_SECOND: Key = ("orders", 0)
ELSEWHERE: Key = ("orders", 2)
SETTLED_SECONDS = SESSION_SECONDS + 5


@pytest.fixture
def cluster() -> SimulatedCluster:
    """Broker 1 leads two partitions with a record each, and is no replica of a third one."""
    found = SimulatedCluster(World(1), 3, {"orders": [[1, 2], [1, 2], [2, 3]]}, {"orders": 1}, elr=False)
    for key in (ON_FIRST, ON_SECOND):
        found.write(key, "record", 1)
    assert found.brokers[1].disks.on_second == {ON_SECOND}
    return found


def lose_disk(cluster: SimulatedCluster) -> None:
    """The disk of broker 1 fails while it leads alone."""
    cluster.shrink(ON_SECOND, 2)
    cluster.world.wait(1)
    fail_disk(cluster, 1)
    cluster.world.wait(1)


def start_again(cluster: SimulatedCluster, repaired: bool) -> None:
    cluster.shut_down(1)
    cluster.world.wait(SETTLED_SECONDS)
    cluster.start(1, cluster.brokers[1].was_shut_down, repaired=repaired)
    cluster.world.wait(SETTLED_SECONDS)


def test_only_what_is_on_the_disk_is_offline_and_its_leader_returns_a_storage_error(cluster: SimulatedCluster) -> None:
    lose_disk(cluster)
    broker, partitions = cluster.brokers[1], cluster.controller.partitions
    assert cluster.controller.alive(1)
    assert (partitions[ON_SECOND].leader, partitions[ON_FIRST].leader) == (NO_LEADER, 1)
    assert (log_error(broker, ON_SECOND), log_error(broker, ON_FIRST)) == ("KAFKA_STORAGE_ERROR", None)
    assert cluster.write(ON_SECOND, "more", 1) is None
    assert cluster.write(ON_FIRST, "more", 1) is not None


def test_a_broker_that_starts_without_the_disk_does_not_host_its_replicas(cluster: SimulatedCluster) -> None:
    lose_disk(cluster)
    start_again(cluster, repaired=False)
    assert not cluster.brokers[1].was_shut_down, "with a failed disk no shutdown counts as clean"
    assert cluster.controller.partitions[ON_SECOND].leader == NO_LEADER
    assert log_error(cluster.brokers[1], ON_SECOND) == "NOT_LEADER_OR_FOLLOWER"


def test_it_creates_none_of_them_before_it_is_registered_either(cluster: SimulatedCluster) -> None:
    """Kafka skips logs whose directory is assigned and may be offline (Partition.createLogInAssignedDirectoryId)."""
    cluster.shrink(ON_SECOND, 2)
    cluster.world.wait(1)
    cluster.cut_off(1, 2)
    fail_disk(cluster, 1)
    cluster.crash(1)
    cluster.start(1, clean=False, repaired=False)
    for _ in range(int(SETTLED_SECONDS)):
        cluster.world.wait(1)
        assert ON_SECOND not in cluster.brokers[1].logs
    assert cluster.brokers[1].is_registered and cluster.controller.partitions[ON_SECOND].leader == NO_LEADER


def test_a_broker_that_starts_with_the_disk_has_its_logs_and_leads_again(cluster: SimulatedCluster) -> None:
    lose_disk(cluster)
    start_again(cluster, repaired=True)
    assert cluster.controller.partitions[ON_SECOND].leader == 1
    assert [one.name for one in cluster.brokers[1].logs[ON_SECOND].batches] == ["record"]


def test_a_new_replica_is_created_on_the_other_disk(cluster: SimulatedCluster) -> None:
    lose_disk(cluster)
    assert cluster.reassign(ELSEWHERE, (1, 2, 3)) is None
    cluster.world.wait(1)
    assert ELSEWHERE in cluster.brokers[1].logs and ELSEWHERE not in cluster.brokers[1].disks.on_second


def test_a_replica_that_is_moved_away_and_back_is_created_only_when_its_broker_starts(cluster: SimulatedCluster) -> None:
    fail_disk(cluster, 1)
    cluster.world.wait(1)
    for replicas in ((2, 3), (2, 1)):
        cluster.reassign(ON_SECOND, replicas)
        cluster.world.wait(1)
        cluster.replicate(ON_SECOND, 3)
        cluster.world.wait(1)
    assert cluster.controller.partitions[ON_SECOND].adding == (1,)
    assert log_error(cluster.brokers[1], ON_SECOND) == "KAFKA_STORAGE_ERROR"
    start_again(cluster, repaired=False)
    assert cluster.brokers[1].logs[ON_SECOND].end == 0


def test_a_broker_that_cannot_report_its_disk_ends(cluster: SimulatedCluster) -> None:
    cluster.cut_off(1, 2 * REPORT_SECONDS)
    fail_disk(cluster, 1)
    cluster.world.wait(REPORT_SECONDS + 2)
    assert not cluster.brokers[1].running
