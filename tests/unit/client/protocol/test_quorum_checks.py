# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many voters, observers and addresses a DescribeQuorum answer may have, and which of them can be there twice."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

import pytest
from kafka.protocol.admin import DescribeQuorumResponse

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import quorum_state
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import AnswerError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import BROKERS, LISTENERS, VOTERS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import quorum
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import quorum_stability

Member = tuple[int, int]  # id, and the directory's id, 0 if there is none
Address = tuple[str, int]
MANY = BROKERS + 1


def answer(voters: Iterable[Member], observers: Iterable[Member] = (), nodes: Iterable[tuple[int, list[Address]]] = ()) -> Any:
    kind = DescribeQuorumResponse.TopicData.PartitionData
    lists = [
        [kind.ReplicaState(replica_id=one, replica_directory_id=uuid.UUID(int=directory), log_end_offset=7) for one, directory in members]
        for members in (voters, observers)
    ]
    row = kind(partition_index=0, error_code=0, leader_id=1, leader_epoch=7, high_watermark=7, current_voters=lists[0], observers=lists[1])
    node = DescribeQuorumResponse.Node
    rows = [
        node(node_id=number, listeners=[node.Listener(name="CONTROLLER", host=host, port=port) for host, port in places])
        for number, places in nodes
    ]
    return DescribeQuorumResponse(
        error_code=0, topics=[DescribeQuorumResponse.TopicData(topic_name="__cluster_metadata", partitions=[row])], nodes=rows
    )


@pytest.mark.parametrize(
    ("described", "reason"),
    [
        (answer([(one, 0) for one in range(VOTERS + 1)]), f"has {VOTERS + 1} voters"),
        (answer([(1, 5), (1, 6)]), "names voter 1 twice"),
        (answer([(-1, 0)]), "names voter -1"),
        (answer([(1, 0)], [(one, 0) for one in range(MANY)]), f"has {MANY} observers"),
        (answer([(1, 0)], [(2, 5), (3, 5), (2, 5)]), "names observer 2 twice with the same directory"),
        (answer([(1, 0)], nodes=[(one, []) for one in range(MANY)]), f"has {MANY} nodes"),
        (answer([(1, 0)], nodes=[(2, []), (2, [])]), "names node 2 twice"),
        (answer([(1, 0)], nodes=[(2, [("c1", 9093)] * (LISTENERS + 1))]), f"names {LISTENERS + 1} listeners of node 2"),
    ],
)
def test_an_answer_that_no_quorum_gives_is_an_error(described: Any, reason: str) -> None:
    with pytest.raises(AnswerError, match=f"^DescribeQuorumResponse {reason}"):
        quorum_state.quorum_partition(described)


def test_an_observer_can_be_there_once_for_each_directory() -> None:
    """KIP-853. Before version 2 of the answer directories have no ids, and a disk that was replaced is there beside the new one for minutes."""
    described = answer([(1, 5), (2, 6)], [(2, 7), (3, 8), (3, 9), (4, 0), (4, 0)], [(1, [("c1", 9093)]), (2, [])])
    assert quorum_state.quorum_error(described) is None
    assert [replica.replica_id for replica in quorum.read(described).observers] == [2, 3, 3, 4, 4]


def test_addresses_longer_than_any_name_are_not_kept() -> None:
    places = [("c1", 9093), ("x" * 30_000, 9093), ("c3", 9093)]
    assert quorum.read(answer([(1, 0)], nodes=[(1, places)])).addresses == {"c1:9093": 1, "c3:9093": 1}


class Cluster:
    """Answers with one look after the other."""

    def quorum(self) -> quorum.Quorum:
        return quorum.read(answer([(1, 5), (2, 6)], [(3, 7)], [(1, [("c1", 9093)])]))


def test_of_earlier_looks_only_what_the_verdict_needs_is_kept() -> None:
    *earlier, last = [look.quorum for look in quorum_stability.watch(Cluster(), 0.3)]
    assert earlier and all(one and len(one.voters) == 2 and not one.observers and not one.addresses for one in earlier)
    assert last and last.observers and last.addresses
