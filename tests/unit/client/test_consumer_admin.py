# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ConsumerAdmin: what leaders and coordinators are asked, and what is made of those that do not answer. Made-up brokers, for moments that no real one keeps."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from kafka.errors import IncompatibleBrokerVersion, KafkaTimeoutError
from kafka.protocol.admin import (
    DescribeProducersResponse,
    DescribeTransactionsResponse,
    ListGroupsResponse,
    ListTransactionsResponse,
)
from kafka.protocol.consumer import OffsetFetchResponse
from kafka.protocol.consumer.fetch import FetchRequest, FetchResponse
from kafka.protocol.consumer.offsets import (
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from kafka.protocol.producer.produce import ProduceResponse

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import cluster as asked_cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import coordinators
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.consumer_admin import ConsumerAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import bounded_requests
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.replica_log_fetch import FetchedBatch
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.share_groups import DescribeShareGroupOffsetsResponse
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.shown_command import Commands
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import NO_ANSWER
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.impact import analysis
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import brokers
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumer_groups import Group, ShareOffset
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumers import EpochEnd, LeaderLog, Producer, Transaction
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import LastBatch

START, STABLE, MARK, END = 10, 95, 119, 121
LEADER_NOT_AVAILABLE, NOT_LEADER, LOADING, NOT_COORDINATOR, GROUP_AUTHORIZATION_FAILED = 5, 6, 14, 16, 30
ONE, TWO = ("t", 0), ("t", 1)
OPEN_NOW = [Producer(4000, 2, 5, 97)]
ONGOING = Transaction("payments-1", "Ongoing", 4000, 2, 60_000, 5, frozenset({ONE}))


def batch(offset: int) -> bytes:
    return struct.pack(">qiibIhiqqqhii", offset, 49, 1, 2, 7, 0, 0, 1000, 2000, -1, -1, -1, 1)


def received(request: Any) -> Any:
    """A request as a broker reads it. Rows of one that is about to be sent may be tuples."""
    versions = {FetchRequest.name: 12, ListOffsetsRequest.name: 7}
    version = versions.get(request.name)
    return request if version is None else type(request).decode(bytes(request.encode(version=version)), version=version)


def is_probe(request: Any) -> bool:
    """Whether a request is for groups that only show whether their coordinator knows that it is one."""
    return any(group.group_id.startswith("kafka-recovery-") for group in request.groups)


def unread(request: Any, error: int) -> Any:
    kind = OffsetFetchResponse.OffsetFetchResponseGroup
    groups = [kind(group_id=group.group_id, topics=[], error_code=error) for group in request.groups]
    return OffsetFetchResponse(throttle_time_ms=0, groups=groups)


class Brokers(ConsumerAdmin):
    """Brokers 1 and 2, partitions that all have the same log, and a list of what the leaders see of producers, one for each time of asking."""

    def __init__(self) -> None:
        super().__init__(Connection(("127.0.0.1:1",)))
        self._nodes = [brokers.Node(node, "127.0.0.1", node, None, False) for node in (1, 2)]
        self.mute: set[int] = set()
        self.errors: dict[TopicPartition, int] = {}
        self.producers: list[dict[TopicPartition, list[Producer]]] = []
        self.transactions: dict[int, list[Transaction]] = {}
        self.listing_error = self.group_error = 0
        self.leaderless: set[TopicPartition] = set()
        self.asked: list[tuple[int, str]] = []
        self.largest_batch = 100

    def partitions(self, keys: Any = None) -> dict[TopicPartition, PartitionState]:
        found = [("__transaction_state", 0), ("__consumer_offsets", 0), ONE]
        return {key: PartitionState(*key, "id", -1 if key in self.leaderless else 1, 3, (1,), (1,), (), (), ()) for key in found}

    def _ask_each(self, work: Any, read: Any = None, kept: Any = None, row_bytes: Any = None) -> dict[Any, list[Any]]:
        answers = {}
        for node, requests in work.items():
            made = [received(request) for request in requests]
            probes = [request for request in made if request.name == "OffsetFetchRequest" and is_probe(request)]
            self.asked += [(node, request.name) for request in made if request not in probes]
            found = (
                []
                if node in self.mute
                else [
                    self.probed(node, request) if request in probes else getattr(self, "_" + request.name)(node, request)
                    for request in made
                ]
            )
            answers[node] = [read(answer) for answer in found] if read else found
        return answers

    def probed(self, _node: int, request: Any) -> Any:
        return unread(request, 0)

    def _ListOffsetsRequest(self, _node: int, request: Any) -> Any:
        topic = ListOffsetsResponse.ListOffsetsTopicResponse

        def offset(row: Any) -> int:
            if row.timestamp == -2:
                return START
            if request.isolation_level:
                return STABLE
            return END if request.replica_id == -2 else MARK

        return ListOffsetsResponse(throttle_time_ms=0, topics=[
            topic(name=asked.name, partitions=[
                topic.ListOffsetsPartitionResponse(
                    partition_index=row.partition_index, error_code=self.errors.get((asked.name, row.partition_index), 0),
                    timestamp=-1, offset=offset(row), leader_epoch=4,
                )
                for row in asked.partitions
            ])
            for asked in request.topics
        ])  # fmt: skip

    def _FetchRequest(self, _node: int, request: Any) -> Any:
        assert request.replica_id == -1
        topic = FetchResponse.FetchableTopicResponse

        def records(row: Any, first: bool) -> bytes:
            return batch(row.fetch_offset) if first or row.partition_max_bytes >= self.largest_batch else b""

        return FetchResponse(throttle_time_ms=0, error_code=0, session_id=0, responses=[
            topic(topic=asked.topic, partitions=[
                topic.PartitionData(
                    partition_index=row.partition, error_code=0, high_watermark=MARK, last_stable_offset=STABLE, log_start_offset=START,
                    aborted_transactions=None, preferred_read_replica=-1, records=records(row, number == 0),
                )
                for number, row in enumerate(asked.partitions)
            ])
            for asked in request.topics
        ])  # fmt: skip

    def _OffsetForLeaderEpochRequest(self, _node: int, request: Any) -> Any:
        topic = OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult
        not_asked = OffsetForLeaderEpochRequest.OffsetForLeaderTopic.OffsetForLeaderPartition(partition=99, leader_epoch=1)
        return OffsetForLeaderEpochResponse(throttle_time_ms=0, topics=[
            topic(topic=asked.topic, partitions=[
                topic.EpochEndOffset(error_code=0, partition=row.partition, leader_epoch=row.leader_epoch, end_offset=10 * row.leader_epoch)
                for row in [*asked.partitions, not_asked]
            ])
            for asked in request.topics
        ])  # fmt: skip

    def _ListGroupsRequest(self, node: int, _request: Any) -> Any:
        kind = ListGroupsResponse.ListedGroup
        listed = [kind(group_id=f"of {node}", protocol_type="consumer", group_state="Stable", group_type="classic")]
        answer = ListGroupsResponse(throttle_time_ms=0, error_code=self.listing_error, groups=listed)
        return ListGroupsResponse.decode(bytes(answer.encode(version=5)), version=5)

    def _OffsetFetchRequest(self, _node: int, request: Any) -> Any:
        kind = OffsetFetchResponse.OffsetFetchResponseGroup
        topic = kind.OffsetFetchResponseTopics
        row = topic.OffsetFetchResponsePartitions(
            partition_index=0, committed_offset=20, committed_leader_epoch=4, metadata="", error_code=0
        )
        groups = [
            kind(group_id=group.group_id, topics=[topic(name="t", partitions=[row])], error_code=self.group_error)
            for group in request.groups
        ]
        return OffsetFetchResponse(throttle_time_ms=0, groups=groups)

    def _DescribeProducersRequest(self, _node: int, request: Any) -> Any:
        topic = DescribeProducersResponse.TopicResponse
        row = topic.PartitionResponse
        seen = self.producers[0] if len(self.producers) == 1 else self.producers.pop(0)

        def reported(key: TopicPartition) -> Any:
            active = [
                row.ProducerState(producer_id=p, producer_epoch=e, last_timestamp=t, current_txn_start_offset=s)
                for p, e, t, s in seen.get(key, [])
            ]
            return row(partition_index=key[1], error_code=self.errors.get(key, 0), active_producers=active)

        return DescribeProducersResponse(
            topics=[
                topic(name=asked.name, partitions=[reported((asked.name, number)) for number in asked.partition_indexes])
                for asked in request.topics
            ]
        )

    def _ListTransactionsRequest(self, node: int, request: Any) -> Any:
        kind = ListTransactionsResponse.TransactionState
        listed = [
            kind(transactional_id=one.transactional_id, producer_id=one.producer_id, transaction_state=one.state)
            for one in self.transactions.get(node, [])
            if (not request.state_filters or one.state in request.state_filters)
            and (not request.producer_id_filters or one.producer_id in request.producer_id_filters)
        ]
        return ListTransactionsResponse(error_code=self.listing_error, transaction_states=listed)

    def _DescribeTransactionsRequest(self, node: int, request: Any) -> Any:
        kind = DescribeTransactionsResponse.TransactionState
        by_id = {one.transactional_id: one for one in self.transactions[node]}
        reported = [
            kind(
                error_code=0, transactional_id=name, transaction_state=(one := by_id[name]).state, producer_id=one.producer_id,
                producer_epoch=one.producer_epoch, transaction_timeout_ms=one.timeout, transaction_start_time_ms=one.started_at,
                topics=[kind.TopicData(topic=topic, partitions=[number]) for topic, number in sorted(one.partitions)],
            )
            for name in request.transactional_ids
        ]  # fmt: skip
        return DescribeTransactionsResponse(transaction_states=reported)

    def _ProduceRequest(self, _node: int, request: Any) -> Any:
        topic = ProduceResponse.TopicProduceResponse
        return ProduceResponse(responses=[
            topic(name=asked.name, partition_responses=[
                topic.PartitionProduceResponse(index=row.index, error_code=self.errors.get((asked.name, row.index), 0), base_offset=7)
                for row in asked.partition_data
            ])
            for asked in request.topic_data
        ])  # fmt: skip


@pytest.fixture
def cluster() -> Iterator[Brokers]:
    one = Brokers()
    one._net.start()
    yield one
    one.close()


def test_logs_are_read_from_their_leaders_and_fetched_back_at_both_ends(cluster: Brokers) -> None:
    found = cluster.logs({ONE: 1, TWO: 2}, {ONE: {3, 1, 7}, TWO: {1}})
    assert found[ONE] == LeaderLog(
        None, START, END, MARK, STABLE, (START, MARK - 1), {epoch: EpochEnd(epoch, 10 * epoch) for epoch in (1, 3, 7)}
    )
    assert found[TWO].epoch_ends == {1: EpochEnd(1, 10)}


def test_a_batch_that_does_not_fit_is_asked_for_again(cluster: Brokers) -> None:
    cluster.largest_batch = 500_000
    keys = [("t", number) for number in range(5)]
    found = cluster.logs(dict.fromkeys(keys, 1), {})
    assert {log.read_back for log in found.values()} == {(START, MARK - 1)}


def test_what_is_not_answered_or_refused_is_said_of_that_partition_alone(cluster: Brokers) -> None:
    cluster.mute = {2}
    cluster.errors = {("t", 5): NOT_LEADER}
    found = cluster.logs({ONE: 1, TWO: 2, ("t", 5): 1}, {})
    assert (found[ONE].error, found[TWO].error, found["t", 5].error) == (None, NO_ANSWER, "NOT_LEADER_OR_FOLLOWER")
    assert found[TWO].log_end_offset is None


def test_offsets_that_groups_of_all_coordinators_committed_are_returned(cluster: Brokers) -> None:
    found = cluster.group_offsets({ONE})
    assert found.offsets == [("of 1", ONE, 20, 4), ("of 2", ONE, 20, 4)]
    assert found.groups == {"of 1": Group("Stable", "classic"), "of 2": Group("Stable", "classic")}
    assert found.blind == []


@pytest.mark.slow
def test_groups_that_are_not_listed_are_not_taken_for_none(cluster: Brokers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked_cluster, "LOADING_SECONDS", 0.0)
    cluster.mute = {2}
    cluster.leaderless = {("__consumer_offsets", 0)}
    cluster.listing_error, cluster.group_error = LOADING, GROUP_AUTHORIZATION_FAILED
    found = cluster.group_offsets({ONE})
    assert (found.offsets, sorted(found.groups)) == ([], ["of 1"])
    assert [line.partition(":")[0] for line in found.blind] == [
        "1 partitions of __consumer_offsets have no leader",
        "broker 2 does not answer",
        "broker 1 does not list its groups",
        "offsets of 1 groups cannot be read (first of 1",
    ]


def test_groups_that_are_not_listed_may_prove_more_of_offline_partitions(cluster: Brokers) -> None:
    cluster.mute = {2}
    cluster.leaderless = {("__consumer_offsets", 0)}
    cluster.listing_error, cluster.group_error = LOADING, GROUP_AUTHORIZATION_FAILED
    missed: list[str] = []
    assert cluster.committed_offsets({ONE}, 0.3, missed) == []
    assert missed == [
        "1 partitions of __consumer_offsets have no leader",
        "broker 2 does not answer",
        "broker 1 does not list its groups: COORDINATOR_LOAD_IN_PROGRESS",
        "offsets of 1 groups cannot be read (first of 1: GROUP_AUTHORIZATION_FAILED)",
    ]


class Loading(Brokers):
    """Each coordinator has loaded its groups when it is asked for the third time, first for their list and then for their offsets."""

    def _ListGroupsRequest(self, node: int, request: Any) -> Any:
        self.listing_error = LOADING if self.asked.count((node, request.name)) < 3 else 0
        return super()._ListGroupsRequest(node, request)

    def _OffsetFetchRequest(self, node: int, request: Any) -> Any:
        self.group_error = LOADING if self.asked.count((node, request.name)) < 3 else 0
        return super()._OffsetFetchRequest(node, request)


def read_from(one: Brokers) -> tuple[list[Any], list[str]]:
    """The offsets that groups have committed on t-0, and why there may be more."""
    one._net.start()
    missed: list[str] = []
    found = one.committed_offsets({ONE}, 60.0, missed)
    one.close()
    return found, missed


def test_a_coordinator_that_loads_its_groups_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """For as long as there is time, and not only for the few seconds that a look at consumers waits."""
    monkeypatch.setattr(asked_cluster, "LOADING_SECONDS", 0.0)
    assert read_from(Loading()) == ([("of 1", ONE, 20, 4), ("of 2", ONE, 20, 4)], [])


class JustElected(Brokers):
    """Broker 1 has just been elected for the partition of `__consumer_offsets`, and does not know it yet: it lists no group, without an error."""

    knows = False

    def probed(self, node: int, request: Any) -> Any:
        answer = unread(request, 0 if self.knows else NOT_COORDINATOR)
        self.knows |= ("ListGroupsRequest", node) in [(name, one) for one, name in self.asked]
        return answer

    def _ListGroupsRequest(self, node: int, request: Any) -> Any:
        answer = super()._ListGroupsRequest(node, request)
        if node == 1 and not self.knows:
            answer.groups.clear()
        return answer


def test_groups_are_listed_once_their_coordinator_knows_that_it_is_elected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinators, "PAUSE", 0)
    found = JustElected().group_offsets({ONE})
    assert (sorted(found.groups), found.blind) == (["of 1", "of 2"], [])
    missed: list[str] = []
    JustElected().committed_offsets({ONE}, 0.0, missed)
    assert any("broker 1" in reason for reason in missed)


