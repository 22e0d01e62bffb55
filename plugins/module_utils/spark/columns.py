# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Column expressions that several tables need."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress

with suppress(ImportError):  # common.optional_imports names what is missing
    from pyspark.sql import Column, DataFrame
    from pyspark.sql import functions as F

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numbers import MOST_INT64


def false_if_null(condition: Column) -> Column:
    """Return `condition`, or false if it is null."""
    return F.coalesce(condition, F.lit(False))


def any_of(array: Column | str, test: Callable[[Column], Column]) -> Column:
    """Return whether an element of `array` passes `test`; false for a null array and for a `test` that is null."""
    return false_if_null(F.exists(array, lambda element: false_if_null(test(element))))


def first(array: Column | str) -> Column:
    """Return the first element of `array`, or null if it is empty."""
    return F.get(array, F.lit(0))


def format_template(template: str, *values: Column) -> Column:
    """Return `template` with each %d or %s replaced by the next of `values`. Spark's `format_string` takes several times as long."""
    parts = [[F.lit(text)] if text else [] for text in re.split("%[ds]", template)]
    for part, value in zip(parts, values, strict=False):
        part.append(F.coalesce(value.cast("string"), F.lit("null")))
    return F.concat(*(piece for part in parts for piece in part))


def as_json(entry: Column) -> Column:
    """Return a struct as JSON, with its null fields."""
    return F.to_json(entry, {"ignoreNullFields": "false"})


def in_plan_order(rows: DataFrame, sections: Sequence[str], *last: str) -> DataFrame:
    """Sort rows with `cluster`, `section`, `topic` and `partition`. The rows of a cluster stay together, in the order of `sections`, then of
    `partitions.in_recovery_order` (internal topics first), then of the columns `last`."""
    internal = F.when(F.col("topic") == "__transaction_state", 0).when(F.col("topic") == "__consumer_offsets", 1).otherwise(2)
    # The sort uses columns, because expressions would be computed with each comparison.
    ranked = rows.select(
        "*", F.array_position(F.array(*map(F.lit, sections)), F.col("section")).alias("section_rank"), internal.alias("topic_rank")
    )
    ordered = ranked.repartition("cluster").sortWithinPartitions("cluster", "section_rank", "topic_rank", "topic", "partition", *last)
    return ordered.drop("section_rank", "topic_rank")


def bind(value: Column, body: Callable[[Column], Column]) -> Column:
    """Return `body(value)`. Spark computes `value` once, however often `body` uses it."""
    return first(F.transform(F.array(value), body))


def capped_sum(numbers: Column | str) -> Column:
    """Return the sum of offsets or bytes, at most MOST_INT64. Brokers and consumers can report any number, and Spark fails if a sum of bigints overflows."""
    total = F.sum((F.col(numbers) if isinstance(numbers, str) else numbers).cast("decimal(19,0)"))
    return F.when(total > MOST_INT64, F.lit(MOST_INT64)).otherwise(total.cast("bigint"))


def quotient(dividend: Column, divisor: Column) -> Column:
    """Return the integer quotient. A float would round large numbers."""
    return F.call_function("div", dividend, divisor)
