# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which saved records are replayed, whatever the logs hold, and however often a replay was killed."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from record_batches import COUNT_AT, Content, batch, batch_of, marker, with_crc, without_records
from saved_folders import folder, save

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumers import EpochEnd, Producer
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import BatchError, stored_batches
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_records import Marker, marker_of, records_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import store
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_log import TargetLog, note_of, sent
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_markers import (
    OpenCommit,
    aborted_commits,
    open_commits,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_origin import (
    Numbered,
    Origin,
    Sent,
    numbered_of,
    origin_of,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_rules import (
    Chosen,
    Rules,
    known_ends,
    lost_again,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_source import Outcome, Source, sources_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replicas import Contents, Replica, by_replica
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.selection import SelectedRecord, Selection

TOPIC_ID, CLUSTER = "topic-id", "cluster"


PRODUCER_EPOCH_AT = 51
# What is saved of a replica that was in sync until the partition lost its leader.
IN_SYNC = Contents(Replica("t", 0, TOPIC_ID, 1, 9), 10, 20, in_sync=True)


def selected(data: bytes, broker: int = 1, transaction: str | None = None) -> list[SelectedRecord]:
    replica, at, found = Replica("t", 0, TOPIC_ID, broker, 9), 0, []
    for one in stored_batches(data):
        own = data[at : at + one.size]
        found += [SelectedRecord(replica, one, transaction, False, record) for record in records_of(own)]
        at += one.size
    return found


def in_next_epoch(data: bytes) -> bytes:
    """Return a batch of epoch 0 of its producer as one of epoch 1."""
    return with_crc(data[:PRODUCER_EPOCH_AT] + struct.pack(">h", 1) + data[PRODUCER_EPOCH_AT + 2 :])


def with_records(data: bytes, records: int) -> bytes:
    """Return a batch whose header has another number of records."""
    return with_crc(data[:COUNT_AT] + struct.pack(">i", records) + data[COUNT_AT + 4 :])


def reasons(rules: Rules, *replicas: Sequence[SelectedRecord]) -> list[tuple[int, str | None]]:
    return [(chosen.record.offset, chosen.reason) for chosen in rules.chosen(map(iter, replicas))]


def replayed(base: int, origins: Sequence[Origin], end: bool | None = True, producer: int = 7, value: bytes = b"x" * 10) -> bytes:
    """What a replay has written: one transaction, committed, aborted or (None) open. `value`: of each record; that of the records of `batch`."""
    rows = [(0, None, value, [(name, value) for name, value in origin.headers()]) for origin in origins]
    data = batch_of(base, rows, epoch=8, producer_id=producer, transactional=True)
    return data if end is None else data + marker(base + len(origins), producer, end, epoch=8)


INT32, INT64 = st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1)


@given(
    st.builds(Origin, *[st.text("abcAZ09_-", min_size=1)] * 2, INT32, INT64, INT32, INT32),
    st.builds(Numbered, st.builds(Sent, INT64, *[INT32] * 3), INT64),
)
def test_an_origin_is_read_as_it_was_written(origin: Origin, numbered: Numbered) -> None:
    headers: list[tuple[bytes, bytes | None]] = [(name.encode(), value) for name, value in origin.headers()]
    assert numbered_of([(name.encode(), value) for name, value in numbered.headers()]) == numbered
    assert origin_of([(b"h", None), *headers]) == origin
    assert origin_of([*headers, headers[0]]) is None and origin_of(headers[1:]) is None


@given(st.lists(st.tuples(st.binary(max_size=40), st.none() | st.binary(max_size=10))))
def test_headers_of_others_are_no_origin(headers: list[tuple[bytes, bytes | None]]) -> None:
    assert origin_of(headers) is None


@given(st.sets(st.integers(0, 19)), st.sampled_from([True, False, None]), st.integers(1, 3))
def test_only_what_a_committed_transaction_has_written_is_already_there(done: set[int], end: bool | None, brokers: int) -> None:
    log = TargetLog(0, 0, ())
    if done:
        log.add(replayed(0, [Origin(CLUSTER, TOPIC_ID, 0, offset, 0, 5) for offset in sorted(done)], end))
    found = reasons(Rules(CLUSTER, log), *(selected(batch(0, 20), broker) for broker in range(brokers)))
    assert found == [(offset, "already_there" if end and offset in done else None) for offset in range(20)]


def test_another_record_with_the_headers_of_a_replay_does_not_stand_for_the_saved_one() -> None:
    """Who may write to the topic can write these headers."""
    origins = [Origin(CLUSTER, TOPIC_ID, 0, offset, 0, 5) for offset in range(2)]
    log = TargetLog(0, 0, ())
    log.add(replayed(0, origins, value=b"forged"))
    rules = Rules(CLUSTER, log)
    assert reasons(rules, selected(batch(0, 3))) == [(0, "undecided"), (1, "undecided"), (2, None)] and rules.forged
    rules.include_undecided = True
    assert reasons(rules, selected(batch(0, 3))) == [(0, None), (1, None), (2, None)]
    log.add(replayed(3, origins[:1]))
    assert reasons(rules, selected(batch(0, 3))) == [(0, "already_there"), (1, None), (2, None)]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 3)), min_size=1, max_size=6), st.integers(0, 5), st.integers(0, 20))
