# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Spark sessions: what cannot work fails at once, with the remedy."""

from __future__ import annotations

import errno
import os
import re
import signal
import socket
import subprocess
import sys
import warnings
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import pytest
from adoption.cells import MissingPythonError, find
from pyspark.errors import PySparkException, PySparkRuntimeError
from pyspark.sql import SparkSession
from pyspark.sql.pandas.utils import require_minimum_pandas_version

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.error_messages import translate_spark_errors
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.session import QUICK_COMPILER, SMALL_BYTES, session
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.standalone import need_authentication

NOISY = """
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.session import QUICK_COMPILER, SMALL_BYTES, session
with session("local[nonsense]", None, {}, 0):
    pass
"""


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def test_no_java_is_reported_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    with (
        pytest.raises(RecoveryError, match=r"Spark needs Java 17 or newer.*JAVA_HOME is not set.*install one.*spark_remote"),
        session(None, None, {}, 0),
    ):
        pass


@pytest.mark.parametrize("passes_rows", [False, True])
def test_java_does_not_optimise_what_only_passes_rows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, passes_rows: bool) -> None:
    java, arguments = tmp_path / "bin" / "java", tmp_path / "arguments"
    java.parent.mkdir()
    java.write_text(f'#!/bin/sh\necho "$@" >> {arguments}\nexit 1\n')
    java.chmod(0o700)
    (tmp_path / "release").write_text('JAVA_VERSION="17.0.1"\n')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(RecoveryError), session(None, None, {}, SMALL_BYTES, passes_rows=passes_rows):
        pass
    assert (QUICK_COMPILER in arguments.read_text()) == passes_rows


def test_a_wrong_java_home_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(RecoveryError, match=f"JAVA_HOME is {tmp_path}, which has no bin/java"), session(None, None, {}, 0):
        pass


def test_an_address_where_nothing_answers_is_named_at_once(closed_port: int) -> None:
    address = f"127.0.0.1:{closed_port}"
    with pytest.raises(RecoveryError, match=f"spark_remote: nothing answers on {address}"), session(None, f"sc://{address}", {}, 0):
        pass
    trusted = {"spark.authenticate": "false"}
    with pytest.raises(RecoveryError, match=f"spark_master: nothing answers on {address}"), session(f"spark://{address}", None, trusted, 0):
        pass


def test_secrets_are_not_sent_in_plain_text(closed_port: int) -> None:
    secrets = {"spark.hadoop.fs.s3a.secret.key": "swordfish"}
    with (
        pytest.raises(RecoveryError, match=r"spark_secret_conf would be sent to sc://host:15002/ in plain text: use TLS"),
        session(None, "sc://host:15002/;token=x", {}, 0, secrets=secrets),
    ):
        pass
    address = f"127.0.0.1:{closed_port}"
    with (
        pytest.raises(RecoveryError, match=f"nothing answers on {address}"),
        session(None, f"sc://{address}/;use_ssl=true", {}, 0, secrets=secrets),
    ):
        pass


@pytest.mark.parametrize(
    ("conf", "secrets", "accepted"),
    [
        ({}, {}, False),
        ({"spark.authenticate": "true"}, {}, False),
        ({"spark.authenticate": "true"}, {"spark.authenticate.secret": ""}, False),
        ({}, {"spark.authenticate.secret": "swordfish"}, False),
        ({"spark.authenticate": "true"}, {"spark.authenticate.secret": "swordfish"}, True),
        ({"spark.authenticate": "True"}, {"spark.authenticate.secret": "swordfish"}, True),
        ({"spark.authenticate": "false"}, {}, True),
    ],
)
def test_a_driver_that_would_accept_every_peer_is_refused(
    closed_port: int, conf: dict[str, str], secrets: dict[str, str], accepted: bool
) -> None:
    master = f"spark://127.0.0.1:{closed_port}"
    expected = (
        "nothing answers on" if accepted else r"would accept every peer: set spark\.authenticate: true .*, set spark\.authenticate: false$"
    )
    with pytest.raises(RecoveryError, match=f"^spark_master: .*{expected}") as refused, session(master, None, conf, 0, secrets=secrets):
        pass
    assert "swordfish" not in str(refused.value)


@pytest.mark.parametrize("master", ["yarn", "k8s://https://127.0.0.1:1"])
def test_drivers_of_clusters_that_make_a_secret_by_themselves_need_authentication_too(master: str) -> None:
    with (
        pytest.raises(
            RecoveryError, match=r"would accept every peer: set spark\.authenticate: true in spark_conf \(kafka_recovery_spark_conf\)\. If"
        ),
        session(master, None, {}, 0),
    ):
        pass
    need_authentication(master, {"spark.authenticate": "true"}, {})
    need_authentication(master, {"spark.authenticate": "false"}, {})


@pytest.mark.parametrize("remote", ["http://localhost:15002", "localhost", "sc://", "sc://host:port"])
def test_what_is_no_connect_address_is_refused(remote: str) -> None:
    with pytest.raises(RecoveryError, match="looks like sc://host:15002"), session(None, remote, {}, 0):
        pass


