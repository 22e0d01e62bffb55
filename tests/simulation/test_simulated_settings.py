# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Configs of topics that change while the simulated cluster runs: the controllers write and obey them, brokers obey them when they have learnt of them."""

from __future__ import annotations

from collections import Counter

import pytest
from kafka.protocol.admin import DescribeConfigsRequest
from unit import metadata_logs as encoded

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.metadata_log_reader import MetadataLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import metadata_records
from simulation.cluster import SESSION_SECONDS, UNCLEAN_SECONDS, SimulatedCluster
from simulation.drawn_script import drawn
from simulation.dynamic_configs import BROKER, EVERY_BROKER, TOPIC, Resource
from simulation.events import Events
from simulation.kraft import NO_LEADER, Key
from simulation.logs import contents
from simulation.metadata_answers import describe_configs
from simulation.settings import INVALID, MIN_ISR, UNCLEAN
from simulation.world import World
from simulation.wrong_batches import cut_apart

KEY: Key = ("orders", 0)
ORDERS: Resource = (TOPIC, KEY[0])
ALL: Resource = (BROKER, EVERY_BROKER)
LEARNT_SECONDS = 1.0
COUNTED = f"{MIN_ISR} set by another tool"


def cluster_of(min_isr: int, elr: bool = False, replicas: int = 3) -> SimulatedCluster:
    return SimulatedCluster(World(1), 3, {KEY[0]: [[1, 2, 3][:replicas]]}, {KEY[0]: min_isr}, elr)


def alone(cluster: SimulatedCluster) -> None:
    """Leave the leader alone in the ISR."""
    for follower in (2, 3):
        cluster.shrink(KEY, follower)
    cluster.world.wait(LEARNT_SECONDS)


def set_to(cluster: SimulatedCluster, value: str | None, resource: Resource = ORDERS) -> str | None:
    """Set min.insync.replicas, and wait until brokers know it."""
    error = cluster.set_config(resource, MIN_ISR, value)
    cluster.world.wait(LEARNT_SECONDS)
    return error


def is_committed(cluster: SimulatedCluster, name: str) -> bool:
    """Write a batch, and return whether it is committed at once."""
    assert cluster.write(KEY, name, 1)
    return cluster.was_committed(KEY, name)


def written(cluster: SimulatedCluster) -> list[metadata_records.Record]:
    """Return what the product reads in the metadata log, without what comes before the partitions."""
    log = cluster.metadata_log
    active = encoded.Active(cut_apart(log.read(0, 1 << 20)), log.end)
    found = [one for entry in MetadataLog(active, 10.0) if (one := metadata_records.decode(entry.value)) is not None]
    last = max(place for place, one in enumerate(found) if isinstance(one, metadata_records.PartitionRegistration))
    return found[last + 1 :]


def described(cluster: SimulatedCluster, broker: int, name: str = MIN_ISR) -> str | None:
    """Return a config of the topic as a broker describes it."""
    resource = DescribeConfigsRequest.DescribeConfigsResource(resource_type=TOPIC, resource_name=KEY[0], configuration_keys=[name])
    (result,) = describe_configs(cluster.brokers[broker], DescribeConfigsRequest(resources=[resource])).results
    (config,) = result.configs
    value: str | None = config.value
    return value


def test_a_leader_alone_commits_only_while_one_replica_is_enough() -> None:
    cluster = cluster_of(1)
    alone(cluster)
    assert is_committed(cluster, "before")
    set_to(cluster, "2")
    assert not is_committed(cluster, "raised")
    set_to(cluster, "1")
    assert is_committed(cluster, "lowered") and cluster.was_committed(KEY, "raised")


def test_a_leader_obeys_what_it_has_learnt() -> None:
    cluster = cluster_of(1)
    alone(cluster)
    cluster.set_config(ORDERS, MIN_ISR, "2")
    assert is_committed(cluster, "not learnt yet")
    cluster.world.wait(LEARNT_SECONDS)
    assert not is_committed(cluster, "learnt")


def test_an_isr_never_needs_more_members_than_there_are_replicas() -> None:
    cluster = cluster_of(1, replicas=1)
    set_to(cluster, "3")
    assert is_committed(cluster, "alone")


