# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replaying the metadata log: what becomes of the wanted partitions, and what makes it doubtful."""

from __future__ import annotations

import base64
import tracemalloc
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from metadata_logs import ORDERS, Active, NoController, batch, change, feature, min_isr, partition, removed, topic, value

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.metadata_log_reader import LogRecord
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import limits
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence import isr_history
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState

BEGIN, END, ABORT = value(23, 0), value(24, 0), value(25, 0)
# As it is in the end, with eligible leader replicas: broker 3 left, then 2, then 1 died.
STATE = PartitionState("orders", 0, ORDERS, -1, 1, (1, 2, 3), (), (1,), (), (1,))
STORY = [topic(), partition([1, 2, 3], 1), change(isr=[1, 2]), change(isr=[1]), change(isr=[], leader=-1, elr=[1])]
START = [feature(21), min_isr(2)]


def replay(values: Sequence[bytes], alive: Sequence[int] = (2, 3), state: PartitionState = STATE) -> dict[str, Any]:
    (row,) = isr_history.rows([LogRecord(place, 1000 + place, one) for place, one in enumerate(values)], [state], alive)
    return row


def isrs(row: dict[str, Any]) -> list[list[int]]:
    return [change["isr"] for change in row["changes"]]


def test_leaders_and_isrs_by_epoch_and_time() -> None:
    row = replay([*START, *STORY])
    assert row["changes"][0] == {
        "offset": 3,
        "timestamp": 1003,
        "leader": 1,
        "leader_epoch": 0,
        "isr": [1, 2, 3],
        "eligible_leader_replicas": [],
        "unclean": False,
        "reassigned": False,
    }
    assert [(found["leader"], found["leader_epoch"], found["isr"]) for found in row["changes"]] == [
        (1, 0, [1, 2, 3]),
        (1, 0, [1, 2]),
        (1, 0, [1]),
        (-1, 1, []),
    ]
    assert {name: row[name] for name in ("doubt", "offline_since", "last_isr", "metadata_version", "min_insync_replicas")} == {
        "doubt": None,
        "offline_since": 1006,
        "last_isr": [1],
        "metadata_version": 21,
        "min_insync_replicas": 2,
    }


def test_it_begins_when_all_survivors_were_in_the_isr_for_the_last_time() -> None:
    flapping = [change(isr=[1, 2]), change(isr=[1, 2, 3])] * 3
    assert isrs(replay([*START, *STORY[:2], *flapping, *STORY[2:]])) == [[1, 2, 3], [1, 2], [1], []]
    assert isrs(replay([*START, *STORY], alive=[2])) == [[1, 2], [1], []]
    assert isrs(replay([*START, *STORY], alive=[])) == [[1], []], "without live replicas the loss of the last leader is still known"


def test_without_survivors_all_changes_are_kept() -> None:
    healthy = [change(isr=[1], leader=1, recovering=1), change(isr=[1, 2, 3], recovering=0)]
    now = replace(STATE, leader=1, leader_epoch=2, isr=(1, 2, 3), eligible_leader_replicas=())
    entries = [LogRecord(place, 1000 + place, one) for place, one in enumerate([*START, *STORY, *healthy])]
    (row,) = isr_history.rows(entries, [now], None)
    assert row["doubt"] is None
    assert [found["unclean"] for found in row["changes"]] == [False, False, False, False, True, False]
    (row,) = isr_history.rows(entries, [now], (1, 2, 3))
    assert isrs(row) == [[1, 2, 3]]


def test_a_history_that_never_settles_keeps_its_newest_changes() -> None:
    many = [change(isr=[1, 2] if number % 2 else [1]) for number in range(2 * isr_history.CHANGES_KEPT)]
    row = replay([*START, *STORY[:2], *many, *STORY[3:]])
    assert len(row["changes"]) == isr_history.CHANGES_KEPT
    assert isrs(row)[-1] == []


