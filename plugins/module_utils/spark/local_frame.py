# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows that go from this process to a DataFrame, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

with suppress(ImportError):  # common.optional_imports names what is missing
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType


def frame(spark: SparkSession, rows: Sequence[Mapping[str, Any]], schema: str) -> DataFrame:
    """Return `rows` as a DataFrame with the columns of `schema`. Other keys are left out; a map is given as a dict, a time with its zone.

    The rows go through Arrow. From a list Spark would read them with Python workers, which take seconds to start.
    """
    fields = cast("StructType", StructType.fromDDL(schema))
    names = fields.fieldNames()
    plain = [{name: _plain(row.get(name)) for name in names} for row in rows]
    return spark.createDataFrame(pa.Table.from_pylist(plain, to_arrow_schema(fields, timezone="UTC")), fields)


def fetched_rows(table: DataFrame) -> list[tuple[Any, ...]]:
    """Return all rows of a table as tuples of plain values.

    They go through Arrow. For `DataFrame.collect` Java pickles every row, which takes several times as long.
    """
    batches = table.toArrow().to_batches()
    return [row for batch in batches for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)]


def _plain(value: Any) -> Any:
    return list(value.items()) if isinstance(value, dict) else value
