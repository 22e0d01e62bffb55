# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Leader epochs along logs: what is known is true, and what follows is known."""

from __future__ import annotations

from random import Random

from drawn_partitions import case
from evidence_documents import document, evidence
from hypothesis import given, settings
from hypothesis import strategies as st
from partition_situations import FENCED, UNREADABLE, Log, Situation, random_situations

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.known_epochs import (
    Segment,
    batch_epochs,
    known_epochs,
)


@st.composite
def histories(draw: st.DrawFn) -> tuple[dict[int, Log], list[tuple[int, int, int]]]:
    """Logs that were read, of leaders of growing epochs of which each continues an earlier log somewhere, and the epochs of some of their batches."""
    written = [Log((), ())]
    for epoch in range(draw(st.integers(1, 6))):
        base, more = draw(st.sampled_from(written)), draw(st.integers(1, 3))
        kept = draw(st.integers(0, base.end))
        written.append(Log(base.epochs[:kept] + (epoch,) * more, base.branches[:kept] + (epoch,) * more))
    logs = {}
    for broker in range(1, draw(st.integers(2, 4)) + 1):
        log = draw(st.sampled_from(written[1:]))
        kept = draw(st.integers(1, log.end))
        logs[broker] = Log(log.epochs[:kept], log.branches[:kept])
    places = [(broker, offset, epoch) for broker, log in logs.items() for offset, epoch in enumerate(log.epochs)]
    return logs, draw(st.lists(st.sampled_from(places), max_size=3))


@settings(max_examples=500)
@given(histories())
def test_known_epochs_are_those_of_the_log_and_leave_no_gap(history: tuple[dict[int, Log], list[tuple[int, int, int]]]) -> None:
    logs, batches = history
    for broker, segments in known_epochs(evidence(Situation("orders", {**logs})), batches).items():
        assert [offset for segment in segments for offset in range(segment.start, segment.end)] == [*range(logs[broker].end)]
        for segment in segments:
            assert segment.leader_epoch is None or {*logs[broker].epochs[segment.start : segment.end]} == {segment.leader_epoch}


@given(st.randoms(use_true_random=False))
def test_known_epochs_of_any_evidence_are_those_of_the_log(rng: Random) -> None:
    for situation in random_situations(rng, 5):
        for broker, segments in known_epochs(evidence(situation)).items():
            log = situation.brokers[broker]
            assert isinstance(log, Log)
            for segment in segments:
                written = {*log.epochs[segment.start : segment.end]}
                assert segment.leader_epoch is None or written <= {segment.leader_epoch, UNREADABLE}


def test_at_a_fork_the_other_epoch_is_known_if_only_one_remains() -> None:
    """Broker 3 wrote on in epoch 0, so broker 2, whose last epoch is 1, has had it since the fork."""
    assert known_epochs(evidence(case("forked"))) == {2: (Segment(0, 100, 0), Segment(100, 121, 1)), 3: (Segment(0, 180, 0),)}


def test_between_distant_epochs_nothing_is_known() -> None:
    logs = {1: FENCED, 2: Log.of((10, 0), (10, 3)), 3: Log.of((10, 0), (2, 3))}
    assert known_epochs(evidence(Situation("orders", {**logs})))[2] == (Segment(0, 11, None), Segment(11, 20, 3))


def test_at_a_fork_of_two_later_epochs_neither_is_known() -> None:
    logs = {1: Log.of((3, 0), (2, 1)), 2: Log.of((3, 0), (2, 2))}
    assert known_epochs(evidence(Situation("orders", {**logs}))) == {
        1: (Segment(0, 4, None), Segment(4, 5, 1)),
        2: (Segment(0, 4, None), Segment(4, 5, 2)),
    }


def test_an_epoch_that_one_log_cannot_have_tells_nothing_of_it() -> None:
    """Broker 1 has epoch 3 at the fork. Of broker 2, whose last epoch is 1, that excludes neither 0 nor 1."""
    logs = {1: Log.of((5, 0), (4, 3)), 2: Log.of((7, 0), (3, 1))}
    assert known_epochs(evidence(Situation("orders", {**logs})), [(1, 5, 3)])[2] == (Segment(0, 9, None), Segment(9, 10, 1))


def test_a_shorter_log_tells_the_epoch_where_it_ends() -> None:
    logs = {1: FENCED, 2: Log.of((10, 1), (10, 3)), 3: Log.of((10, 1))}
    assert known_epochs(evidence(Situation("orders", {**logs})))[2] == (
        Segment(0, 9, None), Segment(9, 10, 1), Segment(10, 19, None), Segment(19, 20, 3),
    )  # fmt: skip


def test_a_confirmed_offset_tells_the_epoch_before_it() -> None:
    situation = Situation("orders", {1: FENCED, 2: Log.of((10, 0), (10, 3))}, proofs=[(10, 2, True), (20, 2, False)])
    assert [*batch_epochs(document(situation.rows()))] == [(2, 9, 0)]
    assert known_epochs(evidence(situation), [(2, 9, 0)])[2] == (Segment(0, 10, 0), Segment(10, 19, None), Segment(19, 20, 3))


def test_of_epochs_that_contradict_each_other_none_is_known() -> None:
    found = evidence(Situation("orders", {1: FENCED, 2: Log.of((10, 3))}))
    assert known_epochs(found, [(2, 5, 8), (2, 40, 1), (7, 0, 1)])[2] == (Segment(0, 10, None),)


def test_an_empty_log_has_no_segment() -> None:
    assert known_epochs(evidence(case("empty"))) == {2: (), 3: ()}


def test_the_last_batch_has_one_epoch() -> None:
    situation = Situation("orders", {1: FENCED, 2: Log.of((10, 0), (10, 3))})
    found = document(situation.rows())
    found["logs"][1]["last_batch_base_offset"] = 14
    assert [*batch_epochs(found)] == [(2, 14, 3)]
    assert known_epochs(evidence(situation), batch_epochs(found))[2] == (Segment(0, 14, None), Segment(14, 20, 3))
    found["logs"][1]["last_written_epoch"] = None
    assert [*batch_epochs(found)] == []
