# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's rule: the same as that of Kafka's own class, for every partition of three replicas and every set of live brokers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.controller import (
    Registration,
    after_unclean_shutdown,
    elected,
)
from rig import jars
from rig.partition_change import NO_LEADER, Partition, PartitionChanges, controller

pytestmark = pytest.mark.long

REPLICAS = (1, 2, 3)
SUBSETS = [subset for size in range(4) for subset in combinations(REPLICAS, size)]
# Kafka 3.9 has the feature for previews only, and elects a last known leader there that is not alive.
RELEASES = {"4.3.1": (False, True), "3.9.1": (False,)}


@pytest.fixture(scope="module", params=RELEASES)
def kafka(request: pytest.FixtureRequest) -> Iterator[tuple[PartitionChanges, tuple[bool, ...]]]:
    """The classes of a release, and whether its feature ELR may be off or on."""
    with controller(jars.libs(request.param), REPLICAS) as changes:
        yield changes, RELEASES[request.param]


def partitions(elr: bool) -> Iterator[Registration]:
    """Every one without a leader: each replica is in the ISR, in the ELR, in neither, or last known."""
    for places in product(("isr", "elr", "known", "out") if elr else ("isr", "out"), repeat=3):
        held = {
            name: tuple(broker for broker, place in zip(REPLICAS, places, strict=True) if place == name) for name in ("isr", "elr", "known")
        }
        yield Registration(REPLICAS, held["isr"], held["elr"], held["known"])


def as_kafka_has_it(partition: Registration) -> Partition:
    return Partition(partition.replicas, partition.isr, partition.elr, partition.last_known_elr, NO_LEADER)


def test_elections_are_those_of_kafka(kafka: tuple[PartitionChanges, tuple[bool, ...]]) -> None:
    changes, features = kafka
    compared = 0
    for elr in features:
        for partition, live, unclean in product(partitions(elr), SUBSETS, (False, True)):
            election = elected(partition, live, elr, unclean)
            leader = changes.elected(as_kafka_has_it(partition), live, elr, unclean).leader
            assert leader == (election.broker if election else NO_LEADER), (partition, live, elr, unclean)
            compared += 1
    assert compared >= 128


def test_an_unclean_shutdown_leaves_what_kafka_leaves(kafka: tuple[PartitionChanges, tuple[bool, ...]]) -> None:
    changes, features = kafka
    for elr in features:
        for partition, broker, min_isr in product(partitions(elr), REPLICAS, (1, 2, 3)):
            if broker not in {*partition.isr, *partition.elr}:
                continue  # the controller looks at no other partitions
            left = after_unclean_shutdown(partition, broker, elr, min_isr)
            found = changes.after_unclean_shutdown(as_kafka_has_it(partition), broker, elr, min_isr)
            assert (found.isr, set(found.elr), found.last_known_elr) == (left.isr, set(left.elr), left.last_known_elr), (
                partition,
                broker,
                elr,
                min_isr,
            )
