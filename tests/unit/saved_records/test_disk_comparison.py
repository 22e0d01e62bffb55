# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a log on a disk leaves that of the leader: compared offset by offset, with made-up histories of leader epochs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumers import EpochEnd, LeaderLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.disk_comparison import (
    CLEAN_LEADER,
    IN_CLUSTER,
    MOST_EPOCHS,
    NO_LEADER,
    ONLY_ON_DISK,
    OTHER_TOPIC,
    UNKNOWN,
    Compared,
    DiskLog,
    Return,
    compare,
    disk_log,
    leads_again,
    tail_of,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails import Tail

BACK = Return(1, was_clean=True, elr=True)
STATE = PartitionState("t", 0, "id", 2, 9, (1, 2), (2,), (), (), ())


def of_epochs(written: list[int], **changes: Any) -> DiskLog:
    """A log that has at each offset a record of that leader epoch."""
    epochs = {epoch: written.index(epoch) for epoch in sorted({*written})}
    fields = {"topic_id": "id", "start": 0, "end": len(written), "epoch": written[-1] if written else -1, "epochs": epochs}
    return DiskLog("t", 0, **{**fields, **changes})


def leader(written: list[int], asked: list[int], start: int = 0) -> LeaderLog:
    """A leader that answers for each leader epoch as Kafka does: with the greatest epoch up to it, and where the next one begins."""
    kept = [(epoch, offset) for offset, epoch in enumerate(written) if offset >= start]
    answers = {}
    for epoch in asked:
        upto = [known for known, _offset in kept if known <= epoch]
        later = next((offset for known, offset in kept if known > epoch), len(written))
        if upto:
            answers[epoch] = EpochEnd(max(upto), later)
        elif kept:
            answers[epoch] = EpochEnd(epoch, kept[0][1])
        else:
            answers[epoch] = EpochEnd(-1, -1)
    return LeaderLog(None, log_start_offset=start, log_end_offset=len(written), epoch_ends=answers)


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Two logs with a common beginning. No epoch that one of them has behind it is in the other."""
    common = sorted(draw(st.lists(st.integers(0, 3), max_size=8)))
    behind = iter(sorted(draw(st.sets(st.integers(4, 12), min_size=2, max_size=4))))
    logs: list[list[int]] = [[*common], [*common]]
    if draw(st.integers(0, 1)) and common:
        logs[draw(st.integers(0, 1))] += [common[-1]] * draw(st.integers(1, 3))
    for epoch in behind:
        logs[draw(st.integers(0, 1))] += [epoch] * draw(st.integers(1, 3))
    return logs[0], logs[1]


@given(histories())
def test_it_is_every_record_that_the_leader_does_not_have(logs: tuple[list[int], list[int]]) -> None:
    written, leaders = logs
    log = of_epochs(written)
    found = compare(log, BACK, STATE, {2}, leader(leaders, log.asked_epochs))
    same = next((offset for offset, epoch in enumerate(written) if offset >= len(leaders) or leaders[offset] != epoch), len(written))
    if same == len(written):
        assert (found.relation, found.start, found.end) == (IN_CLUSTER, 0, 0)
    else:
        assert (found.relation, found.start, found.end) == (ONLY_ON_DISK, same, len(written))
        assert tail_of(found, 1) == Tail("t", 0, "id", written[-1], 1, same, len(written))


@given(histories(), st.integers(0, 12))
def test_what_a_leader_has_deleted_is_never_taken_for_what_it_has(logs: tuple[list[int], list[int]], start: int) -> None:
    written, leaders = logs
    log = of_epochs(written)
    start = min(start, len(leaders))
    found = compare(log, BACK, STATE, {2}, leader(leaders, log.asked_epochs, start))
    lacking = [offset for offset, epoch in enumerate(written) if offset >= len(leaders) or leaders[offset] != epoch]
    if found.relation == UNKNOWN:
        assert "has deleted" in str(found.reason) and (found.start, found.end) == (0, len(written))
    else:
        # A leader whose log is empty knows no epoch, so all of the disk counts.
        assert {*lacking} <= {*range(found.start, found.end)}


@pytest.mark.parametrize(
    ("log", "state", "unfenced", "answer", "relation", "why"),
    [
        (of_epochs([0]), None, {2}, None, OTHER_TOPIC, "was deleted"),
        (of_epochs([0], topic_id="other"), STATE, {2}, None, OTHER_TOPIC, "was created again, with the id id"),
        (of_epochs([0]), STATE, set(), None, NO_LEADER, "has no leader"),
        (of_epochs([0]), STATE, {2}, None, UNKNOWN, "broker 2, cannot be read: no answer"),
        (of_epochs([0]), STATE, {2}, LeaderLog("NOT_LEADER_OR_FOLLOWER"), UNKNOWN, "NOT_LEADER_OR_FOLLOWER"),
        (of_epochs([0]), STATE, {2}, LeaderLog(None, 0, 1), UNKNOWN, "does not say where leader epoch 0 ends"),
        (of_epochs([0], doubt="torn in two"), STATE, {2}, None, UNKNOWN, "torn in two"),
        (of_epochs([*range(MOST_EPOCHS + 1)]), STATE, {2}, leader([0, 99], [*range(1, 66)]), UNKNOWN, "none of its last 64 leader epochs"),
        (of_epochs([]), STATE, {2}, None, IN_CLUSTER, "None"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_says_why(
    log: DiskLog, state: PartitionState | None, unfenced: set[int], answer: LeaderLog | None, relation: str, why: str
) -> None:
    found = compare(log, BACK, state, unfenced, answer)
    assert found.relation == relation and why in str(found.reason)


@pytest.mark.parametrize(
    ("elr", "last_known", "was_clean", "keeps_elr", "leads"),
    [
        ((1, 3), (1,), True, True, True),
        ((1, 3), (1,), False, True, False),  # it leaves the ELR, and the controller waits for broker 3
        ((1,), (1,), False, True, True),  # the last known leader, and the ELR is empty
        ((1,), (3,), False, True, False),
        ((1,), (3,), False, None, False),
        ((3,), (1,), True, True, False),
    ],
)
def test_a_member_of_the_elr_that_was_killed_leads_again_only_as_the_last_known_leader(
    elr: tuple[int, ...], last_known: tuple[int, ...], was_clean: bool, keeps_elr: bool | None, leads: bool
) -> None:
    state = replace(STATE, leader=-1, replicas=(1, 2, 3), isr=(), eligible_leader_replicas=elr, last_known_elr=last_known)
    assert leads_again(of_epochs([0]), Return(1, was_clean, keeps_elr), state, {2}) is leads
    found = compare(of_epochs([0]), Return(1, was_clean, keeps_elr), state, {2}, None)
    assert found.relation == (CLEAN_LEADER if leads else NO_LEADER)
    assert ("was not shut down cleanly" in str(found.reason)) is (not leads and 1 in elr)


def test_without_the_elr_the_last_member_of_the_isr_leads_again_although_it_was_killed() -> None:
    state = replace(STATE, leader=-1, isr=(1,))
    assert leads_again(of_epochs([0]), Return(1, was_clean=False, elr=False), state, {2})
    assert not leads_again(of_epochs([0]), Return(1, was_clean=False, elr=None), state, {2})


def test_a_log_in_doubt_is_not_compared() -> None:
    row = {
        "topic": "t", "partition": 0, "topic_id": "id", "error": None, "log_start_offset": 0, "log_end_offset": 5, "last_written_epoch": 2,
        "torn": None, "doubts": [], "foreign_files": [], "last_batch_base_offset": 4, "kept_end_checked": True,
        "epochs": [{"epoch": 0, "start_offset": 0}, {"epoch": 2, "start_offset": 3}, {"epoch": 4, "start_offset": 5}],
    }  # fmt: skip
    assert disk_log(row, alone=True) == DiskLog("t", 0, "id", 0, 5, 2, {0: 0, 2: 3}, last_base_offset=4)
    torn = {"segment": "00.log", "position": 7, "reason": "the crc is wrong", "goes_on": True}
    assert disk_log({**row, "torn": torn}, alone=True).damage == "00.log, byte 7: the crc is wrong"
    assert disk_log({**row, "torn": {**torn, "goes_on": False}}, alone=True).damage is None
    assert disk_log({**row, "doubts": ["the cleaner was interrupted"]}, alone=True).damage == "the cleaner was interrupted"
    assert "is not a file" in str(disk_log({**row, "foreign_files": ["00000000000000000000.log"]}, alone=True).damage)
    assert not disk_log({**row, "kept_end_checked": False}, alone=True).end_is_checked
    assert disk_log(row, alone=False).doubt == "two log dirs have a log of it"
    assert "no topic id" in str(disk_log({**row, "topic_id": None}, alone=True).doubt)
    assert disk_log({**row, "last_written_epoch": 0}, alone=True) == DiskLog("t", 0, "id", 0, 5, 0, {0: 0}, last_base_offset=4)
    assert "does not have the leader epoch of its last batch, 3" in str(disk_log({**row, "last_written_epoch": 3}, alone=True).doubt)
    for without_epochs in ({"epochs": [], "last_written_epoch": -1}, {"last_written_epoch": -1}):
        doubtful = disk_log({**row, **without_epochs}, alone=True)
        assert doubtful.doubt == "it has records, and no leader epochs"
        assert Compared(doubtful, UNKNOWN, doubtful.doubt, 0, 5).epochs == []
    assert disk_log({**row, "epochs": [], "last_written_epoch": -1, "log_start_offset": 5}, alone=True).doubt is None
    assert disk_log({**row, "error": {"path": "/x", "reason": "it is damaged"}}, alone=True).doubt == "/x: it is damaged"
