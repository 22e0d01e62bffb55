# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Spark and its Java complain of, in one line with the remedy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

with suppress(ImportError):  # libraries.py says why
    from py4j.protocol import Py4JError, Py4JNetworkError
    from pyspark.errors import PySparkException

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.server_state import TOKEN_VARIABLE

# What Java says when a file of Spark's own cannot be written.
NO_ROOM = (
    "No space left on device",
    "Permission denied",
    "File too large",
    "Failed to create a temp directory",
    "Failed to create any local dir",
    "Read-only file system",
)
PYTHON_OF_WORKERS = "PYSPARK_PYTHON"
NO_MEMORY = ("OutOfMemoryError", "GC overhead limit")


class SparkError(RecoveryError):
    """Spark cannot be reached or started, or its work failed; the text says which and the remedy."""


@contextmanager
def in_words(log: IO[bytes], remote: str | None = None) -> Iterator[None]:
    """Turn errors of Spark into SparkError; `log` holds what its JVM wrote."""
    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        raise SparkError(_spoken(error, log, remote)) from error


def _spoken(error: Exception, log: IO[bytes], remote: str | None = None) -> str:
    text = " ".join(str(error).split("\n\n", maxsplit=1)[0].split("JVM stacktrace")[0].split())[:600]
    if "PATH_NOT_FOUND" in text or "FAILED_READ_FILE" in text:
        return f"Spark cannot read the landing files: the workdir must be readable under the same path on every Spark host ({text})"
    if "JAVA_GATEWAY_EXITED" in text:
        return f"Java ended before Spark was up (Spark needs Java 17 or newer); its last words: {_last_words(log)}"
    if problem := _problem_of_workers(str(error)):
        return problem
    if remote:
        return _spoken_of_remote(remote.partition(";")[0].rstrip("/"), text)
    if isinstance(error, Py4JNetworkError | ConnectionError) and (told := _errors(log)):
        text = f"Java ended: {told}"
    said = f"{text}{error}"
    if any(sign in said + _whole(log) for sign in NO_MEMORY):
        return (
            f"Spark ran out of memory: give it more with spark_conf spark.driver.memory (6g, for example), or use a larger machine ({text})"
        )
    if any(sign in said for sign in NO_ROOM):
        return f"Spark has no room for its work, or may not write there: make room, or name another directory with spark_conf spark.local.dir ({text})"
    return f"Spark failed: {text}"


def _problem_of_workers(said: str) -> str | None:
    """What is wrong with the Python that Spark's workers run, None if that is not the matter."""
    if found := re.search(r"different version: (\S+) than that in driver:? (\d+\.\d+)", said):
        return (
            f"the workers of Spark have Python {found[1]}, which is of another version of Python than this one ({found[2]}): give them that, and name it "
            f"in {PYTHON_OF_WORKERS} (where a Spark Connect server is started, else here)"
        )
    if "No module named 'pyarrow'" in said or ("PACKAGE_NOT_INSTALLED" in said and "PyArrow" in said):
        return f"pyarrow is missing for the Python of Spark's workers: install it there, or name another Python in {PYTHON_OF_WORKERS}"
    if re.search(r"No module named '?pyspark", said):
        return f"PySpark is missing for the Python of Spark's workers: install it there, or name another Python in {PYTHON_OF_WORKERS}"
    if found := re.search(r'Cannot run program "([^"]{1,200})"', said):
        return f"the workers of Spark cannot run {found[1]}: name their Python in {PYTHON_OF_WORKERS}"
    return None


def _spoken_of_remote(remote: str, text: str) -> str:
    """`remote` without its parameters: a token may be among them."""
    if "UNAUTHENTICATED" in text:
        return (
            f"spark_remote: the Spark Connect server {remote} wants another token: put the right one into the environment variable "
            f"{TOKEN_VARIABLE}"
        )
    if "UNAVAILABLE" in text or "INVALID_HANDLE" in text:
        return f"spark_remote: the Spark Connect server {remote} is gone in the middle of the work: start it again, or leave spark_remote out ({text})"
    if any(sign in text for sign in NO_ROOM):
        return f"spark_remote: the Spark Connect server {remote} has no room for its work, or may not write: look at its spark.local.dir ({text})"
    return f"spark_remote: the Spark Connect server {remote} failed: {text}"


def _whole(log: IO[bytes]) -> str:
    log.seek(0)
    return log.read().decode(errors="replace")


def _lines(log: IO[bytes]) -> list[str]:
    return [line.strip() for line in _whole(log)[-4000:].splitlines() if line.strip()]


def _last_words(log: IO[bytes]) -> str:
    return " | ".join(_lines(log)[-3:])


def _errors(log: IO[bytes]) -> str:
    return " | ".join([line for line in _lines(log) if " ERROR " in line][-2:])[:600]
