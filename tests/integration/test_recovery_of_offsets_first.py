# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`__consumer_offsets` and forked topics are offline together, and only what a group has committed says which branch was read: one run recovers both.

Broker 1 leads, and broker 3 hangs and does not copy the last records. Broker 1 dies, broker 3 leads, writes records that no follower copies, and dies.
Broker 2, which has the last records of broker 1, leads, and groups read them and commit. Then brokers 4 (the copy of `__consumer_offsets`) and 2 are
lost, and 1, 3 and 4 come back. Broker 3 has the later epoch, broker 1 the records that were read.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka import TopicPartition as Committed
from confluent_kafka.admin import AdminClient
from integration.support import Operator, by_partition

from rig import KafkaCluster, NewTopic
from rig.damage import FETCHES_OVER_SECONDS

pytestmark = pytest.mark.long

OFFSETS, OWN, REVIEWED = "__consumer_offsets", "own", "reviewed"
# The coordinator of a group is the leader of the partition of OFFSETS that the hash of its name gives: "b" is 98, "a" is 97.
GROUPS = {REVIEWED: "b", OWN: "a"}
REVIEWED_OFFSETS, OWN_OFFSETS = (OFFSETS, 0), (OFFSETS, 1)
READ_BRANCH, LATER_EPOCH = 1, 3
SESSION = 10.0
EVERYWHERE, READ, NEVER_COPIED = 10, 5, 3


def write(cluster: KafkaCluster, what: str, count: int) -> None:
    cluster.writer.write({(topic, 0): [f"{what} {number}" for number in range(count)] for topic in GROUPS}, acks="1")


def copied(cluster: KafkaCluster, broker: int, end: int) -> None:
    keys = [(topic, 0) for topic in GROUPS]
    ends = dict.fromkeys(keys, end)
    cluster.wait_until(lambda: "" if cluster.log_end_offsets(broker, keys) == ends else "not yet", f"copied by broker {broker}", 60)


