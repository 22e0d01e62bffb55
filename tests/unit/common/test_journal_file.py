# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of JSON in a file of this machine, and in a store that stands still (`tests/integration/test_store.py` has a real one)."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, cast

import pytest
from full_disk import no_room

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import file_lock, journal_file, mounts
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.journal_file import JournalBusy, JournalFile
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import TakenError

HOLDER = {"host": "another", "pid": 7, "begun": "2026-01-01T00:00:00Z"}


class Lines(JournalFile):
    """A journal that keeps what it reads."""

    def __init__(self, path: Path, read_only: bool = False, patience: float = 0.0, named: bool = False) -> None:
        super().__init__(path, patience, lambda: JournalBusy(f"busy{self._holder()}"), **({"read_only": True} if read_only else {}))
        self.taken: list[tuple[int, bytes]] = []
        self.named = named

    def __enter__(self) -> Lines:
        super().__enter__()
        if self.named:
            self._name_holder()
        return self

    def _take(self, number: int, line: bytes) -> None:
        self.taken.append((number, line))

    def append(self, **entry: Any) -> None:
        self._append(entry)

    def replace(self, *entries: dict[str, Any]) -> None:
        self._replace(entries)


class Stored:
    """A journal in a store. It is also the lease of the only run, which may have been another one's before."""

    lost = False

    def __init__(self) -> None:
        self.content = b""
        self.written: list[bytes] = []
        self.is_mine, self.doubtful, self.alive, self.takes, self.released = True, 0.0, False, 0, 0

    def read(self) -> bytes:
        return self.content

    def take(self) -> bytes:
        self.takes += 1
        return self.content

    def replace(self, content: bytes) -> None:
        self.content = content
        self.written.append(content)

    def acquire(self, seconds: float) -> bool:
        return self.is_mine

    def is_held(self) -> bool:
        return not self.lost

    def is_alive(self) -> bool:
        return self.alive

    def holder(self) -> dict[str, Any]:
        return HOLDER

    def doubtful_seconds(self) -> float:
        return self.doubtful

    def release(self) -> None:
        self.released += 1


class Mount:
    def __init__(self, root: Path, stored: Stored) -> None:
        self.root, self.stored = root, stored

    def journal(self, _path: Path) -> Stored:
        return self.stored

    def lease(self, _path: Path) -> Stored:
        return self.stored


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "east.jsonl"


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[Stored]:
    journal = Stored()
    mount = cast(mounts.Mount, Mount(tmp_path, journal))
    mounts.add(mount)
    yield journal
    mounts.discard(mount)


def rows(content: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content.splitlines()]


def test_lines_are_read_in_their_order_with_their_numbers(path: Path) -> None:
    with Lines(path) as journal:
        journal.append(kind="a", text="long " * 20)
        journal.append(kind="b")
        assert journal.taken == []
    whole = path.read_bytes()
    assert whole == b'{"kind":"a","text":"' + b"long " * 20 + b'"}\n{"kind":"b"}\n'
    with Lines(path, read_only=True) as journal:
        assert journal.taken == [(1, whole.splitlines(keepends=True)[0]), (2, b'{"kind":"b"}\n')]
        journal.append(kind="c")
    assert path.read_bytes() == whole, "check mode writes nothing"


def test_a_line_that_is_cut_off_is_dropped_with_all_after_it(path: Path) -> None:
    path.write_bytes(b'{"kind":"a"}\n{"ki')
    with Lines(path) as journal:
        assert [number for number, _line in journal.taken] == [1]
        journal.append(kind="b")
    assert path.read_bytes() == b'{"kind":"a"}\n{"kind":"b"}\n'


def test_the_last_line_names_the_process_for_as_long_as_the_file_is_open(path: Path) -> None:
    with Lines(path, named=True) as journal:
        assert [row["kind"] for row in rows(path.read_bytes())] == ["run"]
        journal.append(kind="a")
        journal.append(kind="b")
        assert [row["kind"] for row in rows(path.read_bytes())] == ["a", "b", "run"]
        journal.replace({"kind": "c"})
        journal.append(kind="d")
        assert [row["kind"] for row in rows(path.read_bytes())] == ["c", "d", "run"]
    assert path.read_bytes() == b'{"kind":"c"}\n{"kind":"d"}\n'
    with Lines(path, read_only=True, named=True):
        assert path.read_bytes() == b'{"kind":"c"}\n{"kind":"d"}\n'