def test_the_value_of_a_topic_comes_before_that_of_a_broker_and_that_before_the_one_of_all() -> None:
    cluster = cluster_of(2)
    alone(cluster)
    set_to(cluster, "1", (BROKER, "1"))
    set_to(cluster, "3", ALL)
    assert not is_committed(cluster, "by that of the topic")
    set_to(cluster, None)
    assert is_committed(cluster, "by that of the broker") and cluster.controller.min_isr == {KEY[0]: 3}
    assert (described(cluster, 1), described(cluster, 2)) == ("1", "3")
    set_to(cluster, None, (BROKER, "1"))
    assert not is_committed(cluster, "by that of all brokers")
    set_to(cluster, None, ALL)
    assert is_committed(cluster, "by the files") and described(cluster, 2) == "1"


def test_writers_who_wait_for_the_isr_are_refused_below_it() -> None:
    cluster = cluster_of(1)
    alone(cluster)
    _error, sent = cluster.transactions.begin_producer("application", 60.0)
    assert cluster.transactions.add_partition("application", sent, KEY) is None
    set_to(cluster, "2")
    leader = cluster.brokers[1]
    content = contents(leader.logs[KEY].end, "refused", 1)
    assert cluster.transactions.produce(leader, KEY, "refused", content, sent, "application")[0] == "NOT_ENOUGH_REPLICAS"
    set_to(cluster, "1")
    assert cluster.transactions.produce(leader, KEY, "taken", content, sent, "application")[0] is None


def test_a_change_clears_the_eligible_leader_replicas_of_its_topic() -> None:
    """Kafka 4.3 (ConfigurationControlManager.createClearElrRecordsAsNeeded). No epoch changes, and no leader is elected."""
    cluster = SimulatedCluster(World(1), 3, {"orders": [[1, 2, 3]], "payments": [[1, 2, 3]]}, {"orders": 2, "payments": 2}, elr=True)
    for broker in (3, 2, 1):
        cluster.crash(broker)
        cluster.world.wait(SESSION_SECONDS + 1)
    orders, payments = (cluster.controller.partitions[topic, 0] for topic in ("orders", "payments"))
    assert orders.elr == payments.elr == (2, 1) and orders.last_known == (1,)
    cluster.set_config(ORDERS, MIN_ISR, "1")
    assert cluster.controller.partitions[KEY] == orders._replace(elr=(), last_known=())
    assert cluster.controller.partitions["payments", 0] == payments
    last = written(cluster)[-2:]
    assert last == [metadata_records.ConfigChange(TOPIC, "orders", MIN_ISR, "1"), metadata_records.EligibleReplicasCleared("orders")]
    cluster.set_config(ALL, MIN_ISR, "2")
    assert cluster.controller.partitions["payments", 0] == payments._replace(elr=(), last_known=())
    assert written(cluster)[-1] == metadata_records.EligibleReplicasCleared("")


def test_the_controller_keeps_eligible_leader_replicas_by_the_value_of_now() -> None:
    cluster = cluster_of(1, elr=True)
    set_to(cluster, "3")
    cluster.shrink(KEY, 3)
    assert cluster.controller.partitions[KEY].elr == (3,)


@pytest.mark.parametrize(("elr", "error"), [(True, INVALID), (False, None)])
def test_with_eligible_leader_replicas_no_broker_has_another_value_and_that_of_all_stays(elr: bool, error: str | None) -> None:
    cluster = cluster_of(2, elr)
    before = len(written(cluster))
    assert cluster.set_config((BROKER, "1"), MIN_ISR, "1") == cluster.set_config(ALL, MIN_ISR, None) == error
    assert len(written(cluster)) - before == (0 if elr else 2)
    assert cluster.set_config(ALL, MIN_ISR, "1") is None


def test_the_log_has_each_change_and_none_that_changes_nothing() -> None:
    cluster = cluster_of(2)
    for value in ("1", "1", None, None):
        cluster.set_config(ORDERS, MIN_ISR, value)
    assert written(cluster) == [metadata_records.ConfigChange(TOPIC, "orders", MIN_ISR, value) for value in ("1", None)]


def test_a_topic_that_is_created_again_has_the_value_of_its_creation() -> None:
    cluster = cluster_of(2)
    set_to(cluster, "1")
    cluster.create_again(KEY[0])
    cluster.world.wait(LEARNT_SECONDS)
    assert cluster.controller.min_isr == {KEY[0]: 2} and described(cluster, 1) == "2"