def test_what_the_new_leader_has_is_skipped_and_the_order_is_that_of_the_log(
    rows: list[tuple[int, int]], end_epoch: int, end_offset: int
) -> None:
    data, offset, expected = b"", 0, []
    for epoch, records in sorted(rows):
        data += batch(offset, records, epoch)
        expected += [(one, "in_cluster" if epoch == end_epoch and one < end_offset else None) for one in range(offset, offset + records)]
        offset += records
    rules = Rules(CLUSTER, TargetLog(0, 0, ()), {end_epoch: EpochEnd(end_epoch, end_offset)})
    assert reasons(rules, selected(data), selected(data, broker=2)) == expected


@pytest.mark.parametrize(("end", "start", "known"), [(100, 100, False), (99, 100, False), (100, 99, True), (0, 0, True), (-1, 0, True)])
def test_it_is_not_known_whether_a_leader_had_an_epoch_below_the_start_of_its_log(end: int, start: int, known: bool) -> None:
    """Kafka answers for an epoch below its first one with that epoch and with the start of the first one."""
    assert bool(known_ends({3: EpochEnd(3, end)}, start)) == known


def test_what_its_producer_has_sent_again_is_skipped() -> None:
    saved = batch(10, 3, epoch=1, producer_id=4)
    log = TargetLog(0, 10, {numbers for one in stored_batches(saved) if (numbers := sent(one))})
    log.add(batch(20, 3, epoch=2, producer_id=4))
    assert {reason for _offset, reason in reasons(Rules(CLUSTER, log), selected(saved))} == {"sent_again"}
    other_length = TargetLog(0, 10, log.sent_again)
    other_length.add(batch(20, 2, epoch=2, producer_id=4))
    assert not other_length.sent_again


def test_a_batch_with_the_same_numbers_and_other_records_is_not_sent_again() -> None:
    """Producer ids can be given out twice, for example if the controllers have lost their log."""
    rows: list[Content] = [(0, None, value, []) for value in (b"a", b"b")]
    saved, other = batch_of(10, rows, epoch=1, producer_id=4), batch_of(20, [rows[0], (0, None, b"c", [])], epoch=2, producer_id=4)
    log = TargetLog(0, 10, {numbers for one in stored_batches(saved) if (numbers := sent(one))})
    log.add(other)
    rules = Rules(CLUSTER, log)
    assert reasons(rules, selected(saved)) == [(10, "sent_again"), (11, "undecided")] and rules.has_conflicts
    rules.include_undecided = True
    assert reasons(rules, selected(saved)) == [(10, "sent_again"), (11, None)]
    log.add(batch_of(30, [(5, None, value, [("h", b"1")] if value == b"x" else []) for value in (b"a", b"b")], producer_id=4))
    assert {reason for _offset, reason in reasons(rules, selected(saved))} == {"sent_again"}


