# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Class data sharing (AppCDS): Java 19 and newer archives the classes of Spark at the end of its first run, and maps them at later starts.

Java creates the archive, checks at every start that it is whole and of this Java and of these jars, and creates it again if it is of others
(JDK-8261455). A file of which only a part is left or changed is not used.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.java import java_argument, java_version
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError, private_directory, refuse_link

OLDEST = 19
FOLDER = "kafka-recovery"


def options(environment: Mapping[str, str] | None = None) -> str:
    """Return the options with which Spark's Java uses and maintains its archive. Empty on older Java, and without a private cache folder.

    `environment`: of the process that starts Java; its own by default.
    """
    environment = os.environ if environment is None else environment
    home = environment.get("JAVA_HOME")
    found = shutil.which(str(Path(home, "bin", "java")) if home else "java", path=environment.get("PATH", os.defpath))
    spark = find_spec("pyspark")
    if found is None or spark is None or (java_version(Path(found)) or 0) < OLDEST:
        return ""
    # Two installations with one archive would each replace that of the other.
    identity = hashlib.sha256(f"{Path(found).resolve()}|{spark.origin}".encode()).hexdigest()[:16]
    try:
        cache = Path(environment.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()).absolute() / FOLDER
        archive = private_directory(cache) / f"spark-{identity}.jsa"
        # Another user who could write this file could run code in Java.
        refuse_link(archive)
        if archive.exists():
            if archive.stat().st_uid != os.geteuid():
                return ""
            # Java writes its header last, and does not replace the file of a Java that was killed before.
            with archive.open("rb") as stream:
                written = any(stream.read(4))
            if not written:
                archive.unlink(missing_ok=True)
    except (FileError, OSError, RuntimeError):  # without a home directory expanduser raises RuntimeError
        return ""
    return f"-XX:+AutoCreateSharedArchive -XX:+VerifySharedSpaces {java_argument(f'-XX:SharedArchiveFile={archive}')}"
