# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors of Spark and of its Java as one line with the remedy."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

with suppress(ImportError):  # common.optional_imports names what is missing
    from py4j.protocol import Py4JError, Py4JNetworkError
    from pyspark.errors import PySparkException

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.options import CONF, SECRET_CONF

# Java's messages if Spark cannot write its temporary files.
NO_ROOM = (
    "No space left on device",
    "Permission denied",
    "File too large",
    "Failed to create a temp directory",
    "Failed to create any local dir",
    "Read-only file system",
)
PYTHON_OF_WORKERS = "PYSPARK_PYTHON"
TOKEN_VARIABLE = "SPARK_CONNECT_AUTHENTICATE_TOKEN"
NO_REPORT = ("Python worker exited unexpectedly", "Python worker failed to connect back")
# Hadoop's messages if it lacks the class of a file system, or knows none for a scheme.
NO_FILE_SYSTEM = re.compile(r"ClassNotFoundException: Class \S+?\.fs\.(\w+)\.\w+ not found|No FileSystem for scheme \"(\w+)\"")
STORE_URL = re.compile(r"\b(?:s3a|gs|abfss)://[^\s:]+")
NO_MEMORY = ("OutOfMemoryError", "GC overhead limit")


@contextmanager
def translate_spark_errors(log: IO[bytes], remote: str | None = None) -> Iterator[None]:
    """Raise RecoveryError in place of errors of Spark. `log`: the output of its JVM; `remote`: URL of the Spark Connect server, None for an own JVM."""
    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        raise RecoveryError(_error_message(error, log, remote)) from error


def _error_message(error: Exception, log: IO[bytes], remote: str | None = None) -> str:
    text = " ".join(str(error).split("\n\n", maxsplit=1)[0].split("JVM stacktrace")[0].split())[:600]
    if problem := _problem_of_store(str(error)):
        return problem
    if "PATH_NOT_FOUND" in text or "FAILED_READ_FILE" in text:
        if STORE_URL.search(text):
            return f"Spark cannot read a file of the workdir that this run has found in its store: check that both use the same server ({text})"
        return f"Spark cannot read the landing files: the workdir must be readable under the same path on every Spark host ({text})"
    if "JAVA_GATEWAY_EXITED" in text:
        return f"Java ended before Spark was up (Spark needs Java 17 or newer); last lines of its log: {_last_lines(log)}"
    if problem := _problem_of_workers(str(error)):
        return problem
    if remote:
        return _remote_error_message(remote.partition(";")[0].rstrip("/"), text)
    if isinstance(error, Py4JNetworkError | ConnectionError) and (logged := _logged_errors(log)):
        text = f"Java ended: {logged}"
    full_text = f"{text}{error}"
    if any(sign in full_text + _whole(log) for sign in NO_MEMORY):
        return (
            f"Spark ran out of memory: give it more with spark.driver.memory (6g, for example) in {CONF}, or use a larger machine ({text})"
        )
    if any(sign in full_text for sign in NO_ROOM):
        return f"Spark has no room for its work, or may not write there: make room, or name another directory with spark.local.dir in {CONF} ({text})"
    return f"Spark failed: {text}"


def _problem_of_store(text: str) -> str | None:
    """Return why Spark cannot use the object store of the workdir, or None if the error has another cause."""
    if found := NO_FILE_SYSTEM.search(text):
        scheme = found[2] or {"s3a": "s3a", "azurebfs": "abfss"}.get(found[1], "gs")
        return f"Spark has no file system for {scheme}://, so it cannot read the workdir: give it the jars of that store (spark.jars, docs/spark.md)"
    if "java.nio.file.AccessDeniedException" in text and (found := STORE_URL.search(text)):
        return (
            f"Spark may not read or write the workdir ({found[0]}): put keys for its store into {SECRET_CONF}, or give the Spark hosts a role that may "
            "(docs/spark.md)"
        )
    return None


def _problem_of_workers(text: str) -> str | None:
    """Return what is wrong with the Python of Spark's workers, or None if the error has another cause."""
    if found := re.search(r"different version: (\S+) than that in driver:? (\d+\.\d+)", text):
        return (
            f"the workers of Spark have Python {found[1]}, which is of another version of Python than this one ({found[2]}): give them that, and name it "
            f"in {PYTHON_OF_WORKERS} (where a Spark Connect server is started, else here)"
        )
    if "No module named 'pyarrow'" in text or ("PACKAGE_NOT_INSTALLED" in text and "PyArrow" in text):
        return f"pyarrow is missing for the Python of Spark's workers: install it there, or name another Python in {PYTHON_OF_WORKERS}"
    if re.search(r"No module named '?pyspark", text):
        return f"PySpark is missing for the Python of Spark's workers: install it there, or name another Python in {PYTHON_OF_WORKERS}"
    if found := re.search(r'Cannot run program "([^"]{1,200})"', text):
        return f"the workers of Spark cannot run {found[1]}: name their Python in {PYTHON_OF_WORKERS}"
    # A worker that ends before it has read its input often cannot report why.
    if any(sign in text for sign in NO_REPORT):
        return (
            f"the workers of Spark ended, or did not start, and did not report why: they need Python {sys.version_info.major}.{sys.version_info.minor}, as "
            f"this one is, with PySpark and pyarrow. Name it in {PYTHON_OF_WORKERS} (where a Spark Connect server is started, else here). If it is "
            "named, see Spark's log"
        )
    return None


def _remote_error_message(remote: str, text: str) -> str:
    """Return the message for an error of a Spark Connect server. `remote`: its URL without parameters, which may have a token."""
    if "UNAUTHENTICATED" in text:
        return (
            f"spark_remote: the Spark Connect server {remote} wants another token: put the right one into the environment variable "
            f"{TOKEN_VARIABLE}"
        )
    if "UNAVAILABLE" in text or "INVALID_HANDLE" in text:
        return f"spark_remote: the Spark Connect server {remote} is gone in the middle of the work: start it again, or leave spark_remote out ({text})"
    if any(sign in text for sign in NO_ROOM):
        return f"spark_remote: the Spark Connect server {remote} has no room for its work, or may not write: check its spark.local.dir ({text})"
    return f"spark_remote: the Spark Connect server {remote} failed: {text}"


def _whole(log: IO[bytes]) -> str:
    log.seek(0)
    return log.read().decode(errors="replace")


def _lines(log: IO[bytes]) -> list[str]:
    return [line.strip() for line in _whole(log)[-4000:].splitlines() if line.strip()]


def _last_lines(log: IO[bytes]) -> str:
    return " | ".join(_lines(log)[-3:])


def _logged_errors(log: IO[bytes]) -> str:
    return " | ".join([line for line in _lines(log) if " ERROR " in line][-2:])[:600]