@pytest.mark.parametrize(
    ("batches", "holes"),
    [
        ([batch(5, 3), batch(8, 2)], False),
        ([batch(3, 4), batch(7, 2)], False),  # one that begins before the start
        ([batch(6, 3)], True),
        ([batch(5, 3), batch(9, 2)], True),
        ([with_records(batch(5, 3), 2)], True),
        ([without_records(marker(5, 7, commit=True), 0b11_0000)], True),
    ],
)
def test_records_that_the_cleaner_has_removed_are_noticed(batches: list[bytes], holes: bool) -> None:
    log = TargetLog(5, 5, ())
    for one in batches:
        log.add(one)
    assert log.has_holes == holes


def test_a_batch_that_two_saved_leaders_got_is_replayed_once() -> None:
    one, other = batch(10, 2, epoch=1, producer_id=4), batch(10, 2, epoch=2, producer_id=4)
    found = reasons(Rules(CLUSTER, TargetLog(0, 0, ())), selected(one), selected(other, broker=2))
    assert found == [(10, None), (11, None), (10, "saved_twice"), (11, "saved_twice")]


@pytest.mark.parametrize(("value", "conflict"), [(b"x" * 10, False), (b"y", True)])
def test_two_saved_batches_with_the_same_numbers_are_one_only_if_they_have_the_same_records(
    value: bytes, conflict: bool, tmp_path: Path
) -> None:
    one, other = batch(10, 1, epoch=1, producer_id=4), batch_of(10, [(7, None, value, [])], epoch=2, producer_id=4)
    save(tmp_path, {("t", 0, 1, 10): one, ("t", 0, 2, 10): other})
    (source,) = sources_of(by_replica(store.read_pieces(folder(tmp_path), "id")), Selection())
    source.read()
    rules = Rules("id", TargetLog(0, 0, ()), conflicts=source.conflicts)
    found = [chosen.reason for chosen in rules.chosen(source.selected(Selection(), 1 << 20))]
    assert (found, rules.has_conflicts) == ((["undecided"] * 2 if conflict else [None, "saved_twice"]), conflict)
    rules.include_undecided = True
    assert [chosen.reason for chosen in rules.chosen(source.selected(Selection(), 1 << 20))] == [None, None if conflict else "saved_twice"]


def written(base: int, *chosen: Chosen) -> bytes:
    """What a replay of these records writes."""
    return batch_of(base, [(0, None, one.record.value, one.headers()) for one in chosen], producer_id=7, transactional=True) + marker(
        base + 9, 7, True
    )


def test_a_saved_log_whose_leader_epochs_go_backwards_is_not_replayed() -> None:
    """A broker that sent it in two answers, each of them in order. What another one has of the same records would be replayed twice."""
    disordered, other = [*selected(batch(0, 2, epoch=2)), *selected(batch(2, 2, epoch=1))], selected(batch(2, 2, epoch=1), broker=2)
    with pytest.raises(BatchError, match="t-0 on broker 1"):
        reasons(Rules(CLUSTER, TargetLog(0, 0, ())), disordered, other)


@pytest.mark.parametrize("first", [slice(None), slice(1, 2), slice(2, 3)])
def test_a_batch_that_two_saved_leaders_got_is_replayed_once_also_by_the_next_run(first: slice) -> None:
    both = selected(batch(10, 2, epoch=1, producer_id=4)), selected(batch(10, 2, epoch=2, producer_id=4), broker=2)
    log = TargetLog(0, 0, ())
    some = [*both[0], *both[1]][first]
    log.add(written(50, *(chosen for chosen in Rules(CLUSTER, log).chosen([iter(some)]) if chosen.reason is None)))
    rules = Rules(CLUSTER, log)
    log.add(written(60, *(chosen for chosen in rules.chosen(map(iter, both)) if chosen.reason is None)))
    assert len(log.replayed) == 2 and None not in {reason for _offset, reason in reasons(rules, *both)}


def forging(base: int, origin: Origin, numbered: Numbered, value: bytes = b"forged") -> bytes:
    """What an application writes in a transaction that knows the headers of a replay."""
    return batch_of(base, [(0, None, value, [*origin.headers(), *numbered.headers()])], epoch=8, producer_id=9, transactional=True)