def test_unclean_elections_and_reassignments_are_marked() -> None:
    state = replace(STATE, leader_epoch=2)

    def story(*changes: bytes) -> list[tuple[bool, bool]]:
        row = replay([*START, *STORY[:3], *changes, change(isr=[], leader=-1)], state=state)
        return [(found["unclean"], found["reassigned"]) for found in row["changes"][2:-1]]

    assert story(change(leader=2)) == [(False, False)]
    assert story(change(leader=3, isr=[3])) == [(True, False)], "a leader from outside the ISR"
    assert story(change(leader=3, isr=[3], elr=[])) == [(True, False)]
    assert story(change(leader=2, recovering=1)) == [(True, False)]
    assert story(change(elr=[3]), change(leader=3, isr=[3])) == [(False, False), (False, False)]
    assert story(change(elr=[3]), value(28, 0, b"\x07orders"), change(leader=3, isr=[3])) == [(False, False), (True, False)]
    assert story(change(replicas=[3, 2, 1]), change(leader=2)) == [(False, False), (False, False)], "another order"
    assert story(change(replicas=[1, 2, 4]), change(leader=2)) == [(False, True), (False, False)]
    assert story(change(adding=[4]), change(adding=[], leader=2)) == [(False, True), (False, True)]


@pytest.mark.parametrize(
    ("before", "after", "least"),
    [
        ([min_isr(2)], [], 2),
        ([min_isr(5)], [], 3),
        ([], [], None),
        ([], [min_isr(2)], None),
        ([min_isr(2)], [min_isr(1), min_isr(2)], 1),
        ([min_isr(2)], [min_isr(None)], None),
        ([min_isr(2, 4, "")], [], 2),
        ([min_isr(2, 4, ""), min_isr(3)], [min_isr(None)], 2),
        ([min_isr(2, 4, ""), min_isr(1, 4, "3")], [], 1),
        ([min_isr(2, 4, "3")], [], None),
        ([min_isr(2)], [min_isr(1, 4, "")], 2),
        ([min_isr(2)], [min_isr(1, 2, "other")], 2),
        ([min_isr(2, 4, "")], [min_isr(1, 4, "")], 1),
    ],
)
def test_of_min_insync_replicas_the_least_counts(before: list[bytes], after: list[bytes], least: int | None) -> None:
    assert replay([feature(21), *before, *STORY[:3], *after, *STORY[3:]])["min_insync_replicas"] == least


def test_of_metadata_versions_the_least_since_then_counts() -> None:
    assert replay([feature(14), min_isr(2), *STORY[:3], feature(21), *STORY[3:]])["metadata_version"] == 14
    assert replay([feature(14), feature(21), *STORY])["metadata_version"] == 21
    assert replay(STORY)["metadata_version"] is None


def test_in_a_snapshot_the_order_of_records_means_nothing() -> None:
    snapshot = [LogRecord(9, None, one) for one in (*STORY[:2], min_isr(2), feature(21))]
    (row,) = isr_history.rows([*snapshot, *(LogRecord(10, 1000, one) for one in STORY[2:])], [STATE], [2, 3])
    assert (row["min_insync_replicas"], row["metadata_version"], row["doubt"]) == (2, 21, None)
    assert row["changes"][0]["timestamp"] is None


def test_a_topic_of_that_name_that_was_deleted_is_another_one() -> None:
    row = replay([feature(21), topic(), min_isr(1), partition([1, 2, 3], 1), removed(), *START, *STORY])
    assert (row["min_insync_replicas"], isrs(row)[0]) == (2, [1, 2, 3])
    assert replay([feature(21), topic(), min_isr(2), removed(), *STORY])["min_insync_replicas"] is None


def test_records_of_a_transaction_happen_at_its_end_or_never() -> None:
    assert replay([BEGIN, *START, END, BEGIN, *STORY, END]) == {**replay([value(20, 0), *START, value(20, 0), value(20, 0), *STORY])}
    row = replay([*START, *STORY[:2], BEGIN, change(isr=[3], leader=3), ABORT, *STORY[2:]])
    assert (row["doubt"], [1, 2] in isrs(row)) == (None, True)
    assert "ends at leader epoch 0" in str(replay([*START, *STORY[:-1], BEGIN, STORY[-1]])["doubt"])