class Shared(Brokers):
    """Both brokers list the group "shared". `denied`: the broker that answers that it is not its coordinator; `codes`: errors of the others."""

    def __init__(self, denied: int | None, **codes: int) -> None:
        super().__init__()
        self.denied, self.codes = denied, codes

    def _ListGroupsRequest(self, node: int, _request: Any) -> Any:
        kind = ListGroupsResponse.ListedGroup
        listed = [kind(group_id="shared", protocol_type="consumer", group_state="Stable", group_type="classic")]
        return ListGroupsResponse.decode(bytes(ListGroupsResponse(error_code=0, groups=listed).encode(version=5)), version=5)

    def _OffsetFetchRequest(self, node: int, request: Any) -> Any:
        self.group_error = NOT_COORDINATOR if node == self.denied else self.codes.get(f"of_{node}", 0)
        answer = super()._OffsetFetchRequest(node, request)
        for group in answer.groups:
            group.topics[0].partitions[0].committed_offset += node
        return answer


@pytest.mark.parametrize(("denied", "offset"), [(1, 22), (2, 21)])
def test_the_offsets_of_a_group_are_those_of_its_coordinator(denied: int, offset: int) -> None:
    assert read_from(Shared(denied)) == ([("shared", ONE, offset, 4)], [])


@pytest.mark.parametrize("codes", [{}, {"of_1": GROUP_AUTHORIZATION_FAILED}])
def test_a_group_with_two_coordinators_proves_nothing(codes: dict[str, int]) -> None:
    """One of them is none, and says what it likes."""
    found, missed = read_from(Shared(None, **codes))
    assert found == []
    (reason,) = missed
    assert "shared" in reason and "brokers 1 and 2" in reason


