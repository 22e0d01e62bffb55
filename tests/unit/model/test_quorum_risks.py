# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Quorum risks: what is known of pre-vote and timeouts only if every voter answered, and what is said of disks and members."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.quorum import Quorum, Replica
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.quorum_risks import (
    DEFAULT_TIMEOUTS,
    ELECTION,
    FETCH,
    QuorumNodes,
    assess,
    pre_vote,
)

VOTERS = (101, 102, 103)


def replica(replica_id: int, directory_id: str | None = None) -> Replica:
    return Replica(replica_id, directory_id, 500, 0, 0.2, 0.2)


def quorum_of(*voters: Replica, observers: Sequence[Replica] = ()) -> Quorum:
    return Quorum(101, 1, 500, voters or tuple(map(replica, VOTERS)), tuple(observers))


def controller(address: str, node_id: int | None, pre_vote: bool | None, **timeouts: int) -> dict[str, Any]:
    return {
        "address": address,
        "node_id": node_id,
        "pre_vote": pre_vote,
        "error": "refused" if pre_vote is None else None,
        "timeouts": {**DEFAULT_TIMEOUTS, **timeouts} if pre_vote is not None and node_id else {},
        "timeouts_error": None if node_id else "CLUSTER_AUTHORIZATION_FAILED",
    }


def around(
    *controllers: Mapping[str, Any], brokers: Mapping[int, Mapping[str, int]] | None = None, registered: Collection[int] | None = None
) -> QuorumNodes:
    return QuorumNodes(controllers, brokers or {}, registered, 1)


ALL = [controller(f"c{node}", node, True) for node in VOTERS]


@pytest.mark.parametrize(
    ("rows", "supported", "words"),
    [
        ([], None, "controller_bootstrap_servers is not set"),
        (ALL, True, "yes: all voters"),
        # One that is silent, one that is not named, one whose address matches no voter: it may be the one without pre-vote.
        (
            [*ALL[:2], controller("c103", None, None)],
            None,
            "not known of voters 103: they do not answer at controller_bootstrap_servers; c103 (refused)",
        ),
        (ALL[:2], None, "not known of voters 103"),
        ([*ALL[:2], controller("c103", None, True)], None, "c103 (matches no voter)"),
        ([*ALL[:2], ALL[1]], None, "not known of voters 103"),
        # While a cluster is being upgraded the old ones still force elections.
        ([ALL[0], controller("c102", 102, False), controller("c103", None, None)], False, "c102 without Vote version 2"),
        ([*ALL[:2], controller("c103", None, False)], False, "c103 without Vote version 2"),
        # An observer has no vote.
        ([*ALL, controller("c104", 104, False)], True, "yes"),
    ],
)
def test_pre_vote_is_known_only_if_every_voter_answered(rows: list[dict[str, Any]], supported: bool | None, words: str) -> None:
    found, reason = pre_vote(rows, quorum_of())
    assert found is supported and words in reason, reason
    reported = assess(quorum_of(), around(*rows))
    assert [risk for risk in reported["risks"] if "KIP-996" in risk] == (
        [f"the quorum has no pre-vote (KIP-996): {reason}"] if supported is False else []
    )
    assert [line for line in reported["unknown"] if "KIP-996" in line] == ([f"pre-vote (KIP-996): {reason}"] if supported is None else [])


def test_without_a_leader_the_voters_are_not_known() -> None:
    assert pre_vote(ALL, None) == (None, "not known: no leader lists the voters")
    assert pre_vote([controller("c1", None, False)], None)[0] is False
    assert assess(None, around(*ALL))["unknown"] == ["pre-vote (KIP-996): not known: no leader lists the voters"]


def test_low_timeouts_are_named_with_their_nodes_and_unknown_ones_with_the_reason() -> None:
    rows = [controller("c101", 101, True, **{FETCH: 300}), controller("c102", 102, True, **{FETCH: 300, ELECTION: 999}), ALL[2]]
    reported = assess(quorum_of(), around(*rows, brokers={1: {FETCH: 1500, ELECTION: 1}}))
    assert [risk.split(":")[0] for risk in reported["risks"]] == [
        f"{ELECTION} is 999 on 102, below Kafka's default of 1000",
        f"{FETCH} is 300 on 101, 102, below Kafka's default of 2000",
        f"{FETCH} is 1500 on 1, below Kafka's default of 2000",
    ]
    assert "the broker" in reported["risks"][2] and "a voter" in reported["risks"][1]
    assert reported["unknown"] == [] and reported["timeouts"][0] == {"node_id": 1, "election_timeout": 0.001, "fetch_timeout": 1.5}
    assert reported["timeouts"][1] == {"node_id": 101, "election_timeout": 1.0, "fetch_timeout": 0.3, "request_timeout": 2.0}
    reported = assess(quorum_of(), around(*ALL[:2], controller("c103", None, True)))
    assert reported["unknown"][1:] == ["controller.quorum.*.timeout.ms of voters 103: c103: CLUSTER_AUTHORIZATION_FAILED"]
    assert assess(quorum_of(), around())["unknown"][1:] == [
        "controller.quorum.*.timeout.ms of voters 101, 102, 103: controller_bootstrap_servers is not set"
    ]


def test_a_voter_that_is_a_broker_reports_its_timeouts_as_a_broker() -> None:
    reported = assess(quorum_of(replica(1), replica(2)), around(brokers={1: {FETCH: 100}, 2: dict(DEFAULT_TIMEOUTS)}))
    assert [line for line in reported["unknown"] if "timeout" in line] == [] and f"{FETCH} is 100 on 1" in reported["risks"][0]


def test_a_rebuilt_disk_and_controllers_without_a_vote_are_risks() -> None:
    voters = [replica(101, "A"), replica(102, "B"), replica(103, "C")]
    observers = [replica(102, "D"), replica(1, "E"), replica(104, "F")]
    reported = assess(quorum_of(*voters, observers=observers), around(*ALL, registered={1, 2}))
    disk, member = reported["risks"]
    assert disk.startswith("voter 102 follows with directory D and has no vote there: the voters have its directory B")
    assert member.startswith("node 104 follows the metadata log and is neither a voter nor a registered broker")
    # Kafka before 4.0 does not list fenced brokers: one that comes back looks like a controller.
    assert len(assess(quorum_of(*voters, observers=observers[1:]), around(*ALL))["risks"]) == 0


def test_a_quorum_of_one_voter_has_neither_risks_nor_unknowns() -> None:
    reported = assess(quorum_of(replica(101)), around(controller("c101", 101, False, **{FETCH: 1})))
    assert (reported["risks"], reported["unknown"], reported["pre_vote_supported"]) == ([], [], False)