def test_what_is_not_understood_is_a_doubt_unless_everybody_was_in_sync_afterwards() -> None:
    unknown = value(99, 0)
    assert replay([unknown, *START, *STORY])["doubt"] is None
    assert "unknown record at offset 5 (record key 99, version 0)" in str(replay([*START, *STORY[:3], unknown, *STORY[3:]])["doubt"])


def test_a_history_that_does_not_end_as_the_brokers_say_is_doubted() -> None:
    row = replay([*START, *STORY], state=replace(STATE, leader_epoch=4, isr=(2,)))
    assert (row["offline_since"], row["last_isr"]) == (None, None)
    assert row["doubt"] == "the metadata log ends at leader epoch 1 with ISR [], the brokers know leader epoch 4 with ISR [2]"
    assert replay(START)["doubt"] == "the metadata log does not have this partition"


def test_the_result_of_reading_has_its_cost_and_why_it_ended() -> None:
    log = [batch(0, START), batch(2, STORY)]
    rows, cost = isr_history.read_isr_history(Active(log, end=7), [STATE], [2, 3], 60)
    assert (rows[0]["doubt"], isrs(rows[0])[0]) == (None, [1, 2, 3])
    assert cost == {"bytes": sum(map(len, log)), "seconds": cost["seconds"], "from_snapshot": False, "doubt": None}

    rows, cost = isr_history.read_isr_history(Active(log, end=9), [STATE], [2, 3], 60)
    assert (
        rows[0]["doubt"]
        == cost["doubt"]
        == "the metadata log could not be read to its end: the active controller sends no records at offset 7 of 9"
    )
    assert rows[0]["offline_since"] is None
    rows, cost = isr_history.read_isr_history(NoController(), [STATE], [2, 3], 60)
    assert rows[0]["changes"] == []
    assert "none of them is the active controller" in rows[0]["doubt"]


def test_names_that_kafka_does_not_allow_are_not_kept() -> None:
    def log(*first: bytes) -> Iterator[LogRecord]:
        yield from (LogRecord(place, 1000, one) for place, one in enumerate(first))
        yield from (LogRecord(10 + number, 1000, topic("x" * (1 << 20), name_of(number))) for number in range(30))
        yield from (LogRecord(40 + number, 1000, min_isr(2, 2, f"{number}" + "x" * 30_000)) for number in range(200))
        yield from (LogRecord(240 + number, 1000, min_isr(2, 4, f"{number}" + "x" * 30_000)) for number in range(200))

    for first in ([], [BEGIN]):
        tracemalloc.start()
        try:
            isr_history.rows(log(*first), [STATE], None)
            assert tracemalloc.get_traced_memory()[1] < 8 << 20
        finally:
            tracemalloc.stop()


def test_pending_changes_of_a_transaction_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PENDING_BYTES", 1 << 20, raising=False)
    changes = [topic(f"{number}" + "x" * 200, name_of(number)) for number in range(5000)]
    assert replay([*START, *STORY, *changes])["doubt"] is None
    assert replay([*START, *STORY, BEGIN, *changes[:1000], END, BEGIN, *changes[1000:2000], END])["doubt"] is None
    with pytest.raises(ClusterError, match="a transaction has changes of more than 1 MiB at offset"):
        replay([BEGIN, *changes])


def test_changes_that_are_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CHANGES_BYTES", 1 << 18, raising=False)
    settling = [change(isr=[1, 2]), change(isr=[1, 2, 3])] * 500
    assert replay([*START, *STORY[:2], *settling, *STORY[2:]])["doubt"] is None
    with pytest.raises(ClusterError, match="changes of partitions take more than 0 MiB at offset"):
        replay([*START, *STORY[:2], *[change(isr=[1, 2]), change(isr=[1])] * 500])


def name_of(number: int) -> str:
    return base64.urlsafe_b64encode(number.to_bytes(16, "big")).decode().rstrip("=")