@pytest.mark.parametrize(("value", "reason"), [(b"forged", None), (b"x" * 10, "saved_twice")])
def test_another_record_with_the_numbers_of_a_batch_does_not_stand_for_its_records(value: bytes, reason: str | None) -> None:
    """Who may write to the topic can write the numbers of other producers into the header of a replay."""
    victim = selected(batch(10, 2, epoch=9, producer_id=4))
    forged = forging(5, Origin(CLUSTER, TOPIC_ID, 0, 1000, 0, 5), Numbered(Sent(4, 0, 0, 1), 1000), value)
    log = TargetLog(0, 0, ())
    log.add(forged + marker(6, 9, True, epoch=8))
    assert reasons(Rules(CLUSTER, log), victim) == [(10, reason), (11, None)]
    lost = selected(forged, broker=2, transaction="committed")
    assert reasons(Rules(CLUSTER, TargetLog(0, 0, ())), lost, victim) == [(5, None), (10, reason), (11, None)]


@pytest.mark.parametrize(("value", "reason"), [(b"forged", None), (b"x" * 10, "saved_twice")])
def test_another_record_with_the_origin_of_a_saved_one_is_no_copy_of_it(value: bytes, reason: str | None) -> None:
    original = selected(batch(10, 2, epoch=2))
    copy = selected(forging(15, Origin(CLUSTER, TOPIC_ID, 0, 10, 2, 5), Numbered(Sent(9, 0, 0, 0), 10), value), transaction="committed")
    rules = Rules(CLUSTER, TargetLog(0, 0, ()), lost_again=lost_again(CLUSTER, [*original, *copy]))
    assert reasons(rules, original, copy) == [(10, None), (11, None), (15, reason)]


@pytest.mark.parametrize("epoch", [8, 9, 2**31 - 1])
def test_a_copy_has_a_later_leader_epoch_than_its_original(epoch: int) -> None:
    """Whatever an application writes into the headers, the leader is asked only for epochs that it may have."""
    row = selected(forging(5, Origin(CLUSTER, TOPIC_ID, 0, 10, epoch, 5), Numbered(Sent(9, 0, 0, 0), 10)), transaction="committed")
    assert lost_again(CLUSTER, row) == {}
    (chosen,) = Rules(CLUSTER, TargetLog(0, 0, ())).chosen([iter(row)])
    assert (chosen.origin.offset, chosen.origin.leader_epoch, chosen.reason) == (5, 8, None)


def test_headers_that_a_record_got_from_the_replay_of_another_cluster_are_replaced() -> None:
    foreign = Origin("elsewhere", TOPIC_ID, 0, 3, 1, 5)
    headers = [("h", b"1"), *foreign.headers(), ("kafka_recovery_producer", b"1 2 3 4 5"), ("kafka_recovery_note", b"2")]
    rows = selected(batch_of(10, [(0, None, b"x", headers)]))
    log = TargetLog(0, 0, ())
    (chosen,) = Rules(CLUSTER, log).chosen([iter(rows)])
    assert chosen.headers() == [("h", b"1"), ("kafka_recovery_note", b"2"), *chosen.origin.headers()]
    log.add(written(60, chosen))
    assert reasons(Rules(CLUSTER, log), rows) == [(10, "already_there")]


def test_a_replayed_record_that_was_lost_again_is_the_same_record() -> None:
    origin = Origin(CLUSTER, TOPIC_ID, 0, 3, 1, 5)
    log = TargetLog(0, 0, ())
    lost = selected(replayed(40, [origin], None), transaction="committed")
    (chosen,) = Rules(CLUSTER, log).chosen([iter(lost)])
    assert (chosen.origin, chosen.reason, chosen.headers()) == (origin, None, origin.headers())
    log.add(replayed(60, [origin]))
    assert reasons(Rules(CLUSTER, log), lost) == [(40, "already_there")]


