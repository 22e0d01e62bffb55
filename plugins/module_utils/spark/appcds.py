# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The class data archive (AppCDS) of Spark's Java: the classes that it loads at every start, parsed and verified beforehand.

Java itself checks that an archive was made by this Java and for these jars. Without a valid archive it starts as usual.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import tempfile
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError, check_inside
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.server_state import Folder

# Measured on a machine with two cores: 17 s.
DUMP_SECONDS = 180.0
BLOCK = 1 << 20
REMEDY = "Java may lack an archive of its own, which `java -Xshare:dump` as administrator makes, or the disk may be full"
SCRATCH, LEFT_SECONDS = ".archive-", 3600.0


class ClassArchiveError(RecoveryError):
    """No archive was made. The message gives the reason."""


def java() -> Path | None:
    """Return the Java that Spark uses, with links resolved, or None if there is none."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(str(Path(home, "bin", "java")) if home else "java")
    return Path(found).resolve() if found else None


def identity() -> str | None:
    """Return the prefix of the archive's name that identifies this Java and this PySpark, or None without one of them."""
    program, spark = java(), find_spec("pyspark")
    if program is None or spark is None or spark.origin is None:
        return None
    seen = program.stat()
    parts = f"{program}|{seen.st_mtime_ns}|{seen.st_size}|{spark.origin}|{Path(spark.origin).stat().st_mtime_ns}"
    return f"classes-{hashlib.sha256(parts.encode()).hexdigest()[:16]}-"


def find(workdir: Path) -> Path | None:
    """Return the archive of this Java and this PySpark, or None without one that is complete and that other users cannot have written."""
    begins = identity()
    for path in Folder(workdir).path.glob(f"{begins}*.jsa") if begins else ():
        with suppress(OSError, FileError):
            check_inside(workdir, path)
            found = path.lstat()
            safe = stat.S_ISREG(found.st_mode) and found.st_uid in (os.geteuid(), 0) and not found.st_mode & 0o022
            # Java crashes with a truncated archive.
            if safe and path.stem == f"{begins}{_checksum(path)}":
                return path
    return None


def options(workdir: Path | None) -> str:
    """Return the option with which Java uses the archive, or an empty string without an archive."""
    path = find(workdir) if workdir else None
    return _option("SharedArchiveFile", path) if path else ""


def make(workdir: Path, run: Callable[[str, Path], subprocess.Popen[bytes]]) -> Path:
    """Make the archive and return its path. Raises ClassArchiveError.

    `run` takes an option for Java and a scratch directory, starts Java with the option, has it load the classes, and returns Java as it ends.
    """
    begins = identity()
    if begins is None:
        raise ClassArchiveError("there is no Java to make a class data archive for; install Java 17 or newer")
    folder = Folder(workdir).make().path
    for left in folder.glob(f"{SCRATCH}*"):  # by a killed process
        if time.time() - left.lstat().st_mtime > LEFT_SECONDS:
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=SCRATCH) as scratch:
        made = Path(scratch, "classes.jsa")
        try:
            ending = run(_option("ArchiveClassesAtExit", made), Path(scratch))
        except RecoveryError as error:
            raise ClassArchiveError(f"no class data archive was made: {error}; {REMEDY}") from error
        try:
            ending.wait(timeout=DUMP_SECONDS)
        except subprocess.TimeoutExpired as error:
            ending.kill()
            ending.wait()
            raise ClassArchiveError(
                f"Java had not written its class data archive after {DUMP_SECONDS:g} s; the machine may be too busy"
            ) from error
        # Java reports an incomplete archive with its exit code.
        if ending.returncode or not made.is_file():
            raise ClassArchiveError(f"{java()} wrote no class data archive (exit code {ending.returncode}); {REMEDY}")
        made.chmod(0o400)
        path = made.replace(folder / f"{begins}{_checksum(made)}.jsa")
    for old in folder.glob("classes-*.jsa"):
        if old != path:
            old.unlink(missing_ok=True)
    return path


def _checksum(path: Path) -> str:
    """Return a CRC, which detects damage. Permissions protect from other users. A digest would take four times as long, at every start."""
    checksum = 0
    with path.open("rb") as stream:
        while block := stream.read(BLOCK):
            checksum = zlib.crc32(block, checksum)
    return f"{checksum:08x}"


def _option(name: str, path: Path | None) -> str:
    quoted = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"-XX:{name}={quoted}"'
