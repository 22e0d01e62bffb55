# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which replica orders the metadata log shows as changed alone."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from metadata_logs import ORDERS, Active, batch, change, partition, topic

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.metadata_log_reader import LogRecord, MetadataLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers import order_history
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers.model import Leftover
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState

CREATED = [topic(), partition([1, 2, 3], 1)]


def found(values: Sequence[bytes], replicas: tuple[int, ...], snapshot: bool = False) -> list[Leftover]:
    """What the log shows of a partition that has these replicas now."""
    state = PartitionState("orders", 0, ORDERS, 1, 1, replicas, (1,), (), (), ())
    records = [*CREATED, *values]
    active = (
        Active(snapshot=(len(records), 5, batch(0, records)), end=len(records)) if snapshot else Active([batch(0, records)], len(records))
    )
    return order_history.changed_orders(MetadataLog(active, 60.0), {state.key: state})


def test_an_order_that_was_changed_alone_is_shown_with_the_one_from_before() -> None:
    (row,) = found([change(replicas=[2, 1, 3]), change(leader=2, isr=[2])], (2, 1, 3))
    assert (row.kind, row.owner, row.outcome) == ("replica_order", "unknown", "kept")
    assert (row.present, row.original, row.since) == ("2,1,3", "1,2,3", "1970-01-01T00:00:01Z")


@pytest.mark.parametrize(
    ("values", "replicas"),
    [
        ([], (1, 2, 3)),
        ([change(replicas=[2, 1, 3]), change(replicas=[1, 2, 3])], (1, 2, 3)),
        ([change(replicas=[2, 3, 4], adding=[4])], (2, 3, 4)),
        ([change(replicas=[2, 1, 3]), change(replicas=[4, 2, 1])], (4, 2, 1)),
        ([change(replicas=[2, 1, 3])], (3, 1, 2)),
        ([change(number=1, replicas=[2, 1, 3])], (1, 2, 3)),
    ],
    ids=["unchanged", "restored", "moved", "moved after", "changed since", "another partition"],
)
def test_other_changes_are_not_shown(values: list[bytes], replicas: tuple[int, ...]) -> None:
    assert found(values, replicas) == []


def test_what_a_snapshot_has_is_the_order_from_before() -> None:
    assert found([], (1, 2, 3), snapshot=True) == []


def test_a_record_that_is_not_known_is_skipped() -> None:
    assert len(found([b"\x01\x63\x00", change(replicas=[2, 1, 3])], (2, 1, 3))) == 1


@given(orders=st.lists(st.permutations([1, 2, 3]), max_size=6))
def test_only_the_last_order_counts(orders: list[list[int]]) -> None:
    last = tuple(orders[-1]) if orders else (1, 2, 3)
    rows = found([change(replicas=order) for order in orders], last)
    assert bool(rows) == (last != (1, 2, 3))
    assert all(row.original == "1,2,3" for row in rows)


def test_a_time_that_no_clock_has_is_shown_all_the_same() -> None:
    state = PartitionState("orders", 0, ORDERS, 1, 1, (2, 1, 3), (1,), (), (), ())
    entries = [LogRecord(number, 2**63 - 1, value) for number, value in enumerate([*CREATED, change(replicas=[2, 1, 3])])]
    (row,) = order_history.changed_orders(entries, {state.key: state})
    assert row.since == "+292278994-08-17T07:12:55Z"
