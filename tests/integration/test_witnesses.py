# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clients that share no code with the collection judge its recoveries, and one of them recovers identical damage."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
from integration.damaged import MOVED, WITNESSED, of
from integration.support import Operator, TopicPartition, by_partition
from witness import franz, kcat, librdkafka, scripts

from rig import Damage, KafkaCluster
from rig.damage import TWIN

pytestmark = pytest.mark.skipif(not franz.PROGRAM.exists(), reason=franz.MISSING)
OURS = of(WITNESSED)
THEIRS = [f"{topic}{TWIN}" for topic in OURS]
FENCED = {1, 4}


@dataclass(frozen=True)
class Twins:
    """Damage that was recovered twice: by the modules, and by kadm's unclean elections. States are kadm's."""

    before: franz.State
    plan: dict[TopicPartition, dict[str, Any]]
    results: dict[TopicPartition, dict[str, Any]]
    errors: dict[TopicPartition, str | None]
    after: franz.State

    def elected(self, outcome: str = "elected") -> list[TopicPartition]:
        """Partitions with this outcome of ours."""
        return [key for key, row in self.results.items() if row["outcome"] == outcome]


def settled(cluster: KafkaCluster, topics: list[str]) -> franz.State:
    """The state of these topics once every live replica of a partition with a leader is in sync again."""

    def out_of_sync() -> str:
        seen = franz.state(cluster, *topics)
        bad = [key for key, view in seen.views.items() if view.leader >= 0 and view.isr != {*view.replicas} - FENCED]
        return f"{len(bad)} partitions, the first: {bad[0]}" if bad else ""

    cluster.wait_until(out_of_sync, "out of sync", 60)
    return franz.state(cluster, *topics)


def twin(key: TopicPartition) -> TopicPartition:
    return key[0] + TWIN, key[1]


@pytest.fixture(scope="module")
def twins(damage: Damage, spark_remote: str, tmp_path_factory: pytest.TempPathFactory) -> Twins:
    cluster = damage.cluster
    operator = Operator(cluster, tmp_path_factory.mktemp("witnessed"), spark_remote)
    before = franz.state(cluster, *OURS, *THEIRS)
    plan = operator.snapshot_and_plan("1", OURS, strategy="aggressive")
    results = by_partition(operator.apply("1")["results"])
    errors = franz.elect(cluster, "unclean", [key for key, view in before.views.items() if key[0] in THEIRS and view.leader < 0])
    return Twins(before, by_partition(plan["partitions"]), results, errors, settled(cluster, [*OURS, *THEIRS]))


def test_three_clients_see_the_same_partitions_and_ends(damage: Damage, twins: Twins) -> None:
    cluster, client = damage.cluster, librdkafka.connect(damage.cluster.bootstrap_servers)
    kadm = franz.state(cluster, *OURS)
    online = [key for key, view in kadm.views.items() if view.leader >= 0]
    assert (kadm.views, kadm.ends) == (librdkafka.views(client, *OURS), librdkafka.end_offsets(client, online))
    assert (kadm.views, kadm.ends) == (scripts.views(cluster, OURS), scripts.end_offsets(cluster, online))
    assert (len(kadm.views), {*kadm.ends}) == (4 * len(OURS), {*online})


@pytest.mark.skipif(kcat.PROGRAM is None, reason=kcat.MISSING)
def test_kcat_sees_the_same_partitions(damage: Damage, twins: Twins) -> None:
    seen = franz.state(damage.cluster, *OURS, *THEIRS).views
    assert kcat.views(damage.cluster, [*OURS, *THEIRS]) == {key: replace(view, topic_id="") for key, view in seen.items()}
    assert len(seen) == 8 * len(OURS) and min(view.leader for view in seen.values()) == -1


def test_kadm_sees_what_the_results_say(twins: Twins) -> None:
    assert {len(twins.elected(outcome)) for outcome in ("elected", "held")} == {12, 8}
    for key, row in twins.results.items():
        before, after = twins.before.views[key], twins.after.views[key]
        assert after.leader == (-1 if row["leader"] is None else row["leader"]), key
        assert after.topic_id == before.topic_id
        assert after.replicas == before.replicas, "the replica order stands as it stood"
        elections = twins.after.leader_epochs[key] - twins.before.leader_epochs[key]
        assert elections == (row["outcome"] == "elected"), key
        assert twins.after.offline_replicas[key] == FENCED & {*after.replicas}
    assert not twins.after.adding


def test_consumers_of_two_libraries_read_what_the_plan_promised(damage: Damage, twins: Twins) -> None:
    elected = twins.elected()
    read = damage.cluster.read_many(elected)
    assert franz.records(damage.cluster, elected) == read
    for key in elected:
        entry = twins.plan[key]
        ends = {survivor["broker_id"]: survivor["log_end_offset"] for survivor in entry["guards"]["survivors"]}
        assert len(read[key]) == twins.after.ends[key] == ends[entry["designatedLeader"]], key


def test_a_second_administrator_loses_no_fewer_records(damage: Damage, twins: Twins) -> None:
    offline = {key for key in twins.results if key[0].split(".")[0] != "already_online"}
    assert twins.errors == {twin(key): "ELIGIBLE_LEADERS_NOT_AVAILABLE" if key[0].startswith("no_survivor") else None for key in offline}
    elected = twins.elected()
    ours = damage.cluster.read_many(elected)
    theirs = franz.records(damage.cluster, map(twin, elected))
    lost = {"lagging": [0, 0], "identical": [0, 0], "forked": [0, 0]}
    for key in elected:
        for side, read in enumerate((ours[key], theirs[twin(key)])):
            lost[key[0].split(".")[0]][side] += len({*damage.acknowledged[key]} - {value for _offset, value in read})
    # The last 10 records of each partition were on broker 1 alone. In three of four partitions the first live replica lacks 20 more that were acknowledged.
    assert lost == {"lagging": [40, 100], "identical": [40, 40], "forked": [40, 100]}


def test_a_move_by_another_client_is_left_alone(east: Operator) -> None:
    """Broker 4 never arrives, so the move stays in progress. The last partition has the better survivor first and needs no other order."""
    before = franz.state(east.cluster, MOVED).views
    moved = {key: [*view.replicas, 4] for key, view in before.items()}
    assert franz.reassign(east.cluster, moved) == dict.fromkeys(before)
    assert franz.state(east.cluster, MOVED).adding == dict.fromkeys(before, frozenset({4}))
    assert {*before} <= {*scripts.moves(east.cluster.libs, east.cluster.bootstrap_servers)}
    plan = east.snapshot_and_plan("1", [MOVED], strategy="aggressive")
    assert {row["reason_code"] for row in plan["held"]} == {"reassignment_in_progress"}
    assert {*by_partition(plan["held"])} == {*before} - {(MOVED, 3)}
    east.apply("1")
    after = franz.state(east.cluster, MOVED)
    assert after.adding == dict.fromkeys(before, frozenset({4}))
    assert {key: view.replicas for key, view in after.views.items()} == {key: tuple(replicas) for key, replicas in moved.items()}
