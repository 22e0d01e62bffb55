# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal: what a killed run left is found again; what it had not begun, and what was restored, is not."""

from __future__ import annotations

import json
import os
import re
import socket
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from full_disk import no_room

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import reorder_journal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import (
    ChangedOrder,
    Journal,
    foreign,
    of_other_replicas,
    to_restore,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState

ORDER = ChangedOrder("orders", 0, "id", (1, 2, 3), (3, 1, 2))
LATER = ChangedOrder("orders", 0, "id", (3, 1, 2), (2, 3, 1))


def state(replicas: tuple[int, ...], topic_id: str = "id") -> PartitionState:
    return PartitionState("orders", 0, topic_id, -1, 0, replicas, (), (), (), ())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "east.jsonl"


def test_an_intent_without_its_end_is_found_by_the_next_run(path: Path) -> None:
    with Journal(path, "abc") as journal:
        journal.intend([ORDER], [])
    with Journal(path, "abc") as journal:
        assert journal.left_behind() == {("orders", 0): (ORDER,)}
        journal.settle({})
    with Journal(path, "abc") as journal:
        assert journal.left_behind() == {}


def test_what_was_restored_is_not_left_behind(path: Path) -> None:
    with Journal(path, "abc") as journal:
        journal.close(journal.intend([ORDER], []))
        assert journal.left_behind() == {}
    with Journal(path, "abc") as journal:
        assert journal.left_behind() == {}


def test_a_long_journal_becomes_empty_when_nothing_of_it_is_open(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reorder_journal, "MANY_BYTES", 300)
    with Journal(path, "abc", "1") as journal:
        journal.close(journal.intend([ORDER], []))
        identifier = journal.intend([LATER], [])
    length = path.stat().st_size
    with Journal(path, "abc", "2") as journal:
        assert path.stat().st_size > length > 300
        journal.close(identifier)
    with Journal(path, "abc", read_only=True):
        assert path.stat().st_size > length
    with Journal(path, "abc", "3") as journal, pytest.raises(RecoveryError, match="run 3"):
        assert path.stat().st_size < 300
        Journal(path, "abc", patience=0.0).__enter__()
    with Journal(path, "abc") as journal:
        assert journal.left_behind() == {}


def test_a_short_journal_keeps_its_lines(path: Path) -> None:
    with Journal(path, "abc", "1") as journal:
        journal.close(journal.intend([ORDER], []))
    whole = path.read_bytes()
    with Journal(path, "abc"):
        assert path.read_bytes() == whole


def test_a_journal_cut_off_at_any_byte_is_read_up_to_there(path: Path) -> None:
    with Journal(path, "abc") as journal:
        journal.close(journal.intend([ORDER], []))
        journal.intend([LATER], [])
    whole = path.read_bytes()
    ends = [position + 1 for position, byte in enumerate(whole) if byte == ord("\n")]
    for length in range(len(whole) + 1):
        path.write_bytes(whole[:length])
        with Journal(path, "abc") as journal:
            left = journal.left_behind()
            journal.settle({})
        lines = sum(1 for end in ends if end <= length)
        assert left == [{}, {("orders", 0): (ORDER,)}, {}, {("orders", 0): (LATER,)}][lines]


def test_an_election_that_may_be_under_way_is_known_to_the_next_run_until_its_order_is_put_back(path: Path) -> None:
    with Journal(path, "abc") as journal:
        identifier = journal.intend([ORDER], [])
        journal.expect(identifier, [("orders", 0)], [])
    for _run in range(2):
        with Journal(path, "abc") as journal:
            assert journal.elections_in_doubt() == {("orders", 0)}
    with Journal(path, "abc") as journal:
        journal.settle({})
        assert journal.elections_in_doubt() == set()
    with Journal(path, "abc") as journal:
        assert journal.elections_in_doubt() == set()


def test_an_election_stays_in_doubt_while_its_order_is_not_settled(path: Path) -> None:
    other = ChangedOrder("payments", 0, "id", (1, 2), (2, 1))
    with Journal(path, "abc") as journal:
        journal.expect(journal.intend([ORDER, other], []), [("orders", 0), ("payments", 0)], [])
        journal.settle({("orders", 0): (ORDER,)})
        assert journal.elections_in_doubt() == {("orders", 0)}
    whole = path.read_bytes()
    marked = whole.index(b'"election"')
    for length in range(whole.index(b"\n", marked) + 1, len(whole) + 1):
        path.write_bytes(whole[:length])
        with Journal(path, "abc") as journal:
            assert ("orders", 0) in journal.left_behind()
            assert ("orders", 0) in journal.elections_in_doubt(), length


def test_an_election_that_was_answered_is_in_doubt_no_more(path: Path) -> None:
    with Journal(path, "abc") as journal:
        identifier = journal.intend([ORDER], [])
        journal.expect(identifier, [("orders", 0)], [])
        journal.expect(identifier, [], [])
    with Journal(path, "abc") as journal:
        assert journal.elections_in_doubt() == set()
        assert journal.left_behind() == {("orders", 0): (ORDER,)}


def test_brokers_that_may_still_change_an_order_are_known_to_the_next_run(path: Path) -> None:
    key = ("orders", 0)
    with Journal(path, "abc") as journal:
        identifier = journal.intend([ORDER], [])
        assert journal.unanswered_by() == {key: None}
        journal.expect(identifier, [key], {4, 5})
        assert journal.unanswered_by() == {key: {4, 5}}
    with Journal(path, "abc") as journal:
        journal.settle({key: (ORDER,)}, {4, 5})
        journal.answered_by_all_but({5, 6})
        assert (journal.unanswered_by(), journal.elections_in_doubt()) == ({key: {5}}, {key})
        journal.intend([LATER], [])
        assert journal.unanswered_by() == {key: None}
    with Journal(path, "abc") as journal:
        journal.answered_by_all_but({6})
        assert journal.unanswered_by() == {key: {6}}
        journal.settle({key: (ORDER, LATER)}, {6})
        journal.settle({key: (ORDER, LATER)})
        assert journal.unanswered_by() == {key: set()}
        assert len(journal.left_behind()[key]) == 2


@pytest.mark.parametrize("left", [0, 20])
def test_a_line_without_room_is_refused_and_leaves_nothing_behind(path: Path, left: int) -> None:
    with Journal(path, "abc") as journal:
        journal.intend([ORDER], [])
        whole = path.read_bytes()
        with no_room(path, left), pytest.raises(FileError, match=rf"cannot write {re.escape(str(path))}: .*make room"):
            journal.intend([LATER], [])
        assert journal.left_behind() == journal.known() == {("orders", 0): (ORDER,)}
        assert path.read_bytes() == whole
        journal.intend([LATER], [])
    with Journal(path, "abc") as journal:
        assert journal.left_behind() == {("orders", 0): (ORDER, LATER)}


def test_a_journal_without_room_can_be_closed(path: Path) -> None:
    with Journal(path, "abc") as journal:
        journal.intend([ORDER], [])
    with no_room(path, 20), pytest.raises(FileError), Journal(path, "abc") as journal:
        journal.intend([LATER], [])


def test_a_second_run_is_locked_out_while_the_first_one_works(path: Path) -> None:
    with Journal(path, "abc", "run-1"), pytest.raises(RecoveryError) as error, Journal(path, "abc", "run-2", patience=0.0):
        pass
    assert re.search(rf"another run .*east\.jsonl: run run-1, process {os.getpid()} on {socket.gethostname()}, since 20", str(error.value))
    with Journal(path, "abc"):
        pass


def test_a_run_that_begins_while_the_journal_is_only_looked_at_waits_for_the_look(path: Path) -> None:
    """An event source looks at the journal, and starts the run itself."""
    with Journal(path, "cluster-1", "run-1"):
        pass
    looks = threading.Event()

    def look() -> None:
        with Journal(path, "cluster-1", read_only=True):
            looks.set()
            time.sleep(0.2)

    reader = threading.Thread(target=look)
    reader.start()
    assert looks.wait(10)
    with Journal(path, "cluster-1", "run-2") as journal:
        assert journal.left_behind() == {}
    reader.join()


def test_a_journal_of_another_cluster_is_refused(path: Path) -> None:
    with Journal(path, "abc") as journal:
        journal.intend([ORDER], [])
    with pytest.raises(RecoveryError, match="unfinished work on cluster abc, but this is xyz"), Journal(path, "xyz"):
        pass
    with Journal(path, "abc") as journal:
        journal.settle({})
    with Journal(path, "xyz") as journal:
        assert journal.left_behind() == {}, "a finished journal of a former cluster is no obstacle"


@pytest.mark.parametrize("line", ["nonsense\n", "{}\n", '{"kind":"intent","id":"1","cluster_id":"abc","orders":[{}]}\n', "[]\n"])
def test_a_foreign_line_is_refused_with_its_number(path: Path, line: str) -> None:
    with Journal(path, "abc") as journal:
        journal.intend([ORDER], [])
    path.write_text(path.read_text() + line)
    with pytest.raises(RecoveryError, match=r"line 2: not an entry of a journal \("), Journal(path, "abc"):
        pass


def election_line(identifier: str, *partitions: int) -> str:
    rows = [{"topic": "orders", "partition": partition} for partition in partitions]
    return json.dumps({"kind": "election", "id": identifier, "partitions": rows, "unanswered_by": []}) + "\n"


@pytest.mark.parametrize("identifier", ["", "unknown"])
def test_an_election_of_a_partition_that_its_intent_lacks_is_refused(path: Path, identifier: str) -> None:
    with Journal(path, "abc") as journal:
        identifier = identifier or journal.intend([replace(ORDER, partition=1)], [])
    number = len(path.read_text().splitlines()) + 1
    path.write_text(path.read_text() + election_line(identifier, 1, 0) if number > 1 else election_line(identifier, 0))
    with pytest.raises(RecoveryError, match=rf"line {number}: .*.orders. partition 0 is not in its intent"), Journal(path, "abc"):
        pytest.fail("opened")


def test_an_election_of_an_intent_that_is_done_is_over(path: Path) -> None:
    """No run writes that. It comes about if an older copy of the file is put back, with the lines that were appended since."""
    with Journal(path, "abc") as journal:
        identifier = journal.intend([ORDER], [])
        journal.close(identifier)
    path.write_text(path.read_text() + election_line(identifier, 0) + election_line("unknown"))
    with Journal(path, "abc") as journal:
        assert journal.elections_in_doubt() == set() and journal.left_behind() == {}


@pytest.mark.parametrize(
    ("original", "changed"), [([1, 1], [1, 1]), ([1, 2], [1, 3]), ([1, 3], [1, 2]), ([1, 2], [1, 2, 3]), ([1, 2], [1, 2, 1])]
)
def test_an_order_with_other_replicas_than_before_is_refused(path: Path, original: list[int], changed: list[int]) -> None:
    row = {"topic": "t", "partition": 0, "topic_id": "id", "original": original, "changed": changed}
    path.write_text(json.dumps({"kind": "intent", "id": "1", "cluster_id": "abc", "orders": [row], "listed": []}) + "\n")
    with pytest.raises(RecoveryError, match=r"line 1: .*orders\[0\]: original and changed are not the same replicas"), Journal(path, "abc"):
        pytest.fail("opened")


def test_a_number_of_thousands_of_digits_is_not_quoted_whole(path: Path) -> None:
    row = {"topic": "t", "partition": 10**4000, "topic_id": "id", "original": [1, 2], "changed": [2, 1]}
    path.write_text(json.dumps({"kind": "intent", "id": "1", "cluster_id": "abc", "orders": [row], "listed": []}) + "\n")
    with pytest.raises(RecoveryError, match="cannot be a partition of Kafka") as error, Journal(path, "abc"):
        pytest.fail("opened")
    assert len(str(error.value)) < len(str(path)) + 300


def test_a_symbolic_link_is_refused(path: Path, tmp_path: Path) -> None:
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileError, match="symbolic link"), Journal(path, "abc"):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_only_our_own_order_is_put_back() -> None:
    left = {("orders", 0): (ORDER,)}
    assert to_restore(left, {("orders", 0): state((3, 1, 2))}) == {("orders", 0): (1, 2, 3)}
    assert to_restore(left, {("orders", 0): state((1, 2, 3))}) == {}, "it stands as it was"
    for order in ((2, 3, 1), (3, 2, 1)):
        assert to_restore(left, {("orders", 0): state(order)}) == {}, "another tool has set this order"
    for topic_id in ("new", "a"):
        assert to_restore(left, {("orders", 0): state((3, 1, 2), topic_id)}) == {}, "another topic of that name"
    assert to_restore(left, {}) == {}
    deleted = ("a", 0)
    assert to_restore({deleted: (ORDER,), **left}, {("orders", 0): state((3, 1, 2))}) == {("orders", 0): (1, 2, 3)}
    assert to_restore({("orders", 0): (LATER,)}, {("orders", 0): state((2, 3, 1))}) == {("orders", 0): (3, 1, 2)}