class Elsewhere(Brokers):
    """The group "of 1" moves to broker 2 after broker 1 has listed it."""

    def _ListGroupsRequest(self, node: int, request: Any) -> Any:
        answer = super()._ListGroupsRequest(node, request)
        if node == 2 and self.asked.count((2, request.name)) > 1:
            answer.groups.append(super()._ListGroupsRequest(1, request).groups[0])
        return answer

    def _OffsetFetchRequest(self, node: int, request: Any) -> Any:
        self.group_error = NOT_COORDINATOR if node == 1 else 0
        return super()._OffsetFetchRequest(node, request)


def test_a_group_that_moves_meanwhile_is_read_from_its_new_coordinator() -> None:
    assert read_from(Elsewhere()) == ([("of 1", ONE, 20, 4), ("of 2", ONE, 20, 4)], [])


def test_a_live_broker_that_has_not_answered_may_coordinate_groups() -> None:
    one = Brokers()
    one.unreachable[2] = "timed out"
    assert read_from(one) == ([("of 1", ONE, 20, 4)], ["broker 2 does not answer"])


def transacting(cluster: Brokers, *seen: dict[TopicPartition, list[Producer]]) -> list[tuple[TopicPartition, str]]:
    cluster.producers = list(seen)
    found = cluster.active_transactions({ONE: 1, TWO: 2})
    rows = analysis.transaction_rows(found.producers, found.transactions, found.blind, 10_000, analysis.Tools("b:1", Commands(Path("/w"))))
    return [((row["topic"], row["partition"]), row["state"]) for row in rows]


