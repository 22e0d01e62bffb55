# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Throttles: exact entries, on live brokers only, merged with those of others and removed again; and the arithmetic of rates that are too low."""

from __future__ import annotations

import pytest
from fake_config_cluster import Move
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import (
    APPEND,
    BROKER,
    DELETE,
    OF_ALL_BROKERS,
    OF_BROKER,
    OF_TOPIC,
    SET,
    SUBTRACT,
    TOPIC,
    ConfigOperation,
    Resource,
    Setting,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment import log_sizes
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle import model
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.model import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    AddedReplicas,
    Copying,
    Rates,
    SetRate,
)

ALL = {1, 2, 3, 4, 5}
IDS = {"t": "id"}
BROKERS = st.integers(1, 6)


def test_a_move_throttles_those_that_may_lead_and_those_that_copy() -> None:
    copies = model.copying_during_move(Move((1, 2, 3), (1, 2, 4)), (1, 2, 3), 1, ALL)
    assert copies == Copying((1, 2, 3), (4,), 1)
    assert model.list_entries({("t", 7): copies}) == {("t", LEADER_REPLICAS): ("7:1", "7:2", "7:3"), ("t", FOLLOWER_REPLICAS): ("7:4",)}
    assert model.brokers_to_throttle({("t", 7): copies}) == {1, 2, 3, 4}


def test_replicas_that_stay_and_have_to_catch_up_are_throttled_too() -> None:
    assert model.copying_during_move(Move((1, 2, 3), (1, 2, 4)), (1,), 1, ALL) == Copying((1, 2, 3), (2, 3, 4), 1)
    assert model.copying_during_move(Move((1, 2, 3), (1, 2, 4)), None, 1, ALL) == Copying((1, 2, 3), (4,), 1)


def test_dead_brokers_are_left_out() -> None:
    assert model.copying_during_move(Move((1, 2, 3), (1, 4, 5)), (1, 2), 1, {1, 2, 4}) == Copying((1, 2), (4,), 1)


def test_a_recovery_throttles_live_replicas_that_are_out_of_sync() -> None:
    assert model.copying_after_recovery((1, 2, 3, 4), (1, 2), 1, {1, 2, 3}) == Copying((1, 2), (3,), 1)


def test_a_move_that_copies_nothing_has_no_entries() -> None:
    assert model.list_entries({("t", 0): Copying((), (), -1)}) == {}


@pytest.mark.parametrize(
    ("rate", "of_broker", "expected"),
    [
        (0, {}, "rate is 0: it is bytes per second, at least 1024 .INVALID_THROTTLE."),
        (-1, {}, "rate is -1"),
        (1023, {}, "rate is 1023"),
        (2**63, {}, "rate is 9223372036854775808"),
        (4096, {3: 5}, "rate of broker 3 in broker_rates is 5"),
    ],
)
def test_a_rate_that_is_not_valid_is_refused(rate: int, of_broker: dict[int, int], expected: str) -> None:
    with pytest.raises(RecoveryError, match=expected):
        Rates.same(rate, of_broker)


def test_rates_replace_others_and_keep_the_value_before() -> None:
    present = {
        1: {},
        2: {LEADER_RATE: Setting("9000", OF_BROKER), FOLLOWER_RATE: Setting("2000", OF_BROKER)},
        3: {LEADER_RATE: Setting("9000", OF_ALL_BROKERS)},
    }
    assert model.rates_to_set({1, 2, 3, 4}, Rates.same(2000, {3: 3000}), present) == [
        SetRate(1, LEADER_RATE, None, ("2000",)),
        SetRate(1, FOLLOWER_RATE, None, ("2000",)),
        SetRate(2, LEADER_RATE, "9000", ("2000",)),
        # What is set for all brokers is not the broker's own: it holds again when ours is gone.
        SetRate(3, LEADER_RATE, None, ("3000",)),
        SetRate(3, FOLLOWER_RATE, None, ("3000",)),
    ]


