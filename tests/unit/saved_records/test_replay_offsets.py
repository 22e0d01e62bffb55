# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which saved offsets of groups are committed again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from offset_record_bytes import COMMITTED_AT, offset_key, offset_value

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumer_groups import Group
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumers import EpochEnd, LeaderLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.offset_records import SavedOffset
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_records import Record
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_offsets import ClusterOffsets, saved_offsets
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_origin import Origin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_rules import ALREADY_THERE, Chosen

KEY, LEADER = ("t", 0), 1
PLACE = ("g", KEY)


def chosen(key: bytes | None, value: bytes | None, reason: str | None = None) -> Chosen:
    return Chosen(Record(0, 0, key, value, ()), Origin("c", "id", 0, 0, 0, 1), None, reason)


def cluster(
    ends: dict[int, EpochEnd] | None = None,
    end: int = 100,
    committed: int | None = None,
    blind: str | None = None,
    state: str = "Empty",
    leader: int = LEADER,
    error: str | None = None,
    topic_id: str = "id",
    start: int = 0,
    first_time: int | None = COMMITTED_AT,
) -> ClusterOffsets:
    """A cluster in which the partition has a log of epoch 2 until `end`, and the group has committed an offset."""
    states = {KEY: PartitionState(*KEY, topic_id, leader, 3, (1,), (1,), (), (), ())}
    log = LeaderLog(error, log_start_offset=start, log_end_offset=end, epoch_ends={2: EpochEnd(2, end)} if ends is None else ends)
    offsets = {} if committed is None else {PLACE: committed}
    return ClusterOffsets(
        states, {LEADER}, {KEY: log}, {"g": Group(state)}, offsets, blind, {} if first_time is None else {KEY: first_time}
    )


@given(st.integers(0, 200), st.none() | st.integers(0, 200), st.integers(-1, 4), st.integers(0, 200), st.booleans())
def test_offsets_go_forward_alone_and_only_to_records_that_the_leader_has(
    saved: int, committed: int | None, epoch: int, end: int, blind: bool
) -> None:
    reason = cluster(end=end, committed=committed, blind="a broker is silent" if blind else None).obstacle(
        PLACE, SavedOffset(saved, epoch, "", None, COMMITTED_AT)
    )
    assert (reason == ALREADY_THERE) == (committed is not None and committed >= saved)
    if reason is None:
        assert (committed is None and not blind) or (committed is not None and committed < saved)
        assert saved == 0 or (epoch == 2 and saved <= end)


@pytest.mark.parametrize(
    "wrong",
    [
        {"state": "Stable"}, {"state": "PreparingRebalance"}, {"leader": -1}, {"leader": 9}, {"error": "NO_ANSWER"}, {"topic_id": "other"},
        {"blind": "unread"}, {"ends": {}}, {"ends": {2: EpochEnd(1, 60)}}, {"ends": {2: EpochEnd(2, 49)}}, {"end": 49}, {"start": 100},
    ],
)  # fmt: skip
def test_any_doubt_holds_an_offset(wrong: dict[str, object]) -> None:
    saved = SavedOffset(50, 2, "", "id", COMMITTED_AT)
    assert cluster().obstacle(PLACE, saved) is None
    assert cluster(**wrong).obstacle(PLACE, saved) not in (None, ALREADY_THERE)  # type: ignore[arg-type]
    assert ClusterOffsets({}, {LEADER}, {}, {}, {}, None, {}).obstacle(PLACE, saved) is not None


@pytest.mark.parametrize(
    ("first_time", "committed_at", "is_held"),
    [(90, 100, False), (100, 100, False), (101, 100, True), (None, 100, True), (-1, 100, True), (0, -1, True)],
)
def test_without_a_topic_id_the_log_must_be_older_than_the_commit(first_time: int | None, committed_at: int, is_held: bool) -> None:
    """A topic that was created again may reach the offset in the same leader epoch, with other records."""
    reason = cluster(first_time=first_time).obstacle(PLACE, SavedOffset(50, 2, "", None, committed_at))
    assert (reason is not None) == is_held
    assert cluster(first_time=first_time).obstacle(PLACE, SavedOffset(50, 2, "", "id", committed_at)) is None
    assert cluster(first_time=first_time).obstacle(PLACE, SavedOffset(0, -1, "", None, committed_at)) is None


def test_the_last_record_of_a_group_and_partition_counts() -> None:
    key = offset_key("g", "t", 0)
    found = saved_offsets(
        [
            chosen(key, offset_value(70)),
            chosen(key, offset_value(50, 2, "m")),
            chosen(key, offset_value(90), "aborted"),
            chosen(offset_key("deleted", "t", 0), offset_value(5)),
            chosen(offset_key("deleted", "t", 0), None),
            chosen(offset_key("other", "t", 0), offset_value(5)),
            chosen(b"\0\2\0\1g", b"members"),
            chosen(key[:-1], offset_value(5)),
            chosen(None, b"x"),
        ],
        {"g", "deleted"},
    )
    assert found.offsets == {PLACE: SavedOffset(50, 2, "m", None, COMMITTED_AT)}
    assert found.skipped == {"superseded": 2, "aborted": 1, "deleted": 1, "other_group": 1, "no_offset": 1, "unreadable": 2}
