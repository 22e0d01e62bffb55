# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of the workdir: private, whole, never through links, never outside."""

from __future__ import annotations

import errno
import os
import shlex
import stat
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from threading import Thread

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import private_files
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import (
    FileError,
    check_inside,
    check_writable,
    check_writers,
    private_directory,
    read_regular,
    replacing,
    work_file,
    write_private,
)


def test_files_and_directories_are_private(tmp_path: Path) -> None:
    path = work_file(tmp_path / "work", "plans", "east", "run-1")
    write_private(path, b"{}")
    assert path == tmp_path / "work" / "plans" / "run-1" / "east.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in (path.parent, path.parent.parent, tmp_path / "work")} == {0o700}


PLACES = pytest.mark.parametrize("place", [work_file, partial(work_file, make=False)])


@PLACES
@pytest.mark.parametrize("name", ["", ".", "..", "../east", "a/b", ".hidden", "a\n", "x" * 201, "ö"])
def test_names_that_could_lead_elsewhere_are_refused(tmp_path: Path, name: str, place: Callable[..., Path]) -> None:
    with pytest.raises(FileError, match="run_id"):
        place(tmp_path, "plans", "east", name)
    with pytest.raises(FileError, match="cluster"):
        place(tmp_path, "journal", name)


@PLACES
def test_a_workdir_that_is_a_file_is_named(tmp_path: Path, place: Callable[..., Path]) -> None:
    (tmp_path / "work").write_text("")
    with pytest.raises(FileError, match=r"cannot write in .*work: .*; choose another workdir \(kafka_recovery_workdir\)"):
        place(tmp_path / "work", "plans", "east", "run")


@PLACES
def test_a_folder_that_others_may_write_in_is_refused(tmp_path: Path, place: Callable[..., Path]) -> None:
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans").chmod(0o777)
    with pytest.raises(FileError, match=r"others may write in .*/plans"):
        place(tmp_path, "plans", "east", "run")


def test_the_place_of_a_file_is_found_without_making_anything(tmp_path: Path) -> None:
    planned = work_file(tmp_path / "above" / "work", "plans", "east", "run-1", ".x", make=False)
    assert list(tmp_path.iterdir()) == []
    assert planned == work_file(tmp_path / "above" / "work", "plans", "east", "run-1", ".x")
    assert work_file(tmp_path / "above" / "work", "plans", "east", "run-1", ".x", make=False) == planned


@PLACES
def test_links_are_refused(tmp_path: Path, place: Callable[..., Path]) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(FileError, match="symbolic link"):
        place(tmp_path / "link", "plans", "east", "run")
    work_file(tmp_path / "work", "plans", "east").symlink_to(tmp_path / "target")
    with pytest.raises(FileError, match="symbolic link"):
        place(tmp_path / "work", "plans", "east")
    (tmp_path / "east.json").symlink_to(tmp_path / "target")
    with pytest.raises(FileError, match="symbolic link"):
        write_private(tmp_path / "east.json", b"")
    assert not (tmp_path / "target").exists()


@pytest.fixture(params=[0o000, 0o002, 0o077, 0o777], ids="{:03o}".format)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whatever the operator's shell says of new files."""
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_the_umask_makes_no_difference(tmp_path: Path) -> None:
    path = work_file(tmp_path / "above" / "work", "plans", "east", "run-1")
    write_private(path, b"{}")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in path.parents if tmp_path in folder.parents} == {0o700}


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777, 0o2775], ids=oct)
def test_directories_that_others_may_write_in_are_refused_with_the_command_that_mends_it(tmp_path: Path, mode: int) -> None:
    for unsafe in (tmp_path / "my work", tmp_path / "my work" / "plans", tmp_path / "my work" / "plans" / "run"):
        unsafe.mkdir(mode=0o700, exist_ok=True)
        unsafe.chmod(mode)
        with pytest.raises(FileError, match=r"others may write in .* and could swap its files; chmod go-w ") as caught:
            work_file(tmp_path / "my work", "plans", "east", "run")
        assert shlex.split(str(caught.value).rpartition("; ")[2]) == ["chmod", "go-w", str(unsafe)]
        with pytest.raises(FileError, match="others may write"):
            check_inside(tmp_path / "my work", tmp_path / "my work" / "plans" / "run" / "east.json")
        unsafe.chmod(0o755)
    assert work_file(tmp_path / "my work", "plans", "east", "run").parent.is_dir(), "others may look into what an operator opened"


def test_directories_of_another_user_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() == 0:
        os.chown(tmp_path, 12345, -1)  # root's own directories are trusted by everybody
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    with pytest.raises(FileError, match="belongs to another user"):
        private_directory(tmp_path)


