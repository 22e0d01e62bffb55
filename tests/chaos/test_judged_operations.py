"""What clients of a history have seen is handed to porcupine as the history of one log; what no log can have shown is found."""

from __future__ import annotations

from time import monotonic_ns

import pytest
from witness import franz

from chaos.ledger import Acknowledged
from chaos.logs import Record
from chaos.operations import Operations
from chaos.recovery import parted

pytestmark = pytest.mark.skipif(not franz.PROGRAM.exists(), reason=franz.MISSING)
KEY = ("t", 0)
RECORDS = [(offset, f"{offset}/a/all") for offset in range(4)]


def acknowledged() -> Operations:
    operations = Operations()
    for offset, value in RECORDS:
        operations.append(KEY, monotonic_ns(), offset, value)
    return operations


@pytest.mark.parametrize(
    ("cut", "most_lost", "later", "expected"),
    [
        (None, None, RECORDS, "Ok"),
        (None, None, [*RECORDS[:3], (3, "another"), (4, "b")], "Illegal"),
        (2, None, [*RECORDS[:2], (2, "another"), (3, "b")], "Ok"),
        (2, 2, RECORDS[:2], "Ok"),
        (2, 1, RECORDS[:2], "Illegal"),
        (2, None, [RECORDS[0], (1, "another")], "Illegal"),
    ],
)
def test_only_an_election_cuts_a_log(cut: int | None, most_lost: int | None, later: list[tuple[int, str]], expected: str) -> None:
    operations = acknowledged()
    operations.read(KEY, monotonic_ns(), RECORDS)
    if cut is not None:
        operations.recovered(KEY, monotonic_ns(), cut, most_lost)
    operations.read(KEY, monotonic_ns(), later)
    assert operations.verdicts([KEY, ("other", 0)]) == {KEY: expected}


def test_a_read_that_ends_before_the_high_watermark_is_known_is_none() -> None:
    operations = acknowledged()
    operations.read(KEY, monotonic_ns(), RECORDS[:2])
    assert operations.verdicts([KEY]) == {KEY: "Ok"}


def test_where_a_log_parts_from_what_was_promised() -> None:
    promises = {value: Acknowledged(offset, "all") for offset, value in RECORDS}
    log = tuple(Record(offset, 0, value) for offset, value in RECORDS)
    assert (parted(log, promises), parted(log[:2], promises)) == (4, 2)
    assert parted((*log[:2], Record(2, 1, "another"), *log[3:]), promises) == 2
