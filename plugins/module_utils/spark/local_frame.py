# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A few rows of this process as a DataFrame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

with suppress(ImportError):  # libraries.py says why
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType


def frame(spark: SparkSession, rows: Sequence[Mapping[str, Any]], schema: str) -> DataFrame:
    """`rows` with the columns of `schema`; others are left out, maps are dicts, times have a zone.

    Through Arrow, because lists go through Python processes of Spark's own, which have to be there on every host and take seconds to start.
    """
    fields = cast("StructType", StructType.fromDDL(schema))
    names = fields.fieldNames()
    plain = [{name: _plain(row.get(name)) for name in names} for row in rows]
    return spark.createDataFrame(pa.Table.from_pylist(plain, to_arrow_schema(fields, timezone="UTC")), fields)


def _plain(value: Any) -> Any:
    return list(value.items()) if isinstance(value, dict) else value
