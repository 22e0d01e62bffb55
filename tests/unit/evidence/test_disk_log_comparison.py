# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A log on a disk is compared with that of a broker as one would that sees both logs whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st
from kafka_logs import Brokers, KafkaLog

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.replica_log_fetch import EpochEndAnswer
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.disk_log_comparison import EvidenceLog, Relation, compare

DISK, BROKER = 1, 2
STEP = st.tuples(st.sampled_from(("lead", "write", "copy")), st.integers(0, 1), st.integers(1, 5))
NUMBER = st.one_of(st.integers(-2, 60), st.sampled_from((-(2**63), 2**31 - 1, 2**63 - 1)))


def lived(steps: list[tuple[str, int, int]]) -> tuple[KafkaLog, KafkaLog]:
    """Two logs after a history of elections (unclean ones too), writes and copies."""
    logs, leader = [KafkaLog(), KafkaLog()], 0
    logs[0].begin(0)
    for epoch, (step, place, size) in enumerate(steps, 1):
        if step == "lead":
            leader = place
            logs[leader].begin(epoch)
        if step == "copy":
            logs[1 - leader].follow(logs[leader], size)
        elif logs[leader].epochs:
            logs[leader].append(size, logs[leader].epochs[-1][0], crc=epoch)
    return logs[0], logs[1]


def on_disk(log: KafkaLog) -> EvidenceLog:
    return EvidenceLog(DISK, log.measured, tuple((epoch, start) for epoch, start in log.epochs if start < log.end))


def compared(disk: KafkaLog, log: KafkaLog, answer: Callable[[int], EpochEndAnswer | None] | None = None) -> Relation:
    answers: dict[int, EpochEndAnswer | None] = {}
    asked = answer or (lambda epoch: Brokers({BROKER: log}).epoch_end(BROKER, epoch))
    while isinstance(found := compare(on_disk(disk), BROKER, log.measured, answers), int):
        assert found not in answers, "no epoch is asked for twice"
        answers[found] = asked(found)
    return found


def truth(disk: KafkaLog, log: KafkaLog) -> tuple[str, int | None, int]:
    shared = 0
    for mine, theirs in zip(disk.written, log.written, strict=False):
        if mine != theirs:
            break
        shared = mine.last_offset + 1
    if shared < min(disk.end, log.end):
        return "forked", None, max(shared, disk.start, log.start)
    return ("same", None, shared) if disk.end == log.end else ("prefix", DISK if disk.end < log.end else BROKER, shared)


@given(steps=st.lists(STEP, max_size=60), data=st.data())
def test_it_is_compared_as_by_one_that_sees_both_logs_whole(steps: list[tuple[str, int, int]], data: st.DataObject) -> None:
    disk, log = lived(steps)
    if not disk.batches:
        return
    deleted = data.draw(st.booleans())
    if deleted:
        for one in (disk, log):
            one.delete_before(data.draw(st.integers(0, max(0, one.end - 1))))
    found = compared(disk, log)
    event(found.relation)
    assert (found.relation == "unknown" and deleted) or found[:3] == truth(disk, log)


@given(steps=st.lists(STEP, max_size=40), data=st.data())
def test_whatever_a_broker_answers_the_comparison_ends_and_fits_the_logs(steps: list[tuple[str, int, int]], data: st.DataObject) -> None:
    disk, log = lived(steps)
    if not disk.batches:
        return
    answers: Any = st.none() | st.builds(EpochEndAnswer, st.sampled_from((None, "UNKNOWN_77")), st.none() | NUMBER, st.none() | NUMBER)
    found = compared(disk, log, lambda _epoch: data.draw(answers))
    if found.relation in ("unknown", "corrupt"):
        assert found.common_offset is None and found.reason
    elif found.relation == "forked":
        assert found.common_offset is not None and 0 <= found.common_offset < min(disk.end, log.end)
    else:
        assert found.common_offset == min(disk.end, log.end) and (found.shorter is None) == (found.relation == "same")


def test_other_batches_at_one_end_are_corruption() -> None:
    disk, log = KafkaLog().append(5, 0).append(5, 0), KafkaLog().append(4, 0).append(6, 0)
    assert compared(disk, log).relation == "corrupt"


def test_logs_without_a_common_offset_are_not_compared() -> None:
    disk, log = KafkaLog().append(5, 0), KafkaLog().append(5, 0).append(5, 1).delete_before(6)
    assert compared(disk, log).relation == "unknown"
