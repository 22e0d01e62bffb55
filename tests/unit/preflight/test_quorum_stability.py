# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict on the metadata quorum, for any sequence of observations."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.admin import DescribeQuorumResponse

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import (
    ClusterError,
    RecoveryError,
    UnsupportedRequestError,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import quorum
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.quorum import BEHIND_AFTER, Quorum, Replica
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import quorum_stability
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.quorum_stability import (
    CHURNING,
    MAJORITY_BEHIND,
    NO_LEADER,
    STABLE,
    QuorumObservation,
)

LEADER = 101


def close(replica_id: int) -> Replica:
    return Replica(replica_id, None, 500, 0, 0.2, 0.2)


def stopped(replica_id: int) -> Replica:
    return Replica(replica_id, None, 480, 20, 10.0, 10.0)


def unheard(replica_id: int) -> Replica:
    return Replica(replica_id, None, None, None, None, None)


def led(epoch: int = 1, leader: int = LEADER, voters: Sequence[Replica] = ()) -> Quorum:
    return Quorum(leader, epoch, 500, tuple(voters or map(close, (101, 102, 103))), ())


def observation(seconds: float, found: Quorum | None) -> QuorumObservation:
    return QuorumObservation(seconds, found, None if found else "no broker answered")


def observations(found: Sequence[Quorum | None]) -> list[QuorumObservation]:
    return [observation(float(number), one) for number, one in enumerate(found)]


QUORUMS = st.builds(led, st.integers(1, 3), st.sampled_from((101, 102)))
LOOKS = st.lists(st.none() | QUORUMS, min_size=1, max_size=6).map(observations)


@given(LOOKS)
def test_a_quorum_is_calm_only_when_one_leader_in_one_epoch_answered_up_to_the_end(seen: list[QuorumObservation]) -> None:
    places = {(one.quorum.leader_id, one.quorum.leader_epoch) for one in seen if one.quorum}
    word = NO_LEADER if seen[-1].quorum is None else CHURNING if len(places) > 1 else STABLE
    assert quorum_stability.judge(seen).verdict == word


@given(LOOKS, st.integers(0, 5))
def test_a_look_without_an_answer_between_others_changes_nothing(seen: list[QuorumObservation], where: int) -> None:
    with_gap = [*seen[:where], observation(0.0, None), *seen[where:]] if where < len(seen) else seen
    assert quorum_stability.judge(with_gap).verdict == quorum_stability.judge(seen).verdict


@given(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3))
def test_the_leader_and_voters_that_are_not_behind_must_be_a_majority(following: int, behind: int, silent: int) -> None:
    others = [close] * following + [stopped] * behind + [unheard] * silent
    voters = [stopped(LEADER), *(kind(102 + number) for number, kind in enumerate(others))]
    verdict = quorum_stability.judge([observation(0.0, led(voters=voters))])
    assert (verdict.verdict == STABLE) == (1 + following > behind + silent)
    assert verdict.verdict in (STABLE, MAJORITY_BEHIND)
    assert sum(reason.startswith("voter ") for reason in verdict.reasons) == behind + silent


@pytest.mark.parametrize(
    ("voter", "expected"),
    [
        (close(102), None),
        (unheard(102), "has not fetched the metadata log since the leader took over"),
        (stopped(102), "last fetched the metadata log 10.0 s ago, 20 records behind"),
        # It fetches, but more is written than it gets.
        (Replica(102, None, 480, 20, 0.1, 10.0), "lags 20 records behind, last caught up: 10.0 s ago"),
        (Replica(102, None, 480, 20, 0.1, None), "lags 20 records behind, last caught up: never"),
        # Lag of the moment, and a leader that writes nothing for long: neither is behind.
        (Replica(102, None, 480, 20, 0.1, BEHIND_AFTER), None),
        (Replica(102, None, 500, 0, 0.1, 10.0), None),
        # DescribeQuorum version 0 has no times.
        (Replica(102, None, 500, 0, None, None), None),
    ],
)
def test_behind_goes_by_lag_and_time(voter: Replica, expected: str | None) -> None:
    assert quorum.behind(voter, LEADER) == expected


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ((101, 102), (101, 102, 103), "103 joined the voters within 1.0 s"),
        ((101, 102, 103), (101, 103), "102 left the voters within 1.0 s"),
    ],
)
def test_voters_that_join_or_leave_make_it_churn(before: Sequence[int], after: Sequence[int], reason: str) -> None:
    found = quorum_stability.judge(
        observations([led(voters=[close(one) for one in before]), None, led(voters=[close(one) for one in after])])
    )
    assert found == (CHURNING, [reason.replace("1.0", "2.0")])