def test_two_killed_runs_in_a_row_lead_back_to_the_first_order() -> None:
    left = {("orders", 0): (ORDER, LATER)}
    assert to_restore(left, {("orders", 0): state((2, 3, 1))}) == {("orders", 0): (1, 2, 3)}
    assert to_restore(left, {("orders", 0): state((3, 1, 2))}) == {("orders", 0): (1, 2, 3)}


@pytest.mark.parametrize(
    ("present", "restored"),
    [((3, 2, 1), (2, 1, 3)), ((3, 1, 2), (1, 2, 3)), ((2, 1, 3), None), ((1, 2, 3), None)],
    ids=["of the second run", "of the first run", "as another tool has set it", "as it was at first"],
)
def test_an_order_that_another_tool_has_set_between_two_killed_runs_is_the_one_to_restore(
    present: tuple[int, ...], restored: tuple[int, ...] | None
) -> None:
    left = {("orders", 0): (ORDER, ChangedOrder("orders", 0, "id", (2, 1, 3), (3, 2, 1)))}
    states = {("orders", 0): state(present)}
    assert to_restore(left, states) == ({} if restored is None else {("orders", 0): restored})
    assert foreign(left, states) == {}


def test_an_election_without_another_order_has_set_none() -> None:
    """So an order that stood then is not restored, nor compared with the present one."""
    key = ("orders", 0)
    election = ChangedOrder("orders", 0, "id", (2, 1, 3), (2, 1, 3))
    for changes in ((election, ORDER), (ORDER, election)):
        assert to_restore({key: changes}, {key: state((3, 1, 2))}) == {key: (1, 2, 3)}
        assert foreign({key: changes}, {key: state((2, 1, 3))}) == {key: (ORDER,)}, "another tool has set it since"
    for order in ((2, 1, 3), (3, 2, 1)):
        assert to_restore({key: (election,)}, {key: state(order)}) == foreign({key: (election,)}, {key: state(order)}) == {}


