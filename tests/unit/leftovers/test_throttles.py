# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which throttles nothing uses, whose they are, and that removing one leaves all others as they are."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from fake_config_cluster import Configurable
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers import throttles
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers.model import Leftover
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers.throttles import Configs
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import (
    OF_ALL_BROKERS,
    OF_BROKER,
    OF_TOPIC,
    Setting,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reassignment import OngoingReassignment
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle import executor
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal import ThrottleJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal_entries import RUN, STANDING, Expiry
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.model import (
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    LISTS,
    RATES,
    AddedReplicas,
    SetRate,
)

MOVE = OngoingReassignment((1, 2, 4), (4,), (2,))
PAST = Expiry(1.0, "2026-11-21T04:00:00Z")


@pytest.fixture
def cluster() -> Configurable:
    """A cluster with throttles of others."""
    found = Configurable()
    found.brokers[2] = {LEADER_RATE: "7000"}
    found.topics["quiet"] = {LEADER_REPLICAS: "0:1,9:9"}
    return found


def configs(cluster: Configurable, every: Mapping[str, str] | None = None) -> Configs:
    return Configs(
        cluster.broker_configs(cluster.live, RATES),
        {name: Setting(value, OF_ALL_BROKERS) for name, value in (every or {}).items()},
        cluster.topic_configs_of(cluster.topics, LISTS),
    )


def journal_of(folder: Path) -> ThrottleJournal:
    return ThrottleJournal(folder, "east", "id")


def set_by(cluster: Configurable, journal: ThrottleJournal, owner: str, broker: int, topic: str, entry: str) -> None:
    """Set one rate and one entry of a list."""
    rate = SetRate(broker, LEADER_RATE, cluster.brokers[broker].get(LEADER_RATE), ("5000",))
    there = configs(cluster)
    what = executor.ThrottleToSet(owner, [rate], [AddedReplicas(topic, f"id-{topic}", LEADER_REPLICAS, (entry,), False)])
    with journal:
        executor.set_throttle(cluster, journal, what)
    assert configs(cluster) != there


def places(rows: Collection[Leftover]) -> set[tuple[str, str, str]]:
    return {(row.owner, row.outcome, row.resource) for row in rows}


def test_what_the_journal_does_not_know_is_shown_with_its_name(cluster: Configurable, tmp_path: Path) -> None:
    with journal_of(tmp_path) as journal:
        rows = throttles.unknown_rows(configs(cluster, {LEADER_RATE: "9000"}), journal, {}, cluster.states)
    assert [(row.resource, row.present) for row in rows] == [("broker 2", "7000"), ("topic quiet", "0:1,9:9"), ("all brokers", "9000")]
    assert all(f"'{row.resource}'" in str(row.reason) for row in rows)
    assert [throttles.named(row, ["topic quiet"]) for row in rows] == [False, True, False]
    assert all(throttles.named(row, ["all"]) for row in rows)


@given(moving=st.sets(st.sampled_from([("t", 0), ("t", 1), ("quiet", 0)])), brokers=st.sets(st.integers(1, 4), min_size=1))
def test_what_a_move_uses_is_not_left_over(moving: set[TopicPartition], brokers: set[int]) -> None:
    cluster = Configurable()
    for configured in cluster.brokers.values():
        configured[LEADER_RATE] = "7000"
    for lists in cluster.topics.values():
        lists[FOLLOWER_REPLICAS] = "0:3"
    ongoing = {key: OngoingReassignment(tuple(sorted(brokers)), (), ()) for key in moving}
    there = configs(cluster, {LEADER_RATE: "9000"})
    journal = ThrottleJournal.__new__(ThrottleJournal)  # an empty one, without a file
    journal._rates, journal._added = {RUN: {}, STANDING: {}}, {RUN: {}, STANDING: {}}
    rows = throttles.unknown_rows(there, journal, ongoing, cluster.states)
    used_brokers = brokers if moving else set()
    assert {row.broker_id for row in rows if row.topic is None} == {1, 2, 3, 4} - used_brokers | (set() if moving else {None})
    assert {row.topic for row in rows if row.topic} == {"t", "quiet"} - {topic for topic, _partition in moving}


def test_a_replica_that_catches_up_is_named(cluster: Configurable, tmp_path: Path) -> None:
    cluster.states["quiet", 0] = replace(cluster.states["quiet", 0], isr=(1, 2))
    with journal_of(tmp_path) as journal:
        rows = throttles.unknown_rows(configs(cluster), journal, {}, cluster.states)
    assert ["slows down 1 partitions" in str(row.reason) for row in rows] == [False, True]


def test_the_throttle_of_a_killed_run_is_removable_unless_its_moves_are_under_way(cluster: Configurable, tmp_path: Path) -> None:
    journal = journal_of(tmp_path)
    journal.run_lock.acquire("run-1").end()
    set_by(cluster, journal, RUN, 1, "t", "0:1")
    with journal:
        for ongoing, outcome in (
            ({}, "removable"),
            ({("t", 0): MOVE}, "kept"),
            ({("t", 1): MOVE}, "removable"),
            ({("quiet", 0): MOVE}, "kept"),
        ):
            moving = executor.throttled_moves(cluster, journal, ongoing)
            rows = throttles.own_rows(cluster, journal, configs(cluster), False, moving)
            assert places(rows) == {("killed_run", outcome, "broker 1"), ("killed_run", outcome, "topic t")}
            assert {row.run_id for row in rows} == {"run-1"} and all(row.since for row in rows)
            assert throttles.removable_owners(journal, False, moving) == ([RUN] if outcome == "removable" else [])
        assert throttles.own_rows(cluster, journal, configs(cluster), True, ()) == [], "a run in progress"
        assert throttles.removable_owners(journal, True, ()) == []


def test_an_expired_throttle_below_that_of_a_killed_run_stays_until_its_moves_have_ended(cluster: Configurable, tmp_path: Path) -> None:
    """The rates of the run are the last ones: if the standing ones were forgotten, they would be restored after the run's, and stay."""
    before = configs(cluster)
    journal = journal_of(tmp_path)
    journal.run_lock.acquire("run-1").end()
    set_by(cluster, journal, STANDING, 1, "t", "1:1")
    rate = SetRate(1, LEADER_RATE, "5000", ("1000",))
    with journal:
        executor.set_throttle(
            cluster, journal, executor.ThrottleToSet(RUN, [rate], [AddedReplicas("t", "id-t", LEADER_REPLICAS, ("0:1",), False)])
        )
        journal.set_expiry(PAST)
        moving = executor.throttled_moves(cluster, journal, {("t", 0): MOVE})
        assert throttles.removable_owners(journal, False, moving) == []
        rows = throttles.own_rows(cluster, journal, configs(cluster), False, moving)
        assert {(row.owner, row.outcome) for row in rows} == {("killed_run", "kept"), ("expired", "kept")}
        assert all("moves" in str(row.reason) and "(1, t-0 first)" in str(row.reason) for row in rows)
        owners = throttles.removable_owners(journal, False, ())
        assert (executor.remove_all(cluster, journal, owners)[1], configs(cluster)) == ([], before)


def test_a_standing_throttle_is_kept_until_it_expires(cluster: Configurable, tmp_path: Path) -> None:
    journal = journal_of(tmp_path)
    set_by(cluster, journal, STANDING, 1, "t", "0:1")
    with journal:
        assert places(throttles.own_rows(cluster, journal, configs(cluster), False, ())) == {
            ("standing", "kept", "broker 1"),
            ("standing", "kept", "topic t"),
        }
        journal.set_expiry(PAST)
        assert {row[:2] for row in places(throttles.own_rows(cluster, journal, configs(cluster), False, ()))} == {("expired", "removable")}
        rows = throttles.own_rows(cluster, journal, configs(cluster), True, ())
        assert {row[:2] for row in places(rows)} == {("expired", "kept")}


def test_what_others_have_removed_or_changed_is_not_left_over(cluster: Configurable, tmp_path: Path) -> None:
    journal = journal_of(tmp_path)
    set_by(cluster, journal, RUN, 1, "t", "0:1")
    cluster.topics["t"].clear()
    cluster.brokers[1][LEADER_RATE] = "6000"
    with journal:
        assert throttles.own_rows(cluster, journal, configs(cluster), False, ()) == []
        rows = throttles.unknown_rows(configs(cluster), journal, {}, cluster.states)
    assert ("unknown", "kept", "broker 1") in places(rows)


def test_a_topic_that_was_created_again_has_nothing_of_a_killed_run(cluster: Configurable, tmp_path: Path) -> None:
    journal = journal_of(tmp_path)
    set_by(cluster, journal, RUN, 1, "t", "0:1")
    cluster.states = {key: replace(state, topic_id="new") for key, state in cluster.states.items()}
    with journal:
        rows = throttles.own_rows(cluster, journal, configs(cluster), False, ())
    assert places(rows) == {("killed_run", "removable", "broker 1")}


def test_a_named_throttle_is_removed_without_what_the_journal_has(cluster: Configurable, tmp_path: Path) -> None:
    journal = journal_of(tmp_path)
    set_by(cluster, journal, STANDING, 1, "quiet", "0:2")
    with journal:
        rows = throttles.unknown_rows(configs(cluster), journal, {}, cluster.states)
        assert [(row.resource, row.present) for row in rows] == [("broker 2", "7000"), ("topic quiet", "0:1,9:9")]
        cluster.alter_configs([throttles.removal(row, journal) for row in rows])
    assert cluster.topics["quiet"] == {LEADER_REPLICAS: "0:2"} and cluster.brokers[2] == {}
    assert cluster.brokers[1] == {LEADER_RATE: "5000"}


def test_sources_are_told_apart(cluster: Configurable, tmp_path: Path) -> None:
    """A broker that has only the value for all brokers has no throttle of its own."""
    there = configs(cluster)
    of_all = Configs(
        {**there.brokers, 3: {LEADER_RATE: Setting("9000", OF_ALL_BROKERS)}}, {LEADER_RATE: Setting("9000", OF_ALL_BROKERS)}, there.topics
    )
    assert {setting.source for settings in there.brokers.values() for setting in settings.values()} == {OF_BROKER}
    assert {setting.source for settings in there.topics.values() for setting in settings.values()} == {OF_TOPIC}
    with journal_of(tmp_path) as journal:
        rows = throttles.unknown_rows(of_all, journal, {}, cluster.states)
    assert [row.resource for row in rows if row.topic is None] == ["broker 2", "all brokers"]
