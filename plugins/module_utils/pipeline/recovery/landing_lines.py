# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Landing files as lines: what Spark reads, and what a header says of its cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

with suppress(ImportError):  # libraries.py says why
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql import functions as F

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decode import DocumentError, read_header
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.document import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats.sealed_jsonl import SnapshotError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.recovery import worker
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.json_lines import cluster_of_file, literal_path


def cluster_of(file: str) -> str:
    """The cluster that a landing file is named after."""
    return Path(file).name.removesuffix(".jsonl")


def by_cluster(spark: SparkSession, files: Sequence[str], key: Column | None = None) -> DataFrame:
    """One row (value, cluster) per line of `files` (absolute paths). `value`: its bytes, which need not be text.

    `key`: what stands for the cluster, by default what the file is named after.
    """
    lines = spark.read.text([literal_path(file) for file in files], lineSep="\n")
    named = cluster_of_file() if key is None else key
    return lines.select(F.col("value").cast("binary").alias("value"), named.alias("cluster"))


def first_fault(file: Path) -> str | None:
    """Return the number of the first line that cannot be put down to a partition, and why. None if there is none.

    Spark does not know the numbers of lines. So a file that is quarantined is read once more.
    """
    with suppress(OSError), file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                worker.read_line(line)
            except DocumentError as error:
                return f"line {number}: {error}"
    return None


def cluster(header: Mapping[str, Any]) -> Cluster:
    """What the header of a landing file says of its cluster. SnapshotError if it cannot be used."""
    try:
        return read_header(header)
    except DocumentError as error:
        raise SnapshotError(f"the header, {error}") from error
