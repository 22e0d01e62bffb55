# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Blast radius: what goes beyond the limits, and what counts as life."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import Node
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.quorum import Quorum, Replica
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import blast_radius
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.blast_radius import (
    SILENCE_SECONDS,
    BlastRadiusLimits,
    BrokerLiveness,
)

BROKERS = st.sets(st.integers(1, 40), max_size=8)


@given(st.integers(0, 60), BROKERS, st.integers(0, 60), st.integers(0, 8))
def test_an_election_is_allowed_with_the_limit_that_the_reason_names(
    partitions: int, offline: set[int], max_partitions: int, max_offline_brokers: int
) -> None:
    limits = BlastRadiusLimits(max_partitions, max_offline_brokers)
    reasons = blast_radius.limit_violations(partitions, offline, limits, "east")
    assert bool(reasons) == (partitions > max_partitions or (partitions > 0 and len(offline) > max_offline_brokers))
    for option, number in re.findall(r"-e kafka_recovery_(\w+)=(\d+)", "; ".join(reasons)):
        raised: dict[str, Any] = {option: int(number)}
        limits = replace(limits, **raised)
    assert blast_radius.limit_violations(partitions, offline, limits, "east") == []


def test_the_limit_that_the_reason_names_is_just_enough() -> None:
    assert blast_radius.limit_violations(7, {1, 2, 3}, BlastRadiusLimits(7, 3), "east") == []
    assert [
        re.findall(r"--limit east -e (\S+)", reason)
        for reason in blast_radius.limit_violations(7, {3, 2, 1}, BlastRadiusLimits(6, 2), "east")
    ] == [
        ["kafka_recovery_max_partitions=7"],
        ["kafka_recovery_max_offline_brokers=3"],
    ]
    assert "(1, 2, 3)" in blast_radius.limit_violations(7, {3, 2, 1}, BlastRadiusLimits(7, 2), "east")[0]


def liveness(broker_id: int = 4, **changed: Any) -> BrokerLiveness:
    """A broker that is lost, but for what is `changed`."""
    dead = BrokerLiveness(broker_id, known=True, unfenced=False, address="b4:9092", answers=False, silent_seconds=90.0, epoch=7)
    return dead._replace(**changed)


@pytest.mark.parametrize(
    ("changed", "sign"),
    [
        ({}, None),
        ({"silent_seconds": None}, None),
        ({"address": None}, None),
        ({"known": False}, "it is not a broker of this cluster"),
        ({"unfenced": True}, "it is not fenced"),
        ({"answers": True}, "its port b4:9092 accepts connections"),
        ({"silent_seconds": SILENCE_SECONDS}, "it fetched the metadata log 9.0 s ago"),
        ({"silent_seconds": 0.3}, "it fetched the metadata log 0.3 s ago"),
        ({"epoch": None}, "the leader of the metadata quorum changed"),
    ],
)
def test_signs_of_life(changed: dict[str, Any], sign: str | None) -> None:
    signs = blast_radius.signs_of_life(liveness(**changed))
    assert len(signs) == (0 if sign is None else 1)
    assert all(found.startswith(str(sign)) for found in signs)


BROKER_LIVENESS = st.builds(
    liveness,
    known=st.booleans(),
    unfenced=st.booleans(),
    answers=st.booleans(),
    silent_seconds=st.none() | st.sampled_from((0.1, 8.0, 10.0)),
    epoch=st.none() | st.just(7),
)


@given(st.lists(BROKER_LIVENESS, max_size=5), BROKERS)
def test_the_list_is_right_only_when_it_names_exactly_those_without_life(found: list[BrokerLiveness], lost: set[int]) -> None:
    brokers = [one._replace(broker_id=number) for number, one in enumerate(found, start=1)]
    lifeless = {one.broker_id for one in brokers if not blast_radius.signs_of_life(one)}
    seen = {one.broker_id for one in brokers}
    assert (blast_radius.lost_broker_mismatches(brokers, lost) == []) == (lifeless == lost & seen)


def test_every_sign_is_named() -> None:
    alive = liveness(answers=True, silent_seconds=0.2)
    assert blast_radius.lost_broker_mismatches([alive, liveness(5)], [4]) == [
        "broker 4 is named in lost_brokers, but its port b4:9092 accepts connections, and it fetched the metadata log 0.2 s ago",
        "broker 5 is offline and silent, too, but not named in lost_brokers: name it if it is lost for good, or bring it back first",
    ]
    assert blast_radius.rows([alive, liveness(5)], [5]) == [
        {"broker_id": 5, "address": "b4:9092", "silent_seconds": 90.0, "signs_of_life": []}
    ]


