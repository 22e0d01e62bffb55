# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Outages: which events are sent once, which again, and how long to wait for an unreachable cluster."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.events.outages import (
    BEGINS,
    CLUSTER_UNREACHABLE,
    CONTINUES,
    GROWS,
    PARTITIONS_BACK,
    PARTITIONS_OFFLINE,
    SHOWN,
    ClusterObservation,
    Key,
    OutageTracker,
    PollInterval,
    incident_id,
    outage_key,
    sanitize_event_text,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState


def offline(partition: int, epoch: int = 1, topic: str = "orders") -> PartitionState:
    return PartitionState(topic, partition, f"id-of-{topic}", -1, epoch, (1, 2, 3), (), (), (), (1,))


def observed(*partitions: PartitionState, cluster_id: str = "5L6g3nShT-eMCtK--X86sw") -> ClusterObservation:
    return ClusterObservation(cluster_id, partitions, (1,))


def kinds(events: list[dict[str, Any]]) -> list[tuple[str, str | None]]:
    return [(event["type"], event.get("change")) for event in events]


def test_an_outage_has_events_when_it_begins_grows_and_ends_and_none_in_between() -> None:
    tracker = OutageTracker("east")
    assert tracker.on_success(observed(), 1.0) == []
    (begins,) = tracker.on_success(observed(offline(0)), 2.0)
    assert kinds([begins]) == [(PARTITIONS_OFFLINE, BEGINS)]
    assert begins["partitions"] == [{"topic": "orders", "partition": 0, "topic_id": "id-of-orders", "leader_epoch": 1}]
    assert begins["meta"]["hosts"] == ["east"]
    assert begins["run_id"] == "1970-01-01T00-00-02Z-east"
    assert tracker.on_success(observed(offline(0)), 3.0) == []
    (grows,) = tracker.on_success(observed(offline(0), offline(1)), 4.0)
    assert (grows["change"], grows["count"], grows["new"], grows["since"]) == (GROWS, 2, 1, begins["at"])
    assert grows["partitions"][0]["partition"] == 1, "what is new comes first"
    assert tracker.on_success(observed(offline(1)), 5.0) == [], "it shrinks"
    assert tracker.on_success(observed(offline(0), offline(1)), 6.0) == [], "it was reported in the same epoch a moment ago"
    (back,) = tracker.on_success(observed(), 7.0)
    assert (back["type"], back["count"], back["seconds"]) == (PARTITIONS_BACK, 2, 5.0)
    assert {begins["incident"], grows["incident"], back["incident"]} == {begins["incident"]}
    assert tracker.on_success(observed(), 8.0) == []


def test_the_same_partition_in_a_later_leader_epoch_is_news_and_after_the_end_another_incident() -> None:
    tracker = OutageTracker("east")
    (first,) = tracker.on_success(observed(offline(0, epoch=1)), 1.0)
    assert kinds(tracker.on_success(observed(offline(0, epoch=3)), 2.0)) == [(PARTITIONS_OFFLINE, GROWS)]
    tracker.on_success(observed(), 3.0)
    (second,) = tracker.on_success(observed(offline(0, epoch=5)), 4.0)
    assert second["change"] == BEGINS and second["incident"] != first["incident"]


def test_a_partition_that_recovers_and_is_lost_again_in_the_same_epoch_is_reported_once_in_a_pause() -> None:
    """Its leader was fenced, came back without an election, and is fenced again."""
    tracker = OutageTracker("east", pause=60)
    tracker.on_success(observed(offline(0), offline(1)), 0.0)
    both, one = observed(offline(0), offline(1)), observed(offline(0))
    changes = {now: kinds(tracker.on_success(one if now % 10 else both, float(now))) for now in range(5, 200, 5)}
    assert {now: kinds for now, kinds in changes.items() if kinds} == {now: [(PARTITIONS_OFFLINE, GROWS)] for now in (70, 140)}
    tracker.on_success(one, 200.0)
    for now in (210.0, 259.0):
        assert tracker.on_success(one, now) == []
    (again,) = tracker.on_success(both, 280.0)
    assert (again["change"], again["new"], again["partitions"][0]["partition"]) == (GROWS, 1, 1), "a minute later it is news at once"


def test_a_long_outage_takes_no_memory_for_partitions_that_have_returned() -> None:
    tracker = OutageTracker("east", pause=60)
    sizes = []
    for epoch in range(1, 200):
        tracker.on_success(observed(offline(0, epoch=0), *(offline(number, epoch) for number in range(1, 50))), epoch * 100.0)
        sizes.append(len(pickle.dumps(tracker)))
    assert max(sizes[5:]) < 2 * max(sizes[:5])
    (back,) = tracker.on_success(observed(), 20_000.0)
    assert back["count"] == 1 + 199 * 49


def test_a_restarted_source_gives_the_same_outage_the_same_id() -> None:
    (before,) = OutageTracker("east").on_success(observed(offline(0), offline(1)), 1.0)
    (after,) = OutageTracker("east").on_success(observed(offline(1), offline(0)), 1000.0)
    assert before["incident"] == after["incident"]
    assert incident_id("another", [outage_key(offline(0))]) != incident_id("one", [outage_key(offline(0))])