def test_what_is_read_from_the_workdir_comes_through_no_link(tmp_path: Path) -> None:
    work, outside = private_directory(tmp_path / "work"), private_directory(tmp_path / "outside")
    (outside / "plan.json").write_text("{}")
    (work / "plan.json").symlink_to(outside / "plan.json")
    (work / "plans").symlink_to(outside)
    for path in (
        work / "plan.json",
        work / "plans" / "plan.json",
        work / "plans" / "run" / "plan.json",
        outside / ".." / "work" / "plan.json",
    ):
        with pytest.raises(FileError, match="symbolic link"):
            check_inside(work, path)
    (tmp_path / "alias").symlink_to(work)
    with pytest.raises(FileError, match="symbolic link"):
        check_inside(tmp_path / "alias", tmp_path / "alias" / "any")
    for path in (outside / "plan.json", work / "missing" / "plan.json", tmp_path / "alias", work / ".." / "outside" / "plan.json"):
        check_inside(work, path)


def test_an_interrupted_write_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "east.json"
    write_private(path, b"old")
    with pytest.raises(KeyboardInterrupt), replacing(path) as stream:
        stream.write(b"new")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_run_left_beside_a_file_is_taken_over(tmp_path: Path) -> None:
    left = tmp_path / ".east.json.new"
    left.write_bytes(b"left by a killed run, and longer than what comes")
    write_private(tmp_path / "east.json", b"new")
    assert (tmp_path / "east.json").read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [tmp_path / "east.json"]


def test_the_second_of_two_writers_of_one_file_gets_an_error(tmp_path: Path) -> None:
    path = tmp_path / "east.json"
    with replacing(path) as stream:
        stream.write(b"first")
        with pytest.raises(FileError, match=r"another run is writing .*east\.json"):
            write_private(path, b"second")
    assert path.read_bytes() == b"first"
    write_private(path, b"third")
    assert path.read_bytes() == b"third"


def test_an_error_for_a_full_disk_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "east.json"
    with pytest.raises(FileError, match=rf"cannot write {path}: No space left on device"), replacing(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for name in ("pipe", "link"):
        with pytest.raises(OSError, match="neither a file"):
            read_regular(tmp_path / name)
    with pytest.raises(OSError, match="not a valid file name"):
        read_regular(tmp_path / "a\0b")
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "alias").symlink_to("file")
    assert read_regular(tmp_path / "alias") == b"content"
    with pytest.raises(OSError, match="symbolic link"):
        read_regular(tmp_path / "alias", follow=False)


def test_a_pipe_in_the_place_of_a_new_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".file.new")
    errors: list[str] = []

    def write() -> None:
        try:
            write_private(tmp_path / "file", b"x")
        except FileError as error:
            errors.append(str(error))

    thread = Thread(target=write, daemon=True)
    thread.start()
    thread.join(10.0)
    assert errors == [f"cannot write {tmp_path / '.file.new'}: it is no regular file: remove it"]


def test_check_mode_makes_no_folder_and_judges_those_that_are_there(tmp_path: Path) -> None:
    workdir = tmp_path / "work"
    assert work_file(workdir, "plans", "east", "run", make=False) == workdir / "plans/run/east.json"
    assert not workdir.exists()
    workdir.mkdir()
    (workdir / "plans").write_text("")
    with pytest.raises(FileError, match=r"cannot write in .*plans"):
        work_file(workdir, "plans", "east", "run", make=False)


def test_check_mode_tries_to_write_where_a_directory_would_be_made() -> None:
    with pytest.raises(FileError, match="cannot write in /proc/new/deep"):
        check_writable(Path("/proc/new/deep"))


def test_a_file_that_others_could_have_written_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "in" / "plan.json"
    file.parent.mkdir()
    with pytest.raises(FileError, match="cannot be read"):
        check_writers(file)
    file.write_text("")
    check_writers(file)
    link = tmp_path / "link.json"
    link.symlink_to(file)
    file.parent.chmod(0o777)
    for path in (file, link):
        with pytest.raises(FileError, match=rf"chmod go-w {file.parent}$"):
            check_writers(path)
    file.parent.chmod(0o1777)
    check_writers(file)
    file.chmod(0o664)
    with pytest.raises(FileError, match=rf"chmod go-w {file}$"):
        check_writers(file)


@pytest.mark.parametrize("owned", ["in/plan.json", "in"])
def test_a_file_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owned: str) -> None:
    file = tmp_path / "in" / "plan.json"
    file.parent.mkdir()
    file.write_text("")
    if os.geteuid() == 0:
        os.chown(tmp_path / owned, 12345, -1)
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    with pytest.raises(FileError, match="another user"):
        check_writers(file)


def test_a_file_that_is_larger_than_any_that_is_read_whole_is_refused(tmp_path: Path) -> None:
    """Who may write to the store of a workdir must not decide how much memory a task takes."""
    path = tmp_path / "plan.json"
    with path.open("wb") as stream:
        stream.truncate(private_files.MOST_BYTES + 1)
    with pytest.raises(OSError, match="File too large"):
        private_files.read_regular(path)