def test_a_process_is_not_named_without_room_for_it(path: Path) -> None:
    path.write_bytes(b'{"kind":"a"}\n')
    with no_room(path, 20), Lines(path, named=True) as journal:
        assert path.read_bytes() == b'{"kind":"a"}\n'
    with Lines(path, named=True) as journal:
        journal.append(kind="b")
    assert path.read_bytes() == b'{"kind":"a"}\n{"kind":"b"}\n'


def test_only_a_newline_ends_a_line(path: Path) -> None:
    """A carriage return is space in JSON. All that comes after one that a damaged file has would be dropped."""
    whole = b'{"kind":"a"\r}\n{"kind":"b"}\r\n{"kind":"c"}\n'
    path.write_bytes(whole)
    with Lines(path) as journal:
        assert [number for number, _line in journal.taken] == [1, 2, 3]
    assert path.read_bytes() == whole


def test_a_write_of_a_part_goes_on_with_the_rest(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.pwrite
    with Lines(path) as journal:
        monkeypatch.setattr(os, "pwrite", lambda file, content, place: write(file, content[:3], place))
        journal.append(kind="a")
        journal.append(kind="b")
    assert path.read_bytes() == b'{"kind":"a"}\n{"kind":"b"}\n'


def test_a_process_that_is_killed_while_it_appends_leaves_no_line_of_two(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, found = os.pwrite, []

    def watched(file: int, content: bytes, place: int) -> int:
        written = write(file, content[:8], place)
        found.append(path.read_bytes())
        return written

    with Lines(path, named=True) as journal:
        monkeypatch.setattr(os, "pwrite", watched)
        journal.append(kind="a")
    assert found[0] == b'{"kind":'


def test_who_holds_a_journal_is_the_last_one_that_it_names(path: Path) -> None:
    path.write_text(
        "".join(
            json.dumps(row) + "\n"
            for row in ({"kind": "run", **HOLDER, "pid": 6}, {"kind": "run", **HOLDER}, {"kind": "b", "pid": 8}, {"kind": "z"}, [1])
        )
        + "nonsense\n"
    )
    with Lines(path), pytest.raises(JournalBusy, match="process 7 on another"), Lines(path):
        pass
    path.write_text("[1]\n")
    with Lines(path), pytest.raises(JournalBusy, match=r"^busy$"), Lines(path):
        pass


def test_another_process_is_waited_for_and_only_for_so_long(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr(file_lock, "locked", lambda _path, _stream, seconds: waited.append(seconds))
    for read_only in (False, True):
        path.touch()
        with pytest.raises(JournalBusy), Lines(path, read_only, patience=3.5):
            pass
    assert waited == [3.5, 3.5]


def test_a_journal_that_is_replaced_must_be_locked_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Lines(path, patience=0.0) as journal:
        monkeypatch.setattr(file_lock, "locked", lambda _path, _stream, _seconds: False)
        with pytest.raises(JournalBusy):
            journal.replace()


def test_a_file_that_another_process_has_just_replaced_is_opened_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(b'{"kind":"old"}\n')
    new = path.with_name("new")
    new.write_bytes(b'{"kind":"new"}\n')
    take = file_lock.locked
    changes: list[Callable[[], object]] = [lambda: new.replace(path)]

    def locked(path: Path, stream: IO[bytes], seconds: float) -> bool:
        if changes:
            changes.pop()()
        return take(path, stream, seconds)

    monkeypatch.setattr(file_lock, "locked", locked)
    with Lines(path) as journal:
        assert journal.taken == [(1, b'{"kind":"new"}\n')]
        journal.append(kind="more")
    assert path.read_bytes() == b'{"kind":"new"}\n{"kind":"more"}\n'
    changes.append(path.unlink)
    with Lines(path) as journal:
        assert journal.taken == [] and path.read_bytes() == b""


def test_files_are_closed_if_a_journal_cannot_be_opened(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[IO[bytes]] = []
    open_file = file_lock.opened

    def watched(path: Path) -> IO[bytes]:
        opened.append(open_file(path))
        return opened[-1]

    monkeypatch.setattr(file_lock, "opened", watched)

    def fails(*_arguments: Any) -> bool:
        raise RecoveryError("no locks")

    with pytest.raises(ZeroDivisionError), Lines(path):
        raise ZeroDivisionError
    path.write_bytes(b"{}\n")
    with pytest.raises(ZeroDivisionError), monkeypatch.context() as patch:
        patch.setattr(Lines, "_take", lambda *_arguments: 1 / 0)
        Lines(path).__enter__()
    with pytest.raises(RecoveryError, match="no locks"), monkeypatch.context() as patch:
        patch.setattr(file_lock, "locked", fails)
        Lines(path).__enter__()
    with Lines(path) as journal:
        journal.replace({"kind": "a"})
    assert len(opened) == 5 and all(stream.closed for stream in opened)


def test_a_run_that_may_only_be_stalled_is_waited_for(path: Path, stored: Stored, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    slept: list[float] = []
    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setattr(time, "sleep", slept.append)
    stored.doubtful = 7.0
    with Lines(path) as journal:
        assert not journal.is_sure_again()
        now = 102.0
        assert journal.outwait() and slept == [5.0]
        journal.note_doubt(1.0)
        assert journal.outwait() and slept == [5.0, 5.0], "the longer doubt counts"
        now = 107.0
        assert journal.is_sure_again()
        now = 109.0
        assert journal.outwait() and slept[2:] == [0.0]
        assert journal.is_sure_again()
    for seconds in (0.0, -1.0):
        stored.doubtful = seconds
        with Lines(path) as journal:
            assert not journal.outwait() and not journal.is_sure_again()
    assert len(slept) == 3
    stored.doubtful = 0.5
    with Lines(path) as journal:
        assert journal.outwait() and slept[3:] == [0.5]


def test_a_stalled_run_notices_that_another_one_has_taken_its_journal(path: Path, stored: Stored) -> None:
    with Lines(path) as journal:
        journal.confirm()
        stored.lost = True
        with pytest.raises(TakenError, match="another run has taken"):
            journal.confirm()
    with pytest.raises(TakenError):
        Lines(path).confirm()


def test_a_journal_of_this_machine_is_confirmed_while_it_is_locked(path: Path) -> None:
    with Lines(path) as journal:
        journal.confirm()
        assert not journal.outwait() and not journal.is_sure_again()
        journal.fail_if_held()
    with Lines(path, read_only=True) as journal:
        journal.fail_if_held()
    with Lines(path.with_name("missing"), read_only=True) as journal:
        assert not journal.outwait() and not journal.is_sure_again()
    with pytest.raises(TakenError):
        Lines(path).confirm()


def test_every_line_is_in_the_store_when_it_is_appended(path: Path, stored: Stored) -> None:
    stored.content = b'{"kind":"a"}\n{"ki'
    with Lines(path, named=True) as journal:
        assert (stored.takes, stored.content, stored.written) == (1, b'{"kind":"a"}\n', [b'{"kind":"a"}\n'])
        journal.append(kind="b")
        assert stored.content == path.read_bytes() == b'{"kind":"a"}\n{"kind":"b"}\n'
        journal.replace({"kind": "c"}, {"kind": "d"})
        assert stored.content == path.read_bytes() == b'{"kind":"c"}\n{"kind":"d"}\n'
        journal.append(kind="e")
        assert [row["kind"] for row in rows(stored.content)] == ["c", "d", "e"]
        assert path.read_bytes() == stored.content
    assert stored.released == 1
    written = len(stored.written)
    with Lines(path) as journal:
        assert [number for number, _line in journal.taken] == [1, 2, 3]
    assert len(stored.written) == written, "nothing was cut off"


def test_the_copy_of_a_journal_in_a_store_has_nothing_of_an_older_one(path: Path, stored: Stored) -> None:
    path.write_bytes(b"old")
    with Lines(path) as journal:
        assert path.read_bytes() == b""
        journal.append(kind="a")
        journal.replace()
        assert path.read_bytes() == stored.content == b""


def test_check_mode_reads_the_store_without_its_lease(path: Path, stored: Stored) -> None:
    stored.content = b'{"kind":"a"}\n'
    stored.is_mine = False
    with Lines(path, read_only=True, named=True) as journal:
        assert journal.taken == [(1, b'{"kind":"a"}\n')]
        journal.fail_if_held()
        stored.alive = True
        with pytest.raises(JournalBusy, match="busy: process 7 on another"):
            journal.fail_if_held()
    assert (stored.takes, stored.written, path.exists()) == (0, [], False)
    stored.is_mine = True
    with Lines(path) as journal:
        journal.fail_if_held()


def test_a_lease_of_another_run_names_it(path: Path, stored: Stored) -> None:
    stored.is_mine, stored.content = False, b'{"kind":"a"}\n'
    with pytest.raises(JournalBusy, match="busy: process 7 on another") as _busy, Lines(path):
        pass
    assert (stored.takes, stored.written) == (0, [])
    journal = Lines(path)
    with pytest.raises(JournalBusy):
        journal.__enter__()
    assert journal.lines() == [b'{"kind":"a"}\n']
    assert journal_file.HOLDER_LINE == "run"