def test_only_missing_entries_are_added() -> None:
    copying = {("t", 0): Copying((1, 2), (3,), 1), ("all", 0): Copying((1,), (3,), 1), ("gone", 0): Copying((1,), (3,), 1)}
    present = {
        "t": {LEADER_REPLICAS: Setting("5:1, 0:2", OF_TOPIC), FOLLOWER_REPLICAS: Setting("", OF_TOPIC)},
        "all": {LEADER_REPLICAS: Setting("*", OF_TOPIC), FOLLOWER_REPLICAS: Setting("*", OF_TOPIC)},
    }
    assert model.replicas_to_add(copying, present, {"t": "id", "all": "id-2"}) == [
        AddedReplicas("t", "id", LEADER_REPLICAS, ("0:1",)),
        AddedReplicas("t", "id", FOLLOWER_REPLICAS, ("0:3",), was_empty=True),
    ]


def test_rates_are_set_before_lists() -> None:
    rates, added = [SetRate(1, LEADER_RATE, "9", ("5", "7"))], [AddedReplicas("t", "id", LEADER_REPLICAS, ("0:1", "1:2"))]
    assert model.changes_to_set(rates, added) == [
        ConfigOperation(Resource(BROKER, "1"), LEADER_RATE, SET, "7"),
        ConfigOperation(Resource(TOPIC, "t"), LEADER_REPLICAS, APPEND, "0:1,1:2"),
    ]


def test_a_list_too_long_for_a_request_keeps_the_leaders_of_now() -> None:
    copying = {("t", number): Copying((1, 2, 3), (4,), 2) for number in range(2_000)}
    leaders, followers = model.replicas_to_add(copying, {}, IDS)
    assert leaders.entries == tuple(f"{number}:2" for number in range(2_000))
    assert followers.entries == tuple(f"{number}:4" for number in range(2_000))


def test_a_list_that_is_too_long_even_so_is_refused_with_the_remedy() -> None:
    copying = {("t", number): Copying((1, 2, 3), (4,), 2) for number in range(6_000)}
    with pytest.raises(RecoveryError, match=r"topic t .*concurrent_moves"):
        model.replicas_to_add(copying, {}, IDS)


@pytest.mark.parametrize(
    ("present", "expected"),
    [
        (None, (False, None)),
        ("100", (True, None)),
        ("200", (True, None)),
        ("300", (False, "300")),
    ],
)
def test_a_rate_of_this_collection_is_restored(present: str | None, expected: tuple[bool, str | None]) -> None:
    assert model.restored_value([SetRate(1, LEADER_RATE, None, ("100", "200"))], present) == expected


def test_layers_of_rates_come_off_one_after_the_other() -> None:
    run, standing = SetRate(1, LEADER_RATE, "100", ("200",)), SetRate(1, LEADER_RATE, "50", ("100",))
    assert model.restored_value([run], "200") == (True, "100")
    assert model.restored_value([run, standing], "200") == (True, "50")
    assert model.restored_value([run, standing], "100") == (True, "50"), "the run has put its own back, or never set it"
    assert model.restored_value([run, standing], "70") == (False, "70")


@pytest.mark.parametrize(
    ("present", "was_empty", "is_deleted"),
    [("", False, True), ("", True, False), (None, False, True), (None, True, False), ("5:5", False, False), ("5:5", True, False)],
)
def test_a_list_goes_with_its_last_entry_unless_it_was_there_without_any(present: str | None, was_empty: bool, is_deleted: bool) -> None:
    ours = AddedReplicas("t", "id", LEADER_REPLICAS, ("0:1", "0:2"), was_empty)
    change = model.deletion(ours, present)
    assert (change is not None) == is_deleted
    assert change is None or change.operation == DELETE


@given(
    st.dictionaries(
        st.tuples(st.sampled_from("ab"), st.integers(0, 3)), st.tuples(st.lists(BROKERS, unique=True), st.lists(BROKERS, unique=True))
    ),
    st.sets(BROKERS),
    st.lists(st.tuples(st.integers(0, 3), BROKERS), unique=True),
)
def test_adding_entries_to_a_list_and_removing_them_leaves_it_as_it_was(
    moved: dict[tuple[str, int], tuple[list[int], list[int]]], live: set[int], set_by_others: list[tuple[int, int]]
) -> None:
    copying = {key: model.copying_during_move(Move(tuple(a), tuple(b)), a[:1], -1, live) for key, (a, b) in moved.items()}
    others = ",".join(f"{partition}:{broker}" for partition, broker in set_by_others)
    present = {"a": {LEADER_REPLICAS: Setting(others, OF_TOPIC)}, "b": {}}
    for row in model.replicas_to_add(copying, present, {"a": "1", "b": "2"}):
        assert all(int(entry.split(":")[1]) in live for entry in row.entries)
        before = model.parse_list(present[row.topic][row.config].value) if row.config in present[row.topic] else None
        now = [*(before or []), *row.entries]
        assert len(now) == len({*now})
        change = model.subtraction(row)
        assert change.operation == SUBTRACT
        after = [entry for entry in now if entry not in (change.value or "").split(",")]
        assert (after or None if model.deletion(row, ",".join(after)) else after) == before