def test_a_java_that_fails_is_quoted(tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'UnsupportedClassVersionError: class file version 61.0'\nexit 1\n")
    java.chmod(0o755)
    environment = {**os.environ, "JAVA_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", NOISY], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == ""
    assert "Java ended before Spark was up (Spark needs Java 17 or newer)" in done.stderr
    assert "class file version 61.0" in done.stderr


def test_what_spark_refuses_is_reported_in_one_sentence(spark: SparkSession) -> None:
    with (
        pytest.raises(RecoveryError, match="cannot read the landing files: the workdir must be readable"),
        translate_spark_errors(BytesIO()),
    ):
        spark.read.json("file:/no/such/file")


def test_a_java_that_ended_while_it_was_asked_is_no_traceback() -> None:
    with pytest.raises(RecoveryError, match=r"Spark failed: .*Connection refused"), translate_spark_errors(BytesIO()):
        raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))


def test_a_java_that_ended_says_why_where_it_left_word() -> None:
    log = BytesIO(
        b"26/11/21 15:00:00 INFO SparkContext: Running\n26/11/21 15:00:01 ERROR DiskBlockManager: Failed to create any local dir.\n"
    )
    with (
        pytest.raises(RecoveryError, match=r"no room for its work.*spark\.local\.dir.*Failed to create any local dir"),
        translate_spark_errors(log),
    ):
        raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))


def test_a_java_that_had_too_little_memory_is_reported_with_the_remedy() -> None:
    # What a fleet's plan with 1 GB came to: the error itself does not name the cause.
    log = BytesIO(b"Caused by: java.lang.OutOfMemoryError: Java heap space\n" + b"26/11/21 15:00:01 ERROR Utils: Aborting task\n" * 200)
    with (
        pytest.raises(
            RecoveryError,
            match=r"ran out of memory: give it more with spark\.driver\.memory .* in spark_conf \(kafka_recovery_spark_conf\)",
        ),
        translate_spark_errors(log),
    ):
        raise PySparkException("Job aborted due to stage failure: Lost task 0.0: TaskResultLost (result lost from block manager)")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("status = StatusCode.UNAUTHENTICATED", "sc://host:15002 wants another token"),
        ("status = StatusCode.UNAVAILABLE", "sc://host:15002 is gone in the middle of the work"),
        ("java.io.IOException: No space left on device", "sc://host:15002 has no room for its work"),
        ("out of luck", "sc://host:15002 failed: out of luck"),
    ],
)
def test_what_a_server_refuses_names_it_without_its_token(text: str, expected: str) -> None:
    with pytest.raises(RecoveryError, match=expected) as caught, translate_spark_errors(BytesIO(), "sc://host:15002/;token=secret"):
        raise PySparkException(text)
    assert "secret" not in str(caught.value)


def test_spark_leaves_ctrl_c_to_the_module(spark: SparkSession) -> None:
    # Who runs the tests may have it ignored. Spark's own handler is one of its functions.
    assert not getattr(signal.getsignal(signal.SIGINT), "__module__", "").startswith("pyspark")


def test_pyspark_supports_the_pandas_of_the_requirements() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        require_minimum_pandas_version()


def python_of_another_version() -> tuple[str, Path]:
    """Return version and path of one on this machine."""
    for version in ("3.13", "3.12", "3.11"):
        if version != f"{sys.version_info.major}.{sys.version_info.minor}":
            with suppress(MissingPythonError):
                return version, find(version)
    pytest.skip("a Python of another minor version is missing: install one, or name it with PYTHONS=/path/to/python")


@pytest.mark.slow
def test_workers_with_a_python_of_another_version_are_reported_in_one_line(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a real one, which Spark starts as it does on another host."""
    other, python = python_of_another_version()
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(python))
    with pytest.raises(RecoveryError) as error, translate_spark_errors(BytesIO()):
        spark.range(1).mapInArrow(lambda batches: batches, "id long").collect()
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert f"the workers of Spark have Python {other}, which is of another version of Python than this one ({own})" in str(error.value)
    assert "PYSPARK_PYTHON" in str(error.value) and "\n" not in str(error.value)


OTHER_VERSION = PySparkRuntimeError(
    errorClass="PYTHON_VERSION_MISMATCH", messageParameters={"worker_version": "3.12", "driver_version": "3.11"}
)


@pytest.mark.parametrize(
    ("error_text", "expected"),
    [
        (str(OTHER_VERSION), "the workers of Spark have Python 3.12, which is of another version of Python than this one (3.11)"),
        ("ModuleNotFoundError: No module named 'pyarrow'", "pyarrow is missing for the Python of Spark's workers"),
        (
            "Python worker exited unexpectedly (crashed).",
            f"they need Python {sys.version_info.major}.{sys.version_info.minor}, as this one is",
        ),
        ("Python worker failed to connect back.", "with PySpark and pyarrow"),
        ('Cannot run program "python3": error=2, No such file or directory', "the workers of Spark cannot run python3"),
    ],
)
@pytest.mark.parametrize("remote", [None, "sc://spark.example.com"])
def test_workers_without_the_right_python_are_reported_in_one_line(error_text: str, expected: str, remote: str | None) -> None:
    with pytest.raises(RecoveryError, match=re.escape(expected)) as error, translate_spark_errors(BytesIO(), remote):
        raise PySparkException(f"Job aborted\n{error_text}\n\tat java")
    assert "PYSPARK_PYTHON" in str(error.value) and "\n" not in str(error.value)
