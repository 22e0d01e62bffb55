# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How Spark carries plain Python: functions on the values of a row, which its workers apply to batches of Arrow.

The functions are pickled by value. A worker needs Python of the same minor version and pyarrow, and no other library.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice
from types import ModuleType
from typing import Any

with suppress(ImportError):  # common.optional_imports names what is missing
    import pyarrow as pa
    from pyspark import cloudpickle

Row = tuple[Any, ...]
ArrowMapper = Callable[[Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]
ROWS_PER_BATCH = 10_000  # as Spark's batches


def register_for_workers(*modules: ModuleType) -> None:
    """Register `modules` (or packages) and this module with cloudpickle, so that Spark sends their functions by value."""
    for module in (*modules, sys.modules[__name__]):
        cloudpickle.register_pickle_by_value(module)


class _NoPandas:
    """An importer that hides pandas."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name=name)


def _arrow() -> Any:
    """Import pyarrow without pandas. Pyarrow imports pandas with its first array, in case the values are from pandas: 0.4 s in each worker."""
    import pyarrow as arrow

    sys.meta_path.insert(0, _NoPandas)
    try:
        arrow.array([])
    finally:
        sys.meta_path.remove(_NoPandas)
    return arrow


def arrow_mapper(rows: Callable[..., Iterable[Row]], schema: str) -> ArrowMapper:
    """Return a function for mapInArrow that calls `rows` with the values of each row, and returns the rows of `schema` that it yields.

    `rows` may yield any number of them: a batch has at most ROWS_PER_BATCH.
    """
    names = [field.split()[0] for field in schema.split(", ")]
    types = [field.split(maxsplit=1)[1] for field in schema.split(", ")]

    def map_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        arrow = _arrow()
        kinds = {
            "string": arrow.string(), "int": arrow.int32(), "bigint": arrow.int64(), "boolean": arrow.bool_(),
            "array<int>": arrow.list_(arrow.int32()), "array<string>": arrow.list_(arrow.string()),
        }  # fmt: skip
        for batch in batches:
            made = chain.from_iterable(map(rows, *(column.to_pylist() for column in batch.columns)))
            while some := list(islice(made, ROWS_PER_BATCH)):
                yield arrow.RecordBatch.from_arrays(
                    [arrow.array(column, type=kinds[kind]) for column, kind in zip(zip(*some, strict=True), types, strict=True)],
                    names=names,
                )

    return map_batches