def test_an_order_that_another_tool_has_set_stays_in_the_journal(path: Path) -> None:
    other = ChangedOrder("payments", 0, "id", (1, 2), (2, 1))
    with Journal(path, "abc") as journal:
        journal.intend([ORDER, other], [])
        left = journal.left_behind()
        assert foreign(left, {("orders", 0): state((2, 3, 1))}) == {("orders", 0): (ORDER,)}
        others = (state((3, 1, 4)), state((3, 1, 0)), state((2, 3, 1), "new"), state((2, 3, 1), "a"))
        for settled in (state((1, 2, 3)), state((3, 1, 2)), *others):
            assert foreign(left, {("orders", 0): settled}) == {}
        journal.settle({("orders", 0): (ORDER,)})
        assert journal.left_behind() == {("orders", 0): (ORDER,)}
        size = path.stat().st_size
        journal.settle({("orders", 0): (ORDER,)})
        assert path.stat().st_size == size, "nothing new, nothing written"
    with Journal(path, "abc") as journal:
        assert journal.left_behind() == {("orders", 0): (ORDER,)}
        assert journal.known() == {("orders", 0): (ORDER,)}


def test_a_journal_that_is_only_read_is_left_as_it_is(path: Path) -> None:
    with Journal(path, "abc", read_only=True) as journal:
        assert journal.left_behind() == {}
    assert not path.exists()
    with Journal(path, "abc") as journal:
        journal.intend([ORDER], [])
    torn = path.read_bytes() + b'{"kind": "int'
    path.write_bytes(torn)
    with Journal(path, "abc", read_only=True) as journal:
        assert journal.left_behind() == {("orders", 0): (ORDER,)}
    assert path.read_bytes() == torn


