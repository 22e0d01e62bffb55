# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Committed offsets: many groups in one request, and of the answer only what was really committed on the partitions in question."""

from __future__ import annotations

from typing import Any

from kafka.protocol.admin import ListGroupsRequest, ListGroupsResponse
from kafka.protocol.consumer import OffsetFetchRequest, OffsetFetchResponse

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import consumer_groups
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumer_groups import Group

GROUP_AUTHORIZATION_FAILED, UNSTABLE_OFFSET_COMMIT = 30, 88


def test_groups_of_every_kind_are_listed() -> None:
    again = ListGroupsRequest.decode(bytes(consumer_groups.list_groups().encode(version=5)), version=5)
    assert (again.states_filter, again.types_filter) == ([], [])
    kind = ListGroupsResponse.ListedGroup
    named = [kind(group_id=group, protocol_type="consumer", group_state="Empty", group_type="classic") for group in ("b", "a")]
    answer = ListGroupsResponse(throttle_time_ms=0, error_code=0, groups=named)
    assert consumer_groups.read_groups(ListGroupsResponse.decode(bytes(answer.encode(version=5)), version=5)) == (
        None,
        dict.fromkeys(["b", "a"], Group("Empty", "classic")),
    )


def test_all_that_several_groups_committed_is_asked_at_once() -> None:
    version = consumer_groups.OFFSET_FETCH_VERSION
    again = OffsetFetchRequest.decode(bytes(consumer_groups.fetch_offsets(["a", "b"]).encode(version=version)), version=version)
    assert [(group.group_id, group.topics) for group in again.groups] == [("a", None), ("b", None)]
    assert not again.require_stable, "what a transaction has not committed yet keeps back no answer"


def test_what_was_not_committed_or_is_refused_is_left_out() -> None:
    group, topic = OffsetFetchResponse.OffsetFetchResponseGroup, OffsetFetchResponse.OffsetFetchResponseGroup.OffsetFetchResponseTopics

    def row(partition: int, offset: int, error: int = 0) -> Any:
        return topic.OffsetFetchResponsePartitions(
            partition_index=partition, committed_offset=offset, committed_leader_epoch=4, metadata="", error_code=error
        )

    rows = [row(0, 20), row(1, -1), row(2, 7, UNSTABLE_OFFSET_COMMIT), row(3, 9)]
    read = group(group_id="read", topics=[topic(name="t", partitions=rows), topic(name="other", partitions=[row(0, 5)])], error_code=0)
    refused = group(group_id="refused", topics=[], error_code=GROUP_AUTHORIZATION_FAILED)
    answer = OffsetFetchResponse(throttle_time_ms=0, groups=[read, refused])
    again = OffsetFetchResponse.decode(bytes(answer.encode(version=9)), version=9)
    read_offsets = consumer_groups.Reader({("t", 0), ("t", 1), ("t", 2)}, ["read", "refused"])
    assert read_offsets(again) == [("read", ("t", 0), 20, 4)]


def test_groups_that_were_not_asked_about_and_doubled_rows_are_dropped() -> None:
    group, topic = OffsetFetchResponse.OffsetFetchResponseGroup, OffsetFetchResponse.OffsetFetchResponseGroup.OffsetFetchResponseTopics
    row = topic.OffsetFetchResponsePartitions(partition_index=0, committed_offset=5, committed_leader_epoch=4, metadata="", error_code=0)
    groups = [
        group(group_id=name, topics=[topic(name="t", partitions=[row] * 100)] * 2, error_code=0) for name in ("asked", "asked", "other")
    ]
    answer = OffsetFetchResponse(throttle_time_ms=0, groups=groups)
    assert consumer_groups.Reader({("t", 0)}, ["asked"])(answer) == [("asked", ("t", 0), 5, 4)]


def test_groups_are_returned_with_what_the_broker_knows() -> None:
    kind = ListGroupsResponse.ListedGroup
    for version, known in ((5, Group("Stable", "classic")), (4, Group("Stable", "")), (3, Group())):
        listed = [kind(group_id="billing", protocol_type="consumer", group_state="Stable", group_type="classic")]
        answer = ListGroupsResponse(throttle_time_ms=0, error_code=0, groups=listed)
        again = ListGroupsResponse.decode(bytes(answer.encode(version=version)), version=version)
        assert consumer_groups.read_groups(again) == (None, {"billing": known})


def test_groups_whose_offsets_are_refused_are_named() -> None:
    group = OffsetFetchResponse.OffsetFetchResponseGroup
    topic = group.OffsetFetchResponseTopics

    def row(partition: int, error: int) -> object:
        return topic.OffsetFetchResponsePartitions(
            partition_index=partition, committed_offset=-1, committed_leader_epoch=-1, metadata="", error_code=error
        )

    reported = [
        group(group_id="read", topics=[topic(name="t", partitions=[row(0, 0)])], error_code=0),
        group(group_id="refused", topics=[], error_code=30),
        group(group_id="in part", topics=[topic(name="t", partitions=[row(0, 0), row(1, 29)])], error_code=0),
    ]
    answer = OffsetFetchResponse(throttle_time_ms=0, groups=reported)
    again = OffsetFetchResponse.decode(bytes(answer.encode(version=9)), version=9)
    assert consumer_groups.read_refused_groups(again) == {
        "refused": "GROUP_AUTHORIZATION_FAILED",
        "in part": "TOPIC_AUTHORIZATION_FAILED",
    }
