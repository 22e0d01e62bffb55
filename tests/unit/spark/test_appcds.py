# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The archive of Spark's classes: only one that no other user can have written, and of this Java, is used."""

from __future__ import annotations

import os
import shlex
import subprocess
import zlib
from pathlib import Path

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import appcds
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.appcds import ClassArchiveError


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    folder = tmp_path / 'with "quotes" and \\'
    folder.mkdir(mode=0o700)
    return folder


def put(workdir: Path, mode: int = 0o400) -> Path:
    path = workdir / "spark" / f"{appcds.identity()}{zlib.crc32(b'classes'):08x}.jsa"
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_bytes(b"classes")
    path.chmod(mode)
    return path


def test_one_of_our_own_is_used(workdir: Path) -> None:
    assert appcds.options(workdir) == "" and appcds.options(None) == ""
    path = put(workdir)
    # Spark takes options apart as a shell does.
    assert shlex.split(appcds.options(workdir)) == [f"-XX:SharedArchiveFile={path}"]


@pytest.mark.parametrize("spoilt", ["it is cut off", "others may write in it", "others may write beside it", "a link", "a directory"])
def test_what_another_could_have_put_there_is_not(workdir: Path, spoilt: str) -> None:
    path = put(workdir, 0o420 if spoilt == "others may write in it" else 0o400)
    if spoilt == "others may write beside it":
        path.parent.chmod(0o770)
    elif spoilt == "a link":
        path.rename(path.with_suffix(".real"))
        path.symlink_to(path.with_suffix(".real"))
    elif spoilt == "it is cut off":
        path.chmod(0o600)
        path.write_bytes(b"class")
    elif spoilt == "a directory":
        path.unlink()
        path.mkdir()
    assert appcds.options(workdir) == ""


def test_another_java_has_another(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(workdir)
    other = workdir / "jdk" / "bin" / "java"
    other.parent.mkdir(parents=True)
    other.write_text("#!/bin/sh\n")
    other.chmod(0o700)
    monkeypatch.setenv("JAVA_HOME", str(workdir / "jdk"))
    assert appcds.find(workdir) is None
    monkeypatch.setenv("JAVA_HOME", str(workdir / "nothing"))
    assert appcds.identity() is None
    with pytest.raises(ClassArchiveError, match="no Java"):
        appcds.make(workdir, lambda *_: pytest.fail("there is nothing to run"))


def test_it_is_there_whole_or_not_at_all(workdir: Path) -> None:
    """A Java that writes none is an error and leaves no files. A new archive replaces that of an older Java."""

    def ends(command: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(["sh", "-c", command])

    def fails(_option: str, _scratch: Path) -> subprocess.Popen[bytes]:
        raise RecoveryError("Java ended before Spark was up")

    with pytest.raises(ClassArchiveError, match="Xshare:dump"):
        appcds.make(workdir, lambda _option, _scratch: ends("exit 0"))
    with pytest.raises(ClassArchiveError, match="exit code 1"):
        appcds.make(
            workdir, lambda option, _scratch: ends(f"printf half > {shlex.quote(shlex.split(option)[0].partition('=')[2])}; exit 1")
        )
    with pytest.raises(ClassArchiveError, match=r"before Spark was up; .*Xshare:dump"):
        appcds.make(workdir, fails)
    folder = workdir / "spark"
    assert not [path for path in folder.iterdir() if "archive" in path.name or "classes" in path.name]
    old = folder / "classes-0123456789abcdef.jsa"
    old.write_bytes(b"of another Java")
    killed, running = folder / ".archive-killed", folder / ".archive-running"
    for scratch in (killed, running):
        scratch.mkdir()
    os.utime(killed, (0, 0))

    def archived(option: str, _scratch: Path) -> subprocess.Popen[bytes]:
        name, path = shlex.split(option)[0].split("=", 1)
        assert name == "-XX:ArchiveClassesAtExit"
        return ends(f"printf classes > {shlex.quote(path)}")

    made = appcds.make(workdir, archived)
    assert made == appcds.find(workdir) and made.read_bytes() == b"classes" and made.stat().st_mode & 0o777 == 0o400
    assert not old.exists()
    assert {path.name for path in folder.iterdir() if "classes" in path.name or "archive" in path.name} == {made.name, running.name}


def test_a_java_that_does_not_end_is_ended(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appcds, "DUMP_SECONDS", 0.1)
    started: list[subprocess.Popen[bytes]] = []

    def hangs(_option: str, _scratch: Path) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen(["sleep", "60"]))
        return started[0]

    with pytest.raises(ClassArchiveError, match=r"after 0\.1 s"):
        appcds.make(workdir, hangs)
    assert started[0].returncode
