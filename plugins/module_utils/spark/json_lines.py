# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of JSON lines as Spark reads them, and what names in them look like."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

with suppress(ImportError):  # libraries.py says why
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql import functions as F

# As instants.utc_now writes it.
TIME = "yyyy-MM-dd'T'HH:mm:ssX"
TOPIC_NAME = r"^[a-zA-Z0-9._-]{1,249}$"


def lines(spark: SparkSession, schema: str, files: Sequence[str]) -> DataFrame:
    """One row per line of `files`, which are JSON lines; the column `damaged` of `schema` holds one that breaks it."""
    # The encoding is named, although lines are read a tenth faster without: then a line could also be UTF-16, or begin with a BOM.
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "damaged", "lineSep": "\n", "encoding": "UTF-8"}
    return spark.read.schema(schema).options(**options).json([literal_path(file) for file in files])


def cluster_of_file() -> Column:
    """The cluster that a file is named after."""
    # `_metadata.file_name` would be a column that is read beside all others: a quarter of the time of reading.
    name = F.substring_index(F.input_file_name(), "/", -1)
    return F.left(name, F.length(name) - len(".jsonl"))


def literal_path(file: str) -> str:
    """Quote what Hadoop would take for a wildcard, and say that the path is one of the local (or shared) file system."""
    return "file:" + "".join(f"\\{letter}" if letter in "{}[]*?\\" else letter for letter in file)