def test_an_outage_that_continues_has_another_event_only_with_remind() -> None:
    tracker = OutageTracker("east", remind=60)
    tracker.on_success(observed(offline(0)), 0.0)
    assert tracker.on_success(observed(offline(0)), 59.0) == []
    assert kinds(tracker.on_success(observed(offline(0)), 60.0)) == [(PARTITIONS_OFFLINE, CONTINUES)]
    assert tracker.on_success(observed(offline(0)), 119.0) == []
    assert kinds(tracker.on_success(observed(offline(0)), 120.0)) == [(PARTITIONS_OFFLINE, CONTINUES)]


def test_a_cluster_is_unreachable_once_and_an_outage_outlasts_that() -> None:
    tracker = OutageTracker("east", patience=2)
    (begins,) = tracker.on_success(observed(offline(0)), 0.0)
    assert tracker.on_failure("timed out", 1.0) == [], "one failure is no event"
    (unreachable,) = tracker.on_failure("timed out", 2.0)
    assert (unreachable["type"], unreachable["reason"]) == (CLUSTER_UNREACHABLE, "timed out")
    assert tracker.on_failure("timed out", 3.0) == []
    assert tracker.on_success(observed(offline(0)), 4.0) == [], "the same outage"
    assert kinds(tracker.on_failure("timed out", 5.0) + tracker.on_failure("timed out", 6.0)) == [(CLUSTER_UNREACHABLE, None)]
    (back,) = tracker.on_success(observed(), 7.0)
    assert back["incident"] == begins["incident"]


def test_another_cluster_at_the_same_addresses_has_an_outage_of_its_own() -> None:
    tracker = OutageTracker("east")
    tracker.on_success(observed(offline(0)), 0.0)
    assert tracker.on_success(observed(cluster_id="other"), 1.0) == []
    assert kinds(tracker.on_success(observed(offline(0), cluster_id="other"), 2.0)) == [(PARTITIONS_OFFLINE, BEGINS)]


def test_few_of_many_partitions_are_shown_and_all_are_counted() -> None:
    (begins,) = OutageTracker("east").on_success(observed(*(offline(number) for number in range(500))), 0.0)
    assert (begins["count"], begins["new"], len(begins["partitions"])) == (500, 500, SHOWN)


@pytest.mark.parametrize("text", ["{{ lookup('pipe', 'id') }}", "{% x %}", "a\nb\x1b[31m", "x" * 10_000])
def test_no_text_of_an_event_is_a_template_or_more_than_a_line(text: str) -> None:
    tracker = OutageTracker("east", patience=1)
    reason = tracker.on_failure(text, 0.0)[0]["reason"]
    assert reason.isprintable() and not set("{}") & set(reason) and len(reason) <= 500
    assert sanitize_event_text("plain text: 3") == "plain text: 3"


STATES = st.frozensets(st.tuples(st.integers(0, 3), st.integers(1, 3)), max_size=5)


@given(
    st.lists(st.one_of(st.none(), STATES), max_size=40), st.sampled_from([0.0, 3.0]), st.integers(1, 3), st.sampled_from([0.0, 2.0, 5.0])
)
def test_every_outage_has_its_events_and_none_twice_for_any_observations(
    observations: list[frozenset[tuple[int, int]] | None], remind: float, patience: int, pause: float
) -> None:
    tracker = OutageTracker("east", remind=remind, patience=patience, pause=pause)
    incident, silent = "", 0
    reported: set[Key] = set()  # those that no event need name: reported, and not away for `pause` since
    returned: dict[Key, int] = {}
    for now, states in enumerate(observations):
        if states is None:
            silent += 1
            events = tracker.on_failure("why", float(now))
            assert bool(events) == (silent == patience), "once for each time that it is away"
            continue
        silent = 0
        found = [offline(partition, epoch) for partition, epoch in states]
        keys = {outage_key(state) for state in found}
        events = tracker.on_success(observed(*found), float(now))
        assert len(events) <= 1
        if not keys:
            assert kinds(events) == ([(PARTITIONS_BACK, None)] if incident else [])
            incident, reported, returned = "", set(), {}
            continue
        for key in reported - keys:
            returned.setdefault(key, now)
        reported -= {key for key, at in returned.items() if now - at >= pause and now > at}
        returned = {key: at for key, at in returned.items() if key in reported}
        if keys - reported:
            assert kinds(events) == [(PARTITIONS_OFFLINE, GROWS if incident else BEGINS)]
            assert events[0]["new"] == len(keys - reported)
        else:
            assert kinds(events) in ([], [(PARTITIONS_OFFLINE, CONTINUES)] if remind else [])
        for event in events:
            assert event["incident"] == (incident or event["incident"])
            incident = event["incident"]
            reported |= keys
            returned = {key: at for key, at in returned.items() if key not in keys}


@given(st.integers(0, 10_000), st.floats(0, 1))
def test_a_pause_is_never_longer_than_it_may_be_and_grows_with_failures(failures: int, share: float) -> None:
    pace = PollInterval(interval=5, jitter=1, backoff_min=2, backoff_max=60)
    pause = pace.pause(failures, share)
    assert (5 <= pause <= 6) if failures == 0 else (2 <= pause <= 60)
    assert failures == 0 or pace.pause(failures + 1, 0.0) >= pace.pause(failures, 0.0)
    assert [pace.pause(number, 0.0) for number in range(8)] == [5, 2, 4, 8, 16, 32, 60, 60]
