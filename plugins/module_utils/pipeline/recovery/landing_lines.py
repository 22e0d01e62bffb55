# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How Spark reads landing files line by line, and how their headers are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

with suppress(ImportError):  # common.optional_imports names what is missing
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql import functions as F

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decode import DocumentError, read_header
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import ClusterHeader
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats.landing_format import SnapshotError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.recovery import worker
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.json_lines import cluster_of_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.paths import spark_path


def lines_by_cluster(spark: SparkSession, files: Sequence[str], key: Column | None = None) -> DataFrame:
    """Return one row (value, cluster) per line of `files` (absolute paths). `value`: the bytes of the line, which may be invalid UTF-8.

    `key`: the value of column `cluster`, by default the cluster that the file is named after.
    """
    lines = spark.read.text([spark_path(file) for file in files], lineSep="\n")
    named = cluster_of_file() if key is None else key
    return lines.select(F.col("value").cast("binary").alias("value"), named.alias("cluster"))


def first_fault(file: Path) -> str | None:
    """Return the number of the first line that has no valid partition, and the reason. None if there is no such line.

    Spark does not know line numbers, so a quarantined file is read once more.
    """
    with suppress(OSError), file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                worker.read_line(line)
            except DocumentError as error:
                return f"line {number}: {error}"
    return None


def read_cluster(header: Mapping[str, Any]) -> ClusterHeader:
    """Return the cluster that the header of a landing file describes. Raises SnapshotError if a field is not valid."""
    try:
        return read_header(header)
    except DocumentError as error:
        raise SnapshotError(f"the header, {error}") from error