def lost_uncleanly(allows: bool, elr: bool = False) -> SimulatedCluster:
    """Return a cluster of which broker 1 alone had a record, and is lost, while the others live."""
    cluster = cluster_of(1, elr)
    if allows:
        cluster.set_config(ORDERS, UNCLEAN, "true")
    alone(cluster)
    assert is_committed(cluster, "lost")
    cluster.crash(1)
    cluster.world.wait(SESSION_SECONDS + 1)
    return cluster


@pytest.mark.parametrize("elr", [False, True])
def test_a_topic_that_allows_it_gets_its_first_live_replica_as_leader_when_the_last_one_is_fenced(elr: bool) -> None:
    assert lost_uncleanly(allows=False, elr=elr).controller.partitions[KEY].leader == NO_LEADER
    cluster = lost_uncleanly(allows=True, elr=elr)
    state = cluster.controller.partitions[KEY]
    assert (state.leader, state.isr, state.recovering) == (2, (2,), True)
    assert "lost" in cluster.given_up and "lost" not in cluster.committed[KEY]
    last = [one for one in written(cluster) if isinstance(one, metadata_records.PartitionChange)][-1]
    assert (last.leader, last.recovering) == (2, True)


def test_who_allows_it_later_gets_a_leader_at_the_next_look_which_comes_every_five_minutes() -> None:
    cluster = lost_uncleanly(allows=False)
    assert described(cluster, 2, UNCLEAN) == "false"
    cluster.set_config(ALL, UNCLEAN, "true")
    assert cluster.controller.partitions[KEY].leader == NO_LEADER
    cluster.world.wait(UNCLEAN_SECONDS)
    assert cluster.controller.partitions[KEY].leader == 2 and described(cluster, 2, UNCLEAN) == "true"


def test_any_broker_that_comes_back_lets_the_controller_look_at_once() -> None:
    cluster = SimulatedCluster(World(1), 4, {KEY[0]: [[1, 2, 3]]}, {KEY[0]: 1}, elr=False)
    alone(cluster)
    for broker in (1, 4):
        cluster.crash(broker)
    cluster.world.wait(SESSION_SECONDS + 1)
    cluster.set_config(ORDERS, UNCLEAN, "true")
    assert cluster.controller.partitions[KEY].leader == NO_LEADER
    cluster.controller.unfence(4)
    assert cluster.controller.partitions[KEY].leader == 2


def test_it_is_not_allowed_any_more_once_the_config_is_removed() -> None:
    cluster = lost_uncleanly(allows=False)
    for value in ("true", None):
        cluster.set_config(ORDERS, UNCLEAN, value)
    cluster.world.wait(2 * UNCLEAN_SECONDS)
    assert cluster.controller.partitions[KEY].leader == NO_LEADER


def test_another_order_elects_none_and_what_a_request_elects_is_not_the_controllers() -> None:
    cluster = lost_uncleanly(allows=False)
    seen: list[Key] = []
    cluster.after_unclean_election = seen.append
    cluster.set_config(ORDERS, UNCLEAN, "true")
    assert cluster.reassign(KEY, (3, 2, 1)) is None
    assert cluster.controller.partitions[KEY].leader == NO_LEADER
    assert cluster.elect(KEY, unclean=True) is None
    assert cluster.controller.partitions[KEY].leader == 3 and not seen and "lost" in cluster.committed[KEY]


@pytest.mark.parametrize("elr", [False, True])
def test_an_unclean_leader_counts_as_recovering_until_it_changes_the_isr_however_often_it_is_lost(elr: bool) -> None:
    """Kafka 4.3.1 does so. The record of a second unclean election does not state it again."""
    cluster = lost_uncleanly(allows=True, elr=elr)
    cluster.crash(2)
    cluster.world.wait(SESSION_SECONDS + 1)
    state = cluster.controller.partitions[KEY]
    last = [one for one in written(cluster) if isinstance(one, metadata_records.PartitionChange)][-1]
    assert (state.leader, state.isr, state.recovering) == (3, (3,), True)
    assert (last.leader, last.recovering) == (3, None)
    cluster.crash(3)
    cluster.world.wait(SESSION_SECONDS + 1)
    state = cluster.controller.partitions[KEY]
    assert (state.leader, state.recovering) == (NO_LEADER, True)
    cluster.controller.register(3, clean=True)
    cluster.controller.unfence(3)
    state = cluster.controller.partitions[KEY]
    assert (state.leader, state.recovering) == (3, True)
    assert cluster.controller.alter_isr(KEY, 3, state.epoch, [3])
    assert not cluster.controller.partitions[KEY].recovering