def test_a_replayed_copy_is_not_replayed_if_the_new_leader_has_its_original() -> None:
    rows = selected(replayed(40, [Origin(CLUSTER, TOPIC_ID, 0, offset, 2, 5) for offset in (3, 4)], None), transaction="committed")
    rules = Rules(CLUSTER, TargetLog(0, 0, ()), {2: EpochEnd(2, 4)})
    assert reasons(rules, rows) == [(40, "in_cluster"), (41, None)]
    assert {one.leader_epoch for one in lost_again(CLUSTER, rows)} == {2} and lost_again("other", rows) == {}


def test_a_record_and_its_replayed_copy_that_are_both_saved_are_replayed_once() -> None:
    original = selected(batch(3, 2, epoch=2))
    copy = selected(replayed(40, [Origin(CLUSTER, TOPIC_ID, 0, 3, 2, 5)], None), broker=2, transaction="committed")
    copy = [one._replace(batch=one.batch._replace(epoch=4)) for one in copy]
    rules = Rules(CLUSTER, TargetLog(0, 0, ()), lost_again=lost_again(CLUSTER, [*original, *copy]))
    assert reasons(rules, original, copy) == [(3, None), (4, None), (40, "saved_twice")]
    assert reasons(rules, copy) == [(40, None)]


def test_numbers_that_kafka_does_not_have_are_no_origin() -> None:
    headers = [(name.encode(), value) for name, value in Origin(CLUSTER, TOPIC_ID, 0, 3, 2**31, 5).headers()]
    assert origin_of(headers) is None


def test_headers_that_an_application_has_copied_to_a_new_record_do_not_hide_it() -> None:
    """Replayed records stand in transactional batches."""
    origin = Origin(CLUSTER, TOPIC_ID, 0, 3, 1, 5)
    log = TargetLog(0, 0, ())
    log.add(replayed(60, [origin]))
    again = selected(batch_of(40, [(0, None, b"x", [*origin.headers()])], epoch=2))
    assert reasons(Rules(CLUSTER, log), again) == [(40, None)]


@pytest.mark.parametrize(
    ("saved", "markers", "reason"),
    [
        ("committed", [], None),
        ("aborted", [], "aborted"),
        ("open", [], "undecided"),
        ("open", [marker(90, 4, True)], None),
        ("open", [marker(90, 4, False)], "aborted"),
        ("open", [marker(90, 4, True), marker(91, 4, False)], None),
        ("open", [marker(90, 4, False), marker(91, 4, True)], "aborted"),
        ("open", [batch(90, 1, producer_id=4, transactional=True), marker(91, 4, True)], "undecided"),
        ("open", [marker(90, 5, True)], "undecided"),
    ],
)
def test_how_a_transaction_has_ended(saved: str, markers: list[bytes], reason: str | None) -> None:
    rules = elected(*markers)
    rows = selected(batch(10, 1, epoch=1, producer_id=4, transactional=True), transaction=saved)
    assert reasons(rules, rows) == [(10, reason)]
    rules.include_aborted = rules.include_undecided = True
    assert reasons(rules, rows) == [(10, None)]


@pytest.mark.parametrize(
    ("end", "of_lagging"),
    [
        (marker(90, 4, True), "undecided"),
        (marker(90, 4, False), "undecided"),
        (in_next_epoch(marker(90, 4, True)), None),
        (in_next_epoch(marker(90, 4, False)), "undecided"),
    ],
    ids=["commit", "abort", "commit with KIP-890", "abort with KIP-890, or by a time-out"],
)
def test_a_replica_that_was_not_in_sync_may_lack_the_end_that_comes_before_the_marker(end: bytes, of_lagging: str | None) -> None:
    data, rules = batch(10, 1, epoch=1, producer_id=4, transactional=True), elected(end)
    lagging, in_sync = selected(data, broker=2, transaction="open"), selected(data, transaction="open")
    rules.contents = [IN_SYNC, replace(IN_SYNC, replica=IN_SYNC.replica._replace(broker_id=2), in_sync=False)]
    assert reasons(rules, lagging) == [(10, of_lagging)]
    certain = "aborted" if marker_of(end).kind == "abort" else None
    assert reasons(rules, in_sync) == reasons(rules, lagging, in_sync) == [(10, certain)]