# --- what others have set, and whether a rate is enough -------------------------------------------------------------


def test_throttles_of_others_are_listed_without_own_ones() -> None:
    brokers = {1: {LEADER_RATE: Setting("100", OF_BROKER), FOLLOWER_RATE: Setting("999", OF_BROKER)}}
    topics = {
        "t": {LEADER_REPLICAS: Setting("0:1,5:5", OF_TOPIC), FOLLOWER_REPLICAS: Setting("0:3", OF_TOPIC)},
        "all": {LEADER_REPLICAS: Setting("*", OF_TOPIC)},
        "left": {LEADER_REPLICAS: Setting("", OF_TOPIC)},
    }
    rates = [SetRate(1, LEADER_RATE, None, ("100",)), SetRate(1, FOLLOWER_RATE, None, ("100",))]
    added = [AddedReplicas("t", "id", LEADER_REPLICAS, ("0:1",)), AddedReplicas("t", "id", FOLLOWER_REPLICAS, ("0:3",))]
    found = model.throttles_of_others(brokers, topics, rates, added)
    assert {(row["name"], row["config"], row["value"]) for row in found} == {
        ("1", FOLLOWER_RATE, "999"),
        ("t", LEADER_REPLICAS, "5:5"),
        ("all", LEADER_REPLICAS, "*"),
        ("left", LEADER_REPLICAS, ""),
    }


def test_bytes_per_second_come_from_sizes_some_seconds_apart() -> None:
    before, after = {("t", 0): 1000, ("t", 1): 500, ("t", 2): 1}, {("t", 0): 3000, ("t", 1): 100}
    assert log_sizes.write_rates(before, after, 2.0) == {("t", 0): 1000.0, ("t", 1): 0.0}


def test_a_rate_below_the_write_rate_has_a_warning_with_the_arithmetic() -> None:
    copying = {("t", number): Copying((1, 2), (3,), 1) for number in range(2)}
    inbound = {("t", 0): 2000.0, ("t", 1): 4000.0}
    # Broker 3 has to fetch both. Broker 1 has to send both to broker 3, and to broker 2, which is in sync but counts.
    follower, leader = sorted(model.shortfalls(copying, Rates.same(5000), inbound), key=lambda row: -row.broker)
    assert (follower.broker, follower.config, follower.needed, follower.partitions) == (3, FOLLOWER_RATE, 6000, 2)
    assert (leader.broker, leader.config, leader.needed, leader.partitions) == (1, LEADER_RATE, 12000, 2)
    assert str(follower) == (
        "broker 3: follower.replication.throttled.rate is 5000 bytes/s, but the partitions that it catches up on (2) are written to at a rate that "
        "takes 6000 bytes/s: they fall behind by 1000 bytes each second and never get in sync; "
        "raise the rate above 6000, or move fewer partitions at a time"
    )
    assert model.shortfalls(copying, Rates.same(12001), inbound) == []
    assert model.shortfalls(copying, Rates.same(5000, {1: 20000, 3: 20000}), inbound) == []


def test_what_is_not_measured_and_what_copies_nothing_needs_nothing() -> None:
    copying = {("t", 0): Copying((1, 2), (3,), 1), ("t", 1): Copying((1, 2), (), 1), ("t", 2): Copying((1,), (3,), -1)}
    assert model.shortfalls(copying, Rates.same(2000), {("t", 1): 1e9}) == []
    assert [row.broker for row in model.shortfalls(copying, Rates.same(2000), {("t", 2): 1e9})] == [3]
    assert model.shortfalls(copying, Rates.same(2000), dict.fromkeys(copying, 0.0)) == []
