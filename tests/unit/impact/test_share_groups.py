# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Impact on share groups: what is proven was read in another log, and what cannot be known is in doubt or stays unseen. Numbers as real brokers answer them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.impact_logs import BEFORE, KEY, NEW, log_of, recovered, two_logs

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.impact.analysis import (
    AFTER_FORK,
    BEYOND_LOG_END,
    IN_DOUBT,
    Divergence,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.impact.share_groups import share_divergence, share_rows
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumer_groups import Group, ShareOffset
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumers import LeaderLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.recovered_partition import Fork, RecoveredPartition

KEPT, WRITTEN = [0] * 30, [0] * 30 + [NEW] * 30


def rows(share: ShareOffset, log: LeaderLog, before: RecoveredPartition | None = None) -> list[dict[str, Any]]:
    groups = {"sharers": Group("Empty", "share")}
    return list(share_rows([share], {KEY: before or recovered()}, {KEY: log}, groups))


def described(start: int, epoch: int, lag: int | None, marks: int) -> ShareOffset:
    return ShareOffset("sharers", KEY, start, epoch, lag, marks)


@given(two_logs(), st.data(), st.integers(0, 4))
def test_a_state_of_a_former_leader_is_reported_if_it_has_other_records_and_proven_only_then(
    logs: tuple[list[int], list[int], int], data: st.DataObject, written_since: int
) -> None:
    read, won, parted = logs
    reached = data.draw(st.integers(0, len(read)))
    share = ShareOffset("sharers", KEY, 0, read[-1] if read else 0)
    log = log_of([*won, *[NEW] * written_since])
    found = share_divergence(share, reached, recovered(committed_below=data.draw(st.integers(0, parted))), log)
    if reached > parted:
        assert found is not None
    if found is not None and found.certain:
        assert found.offset is not None and parted <= found.offset < reached
    known = share_divergence(share, reached, recovered(Fork(3, parted, share.leader_epoch)), log)
    assert reached <= parted or known == Divergence(parted, True)


@given(two_logs(), st.data(), st.integers(0, 4))
def test_a_state_that_the_new_leader_has_written_proves_only_what_is_beyond_its_log(
    logs: tuple[list[int], list[int], int], data: st.DataObject, written_since: int
) -> None:
    _read, won, _parted = logs
    log = log_of([*won, *[NEW] * written_since])
    end = len(won) + written_since
    reached = data.draw(st.integers(0, end + 3))
    found = share_divergence(ShareOffset("sharers", KEY, 0, NEW), reached, recovered(), log)
    assert found == (Divergence(len(won), reached > end) if reached > len(won) else None)


def test_a_group_that_has_acknowledged_lost_records_gets_no_new_ones_until_there() -> None:
    """The start offset alone is not after the end: 20 offsets from there on are acknowledged, which the lag shows."""
    (row,) = rows(described(30, 0, -20, 30), log_of(KEPT))
    assert (row["reason"], row["certain"], row["committed_offset"], row["reset_to"]) == (BEYOND_LOG_END, True, 50, 30)
    assert (row["offsets_read_and_lost"], row["offsets_skipped"], row["group_type"]) == (20, 0, "share")
    assert "auto.offset.reset" not in row["explanation"]
    (row,) = rows(described(30, 0, 10, 60), log_of(WRITTEN))
    assert (row["reason"], row["certain"], row["offsets_skipped"]) == (AFTER_FORK, True, 20)


def test_a_group_whose_state_the_new_leader_has_loaded_is_in_doubt_once_the_log_has_grown() -> None:
    (row,) = rows(described(30, NEW, -20, 30), log_of(KEPT))
    assert (row["reason"], row["certain"], row["committed_leader_epoch"]) == (BEYOND_LOG_END, True, None)
    (row,) = rows(described(50, NEW, 0, 60), log_of(WRITTEN))
    assert (row["reason"], row["certain"], row["reset_to"]) == (IN_DOUBT, False, 30)


@pytest.mark.parametrize(
    ("start", "lag"), [(30, 0), (0, 0), (10, 20), (0, 10)], ids=["at the end", "all acknowledged", "behind", "acknowledged beyond a gap"]
)
def test_a_group_is_not_reported_without_a_sign_of_other_records(start: int, lag: int) -> None:
    """Of the last one it is not known which offsets are acknowledged: docs/impact.md says so."""
    assert rows(described(start, 0, lag, 30), log_of(KEPT)) == []


def test_a_group_in_an_epoch_without_records_is_in_doubt_only_beyond_what_was_committed() -> None:
    """Epoch 5 of the former leader has no record in the new log, and perhaps none at all."""
    assert rows(described(20, BEFORE, 10, 30), log_of(KEPT), recovered(committed_below=30)) == []
    (row,) = rows(described(20, BEFORE, 10, 30), log_of(KEPT), recovered(committed_below=10))
    assert (row["reason"], row["reset_to"]) == (IN_DOUBT, 10)


def test_an_unknown_lag_is_a_doubt_and_an_old_broker_answers_none() -> None:
    (row,) = rows(described(30, 0, -1, 30), log_of(KEPT))
    assert (row["reason"], row["certain"], row["committed_offset"]) == (IN_DOUBT, False, 31)
    assert rows(described(30, 0, None, 30), log_of(KEPT)) == []
    (row,) = rows(described(50, 0, None, 30), log_of(KEPT))
    assert (row["reason"], row["certain"]) == (BEYOND_LOG_END, True)


def test_records_that_are_written_between_two_requests_prove_nothing() -> None:
    share = described(30, 0, 0, 30)  # the lag is that of a log with 35 records, or the group has acknowledged nothing from there on
    (row,) = rows(share, log_of(WRITTEN[:35]))
    assert (row["certain"], row["committed_offset"]) == (False, 35)


def test_a_reset_skips_no_record_that_is_not_acknowledged() -> None:
    (row,) = rows(described(5, 0, 5, 30), log_of(KEPT[:20]))
    assert (row["committed_offset"], row["reset_to"], row["offsets_read_and_lost"]) == (25, 5, 5)
    (row,) = rows(described(5, 0, 5, 30), replace(log_of(KEPT[:20]), log_start_offset=12))
    assert row["reset_to"] == 12


@pytest.mark.parametrize("start", [0, 2**63 - 1])
@pytest.mark.parametrize("lag", [-(2**63), 2**63 - 1])
def test_impossible_numbers_stay_within_64_bits(start: int, lag: int) -> None:
    for row in rows(described(start, 2**31 - 1, lag, 2**63 - 1), log_of(KEPT)):
        numbers = [value for value in row.values() if isinstance(value, int)]
        assert json.dumps(row) and all(0 <= number < 2**63 for number in numbers)