def elected(*data: bytes, fork: int = 10) -> Rules:
    """An elected log whose epoch 0 ends at offset 10."""
    log = TargetLog(0, fork, ())
    for one in data:
        log.add(one)
    return Rules(CLUSTER, log, {1: EpochEnd(0, 10)}, [IN_SYNC])


@pytest.mark.parametrize(
    ("earlier", "second", "reason"),
    [
        ({}, False, None),
        ({"ends": {4: [(14, "committed")]}}, False, None),
        ({"ends": {4: [(11, "committed")]}}, False, "undecided"),
        ({"ends": {4: [(11, "committed")]}}, True, None),
        ({"ends": {4: [(11, "committed")]}}, None, None),
        ({"gaps": [(11, 12)]}, False, "undecided"),
        ({"unreadable": [(11, "damaged")]}, False, "undecided"),
    ],
)
def test_behind_the_end_of_an_earlier_transaction_it_is_not_known_whose_marker_is_the_first(
    earlier: dict[str, Any], second: bool | None, reason: str | None
) -> None:
    """A replay writes the COMMIT marker again that only a saved log has."""
    rules = elected(marker(90, 4, True), *([] if second is None else [marker(91, 4, second)]))
    rules.contents = [Contents(Replica("t", 0, TOPIC_ID, 2, 9), 10, 20), replace(IN_SYNC, **earlier)]
    assert reasons(rules, selected(batch(12, 1, epoch=1, producer_id=4, transactional=True), transaction="open")) == [(12, reason)]


@given(
    st.booleans(),
    st.booleans(),
    st.lists(st.booleans(), max_size=3),
    st.booleans(),
)
def test_the_fate_of_a_transaction_is_never_that_of_a_marker_which_a_replay_has_written(
    committed: bool, in_log: bool, copied: list[bool], earlier: bool
) -> None:
    """A first transaction was open at the fork, and only the saved log has its COMMIT. A second one has its own end in the elected log, or nowhere.

    copied  replays that were killed behind their note (False), or behind the marker
    """
    data = [marker(90, 4, committed)] if in_log else []
    if not in_log:  # the end of the second one has ended the first one, too
        (first,) = [marker_of(marker(80, 4, True))]
        for number, whole in enumerate(copied):
            note = note_of(first)
            data.append(marker(100 + 2 * number, note.producer_id, True))
            data += [marker(101 + 2 * number, 4, True)] if whole else []
    rules = elected(*data)
    ends = {4: [(11, "committed")]} if earlier else {}
    rules.contents = [replace(IN_SYNC, ends=ends)]
    ((_offset, reason),) = reasons(rules, selected(batch(12, 1, epoch=1, producer_id=4, transactional=True), transaction="open"))
    assert reason == ("undecided" if not in_log else None if committed else "aborted")


@pytest.mark.parametrize("other", [marker(80, 5, True), marker(80, 4, True, coordinator_epoch=4)])
def test_a_note_of_another_marker_hides_no_end(other: bytes) -> None:
    noted = note_of(marker_of(other))
    rules = elected(marker(90, noted.producer_id, True, noted.coordinator_epoch or 0), marker(91, 4, True))
    rows = selected(batch(12, 1, epoch=1, producer_id=4, transactional=True), transaction="open")
    assert reasons(rules, rows) == [(12, None)]


def test_a_marker_before_the_fork_of_a_log_ends_none_of_its_transactions() -> None:
    """Another saved log leaves the elected one earlier."""
    rules = elected(marker(8, 4, True), fork=5)
    rows = selected(batch(12, 1, epoch=1, producer_id=4, transactional=True), transaction="open")
    assert reasons(rules, rows) == [(12, "undecided")]
    # A topic whose log is not compared with the saved one.
    rules = elected(marker(90, 4, True))
    rules.epoch_ends = {}
    assert reasons(rules, rows) == [(12, "undecided")]


def test_logs_that_disagree_leave_a_transaction_undecided() -> None:
    data = batch(10, 1, epoch=1, producer_id=4, transactional=True)
    rows = selected(data, transaction="committed"), selected(data, broker=2, transaction="aborted")
    assert reasons(Rules(CLUSTER, TargetLog(0, 0, ())), *rows) == [(10, "undecided")]


