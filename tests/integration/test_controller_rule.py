# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's rule: the same as that of Kafka's own class, for every partition of three replicas and every set of live brokers.

And the same as what real clusters do as brokers leave and return: `integration.elections` compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

import pytest
from integration.damaged import PROPERTIES
from integration.elections import Seen, Story
from integration.support import Operator

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.controller import (
    Registration,
    after_fencing,
    after_unclean_shutdown,
    elected,
    may_lead,
)
from rig import KafkaCluster, jars
from rig.partition_change import NO_LEADER, Partition, PartitionChanges, controller

pytestmark = pytest.mark.long

REPLICAS = (1, 2, 3)
SUBSETS = [subset for size in range(4) for subset in combinations(REPLICAS, size)]
# Kafka before 4.0 does not have the feature, only an internal config for previews (eligible.leader.replicas.enable). With it, a last known leader is elected
# that is not alive.
RELEASES = {"4.4.0": (False, True), "4.3.1": (False, True), "3.9.1": (False,), "3.8.1": (False,)}


@pytest.fixture(scope="module", params=RELEASES)
def kafka(request: pytest.FixtureRequest) -> Iterator[tuple[PartitionChanges, tuple[bool, ...]]]:
    """The classes of a release, and whether its feature ELR may be off or on."""
    with controller(jars.libs(request.param), REPLICAS) as changes:
        yield changes, RELEASES[request.param]


def partitions() -> Iterator[Registration]:
    """Every one without a leader: each replica is in the ISR, in the ELR or in neither, and any of them are last known. The lists outlive the feature ELR."""
    for places in product(("isr", "elr", "out"), repeat=3):
        held = {name: tuple(broker for broker, place in zip(REPLICAS, places, strict=True) if place == name) for name in ("isr", "elr")}
        for known in SUBSETS:
            yield Registration(REPLICAS, held["isr"], held["elr"], known)


def as_kafka_has_it(partition: Registration) -> Partition:
    return Partition(partition.replicas, partition.isr, partition.elr, partition.last_known_elr, NO_LEADER)


def test_elections_are_those_of_kafka(kafka: tuple[PartitionChanges, tuple[bool, ...]]) -> None:
    changes, features = kafka
    compared = 0
    for elr in features:
        for partition, live, unclean in product(partitions(), SUBSETS, (False, True)):
            election = elected(partition, live, elr, unclean)
            leader = changes.elected(as_kafka_has_it(partition), live, elr, unclean).leader
            assert leader == (election.broker if election else NO_LEADER), (partition, live, elr, unclean)
            compared += 1
    assert compared == len(features) * 27 * 8 * 8 * 2


def test_preferred_elections_are_those_of_kafka(kafka: tuple[PartitionChanges, tuple[bool, ...]]) -> None:
    """Of every partition with a live leader that is not its first replica."""
    changes, features = kafka
    compared = 0
    for elr in features:
        for partition, live in product((one for one in partitions() if not one.last_known_elr), SUBSETS):
            for leader in {*partition.isr} & {*live} - {REPLICAS[0]}:
                after = changes.preferred(as_kafka_has_it(partition)._replace(leader=leader), live, elr)
                assert (after.leader == REPLICAS[0]) == may_lead(partition, REPLICAS[0], live), (partition, live, leader, elr)
                compared += 1
    assert compared == len(features) * 72


def test_an_unclean_shutdown_leaves_what_kafka_leaves(kafka: tuple[PartitionChanges, tuple[bool, ...]]) -> None:
    changes, features = kafka
    for elr in features:
        for partition, broker, min_isr in product(partitions(), REPLICAS, (1, 2, 3)):
            if broker not in {*partition.isr, *partition.elr} or (not elr and {*partition.elr, *partition.last_known_elr}):
                continue  # the controller looks at no other partitions, or clears the ELR as it does
            left = after_unclean_shutdown(partition, broker, elr, min_isr)
            found = changes.after_unclean_shutdown(as_kafka_has_it(partition), broker, elr, min_isr)
            assert (found.isr, set(found.elr), found.last_known_elr) == (left.isr, set(left.elr), left.last_known_elr), (
                partition,
                broker,
                elr,
                min_isr,
            )


