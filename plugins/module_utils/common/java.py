# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks the Java that Spark would use."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

OLDEST = 17  # Spark 4
ANSWER_SECONDS = 30


def java_problem(environment: Mapping[str, str] | None = None) -> str | None:
    """Return why Spark cannot use its Java, with the remedy; None if it can, or if the version is not known.

    `environment`: that of the process that starts Spark, None for this process. Reads JAVA_HOME and PATH.
    """
    environment = os.environ if environment is None else environment
    home = environment.get("JAVA_HOME")
    if home and not os.access(Path(home, "bin", "java"), os.X_OK):
        return f"JAVA_HOME is {home}, which has no bin/java; set it to a Java {OLDEST} or newer, or unset it"
    java = str(Path(home, "bin", "java")) if home else shutil.which("java", path=environment.get("PATH", os.defpath))
    if java is None:
        return (
            f"Spark needs Java {OLDEST} or newer, and there is none: JAVA_HOME is not set and PATH has no java; install one "
            f"(Debian: openjdk-{OLDEST}-jre-headless, Red Hat: java-{OLDEST}-openjdk-headless), or let spark_remote name a Spark Connect server"
        )
    version = java_version(Path(java))
    if version is not None and version < OLDEST:
        return f"Spark needs Java {OLDEST} or newer, and {java} is Java {version}; install a newer one, or set JAVA_HOME to it"
    return None


def java_version(java: Path) -> int | None:
    """Return the feature version of a Java (8, 17, 21), None if it is unknown. The file `release` is read first: starting Java takes 0.1 s."""
    with suppress(OSError):
        release = (java.resolve().parents[1] / "release").read_text(errors="replace")
        if found := re.search(r'(?m)^JAVA_VERSION="(?:1\.)?(\d+)', release):
            return int(found[1])
    with suppress(OSError, subprocess.SubprocessError):
        shown = subprocess.run([str(java), "-version"], capture_output=True, text=True, check=False, timeout=ANSWER_SECONDS)
        if found := re.search(r'version "(?:1\.)?(\d+)', shown.stderr + shown.stdout):
            return int(found[1])
    return None


def java_argument(text: str) -> str:
    """Return an option of Java as Spark's settings and scripts have it: they split options as a shell does."""
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quoted}"'