@pytest.mark.parametrize(
    ("target", "same"), [(("t", 0, "id"), True), (("t", 0, "new"), False), (("t", 1, "id"), False), (("u", 0, "id"), False)]
)
def test_a_topic_that_was_created_again_is_another_one(target: tuple[str, int, str], same: bool) -> None:
    assert Source(("t", 0), "id", {}).is_of(PartitionState(*target, 1, 3, (1,), (1,), (), (), ())) == same


@pytest.mark.parametrize("unreadable", [0, 2])
def test_batches_that_cannot_be_decoded_are_no_success(unreadable: int) -> None:
    replica = Replica("t", 0, TOPIC_ID, 1, 9)
    contents = Contents(replica, 0, 90, unreadable=[(offset, "damaged") for offset in range(unreadable)])
    outcome = Outcome(Source(("t", 0), TOPIC_ID, {}, {replica: contents}), "t")
    assert (outcome.row()["unreadable"], outcome.row()["reason"] is not None) == (unreadable, unreadable > 0)
    outcome.reason = "other"
    assert "other" in outcome.row()["reason"]


def test_why_a_marker_or_a_record_is_held_is_in_the_reason_of_the_partition() -> None:
    outcome = Outcome(
        Source(("t", 0), TOPIC_ID, {}), "t", markers=[OpenCommit(commit(20), 5, "saved logs disagree").row(False, "saved logs disagree")]
    )
    assert "saved logs disagree" in outcome.row()["reason"]
    outcome.notes.append("other")
    assert "saved logs disagree" in outcome.row()["reason"] and "other" in outcome.row()["reason"]


def commit(offset: int, epoch: int = 0, committed: bool = True) -> Marker:
    return marker_of(marker(offset, 4, committed))._replace(producer_epoch=epoch)


@pytest.mark.parametrize(
    ("saved", "start", "writers", "found"),
    [
        ([[commit(20)]], 5, (), [False]),
        ([[commit(20, epoch=1)]], 5, (), [False]),
        ([[commit(20, epoch=2)]], 5, (), []),
        ([[commit(20)]], 12, (), []),  # it began behind the fork
        ([[commit(20)]], -1, (), []),  # it is not open
        ([[commit(20, committed=False), commit(30)]], 5, (), []),  # the commit is that of another transaction
        ([[commit(8, committed=False), commit(20)]], 5, (), [False]),
        ([[commit(20)], [commit(20, committed=False)]], 5, (), [True]),
        ([[commit(20)], [commit(15, committed=False)]], 5, (), [True]),
        ([[commit(20)], [commit(25)]], 5, (), [False]),
        ([[commit(20)]], 5, (4,), [True]),
        ([[commit(60)]], 5, (), [True]),  # behind a gap
        ([[commit(20)], [commit(60, committed=False)]], 5, (), [False]),
    ],
)
def test_a_commit_is_written_for_a_transaction_that_is_open_below_the_fork(
    saved: list[list[Marker]], start: int, writers: tuple[int, ...], found: list[bool]
) -> None:
    logs = [(Contents(Replica("t", 0, TOPIC_ID, broker, 9), 0, 90, [(40, 50)]), rows) for broker, rows in enumerate(saved)]
    commits = open_commits(logs, [Producer(4, 0, 0, start)], 10, writers, {}, None)
    assert [one.doubt is not None for one in commits] == found
    for under_way, blind in ({4: 1 << 60}, None), ({4: -1}, None), ({5: None}, "no answer"):
        doubtful = open_commits(logs, [Producer(4, 0, 0, start)], 10, writers, under_way, blind)
        assert [one.doubt is not None for one in doubtful] == [True] * len(found)
    described = open_commits(logs, [Producer(4, 0, 0, start)], 10, writers, {4: None}, "no answer")
    assert [one.doubt is not None for one in described] == found


@pytest.mark.parametrize(("began", "doubtful"), [(999, False), (0, False), (1000, True), (2000, True), (-1, True)])
def test_a_coordinator_that_does_not_know_of_the_commit_still_has_the_transaction_under_way(began: int, doubtful: bool) -> None:
    logs = [(Contents(Replica("t", 0, TOPIC_ID, 1, 9), 0, 90), [commit(20)._replace(timestamp=1000)])]
    (found,) = open_commits(logs, [Producer(4, 0, 0, 5)], 10, (), {4: began}, None)
    assert (found.doubt is not None) == doubtful