@pytest.mark.parametrize(("known", "expected"), [
    ([ONGOING], analysis.OPEN),
    ([ONGOING._replace(state="CompleteCommit", partitions=frozenset())], analysis.HANGING),
    ([], analysis.HANGING),
    ([ONGOING._replace(producer_id=77)], analysis.HANGING),
])  # fmt: skip
def test_a_transaction_that_stays_open_hangs_unless_its_coordinator_owes_it_an_end(
    cluster: Brokers, known: list[Transaction], expected: str
) -> None:
    cluster.transactions = {2: known}
    found = transacting(cluster, {ONE: OPEN_NOW})
    assert (ONE, expected) in found
    assert all(state == analysis.RECORDS_LOST for row, state in found if (row, state) != (ONE, expected))


def test_one_that_ends_or_begins_while_we_look_does_not_hang(cluster: Brokers) -> None:
    ended: Sequence[Producer] = [Producer(4000, 2, 5, -1)]
    assert transacting(cluster, {ONE: OPEN_NOW}, {ONE: list(ended)}) == []
    assert transacting(cluster, {ONE: OPEN_NOW}, {ONE: [Producer(4000, 2, 9, 110)]}) == [], "the next one of that producer"
    assert transacting(cluster, {}, {ONE: OPEN_NOW}) == []