def test_a_fenced_broker_leaves_what_kafka_leaves(kafka: tuple[PartitionChanges, tuple[bool, ...]]) -> None:
    """Of every partition with a leader or without, and every member of its ISR. While there is a leader, none is last known."""
    changes, features = kafka
    compared, known = 0, [partition for partition in partitions() if partition.last_known_elr in ((), (2,))]
    for elr in features:
        for partition, live, min_isr in product(known, SUBSETS, (1, 2, 3)):
            leaders = (NO_LEADER,) if partition.last_known_elr else (NO_LEADER, *partition.isr)
            for broker, leader in product({*partition.isr} - {*live}, leaders):
                led = partition._replace(leader=leader)
                found = changes.after_fencing(Partition(*led), broker, live, elr, min_isr)
                left = after_fencing(led, broker, live, elr, min_isr)
                seen = Registration(found.replicas, found.isr, tuple(sorted(found.elr)), found.last_known_elr, found.leader)
                assert seen == left._replace(elr=tuple(sorted(left.elr))), (led, broker, live, elr, min_isr)
                compared += 1
    assert compared == len(features) * 1188


# By release: whether it begins with the feature ELR, the steps, and how many combinations they show at least.
STORIES = {
    "4.3.1": (
        True,
        (
            # Killed one after the other. 2 and 3 return: while the ELR names 1 no replica is elected.
            "kill 3", "kill 1", "kill 2", "start 2", "start 3", "elect half", "start 1",
            "kill 3", "kill 1", "stop 2", "start 3", "elect half", "start 1", "start 2",
            # Without a leader the feature is switched off, and later on.
            "kill 3", "kill 1", "kill 2", "elr off", "start 3", "start 2", "elect half", "start 1", "elect all",
            "kill 3", "stop 1", "stop 2", "elr on", "start 3 1", "elect half", "start 2",
            # A disk of the last leader fails, and the broker starts again without it.
            "kill 3", "kill 2", "fail 1", "start 3", "elect half", "start 2", "stop 1", "start 1", "kill 1", "start 1", "elect all",
        ),
        280,
    ),
    "3.9.1": (
        False,
        (
            "kill 3", "kill 1", "kill 2", "start 3", "start 2", "elect half", "start 1",
            "stop 3", "kill 1", "stop 2", "start 1 3", "elect half", "start 2",
            "kill 3", "kill 2", "fail 1", "start 3", "elect half", "start 2", "stop 1", "start 1", "kill 1", "start 1", "elect all",
        ),
        90,
    ),
}  # fmt: skip


@pytest.fixture(scope="module", params=STORIES)
def story(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """Everything that happens on a cluster of a release."""
    elr, steps, _ = STORIES[request.param]
    settings: dict[str, Any] = {"brokers": 4, "session_timeout": 5, "heap": "200m", "properties": PROPERTIES, "second_log_dir": True}
    with KafkaCluster("rule", version=request.param, **settings) as cluster:
        story = Story(Operator(cluster, tmp_path_factory.mktemp("rule")), elr)
        story.begin()
        story.run(*steps)
        yield story


def first_of(seen: list[Seen]) -> str:
    return "\n".join(map(str, seen[:5]))


def test_the_leader_on_a_real_cluster_is_the_one_that_the_rule_elects(story: Story) -> None:
    """If all is known there is one prediction, except where several brokers return at once."""
    assert not (others := [seen for seen in story.seen if seen.leader not in seen.predicted]), first_of(others)
    assert not (vague := [seen for seen in story.seen if len(seen.predicted) > 1 and len(seen.step.split()) == 2]), first_of(vague)
    assert not (others := [seen for seen in story.seen if seen.leader not in seen.imagined]), first_of(others)
    combinations = {seen.combination: seen.outcome for seen in story.seen}
    print(f"{len(combinations)} combinations:", *(f"{one} -> {combinations[one]}" for one in sorted(combinations)), sep="\n")
    _, _, at_least = STORIES[story.cluster.settings.version]
    assert len(combinations) >= at_least


def test_without_an_unclean_election_only_a_broker_that_is_waited_for_leads(story: Story) -> None:
    clean = [seen for seen in story.seen if seen.combination.unclean == "no" and seen.leader != NO_LEADER]
    assert clean and not (others := [seen for seen in clean if seen.leader not in seen.waited]), first_of(others)


def test_the_controller_keeps_what_the_rule_says_and_elects_what_kafka_leader_election_predicts(story: Story) -> None:
    assert not story.differences, "\n".join(story.differences[:5])


def test_while_the_elr_names_a_broker_that_is_gone_a_last_known_leader_that_lives_is_not_elected(story: Story) -> None:
    held = [
        seen
        for seen in story.seen
        if {*seen.before.last_known_elr} & {*seen.before.replicas} - {*seen.before.offline_replicas}
        and {*seen.before.eligible_leader_replicas} & {*seen.before.offline_replicas}
        and seen.combination.unclean == "no"
        and not any("ELR" in replica and "back" in replica for replica in seen.combination.replicas)
    ]
    assert bool(held) == any(seen.combination.elr for seen in story.seen)
    assert {seen.leader for seen in held} <= {NO_LEADER} and not any(seen.waited for seen in held), first_of(held)
