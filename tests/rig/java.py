"""Finding Java and building command lines for Kafka's classes."""

import functools
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from rig.errors import RigError

OLDEST_JAVA = 17
REMEDY = (
    f"Kafka needs Java {OLDEST_JAVA} or newer: install it (Debian: apt-get install openjdk-17-jre-headless, macOS: brew install openjdk@17) "
    "or point JAVA_HOME at an installation."
)


@functools.cache
def find_java() -> str:
    """Path of the `java` program, from JAVA_HOME or PATH. Raises RigError when there is none or it is too old."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if not java or not os.access(java, os.X_OK):
        raise RigError(f"no java program found. {REMEDY}")
    number = re.search(r'version "(?:1\.)?(\d+)', _version(java))
    if number is None:  # macOS ships a stub /usr/bin/java that fails when nothing is installed behind it
        raise RigError(f"{java} -version failed: {_version(java)}. {REMEDY}")
    if int(number.group(1)) < OLDEST_JAVA:
        raise RigError(f"{java} is Java {number.group(1)}. {REMEDY}")
    return java


def version() -> str:
    """What `java -version` says, build number included."""
    return _version(find_java())


@functools.cache
def _version(java: str) -> str:
    return subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr.strip()


def command(libs: Path, main_class: str, *arguments: str, jvm_options: Sequence[str] = ()) -> list[str]:
    """Command line that runs one of the classes in `libs` (a directory of jars)."""
    return [find_java(), *jvm_options, "-cp", f"{libs}/*", main_class, *arguments]


def logging_options(log_file: Path, level: str = "info", loggers: Mapping[str, str] | None = None) -> list[str]:
    """System properties of slf4j-simple: INFO lines with timestamps in `log_file`. `loggers`: levels of single ones, by name."""
    prefix = "-Dorg.slf4j.simpleLogger"
    return [
        f"{prefix}.logFile={log_file}",
        f"{prefix}.defaultLogLevel={level}",
        f"{prefix}.showDateTime=true",
        f"{prefix}.dateTimeFormat=yyyy-MM-dd HH:mm:ss,SSS",
        f"{prefix}.levelInBrackets=true",
        *(f"{prefix}.log.{name}={own}" for name, own in (loggers or {}).items()),
    ]