def test_only_an_order_of_the_present_replicas_is_restored() -> None:
    """Each entry names the same replicas twice, but two entries of a partition need not name those of each other: a file that others may write to."""
    for elsewhere in (ChangedOrder("orders", 0, "id", (4, 5, 6), (5, 4, 6)), ChangedOrder("orders", 0, "id", (0, 1, 2), (1, 0, 2))):
        left = {("orders", 0): (elsewhere, ORDER)}
        assert to_restore(left, {("orders", 0): state((3, 1, 2))}) == {("orders", 0): (1, 2, 3)}
        assert to_restore({("orders", 0): (elsewhere,)}, {("orders", 0): state((3, 1, 2))}) == {}


@pytest.mark.parametrize(
    ("present", "is_other"), [(state((1, 2, 3)), False), (state((3, 1, 2)), False), (state((1, 2)), True), (state((1, 2, 3), "new"), True)]
)
def test_a_partition_of_other_replicas_or_another_topic_is_found(present: PartitionState, is_other: bool) -> None:
    left = {("orders", 0): (ORDER,), ("gone", 0): (ORDER,)}
    assert of_other_replicas(left, {("orders", 0): present}) == ({("orders", 0)} if is_other else set())


def test_an_order_that_another_tool_has_set_is_compared_with_the_first_one_of_the_journal() -> None:
    left = {("orders", 0): (ORDER, ChangedOrder("orders", 0, "new", (4, 5, 6), (5, 4, 6)))}
    assert foreign(left, {("orders", 0): state((2, 3, 1))}) == left
    assert foreign({("orders", 0): (ORDER, LATER)}, {("orders", 0): state((1, 2, 3))}) == {}


