# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A class data archive for the Java of Spark: what it loads at every start, parsed and verified beforehand.

Java itself proves that an archive is its own, and that of these jars; it goes without one that is not, or that is not there.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.errors import SpokenError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.files import FileError, check_inside
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark_server import Folder

# What was seen: 17 s on a machine of two cores.
DUMP_SECONDS = 180.0


class ClassArchiveError(SpokenError):
    """There is no archive afterwards; the text says why."""


def java() -> Path | None:
    """The Java that Spark takes, its links followed; None where there is none."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(str(Path(home, "bin", "java")) if home else "java")
    return Path(found).resolve() if found else None


def place(workdir: Path) -> Path | None:
    """Where the archive of this Java and this PySpark is, or would be: another one for any other of them. None without Java."""
    program, spark = java(), find_spec("pyspark")
    if program is None or spark is None or spark.origin is None:
        return None
    seen = program.stat()
    identity = f"{program}|{seen.st_mtime_ns}|{seen.st_size}|{spark.origin}|{Path(spark.origin).stat().st_mtime_ns}"
    return Folder(workdir).path / f"classes-{hashlib.sha256(identity.encode()).hexdigest()[:16]}.jsa"


def is_there(workdir: Path) -> bool:
    """Whether there is an archive that nobody else could have put there."""
    path = place(workdir)
    if path is None:
        return False
    with suppress(FileNotFoundError, FileError):
        check_inside(workdir, path)
        found = path.lstat()
        return stat.S_ISREG(found.st_mode) and found.st_uid in (os.geteuid(), 0) and not found.st_mode & 0o022
    return False


def options(workdir: Path | None) -> str:
    """What to tell Java, empty without an archive."""
    return _option("SharedArchiveFile", place(workdir)) if workdir and is_there(workdir) else ""


def make(workdir: Path, run: Callable[[str, Path], subprocess.Popen[bytes]]) -> Path:
    """Make the archive. `run`: given options for Java and a scratch directory, does what is to be archived and returns Java as it ends."""
    path = place(workdir)
    if path is None:
        raise ClassArchiveError("there is no Java to make a class data archive for; install Java 17 or newer")
    with tempfile.TemporaryDirectory(dir=Folder(workdir).make().path, prefix=".archive-") as scratch:
        made = Path(scratch, path.name)
        ending = run(_option("ArchiveClassesAtExit", made), Path(scratch))
        try:
            ending.wait(timeout=DUMP_SECONDS)
        except subprocess.TimeoutExpired as error:
            ending.kill()
            ending.wait()
            raise ClassArchiveError(
                f"Java had not written its class data archive after {DUMP_SECONDS:g} s; the machine may be too busy"
            ) from error
        if not made.is_file():
            raise ClassArchiveError(
                f"{java()} wrote no class data archive: its own one may be missing, which `java -Xshare:dump` as administrator makes, or the disk is full"
            )
        made.chmod(0o400)
        made.replace(path)
    for old in path.parent.glob("classes-*.jsa"):
        if old != path:
            old.unlink(missing_ok=True)
    return path


def _option(name: str, path: Path | None) -> str:
    quoted = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"-XX:{name}={quoted}"'
