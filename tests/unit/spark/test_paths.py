# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Spark gets as the path of a file of the workdir."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.error_messages import translate_spark_errors
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.paths import (
    hadoop_url,
    reads_store,
    spark_elsewhere,
    spark_path,
    store_settings,
)


@pytest.fixture
def workdir(tmp_path: Path) -> Iterator[Path]:
    """A folder that stands for one in a store."""
    mounts.add(SimpleNamespace(root=tmp_path, url="s3://bucket/fleet"))  # type: ignore[arg-type]
    yield tmp_path
    mounts.clear()


def test_a_spark_in_this_process_gets_the_file_and_another_one_the_object(workdir: Path) -> None:
    file = workdir / "landing" / "run-1" / "east.jsonl"
    assert spark_path(str(file)) == f"file:{file}" and not reads_store(file)
    with spark_elsewhere(True):
        assert spark_path(str(file)) == "s3a://bucket/fleet/landing/run-1/east.jsonl" and reads_store(file)
        assert spark_path("/srv/east.jsonl") == "file:/srv/east.jsonl" and not reads_store(Path("/srv/east.jsonl"))
    with spark_elsewhere(False):
        assert spark_path(str(file)) == f"file:{file}"


def test_wildcards_are_escaped() -> None:
    assert spark_path("/srv/a[1]*?.jsonl") == r"file:/srv/a\[1\]\*\?.jsonl"


def test_each_store_has_a_file_system_of_hadoop() -> None:
    assert hadoop_url("gs://bucket/fleet/a", {}) == "gs://bucket/fleet/a"
    account = {"AZURE_STORAGE_ACCOUNT_NAME": "ops"}
    assert hadoop_url("az://box/fleet/a", account) == "abfss://box@ops.dfs.core.windows.net/fleet/a"
    with pytest.raises(RecoveryError, match="AZURE_STORAGE_ACCOUNT_NAME"):
        hadoop_url("az://box/fleet/a", {})


def test_the_server_of_the_store_is_that_of_the_environment_and_keys_stay_here(workdir: Path, tmp_path: Path) -> None:
    environment = {"AWS_ENDPOINT_URL": "https://minio.example.com", "AWS_REGION": "eu-west-1", "AWS_SECRET_ACCESS_KEY": "swordfish"}
    assert store_settings(workdir, environment) == {
        "spark.hadoop.fs.s3a.endpoint": "https://minio.example.com",
        "spark.hadoop.fs.s3a.endpoint.region": "eu-west-1",
        "spark.hadoop.fs.s3a.path.style.access": "true",
    }
    assert store_settings(workdir, {}) == {} == store_settings(tmp_path.parent, environment) == store_settings(None, environment)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ("java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found", "no file system for s3a://"),
        ('UnsupportedFileSystemException: No FileSystem for scheme "gs"', "no file system for gs://"),
        (
            "java.nio.file.AccessDeniedException: s3a://bucket/a: getFileStatus: Forbidden",
            r"may not read or write the workdir \(s3a://bucket/a\)",
        ),
        ("[PATH_NOT_FOUND] Path does not exist: s3a://bucket/a.", "check that both use the same server"),
        ("[PATH_NOT_FOUND] Path does not exist: file:/srv/a.", "under the same path on every Spark host"),
    ],
)
def test_errors_of_a_store_name_the_remedy(error: str, message: str, tmp_path: Path) -> None:
    with (tmp_path / "log").open("w+b") as log, pytest.raises(RecoveryError, match=message), translate_spark_errors(log):
        raise ConnectionError(error)