def test_the_last_of_several_orders_may_be_the_one_that_is_not_restored(path: Path) -> None:
    other = ChangedOrder("payments", 0, "id", (1, 2), (2, 1))
    with Journal(path, "abc") as journal:
        journal.intend([ORDER, other], [])
        journal.settle({("payments", 0): (other,)})
        assert journal.left_behind() == {("payments", 0): (other,)}


def test_another_broker_that_may_still_change_an_order_is_recorded(path: Path) -> None:
    key = ("orders", 0)
    with Journal(path, "abc") as journal:
        journal.expect(journal.intend([ORDER], []), [], {4})
        journal.settle({key: (ORDER,)}, {4, 5})
        assert journal.unanswered_by() == {key: {4, 5}}
        journal.expect(journal.intend([LATER], []), [], {6})
        assert journal.unanswered_by() == {key: {4, 5, 6}}, "those of all orders of the partition"


def test_orders_that_were_restored_since_the_journal_was_opened_are_known(path: Path) -> None:
    other = ChangedOrder("payments", 0, "id", (1, 2), (2, 1))
    election = ChangedOrder("clicks", 0, "id", (1, 2), (1, 2))
    with Journal(path, "abc") as journal:
        journal.intend([ORDER], [])
    with Journal(path, "abc") as journal:
        assert journal.restored() == set()
        journal.close(journal.intend([other, election], []))
        assert journal.restored() == {("payments", 0)}, "an election without another order leaves none to restore"


def test_brokers_that_were_listed_may_act_on_an_order_until_all_have_answered(path: Path) -> None:
    key = ("orders", 0)
    with Journal(path, "abc") as journal:
        identifier = journal.intend([ORDER], [1, 2])
        assert journal.listed() == {1, 2}
        journal.expect(identifier, [key], {2, 4})
        assert journal.listed() == {1, 2, 4}, "an election may be under way at any that was listed"
        closed = journal.intend([LATER], [3])
        assert journal.listed() == {1, 2, 3, 4}
        journal.close(closed)
    with Journal(path, "abc") as journal:
        assert journal.listed() == {1, 2, 4}
        journal.expect(identifier, [], {2, 4})
        assert journal.listed() == {2, 4}
    with Journal(path, "abc") as journal:
        assert journal.listed() == {2, 4}
        journal.close(identifier)
        assert journal.listed() == set()