def test_missing_records_of_an_open_transaction_are_reported(cluster: Brokers) -> None:
    cluster.transactions = {1: [ONGOING]}
    assert transacting(cluster, {}) == [(ONE, analysis.RECORDS_LOST)]
    assert transacting(cluster, {}, {ONE: OPEN_NOW}) == [(ONE, analysis.OPEN)], "its first record came a moment later"


def test_coordinators_that_do_not_answer_leave_all_transactions_in_doubt(cluster: Brokers) -> None:
    cluster.leaderless = {("__transaction_state", 0)}
    assert transacting(cluster, {ONE: OPEN_NOW}) == [(ONE, analysis.IN_DOUBT)]
    cluster.leaderless, cluster.listing_error = set(), LOADING
    assert transacting(cluster, {ONE: OPEN_NOW}) == [(ONE, analysis.IN_DOUBT)]


def test_what_is_given_up_leaves_no_transaction_in_doubt(cluster: Brokers) -> None:
    cluster.leaderless, cluster.producers = {("__transaction_state", 0)}, [{}]
    assert cluster.active_transactions({ONE: 1}, cluster.leaderless).blind == []
    assert cluster.active_transactions({ONE: 1}, {("__transaction_state", 1)}).blind != []
    cluster.listing_error = LOADING
    assert cluster.active_transactions({ONE: 1}, cluster.leaderless).blind != []