@pytest.mark.parametrize(
    ("saved", "end", "doubtful"),
    [
        ([[commit(20)]], commit(22, committed=False), [False]),
        ([[commit(20)]], commit(22, 1, committed=False), [False]),  # fenced by initTransactions, or after a time-out
        ([[commit(20, 1)]], commit(22, committed=False), [False]),  # KIP-890
        ([[commit(20)]], commit(22), []),  # the cluster has committed it, too
        ([[commit(20)]], None, []),  # it is open: `open_commits` returns it
        ([[commit(20, committed=False), commit(30)]], commit(22, committed=False), []),  # the commit is that of another transaction
        ([[commit(20)], [commit(25)]], commit(22, committed=False), [False]),
        ([[commit(20)], [commit(25, committed=False)]], commit(22, committed=False), [True]),
        ([[commit(60)]], commit(22, committed=False), [True]),  # behind a gap
        ([[commit(20, 2)]], commit(22, committed=False), []),  # of a later epoch
        ([[commit(20)]], commit(3, committed=False), []),  # the saved log has begun behind it
    ],
)
def test_a_saved_commit_of_a_transaction_that_the_cluster_has_aborted(
    saved: list[list[Marker]], end: Marker | None, doubtful: list[bool]
) -> None:
    logs = [(Contents(Replica("t", 0, TOPIC_ID, broker, 9), 4, 90, [(40, 50)]), rows) for broker, rows in enumerate(saved)]
    found = aborted_commits(logs, {} if end is None else {end.producer_id: end}, 10)
    assert [one.doubt is not None for one in found] == doubtful
    for one in found:
        row = one.row(5)
        assert (row["producer_id"], row["start_offset"], row["abort_offset"], row["written"]) == (4, 5, 22, False)
        assert row["reason"] and one.row(None)["start_offset"] is None
    assert aborted_commits([], {4: commit(22, committed=False)}, 10) == []


def test_the_first_end_of_a_producer_behind_the_fork_is_read_whatever_it_has_written_before() -> None:
    log = TargetLog(0, 10, ())
    log.add(marker(9, 4, True) + batch(10, 2, producer_id=4, transactional=True) + marker(12, 4, False) + marker(13, 4, True))
    assert (log.first_ends[4].offset, log.first_ends[4].kind) == (12, "abort")


def test_a_transaction_that_the_cluster_has_aborted_is_in_the_reason_of_the_partition() -> None:
    (found,) = aborted_commits([(Contents(Replica("t", 0, TOPIC_ID, 1, 9), 4, 90), [commit(20)])], {4: commit(22, committed=False)}, 10)
    outcome = Outcome(Source(("t", 0), TOPIC_ID, {}), "t", markers=[found.row(5)])
    assert found.row(5)["reason"] in outcome.row()["reason"] and "open" not in outcome.row()["reason"]


def test_a_broker_that_calls_a_note_an_open_transaction_gets_no_marker_for_it() -> None:
    """The note of a note would be the marker of a real producer."""
    note = note_of(commit(20))
    logs = [(Contents(Replica("t", 0, TOPIC_ID, 1, 9), 0, 90), [note])]
    assert open_commits(logs, [Producer(note.producer_id, 0, 0, 5)], 10, (), {}, None) == []


@pytest.mark.parametrize(("gaps", "end"), [([], "committed"), ([(12, 20)], "open"), ([(5, 10)], "committed"), ([(31, 40)], "committed")])
def test_the_end_of_a_transaction_behind_a_gap_may_be_that_of_another(gaps: list[tuple[int, int]], end: str) -> None:
    contents = Contents(Replica("t", 0, TOPIC_ID, 1, 9), 0, 90, gaps, ends={4: [(30, "committed")]})
    (one,) = stored_batches(batch(10, 2, producer_id=4, transactional=True))
    assert contents.transaction_of(one) == end