@pytest.mark.parametrize("elr", [False, True])
@pytest.mark.parametrize("allows", [False, True])
@pytest.mark.parametrize("comes_back", [False, True])
def test_a_cancel_that_leaves_no_member_of_the_isr_gives_the_first_replica_of_before_where_the_topic_allows_it(
    allows: bool, comes_back: bool, elr: bool
) -> None:
    """Kafka 4.3.1 does: the ISR is that replica, dead or not, and the leader does not count as recovering."""
    cluster = cluster_of(1, elr, replicas=1)
    if allows:
        cluster.set_config(ORDERS, UNCLEAN, "true")
    assert is_committed(cluster, "before")
    cluster.crash(3)
    cluster.world.wait(SESSION_SECONDS + 1)
    assert cluster.reassign(KEY, (1, 2, 3)) is None
    cluster.world.wait(LEARNT_SECONDS)
    cluster.replicate(KEY, 2)
    cluster.crash(1)
    cluster.world.wait(SESSION_SECONDS + 1)
    assert cluster.write(KEY, "by the added one", 1) and cluster.was_committed(KEY, "by the added one")
    if comes_back:
        cluster.controller.register(1, clean=True)
        cluster.controller.unfence(1)
    moving = cluster.controller.partitions[KEY]
    assert (moving.leader, moving.isr, moving.adding) == (2, (2,), (2, 3))
    error = cluster.reassign(KEY, None)
    state = cluster.controller.partitions[KEY]
    if not allows:
        assert (error, state) == ("INVALID_REPLICA_ASSIGNMENT", moving)
        return
    leader = 1 if comes_back else NO_LEADER
    assert error is None and (state.replicas, state.leader, state.isr, state.recovering) == ((1,), leader, (1,), False)
    assert "by the added one" in cluster.given_up
    assert state.last_known == ((2,) if elr and not comes_back else ())
    cluster.controller.register(1, clean=True)
    cluster.controller.unfence(1)
    assert cluster.controller.partitions[KEY].leader == 1


def test_a_controller_that_elects_by_itself_is_counted() -> None:
    counts = Counter[str]()
    cluster = cluster_of(1)
    Events(cluster, counts).other_tools.allow_unclean((0, 1, 0, 0))
    alone(cluster)
    cluster.crash(1)
    cluster.world.wait(SESSION_SECONDS + 1)
    assert counts["unclean election by the controller"] == counts[f"{UNCLEAN} set by another tool"] == 1


def test_some_seeds_allow_unclean_elections() -> None:
    scripts = [drawn(seed) for seed in range(1, 300)]
    allowing = [one for one in scripts if "allow_unclean" in str(one)]
    assert len(scripts) / 50 < len(allowing) < len(scripts) / 8
    assert not any(one.moves or one.is_certain or one.disks for one in allowing)


def test_another_tool_changes_the_value_unless_there_is_no_controller() -> None:
    cluster = cluster_of(2)
    counts = Counter[str]()
    events = Events(cluster, counts)
    acted: list[bool] = []
    cluster.after_setting = lambda: acted.append(events.acts_for_others)
    events.other_tools.set_min_isr((0, 0, 0, 2))
    assert cluster.controller.min_isr == {KEY[0]: 3} and acted == [True] and counts[COUNTED] == 1
    cluster.lose_controller(1.0)
    events.other_tools.set_min_isr((0, 0, 0, 0))
    assert cluster.controller.min_isr == {KEY[0]: 3} and counts[COUNTED] == 1


def test_some_seeds_change_it_before_during_and_between_recoveries() -> None:
    scripts = [drawn(seed) for seed in range(1, 300)]

    def changes(steps: object) -> bool:
        return "set_min_isr" in str(steps)

    assert any(changes(one.damage) for one in scripts) and any(changes(one.faults) for one in scripts)
    assert any(changes(run.damage) for one in scripts for run in one.later)
    assert sum(map(changes, scripts)) < len(scripts) / 4
    assert not any(changes(one) for one in scripts if one.moves or one.is_certain)