def test_leaders_that_do_not_describe_producers_are_named(cluster: Brokers) -> None:
    cluster.mute, cluster.errors, cluster.producers = {2}, {ONE: NOT_LEADER}, [{}]
    found = cluster.active_transactions({ONE: 1, TWO: 2})
    assert found.unanswered == {ONE: "NOT_LEADER_OR_FOLLOWER", TWO: NO_ANSWER}
    assert found.producers == {}
    assert found.blind == ["broker 2 does not answer"]


def test_canaries_are_written_and_fetched_back(cluster: Brokers) -> None:
    cluster.mute, cluster.errors = {2}, {("t", 5): 19}
    found = cluster.write_canaries({ONE: 1, TWO: 2, ("t", 5): 1}, "x")
    assert found[ONE] == {"offset": 7, "error": None, "read_back": True}
    assert found[TWO] == {"offset": None, "error": NO_ANSWER, "read_back": False}
    assert (found["t", 5]["offset"], found["t", 5]["read_back"]) == (None, False) and found["t", 5]["error"]
    assert [name for node, name in cluster.asked if node == 2] == ["ProduceRequest"]


class Claimed(Brokers):
    """Broker 2 answers requests of this name about t-1, which it leads, as if t-0 had been asked for."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def _ask_each(self, work: Any, read: Any = None, kept: Any = None, row_bytes: Any = None) -> dict[Any, list[Any]]:
        answers = super()._ask_each(work)
        for node, requests in {node: [name for asker, name in self.asked if asker == node] for node in work}.items():
            for answer in answers[node] if node == 2 and requests[-1] == self.name else ():
                for topic in answer.responses if self.name in ("FetchRequest", "ProduceRequest") else answer.topics:
                    for row in topic.partition_responses if self.name == "ProduceRequest" else topic.partitions:
                        self._lie(row)
        return {node: [read(answer) if read else answer for answer in found] for node, found in answers.items()}

    def _lie(self, row: Any) -> None:
        for number in ("partition", "partition_index", "index"):
            if hasattr(row, number):
                setattr(row, number, 0)
        for offset in ("offset", "end_offset", "base_offset"):
            if hasattr(row, offset):
                setattr(row, offset, 1)
        if self.name in ("FetchRequest", "DescribeProducersRequest"):
            row.error_code = NOT_LEADER


@pytest.mark.parametrize("name", ["ListOffsetsRequest", "FetchRequest", "OffsetForLeaderEpochRequest"])
def test_a_log_is_described_by_its_leader_alone(name: str) -> None:
    with_liar = Claimed(name)
    with_liar._net.start()
    found = with_liar.logs({ONE: 1, TWO: 2}, {ONE: {3}, TWO: {3}})
    with_liar.close()
    assert found[ONE] == LeaderLog(None, START, END, MARK, STABLE, (START, MARK - 1), {3: EpochEnd(3, 30)})
    assert found[TWO] != found[ONE]


def test_producers_and_canaries_of_a_partition_are_described_by_its_leader_alone() -> None:
    with_liar = Claimed("DescribeProducersRequest")
    with_liar.producers = [{ONE: OPEN_NOW}]
    found, refused = with_liar._producers({ONE: 1, TWO: 2})
    assert (found, refused) == ({ONE: OPEN_NOW}, {TWO: NO_ANSWER})
    with_liar.name = "ProduceRequest"
    written = with_liar.write_canaries({ONE: 1, TWO: 2}, "x")
    with_liar.close()
    assert written[ONE] == {"offset": 7, "error": None, "read_back": True}
    assert written[TWO]["error"] == NO_ANSWER


class Crowded(Brokers):
    """Each broker lists more groups and transactions than it is asked about."""

    def _ListGroupsRequest(self, node: int, _request: Any) -> Any:
        kind = ListGroupsResponse.ListedGroup
        listed = [kind(group_id=f"{number} of {node}", protocol_type="", group_state="", group_type="") for number in range(120)]
        return ListGroupsResponse.decode(bytes(ListGroupsResponse(error_code=0, groups=listed).encode(version=5)), version=5)


@pytest.fixture
def crowded() -> Iterator[Crowded]:
    one = Crowded()
    one._net.start()
    one.transactions = {2: [ONGOING._replace(transactional_id=f"tx-{number}") for number in range(300)]}
    one.producers = [{ONE: OPEN_NOW}]
    yield one
    one.close()


def test_no_more_than_so_many_groups_and_transactions_of_a_broker_are_looked_at(crowded: Crowded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_requests, "LISTED_NAMES", 70)
    found = crowded.group_offsets({ONE})
    assert found.blind == [f"broker {node} lists 120 groups, of which 70 were read" for node in (1, 2)]
    assert len(found.offsets) == 140
    missed: list[str] = []
    assert len(crowded.committed_offsets({ONE}, 60.0, missed)) == 140 and missed == found.blind
    transacting = crowded.active_transactions({ONE: 1})
    assert transacting.blind == ["broker 2 lists 300 transactions, of which 70 were read"]
    assert len(transacting.transactions) == 70


def test_groups_and_transactions_are_looked_at_for_a_time(crowded: Crowded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ConsumerAdmin, "_patience", -1.0)
    found = crowded.group_offsets({ONE})
    assert found.blind == [f"broker {node} described 0 of its 120 groups within -1 s; the others were not read" for node in (1, 2)]
    missed: list[str] = []
    assert crowded.committed_offsets({ONE}, -1.0, missed) == [] and missed == found.blind
    assert crowded.active_transactions({ONE: 1}).blind == [
        "broker 2 described 0 of its 300 transactions within -1 s; the others were not read"
    ]
    assert not {name for _node, name in crowded.asked} & {"OffsetFetchRequest", "DescribeTransactionsRequest"}


class Sharing(Brokers):
    """Each broker coordinates a share group. `rows`: what is answered of partitions, (topic, partition, start offset, lag, error)."""

    def __init__(self, version: int = 1) -> None:
        super().__init__()
        self.version = version
        self.rows = [("t", 0, 20, 30, 0)]
        self.names = {1: ["share 1"], 2: ["share 2"]}

    def _ListGroupsRequest(self, node: int, _request: Any) -> Any:
        kind = ListGroupsResponse.ListedGroup
        listed = [kind(group_id=name, protocol_type="share", group_state="Empty", group_type="share") for name in self.names[node]]
        return ListGroupsResponse.decode(bytes(ListGroupsResponse(error_code=0, groups=listed).encode(version=5)), version=5)

    def _DescribeShareGroupOffsetsRequest(self, _node: int, request: Any) -> Any:
        group = DescribeShareGroupOffsetsResponse.ResponseGroup
        topic = group.ResponseTopic
        row = topic.ResponsePartition
        topics = [
            topic(topic_name=name, topic_id=UUID(int=0), partitions=[
                row(partition_index=number, start_offset=start, leader_epoch=3, lag=lag, error_code=error, error_message=None)
            ])
            for name, number, start, lag, error in self.rows
        ]  # fmt: skip
        groups = [
            group(group_id=asked.group_id, topics=topics, error_code=self.group_error, error_message=None) for asked in request.groups
        ]
        answer = DescribeShareGroupOffsetsResponse(throttle_time_ms=0, groups=groups)
        return DescribeShareGroupOffsetsResponse.decode(bytes(answer.encode(version=self.version)), version=self.version)


def shared(one: Brokers) -> tuple[list[ShareOffset], list[str]]:
    """What share groups have read of the first partition, and why there may be more."""
    one._net.start()
    try:
        return one.share_offsets(one.group_offsets({ONE}).share_groups, {ONE: 1})
    finally:
        one.close()


@pytest.mark.parametrize(("version", "lag"), [(0, None), (1, 30)])
def test_share_groups_of_all_coordinators_are_read_with_the_high_watermark_before_them(version: int, lag: int | None) -> None:
    one = Sharing(version)
    assert shared(one) == ([ShareOffset(f"share {node}", ONE, 20, 3, lag, MARK) for node in (1, 2)], [])
    assert one.asked.index((1, "ListOffsetsRequest")) < one.asked.index((1, "DescribeShareGroupOffsetsRequest"))


def test_without_share_groups_no_broker_is_asked_for_them(cluster: Brokers) -> None:
    assert cluster.group_offsets({ONE}).share_groups == {}


def test_rows_that_are_impossible_or_were_not_wanted_are_left_out() -> None:
    one = Sharing()
    one.rows = [("t", 0, -1, -1, 0), ("t", 1, 5, 0, 0), ("other", 0, 5, 0, 0), ("t", -1, 5, 0, 0), ("t", 0, 7, 0, 0), ("t", 0, 9, 0, 0)]
    found, blind = shared(one)
    assert [(row.group, row.start_offset) for row in found] == [("share 1", 9), ("share 2", 9)] and blind == []
    one = Sharing()
    one.rows = [("t", 0, 0, -1, LEADER_NOT_AVAILABLE)]
    assert shared(one) == ([], ["offsets of 2 share groups cannot be read (first share 1: LEADER_NOT_AVAILABLE)"])


def test_a_coordinator_answers_only_about_its_own_share_groups() -> None:
    class Liar(Sharing):
        def _DescribeShareGroupOffsetsRequest(self, node: int, request: Any) -> Any:
            answer = super()._DescribeShareGroupOffsetsRequest(node, request)
            for group in answer.groups:
                group.group_id = "share 1"
            return answer

    found, _blind = shared(Liar())
    assert [row.group for row in found] == ["share 1"]
    both = Sharing()
    both.names = {1: ["shared"], 2: ["shared"]}
    assert shared(both)[0] == [], "one of its coordinators is none"


def test_what_is_missing_of_share_groups_is_said_with_its_remedy() -> None:
    one = Sharing()
    one.group_error = GROUP_AUTHORIZATION_FAILED
    (reason,) = shared(one)[1]
    assert reason.startswith("offsets of 2 share groups") and reason.endswith("grant DESCRIBE on the groups and their topics")


@pytest.mark.parametrize("error", [IncompatibleBrokerVersion("DescribeShareGroupOffsetsRequest"), KafkaTimeoutError("late")])
def test_a_broker_without_the_request_is_named_and_counts_as_reachable(error: Exception) -> None:
    class Old(Sharing):
        def _ask_each(self, work: Any, read: Any = None, kept: Any = None, row_bytes: Any = None) -> dict[Any, list[Any]]:
            answers = super()._ask_each(work, read, kept, row_bytes)
            if not self.asked or self.asked[-1][1] != "DescribeShareGroupOffsetsRequest":
                return answers
            self.failures.update(dict.fromkeys(work, error))
            self.unreachable.update(dict.fromkeys(work, str(error)))
            return {node: [] for node in work}

    one = Old()
    found, blind = shared(one)
    is_old = isinstance(error, IncompatibleBrokerVersion)
    assert found == [] and len(blind) == 2 and all(("Kafka 4.1" in reason) == is_old for reason in blind)
    assert bool(one.unreachable) != is_old


def test_no_more_than_so_many_share_groups_of_a_broker_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_requests, "LISTED_NAMES", 70)
    one = Sharing()
    one.names = {1: [f"share {number}" for number in range(120)], 2: []}
    found, blind = shared(one)
    assert len(found) == 70 and blind == ["broker 1 lists 120 share groups, of which 70 were read"]


def test_a_time_is_that_of_the_last_batch_before_an_offset(cluster: Brokers) -> None:
    assert cluster.times_before({ONE: 50}, {ONE: 1}) == {ONE: 2000}
    assert cluster.times_before({ONE: 0}, {ONE: 1}) == cluster.times_before({ONE: 50}, {}) == {}


def test_a_time_before_an_offset_within_a_batch_is_that_of_the_batch_before(cluster: Brokers, monkeypatch: pytest.MonkeyPatch) -> None:
    def whole(asked: Any, _leaders: Any) -> dict[TopicPartition, FetchedBatch]:
        bases = {key: offset // 10 * 10 for key, offset in asked.items()}
        return {key: FetchedBatch(None, MARK, 0, LastBatch(base, base + 9, 1, 0, 1000 + base)) for key, base in bases.items()}

    monkeypatch.setattr(cluster, "_fetch_back", whole)
    assert cluster.times_before({ONE: 45}, {ONE: 1}) == {ONE: 1030}
    assert cluster.times_before({ONE: 40}, {ONE: 1}) == {ONE: 1030}
    assert cluster.times_before({ONE: 5}, {ONE: 1}) == {}
