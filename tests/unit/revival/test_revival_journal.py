# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal of revivals stays short, and nothing that a later run needs is forgotten."""

from __future__ import annotations

import json
import os
import socket
import tempfile
from pathlib import Path
from typing import IO, Any

import pytest
from full_disk import no_room
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import file_lock
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.journal_file import JournalBusy
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival import journal as journals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.journal import Begun, RevivalJournal

KEYS = st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 1))
BROKERS = st.lists(st.integers(1, 5), min_size=1, max_size=3, unique=True).map(tuple)
STEPS = st.one_of(
    st.tuples(st.just("begin"), st.dictionaries(KEYS, st.builds(Begun, st.sampled_from(["id", "other"]), BROKERS, BROKERS), min_size=1)),
    st.tuples(st.just("reset"), st.dictionaries(KEYS, st.dictionaries(st.sampled_from(["g", "h"]), st.integers(1, 9), min_size=1))),
    st.tuples(st.sampled_from(["restore", "end"]), st.sets(KEYS)),
)


def content(path: Path, read_only: bool = True) -> tuple[Any, ...]:
    with RevivalJournal(path, "cluster", read_only=read_only) as journal:
        return journal.open, journal.offsets, journal.all


@given(st.lists(STEPS, max_size=12))
def test_a_short_journal_says_the_same(steps: list[tuple[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / "east.jsonl"
        for name, argument in steps:
            with RevivalJournal(path, "cluster") as journal:
                getattr(journal, name)(argument)
        before = content(path)
        patch.setattr(journals, "MANY_LINES", 4)
        assert content(path, read_only=False) == before == content(path)
        assert len(path.read_bytes().splitlines()) <= 4


def test_a_journal_does_not_grow_with_its_runs(tmp_path: Path) -> None:
    path = tmp_path / "east.jsonl"
    for number in range(3 * journals.MANY_LINES):
        with RevivalJournal(path, "cluster") as journal:
            journal.begin({("t", number % 2): Begun("id", (number % 3,), (3, 4))})
            journal.end([("t", number % 2)])
    assert len(path.read_bytes().splitlines()) <= journals.MANY_LINES + 2
    opened, offsets, known = content(path)
    assert (opened, offsets) == ({}, {})
    assert {key: {*begun.original} for key, begun in known.items()} == {("t", 0): {0, 1, 2}, ("t", 1): {0, 1, 2}}
    assert [file.name for file in tmp_path.iterdir()] == ["east.jsonl"] and path.stat().st_mode & 0o777 == 0o600


def test_a_journal_that_another_run_has_just_replaced_is_opened_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, taken = tmp_path / "east.jsonl", file_lock.locked
    with RevivalJournal(path, "cluster") as journal:
        journal.begin({("t", 0): Begun("id", (1,), (2,))})
    copy = tmp_path / "copy"
    copy.write_bytes(path.read_bytes())

    def locked(path: Path, stream: IO[bytes], seconds: float = 0.0) -> bool:
        if copy.exists():
            copy.replace(path)
        return taken(path, stream, seconds)

    monkeypatch.setattr(file_lock, "locked", locked)
    with RevivalJournal(path, "cluster") as journal:
        journal.end([("t", 0)])
    assert content(path)[0] == {}


def test_a_second_run_is_locked_out_and_reads_who_works(tmp_path: Path) -> None:
    path = tmp_path / "east.jsonl"
    with RevivalJournal(path, "cluster") as journal:
        for read_only in (False, True):
            with pytest.raises(JournalBusy) as error, RevivalJournal(path, "cluster", read_only):
                pass
            assert f"east.jsonl: process {os.getpid()} on {socket.gethostname()}, since 20" in str(error.value)
        journal.begin({("t", 0): Begun("id", (1,), (2,))})
    with RevivalJournal(path, "cluster") as journal:
        assert [*journal.open] == [("t", 0)]
    assert [json.loads(line)["kind"] for line in path.read_bytes().splitlines()] == ["begun"]


def test_a_full_disk_stops_no_run_that_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "east.jsonl"
    with RevivalJournal(path, "cluster") as journal:
        journal.begin({("t", 0): Begun("id", (1,), (2,))})
    with no_room(path, 20):
        with RevivalJournal(path, "cluster") as journal:
            assert [*journal.open] == [("t", 0)]
        with RevivalJournal(path, "cluster") as journal, pytest.raises(FileError):
            journal.end([("t", 0)])
    assert [*content(path)[0]] == [("t", 0)]
