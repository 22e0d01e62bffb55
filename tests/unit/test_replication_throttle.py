# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The throttle as it is asked for: who is throttled, what check mode says, what is told of others, and that absent takes out all of ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from configurable import Configurable, Move

from ansible_collections.streamops.kafka_recovery.plugins.module_utils import throttling
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.partitions import PartitionError, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.replication_throttle import ReplicationThrottle
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.throttle_journal import RUN, ThrottleJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.throttles import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    AddedReplicas,
    Rates,
    SetRate,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.throttling import Throttle

NOTHING = {"brokers": 0, "topics": 0, "replicas": 0, "others": 0}


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting is not what is tested here."""
    monkeypatch.setattr(throttling, "SEEN_WITHIN", 0.0)
    monkeypatch.setattr(throttling, "LOOK_EVERY", 0.0)


@pytest.fixture
def journal(tmp_path: Path) -> ThrottleJournal:
    tmp_path.chmod(0o700)
    return ThrottleJournal(tmp_path, "east", "abc")


def recovering() -> Configurable:
    """Broker 3 came back and catches up on partition 0 of `t`; broker 2 would, on partition 1, but is dead; `quiet` has no leader."""
    cluster = Configurable()
    cluster.live = {1, 3, 4}
    cluster.states["t", 0] = replace(cluster.states["t", 0], isr=(1,))
    cluster.states["t", 1] = replace(cluster.states["t", 1], isr=(1, 3))
    cluster.states["quiet", 0] = replace(cluster.states["quiet", 0], isr=(), leader=-1)
    return cluster


def present(
    cluster: Configurable, journal: ThrottleJournal, rate: int, keys: Sequence[TopicPartition] | None = None, check: bool = False
) -> dict[str, Any]:
    throttle = ReplicationThrottle(cluster, journal, check, 0.0)
    throttle.present(Rates(rate), keys)
    return throttle.report(10, True)


def absent(cluster: Configurable, journal: ThrottleJournal, check: bool = False) -> dict[str, Any]:
    throttle = ReplicationThrottle(cluster, journal, check, 0.0)
    throttle.absent()
    return throttle.report(10, True)


def test_what_catches_up_is_throttled_once_and_removed_once(journal: ThrottleJournal) -> None:
    cluster = recovering()
    predicted = present(cluster, journal, 5000, check=True)
    assert cluster.told == []
    report = present(cluster, journal, 5000)
    assert report == predicted
    assert report["summary"] == {"brokers": 2, "topics": 1, "replicas": 2, "others": 0}
    assert cluster.brokers[1] == cluster.brokers[3] == {LEADER_RATE: "5000", FOLLOWER_RATE: "5000"}
    assert cluster.brokers[2] == cluster.brokers[4] == {}
    assert cluster.topics == {"t": {LEADER_REPLICAS: "0:1", FOLLOWER_REPLICAS: "0:3"}, "quiet": {}}
    assert report["diff"] == {
        "before": "",
        "after": "".join(f"broker {broker}: {config}=5000\n" for broker in (1, 3) for config in (LEADER_RATE, FOLLOWER_RATE))
        + f"topic t: {LEADER_REPLICAS}=0:1\ntopic t: {FOLLOWER_REPLICAS}=0:3\n",
    }
    again = present(cluster, journal, 5000)
    assert again["changed"] is False and again["summary"] == NOTHING

    assert absent(cluster, journal, check=True)["changed"] is True and cluster.topics["t"]
    removed = absent(cluster, journal)
    assert removed["summary"] == report["summary"] and removed["diff"] == {"before": report["diff"]["after"], "after": ""}
    assert cluster.configs() == Configurable().configs()
    assert absent(cluster, journal)["changed"] is False


def test_named_partitions_are_throttled_also_where_nothing_is_to_be_copied_yet(journal: ThrottleJournal) -> None:
    cluster = Configurable()
    present(cluster, journal, 5000, [("t", 1)])
    assert cluster.topics == {"t": {LEADER_REPLICAS: "1:1,1:2,1:3"}, "quiet": {}}
    with pytest.raises(PartitionError, match="no partition t-9"):
        present(cluster, journal, 5000, [("t", 9)])


def test_another_rate_takes_the_place_of_the_first_one(journal: ThrottleJournal) -> None:
    cluster = recovering()
    cluster.brokers[1] = {LEADER_RATE: "900"}
    present(cluster, journal, 5000)
    predicted = present(cluster, journal, 7000, check=True)
    report = present(cluster, journal, 7000)
    assert report == predicted
    assert {(row["broker_id"], row["before"], row["after"]) for row in report["rates"]} == {(1, 5000, 7000), (3, 5000, 7000)}
    assert report["replicas"] == []
    # Also where nothing is to be copied any more.
    cluster.states = Configurable().states
    assert present(cluster, journal, 8000)["changed"] is True
    assert cluster.brokers[1][LEADER_RATE] == cluster.brokers[3][FOLLOWER_RATE] == "8000"
    absent(cluster, journal)
    assert cluster.brokers == {1: {LEADER_RATE: "900"}, 2: {}, 3: {}, 4: {}}


def test_while_a_run_lives_its_rate_alone_is_changed_and_absent_takes_out_both(journal: ThrottleJournal) -> None:
    cluster = recovering()
    present(cluster, journal, 5000)
    with Throttle(cluster, journal, 6000) as throttle:
        throttle.cover({("t", 1): Move((1, 2, 3), (1, 4, 3))})
        report = present(cluster, journal, 9000)
        assert report["run_in_progress"] is True and report["replicas"] == []
        assert cluster.brokers[4] == {LEADER_RATE: "9000", FOLLOWER_RATE: "9000"}
        assert absent(cluster, journal)["changed"] is True
        assert cluster.configs() == Configurable().configs()
    assert cluster.configs() == Configurable().configs()


def test_a_run_leaves_what_stands(journal: ThrottleJournal) -> None:
    cluster = recovering()
    present(cluster, journal, 5000)
    before = cluster.configs()
    with Throttle(cluster, journal, 6000) as throttle:
        throttle.cover({("t", 0): Move((1, 2, 3), (1, 4, 3))})
        assert cluster.brokers[1] == {LEADER_RATE: "6000", FOLLOWER_RATE: "6000"}
    assert cluster.configs() == before


def test_what_a_killed_run_left_is_taken_out_first(journal: ThrottleJournal) -> None:
    cluster = Configurable()
    cluster.brokers[4] = {LEADER_RATE: "6000"}
    cluster.topics["t"] = {FOLLOWER_REPLICAS: "1:4"}
    with journal as opened:
        opened.intend(RUN, [SetRate(4, LEADER_RATE, None, ("6000",))], [AddedReplicas("t", "id-t", FOLLOWER_REPLICAS, ("1:4",))])
    report = present(cluster, journal, 5000)
    assert report["rates"] == [{"broker_id": 4, "config": LEADER_RATE, "before": 6000, "after": None}]
    assert report["replicas"] == [{"topic": "t", "config": FOLLOWER_REPLICAS, "change": "removed", "entries": ["1:4"]}]
    assert cluster.configs() == Configurable().configs()


def test_what_others_have_set_is_told_and_stays(journal: ThrottleJournal) -> None:
    cluster = recovering()
    cluster.brokers[4] = {LEADER_RATE: "900"}
    cluster.topics = {"t": {LEADER_REPLICAS: "0:1"}, "quiet": {LEADER_REPLICAS: "*"}}
    report = present(cluster, journal, 5000)
    assert {(row["resource"], row["name"], row["value"]) for row in report["others"]} == {
        ("broker", "4", "900"),
        ("topic", "t", "0:1"),
        ("topic", "quiet", "*"),
    }
    absent(cluster, journal)
    assert cluster.brokers[4] == {LEADER_RATE: "900"}
    assert cluster.topics == {"t": {LEADER_REPLICAS: "0:1"}, "quiet": {LEADER_REPLICAS: "*"}}


def test_what_cannot_be_taken_out_fails_the_task(journal: ThrottleJournal) -> None:
    cluster = recovering()
    present(cluster, journal, 5000)
    cluster.live = {1, 4}
    report = absent(cluster, journal)
    assert report["failed"] is True and report["changed"] is True
    assert report["msg"].startswith("broker 3 does not answer, and keeps its replication rates: run again when it is back")
    cluster.live = {1, 3, 4}
    assert "failed" not in absent(cluster, journal)
    assert cluster.configs() == Configurable().configs()


def test_a_rate_too_low_is_warned_of(journal: ThrottleJournal) -> None:
    cluster = recovering()
    cluster.growth = 10**9
    throttle = ReplicationThrottle(cluster, journal, False, 0.01)
    throttle.present(Rates(5000), None)
    assert len(throttle.warnings) == 2 and "broker 3: follower.replication.throttled.rate is 5000 bytes/s" in throttle.warnings[1]
