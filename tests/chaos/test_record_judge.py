"""The judge of returned disks finds a record that is withheld, and one that is there twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos import record_judge
from chaos.built_batches import batch
from chaos.disks import Identity, Stored, records
from chaos.ledger import Acknowledged
from chaos.record_judge import Aborted, Kept

KEY = ("t", 0)
FIRST, SECOND = Identity(-1, 3, 7), Identity(-1, 4, 9)
PROMISES = {"all": Acknowledged(0, "all"), "one": Acknowledged(1, "1"), "destroyed": Acknowledged(2, "all")}
HELD = {"all": {FIRST}, "one": {FIRST}, "none": {FIRST}}


@pytest.mark.parametrize(
    ("read", "judges"),
    [
        (["all", "one", "none"], []),
        (["all"], []),
        (["one", "none"], ["records are gone although a disk had them"]),
        (["all", "all"], ["records are there twice"]),
        (["one", "one"], ["records are gone although a disk had them", "records are there twice"]),
        (["all", "written later", "written later"], ["records are there twice"]),
    ],
)
def test_what_is_withheld_or_there_twice_is_found(read: list[str], judges: list[str]) -> None:
    assert [violation.judge for violation in record_judge.judge(KEY, PROMISES, HELD, {}, read, Kept())] == judges


def test_figures_are_by_the_worth_of_the_acknowledgement() -> None:
    kept = Kept()
    record_judge.judge(KEY, PROMISES, HELD, {}, ["all", "all"], kept)
    assert (kept.held, kept.lost, kept.duplicates) == ({"all": 1, "1": 1, "none": 1}, {"1": 1, "none": 1}, 1)


@pytest.mark.parametrize(("held", "written"), [({"all": {FIRST, SECOND}}, {}), ({"all": {FIRST}}, {"all": {SECOND}})])
def test_what_its_producer_has_written_twice_may_be_read_twice(held: dict[str, set[Identity]], written: dict[str, set[Identity]]) -> None:
    for number, wrong in ((2, 0), (3, 1)):
        assert len(record_judge.judge(KEY, PROMISES, held, written, ["all"] * number, Kept())) == wrong


@pytest.mark.parametrize(
    ("transaction", "is_excused"),
    [
        (Aborted(9, 11, 22), True),
        (Aborted(9, None, 22), True),
        (Aborted(8, 11, 22), False),
        (Aborted(9, 13, 22), False),
        (Aborted(9, 11, 12), False),
        (None, False),
    ],
)
def test_a_record_of_a_transaction_that_a_replay_has_named_as_aborted_since_is_not_lost(
    transaction: Aborted | None, is_excused: bool
) -> None:
    promises, held, kept = {"all": Acknowledged(12, "all")}, {"all": {Identity(9, 0, 5)}}, Kept()
    found = record_judge.judge(KEY, promises, held, {}, [], kept, [transaction] if transaction else [])
    worth = record_judge.ABORTED_SINCE if is_excused else "all"
    assert (len(found), kept.held, kept.lost) == (not is_excused, {worth: 1}, {worth: 1})
    again = Kept()
    assert record_judge.judge(KEY, promises, held, {}, ["all"], again, [transaction] if transaction else []) == []
    assert (again.held, again.lost) == ({"all": 1}, {})


def test_a_log_is_read_from_its_segments(tmp_path: Path) -> None:
    (tmp_path / "00000000000000000000.log").write_bytes(batch(10, ["a", "b"]) + batch(12, ["c"], producer_id=9))
    (tmp_path / "00000000000000000013.log").write_bytes(batch(13, ["d"], replayed=True) + batch(14, ["torn"])[:-1])
    assert list(records(tmp_path)) == [
        Stored(Identity(-1, 6, 10), "a", False),
        Stored(Identity(-1, 6, 11), "b", False),
        Stored(Identity(9, 5, 40), "c", False),
        Stored(Identity(-1, 6, 13), "d", True),
    ]
    assert list(records(tmp_path / "absent")) == []
