# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options for Java's archive of Spark's classes: on Java 19 and newer, in a folder that no other user can write in."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import appcds


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    cache = tmp_path / 'with "quotes" and \\'
    cache.mkdir(mode=0o700)
    return {"JAVA_HOME": str(java(tmp_path / "java", "21.0.4")), "XDG_CACHE_HOME": str(cache), "PATH": "/nowhere"}


def java(home: Path, version: str) -> Path:
    """The home of a Java of that version."""
    (home / "bin").mkdir(parents=True)
    (home / "bin/java").write_text("#!/bin/sh\n")
    (home / "bin/java").chmod(0o755)
    (home / "release").write_text(f'JAVA_VERSION="{version}"\n')
    return home


def archive(environment: dict[str, str]) -> Path:
    """The archive that the options name. Spark splits them as a shell does."""
    auto, verify, file = shlex.split(appcds.options(environment))
    assert (auto, verify) == ("-XX:+AutoCreateSharedArchive", "-XX:+VerifySharedSpaces")
    option, path = file.split("=", 1)
    assert option == "-XX:SharedArchiveFile"
    return Path(path)


def test_java_creates_its_archive_in_a_private_folder(environment: dict[str, str]) -> None:
    path = archive(environment)
    assert path.parent.parent == Path(environment["XDG_CACHE_HOME"]) and path.parent.stat().st_mode & 0o777 == 0o700
    assert not path.exists()


@pytest.mark.parametrize("version", ["17.0.15", "18.0.2"])
def test_older_java_has_no_archive(environment: dict[str, str], tmp_path: Path, version: str) -> None:
    environment["JAVA_HOME"] = str(java(tmp_path / "older", version))
    assert appcds.options(environment) == "" and list(Path(environment["XDG_CACHE_HOME"]).iterdir()) == []


def test_no_java_has_no_archive(environment: dict[str, str]) -> None:
    assert appcds.options(environment | {"JAVA_HOME": "/nowhere"}) == ""


def test_each_java_has_its_own(environment: dict[str, str], tmp_path: Path) -> None:
    other = environment | {"JAVA_HOME": str(java(tmp_path / "newer", "25.0.3"))}
    assert archive(environment) != archive(other)


@pytest.mark.parametrize("unsafe", ["others may write in the folder", "the folder is a link", "the archive is a link"])
def test_what_another_user_could_have_written_is_not_used(environment: dict[str, str], tmp_path: Path, unsafe: str) -> None:
    path = archive(environment)
    if unsafe == "others may write in the folder":
        path.parent.chmod(0o770)
    elif unsafe == "the folder is a link":
        path.parent.rename(tmp_path / "real")
        path.parent.symlink_to(tmp_path / "real")
    else:
        path.symlink_to(tmp_path / "real.jsa")
    assert appcds.options(environment) == ""


def test_what_a_killed_java_left_is_removed(environment: dict[str, str]) -> None:
    """Java writes the header last. It does not use a file without one, and does not replace it."""
    path = archive(environment)
    path.write_bytes(bytes(8192) + b"classes")
    assert archive(environment) == path and not path.exists()
    path.write_bytes(b"\xa8\xba\x0b\xf0" + b"classes")
    assert archive(environment) == path and path.exists()
