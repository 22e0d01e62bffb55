# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How Spark reads files of JSON lines, and the forms of times and topic names in them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

with suppress(ImportError):  # common.optional_imports names what is missing
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql import functions as F

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.paths import spark_path

# The form of `timestamps.utc_now`.
TIME = "yyyy-MM-dd'T'HH:mm:ssX"
TOPIC_NAME = r"^[a-zA-Z0-9._-]{1,249}$"


def lines(spark: SparkSession, schema: str, files: Sequence[str]) -> DataFrame:
    """Return one row per line of `files`. The column `damaged` of `schema` has the text of a line that does not fit `schema`, else null."""
    # Without an encoding Spark reads a tenth faster, but would also accept UTF-16 and a BOM.
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "damaged", "lineSep": "\n", "encoding": "UTF-8"}
    return spark.read.schema(schema).options(**options).json([spark_path(file) for file in files])


def cluster_of_file() -> Column:
    """Return the cluster that the row's file is named after."""
    # `_metadata.file_name` is slower: as one more column it takes a quarter of the reading time.
    name = F.substring_index(F.input_file_name(), "/", -1)
    return F.left(name, F.length(name) - len(".jsonl"))