def commit(cluster: KafkaCluster) -> None:
    """Each group has read all that broker 2 holds. The last record was written in epoch 0."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 2})
    for topic, group in GROUPS.items():
        request = ConsumerGroupTopicPartitions(group, [Committed(topic, 0, EVERYWHERE + READ, leader_epoch=0)])
        admin.alter_consumer_group_offsets([request])[group].result()


def live_through(cluster: KafkaCluster) -> None:
    cluster.create_topics(
        [NewTopic(OFFSETS, [[2, 4]] * 2, {"cleanup.policy": "compact"}), *(NewTopic(topic, [[1, 3, 2]]) for topic in GROUPS)]
    )
    write(cluster, "everywhere", EVERYWHERE)
    copied(cluster, 3, EVERYWHERE)
    cluster.pause(3)
    time.sleep(FETCHES_OVER_SECONDS)
    write(cluster, "read", READ)
    copied(cluster, 2, EVERYWHERE + READ)
    cluster.kill(1)
    cluster.resume(3)

    # Broker 2 hangs while broker 3 leads: it copies nothing.
    time.sleep(SESSION / 2)
    cluster.pause(2)
    cluster.wait_for_partitions(GROUPS, lambda state: state.leader == 3 and {*state.isr} == {2, 3}, "led by broker 3")
    time.sleep(FETCHES_OVER_SECONDS)
    write(cluster, "never copied", NEVER_COPIED)
    cluster.kill(3)
    cluster.resume(2)

    cluster.wait_for_partitions(GROUPS, lambda state: state.leader == 2, "led by broker 2")
    cluster.wait_for_partitions([OFFSETS], lambda state: state.leader == 2 and {*state.isr} == {2, 4}, "led by broker 2, copied by 4")
    cluster.wait_until(lambda: "" if len(cluster.read(OWN, 0)) == EVERYWHERE + READ else "not yet", "read by a consumer", 60)
    commit(cluster)
    cluster.kill(4)
    cluster.wait_fenced([4])
    cluster.kill(2)
    cluster.start_node(1, 3, 4)
    cluster.wait_fenced([2])
    cluster.wait_unfenced([1, 3, 4])
    cluster.wait_for_partitions([OFFSETS, *GROUPS], lambda state: state.leader < 0, "without a leader")


@pytest.fixture(scope="module")
def operator(spark_remote: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    """Who works on the cluster afterwards, without the controllers: their history of ISRs could resolve the forks."""
    settings: dict[str, Any] = {
        "brokers": 4,
        "session_timeout": SESSION,
        "heap": "200m",
        "properties": {"offsets.topic.num.partitions": 2, "num.recovery.threads.per.data.dir": 2},
    }
    with KafkaCluster("offsets", **settings) as cluster:
        live_through(cluster)
        login = {"bootstrap_servers": cluster.bootstrap_servers}
        yield Operator(cluster, tmp_path_factory.mktemp("offsets"), spark_remote, login=login)


def named(*keys: tuple[str, int]) -> list[dict[str, Any]]:
    return [{"topic": topic, "partition": partition} for topic, partition in keys]


def test_one_run_elects_the_branch_that_a_group_has_read_and_a_reviewed_plan_elects_no_other(
    operator: Operator,
) -> None:
    cluster = operator.cluster
    aggressive: dict[str, Any] = {"strategy": "aggressive", "allow_data_loss": True}

    # A plan for review. While no offset can be read, the later epoch wins.
    planned = operator.play("plan", "review", strategy="aggressive", partitions=named(REVIEWED_OFFSETS, (REVIEWED, 0)))
    assert planned.returncode == 0, planned
    plan = by_partition(operator.read("plans", "review")["partitions"])
    assert (plan[REVIEWED, 0]["designatedLeader"], plan[REVIEWED, 0]["evidence"]) == (LATER_EPOCH, "incomplete"), plan

    # Its strategy is the plan's own. Where that is not allowed, nothing is elected.
    reviewed: dict[str, Any] = {"plan_dir": str(operator.path("plans", "review").parent), "allow_data_loss": True}
    refused = operator.play("apply", "refused", allowed_strategies=["balanced"], **reviewed)
    assert refused.returncode != 0 and "allowed_strategies" in refused.said and "aggressive" in refused.said, refused
    assert {state.leader for state in cluster.describe(OFFSETS, *GROUPS)} == {-1}

    # The other partition of the offsets topic has no leader yet, so not all offsets can be read.
    applied = operator.play("apply", "applied", **reviewed)
    assert applied.returncode != 0, applied
    results = by_partition(operator.read("results", "applied")["partitions"])
    assert results[REVIEWED_OFFSETS]["outcome"] == "elected", results
    assert (results[REVIEWED, 0]["outcome"], results[REVIEWED, 0]["reason_code"]) == ("held", "incomplete")
    assert operator.states(REVIEWED)[REVIEWED, 0].leader == -1

    wanted = named(OWN_OFFSETS, (OWN, 0))
    dry = operator.play("recover", "dry", "--check", partitions=wanted, **aggressive)
    assert dry.returncode == 0, dry
    assert "(own-0)" in dry.said, "a warning names what offsets may change"
    assert operator.states(OWN)[OWN, 0].leader == -1

    recovered = operator.play("recover", "once", partitions=wanted, **aggressive)
    assert recovered.returncode == 0, recovered
    designated = by_partition(operator.read("plans", "once")["partitions"])
    assert designated[OWN, 0]["designatedLeader"] == LATER_EPOCH, "the plan could not know it"
    results = by_partition(operator.read("results", "once")["partitions"])
    assert {row["outcome"] for row in results.values()} == {"elected"}
    own = results[OWN, 0]
    assert (own["leader"], own["designated_leader"], own["evidence"]) == (READ_BRANCH, READ_BRANCH, "forked_proven")
    assert own["truncated"] == [{"broker_id": LATER_EPOCH, "offset": EVERYWHERE, "records": NEVER_COPIED}]
    assert (own["decided_again"]["planned_leader"], own["decided_again"]["planned_reason_code"]) == (LATER_EPOCH, None)
    assert results[OWN_OFFSETS]["decided_again"] is None
    read = [f"everywhere {number}" for number in range(EVERYWHERE)] + [f"read {number}" for number in range(READ)]
    cluster.wait_until(lambda: "" if [value for _, value in cluster.read(OWN, 0)] == read else "not yet", "read again", 60)
    assert operator.states(OWN)[OWN, 0].replicas == (1, 3, 2), "the order from before"

    again = operator.play("recover", "again", partitions=wanted, **aggressive)
    assert again.returncode == 0 and again.recap[operator.name]["changed"] == 0, again

    # All offsets can be read now. A reviewed plan elects the leader that was reviewed or none, also if a variable says otherwise.
    applied = operator.play("apply", "late", decide_again=True, **reviewed)
    assert applied.returncode != 0, applied
    results = by_partition(operator.read("results", "late")["partitions"])
    assert results[REVIEWED_OFFSETS]["outcome"] == "already_online", results
    assert (results[REVIEWED, 0]["outcome"], results[REVIEWED, 0]["reason_code"]) == ("stale", "decided_otherwise")
    assert operator.states(REVIEWED)[REVIEWED, 0].leader == -1

    # The next plan of the reviewed topic has the proof itself.
    last = operator.play("recover", "last", partitions=named((REVIEWED, 0)), **aggressive)
    assert last.returncode == 0, last
    (row,) = operator.read("results", "last")["partitions"]
    assert (row["leader"], row["evidence"], row["decided_again"]) == (READ_BRANCH, "forked_proven", None)