class Cluster:
    """Brokers 1 (alive) and 2 (fenced), as Kafka 4 lists them; 3 stands in a replica set only. The quorum's leader epochs are given."""

    lists_fenced = True

    def __init__(self, *epochs: int, silence: float | None = 90.0) -> None:
        self.epochs = list(epochs)
        self.silence = silence

    def registered(self) -> list[Node]:
        # Nothing listens on port 9 of loopback.
        return [Node(1, "127.0.0.1", 9, None, False), Node(2, "127.0.0.1", 9, None, True)]

    def quorum(self) -> Quorum:
        twice = [Replica(2, f"directory-{seconds}", 5, 0, seconds, seconds) for seconds in (self.silence, 500.0)]
        return Quorum(101, self.epochs.pop(0), 5, (Replica(101, None, 5, 0, 0.0, 0.0), Replica(1, None, 5, 0, 0.2, 0.2)), tuple(twice))

    def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]:
        return {("t", 0): PartitionState("t", 0, "id", -1, 3, (1, 2, 3), (), (), (), (2, 3))}

    def broker_states(self, mentioned: Collection[int] = ()) -> list[dict[str, Any]]:
        return [
            {"broker_id": 1, "broker_state": "unfenced"},
            {"broker_id": 2, "broker_state": "fenced"},
            {"broker_id": 3, "broker_state": "fenced"},
        ]


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blast_radius, "WATCH_SECONDS", 0.0)


@pytest.mark.usefixtures("no_waiting")
def test_what_is_seen_of_each_broker() -> None:
    found = blast_radius.watch_brokers(Cluster(7, 7, silence=4.0), [2, 3, 8], [1, 2])
    assert found == [
        BrokerLiveness(1, True, True, "127.0.0.1:9", False, 0.2, 7),
        BrokerLiveness(2, True, False, "127.0.0.1:9", False, 4.0, 7),
        BrokerLiveness(3, True, False, None, False, None, 7),
        BrokerLiveness(8, False, False, None, False, None, 7),
    ]
    assert {one.epoch for one in blast_radius.watch_brokers(Cluster(7, 8), [2], [])} == {None}


def refused(limits: BlastRadiusLimits, entries: int = 5, predicted: int = 5, cluster: Cluster | None = None) -> str:
    """Return the text of the error that `check` raises, or an empty text."""
    try:
        blast_radius.check(cluster or Cluster(7, 7), "east", {1, 2, 3}, entries, lambda: predicted, limits)
    except RecoveryError as error:
        return str(error)
    return ""


@pytest.mark.usefixtures("no_waiting")
def test_check_goes_through_the_limits() -> None:
    assert refused(BlastRadiusLimits()) == ""
    assert "max_partitions is 4" in refused(BlastRadiusLimits(max_partitions=4))
    assert "2 brokers are offline (2, 3), and max_offline_brokers is 1" in refused(BlastRadiusLimits(max_offline_brokers=1))
    assert refused(BlastRadiusLimits(lost_brokers=(2, 3))) == ""
    assert "broker 3 is offline and silent, too" in refused(BlastRadiusLimits(lost_brokers=(2,)))
    assert "broker 1 is named in lost_brokers, but it is not fenced" in refused(BlastRadiusLimits(lost_brokers=(1, 2, 3)))


class OldCluster(Cluster):
    """Before Kafka 4.0: brokers 1 and 5 are alive, and no list has those that are fenced. Partition t-1 has replicas on brokers 4 and 5."""

    lists_fenced = False

    def registered(self) -> list[Node]:
        return [Node(broker, "127.0.0.1", 9, None, None) for broker in (1, 5)]

    def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]:
        return {**super().partitions(keys), ("t", 1): PartitionState("t", 1, "id", 5, 3, (4, 5), (5,), (), (), (4,))}

    def broker_states(self, mentioned: Collection[int] = ()) -> list[dict[str, Any]]:
        return [{"broker_id": one, "broker_state": "unfenced" if one in (1, 5) else "fenced"} for one in sorted({1, 5, *mentioned})]


@pytest.mark.usefixtures("no_waiting")
def test_brokers_that_are_not_listed_count_if_any_replica_set_names_them() -> None:
    """The partitions to elect are on brokers 1 to 3."""
    limits = BlastRadiusLimits(max_offline_brokers=2)
    assert "3 brokers are offline (2, 3, 4), and max_offline_brokers is 2" in refused(limits, cluster=OldCluster(7, 7))
    lost = BlastRadiusLimits(max_offline_brokers=3, lost_brokers=(2, 3))
    assert "broker 4 is offline and silent, too" in refused(lost, cluster=OldCluster(7, 7))


@pytest.mark.usefixtures("no_waiting")
def test_only_what_would_really_be_elected_counts_against_the_limits() -> None:
    assert refused(BlastRadiusLimits(max_partitions=4), predicted=4) == ""
    # A second run of a plan that was carried out: nothing is left to refuse.
    assert refused(BlastRadiusLimits(max_partitions=4, max_offline_brokers=1), predicted=0) == ""
    assert refused(BlastRadiusLimits(max_offline_brokers=0), entries=0) == ""
    assert "5 partitions would be elected" in refused(BlastRadiusLimits(max_partitions=4), entries=9)