def test_a_voter_that_lost_its_disk_makes_it_churn() -> None:
    """KIP-996's disk loss: with directory ids by another one, without them by a log that is shorter than it was."""
    changed = [led(voters=[close(LEADER), close(102)._replace(directory_id=name), close(103)]) for name in ("A", "B")]
    assert quorum_stability.judge(observations(changed)) == (
        CHURNING,
        ["the directory of voter 102 changed from A to B within 1.0 s: it has another disk"],
    )
    emptied = [led(voters=[close(LEADER), close(102)._replace(log_end_offset=end), close(103)]) for end in (500, 12)]
    assert quorum_stability.judge(observations(emptied)) == (
        CHURNING,
        ["the log of voter 102 went back from offset 500 to 12 within 1.0 s: it lost its disk"],
    )
    # A new leader has not heard of the others yet, and may cut off what was never committed.
    other_epoch = [emptied[0], emptied[1]._replace(leader_epoch=2)]
    assert [reason for reason in quorum_stability.judge(observations(other_epoch)).reasons if "went back" in reason] == []
    assert quorum_stability.judge(observations([led(), led(voters=[close(LEADER), unheard(102), close(103)])])).verdict == STABLE


def test_the_reasons_name_what_was_seen() -> None:
    moved = observations([led(4), None, led(9, 103)])
    assert quorum_stability.judge(moved).reasons == [
        "the leader went from controller 101 in epoch 4 to controller 103 in epoch 9 within 2.0 s"
    ]
    assert quorum_stability.judge(moved[:2]).reasons == [
        "no leader of the metadata quorum answers: no broker answered",
        "it was controller 101 in epoch 4, 1.0 s earlier",
    ]
    voters = [close(101), stopped(102), unheard(103)]
    assert quorum_stability.judge([observation(0.0, led(voters=voters))]).reasons[0] == "2 of 3 voters are behind"


def test_the_history_has_every_change_once() -> None:
    seen = observations([led(1), led(1), None, None, led(3, 102), led(3, 102)])
    assert quorum_stability.history(seen) == [
        {"seconds": 0.0, "leader_id": 101, "leader_epoch": 1},
        {"seconds": 2.0, "leader_id": None, "leader_epoch": None},
        {"seconds": 4.0, "leader_id": 102, "leader_epoch": 3},
    ]


def test_the_addresses_of_voters_are_read() -> None:
    found = answer([(101, 490, 1, 1), (102, 500, 1, 1)], [])
    kind = DescribeQuorumResponse.Node
    found.nodes = [kind(node_id=101, listeners=[kind.Listener(name="CONTROLLER", host="c1", port=9093)])]
    assert quorum.read(found).addresses == {"c1:9093": 101}


def answer(voters: Sequence[tuple[int, int, int, int]], observers: Sequence[tuple[int, int, int, int]]) -> Any:
    """A DescribeQuorum answer; rows are (id, log end offset, last fetch, last caught up)."""
    kind = DescribeQuorumResponse.TopicData.PartitionData

    def state(row: tuple[int, int, int, int]) -> Any:
        return kind.ReplicaState(
            replica_id=row[0],
            replica_directory_id=uuid.UUID("637e1d2d-fcc9-44cd-b5ff-9d9fd9d8df44") if row[0] < 100 else None,
            log_end_offset=row[1],
            last_fetch_timestamp=row[2],
            last_caught_up_timestamp=row[3],
        )

    row = kind(
        partition_index=0,
        error_code=0,
        leader_id=102,
        leader_epoch=7,
        high_watermark=490,
        current_voters=[state(voter) for voter in voters],
        observers=[state(observer) for observer in observers],
    )
    topic = DescribeQuorumResponse.TopicData(topic_name="__cluster_metadata", partitions=[row])
    return DescribeQuorumResponse(error_code=0, topics=[topic], nodes=[])


def test_an_answer_is_read_by_the_leaders_own_clock_and_log() -> None:
    now = 1_795_247_772_310
    found = quorum.read(answer([(101, 490, now - 4200, now - 5000), (102, 500, now, now), (103, -1, -1, -1)], [(1, 500, now - 300, now)]))
    assert found == Quorum(
        102,
        7,
        490,
        (Replica(101, None, 490, 10, 4.2, 5.0), Replica(102, None, 500, 0, 0.0, 0.0), unheard(103)),
        (Replica(1, "Y34dLfzJRM21_52f2djfRA", 500, 0, 0.3, 0.0),),
    )


class Cluster:
    """Answers with one quorum after the other, the last one again and again; an error is raised."""

    def __init__(self, *answers: Quorum | Exception) -> None:
        self.answers = list(answers)

    def quorum(self) -> Quorum:
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(found, Exception):
            raise found
        return found


def test_the_last_look_is_not_before_the_end_of_the_window() -> None:
    seen = quorum_stability.watch(Cluster(led(1), ClusterError("none answered"), led(2)), 0.6)
    assert [one.quorum for one in seen[:2]] == [led(1), None] and seen[1].problem == "none answered"
    assert seen[-1].quorum == led(2) and seen[-1].seconds >= 0.6


def test_one_voter_holds_no_elections_and_is_observed_once() -> None:
    alone = led(voters=[close(LEADER)])
    seen = quorum_stability.watch(Cluster(alone), 60)
    assert [one.quorum for one in seen] == [alone]
    assert quorum_stability.judge(seen) == (STABLE, [])


def test_a_quorum_that_may_not_be_described_gets_no_verdict() -> None:
    with pytest.raises(quorum.QuorumAccessError):
        quorum_stability.watch(Cluster(quorum.QuorumAccessError("grant DESCRIBE")), 60)


def test_a_quorum_of_brokers_that_are_too_old_gets_no_verdict() -> None:
    with pytest.raises(UnsupportedRequestError, match="upgrade"):
        quorum_stability.watch(Cluster(UnsupportedRequestError("upgrade the brokers")), 60)


def controller(address: str, pre_vote: bool | None, active: bool | None = False) -> dict[str, Any]:
    return {"address": address, "active": active, "pre_vote": pre_vote, "error": "refused" if active is None else None}


def test_controllers_give_the_reasons_if_brokers_get_no_answer() -> None:
    rows = [controller("c1:9093", True, True), controller("c2:9093", True, False), controller("c3:9093", None, None)]
    report = quorum_stability.report([observation(0.0, None)], rows, 5.0)
    assert (report["verdict"], report["leader_id"], report["voters"]) == (NO_LEADER, None, [])
    assert report["reasons"][1:] == [
        "controller c1:9093 leads the quorum, but brokers get no answer from it",
        "controller c2:9093 answers, and does not lead the quorum",
        "controller c3:9093 refused",
    ]
    assert quorum_stability.report([observation(0.0, led())], rows, 5.0)["reasons"] == []


def test_silence_is_counted_on_the_controllers_own_clock_and_the_latest_fetch_of_an_id_counts() -> None:
    topic = DescribeQuorumResponse.TopicData
    kind = topic.PartitionData
    replica = kind.ReplicaState if hasattr(kind, "ReplicaState") else DescribeQuorumResponse.ReplicaState
    answer = DescribeQuorumResponse(
        topics=[
            topic(
                partitions=[
                    kind(
                        current_voters=[replica(replica_id=101, last_fetch_timestamp=50_000)],
                        observers=[
                            replica(replica_id=1, last_fetch_timestamp=20_000),
                            replica(replica_id=1, last_fetch_timestamp=49_500),
                            replica(replica_id=2, last_fetch_timestamp=10_000),
                            replica(replica_id=3, last_fetch_timestamp=-1),
                        ],
                    )
                ]
            )
        ]
    )
    assert quorum.read(answer).silence() == {101: 0.0, 1: 0.5, 2: 40.0}


class Answering:
    """A cluster that describes its quorum so, one answer after the other, the last one again and again."""

    def __init__(self, *found: Quorum) -> None:
        self.left = list(found)

    def quorum(self) -> Quorum:
        return self.left.pop(0) if len(self.left) > 1 else self.left[0]


def test_a_watch_goes_on_for_what_is_left_of_its_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only sleeping advances the clock; an observation takes no time."""
    now = [1000.0]
    monkeypatch.setattr(quorum_stability.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(quorum_stability.time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    before = {"leader_id": LEADER, "leader_epoch": 1, "looked_at": 998.0}
    seen = quorum_stability.resume_watch(Answering(led()), before, 3.0)
    assert (seen[0].seconds, seen[1].seconds, seen[-1].seconds, now[0]) == (0.0, 2.0, 3.0, 1001.0)
    # Long ago, and a quorum that holds no elections: one observation. A clock that does not help: the whole window.
    assert len(quorum_stability.resume_watch(Answering(led()), {**before, "looked_at": 900.0}, 3.0)) == 2
    assert len(quorum_stability.resume_watch(Answering(led(voters=[close(LEADER)])), {**before, "looked_at": now[0]}, 3.0)) == 2
    assert quorum_stability.resume_watch(Answering(led()), {**before, "looked_at": 5000.0}, 3.0)[-1].seconds == 3.0


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        ([led(epoch=2)], "churning"),
        ([led(leader=102, epoch=2), led(epoch=3)], "churning"),
        ([led(), led(epoch=2)], "churning"),
        ([led(voters=[close(LEADER), close(102), close(103), close(104)])], "churning"),
        ([led(voters=[close(LEADER), close(102), close(103)._replace(log_end_offset=3)])], "churning"),
        (
            [led(voters=[close(LEADER)._replace(log_end_offset=600), *(stopped(one)._replace(log_end_offset=520) for one in (102, 103))])],
            "majority_behind",
        ),
    ],
)
def test_nothing_is_elected_if_the_quorum_did_not_stay_stable(found: list[Quorum], verdict: str) -> None:
    voters = [close(one)._asdict() for one in (101, 102, 103)]
    before = {"leader_id": LEADER, "leader_epoch": 1, "looked_at": quorum_stability.time.monotonic(), "voters": voters}
    with pytest.raises(RecoveryError, match=rf"\({verdict}\)"):
        quorum_stability.require_stable_quorum(Answering(*found), before, 0.1)
    quorum_stability.require_stable_quorum(Answering(led()), before, 0.1)
