# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parquet files read and written a block at a time, without Spark: what it takes to merge small files, or to take a run's rows out of one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import reduce
from operator import or_
from pathlib import Path

with suppress(ImportError):  # libraries.py says why
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

BLOCK = 1 << 16
# Rows of one group: what a reader has to hold of a column at a time.
GROUP = 1 << 20


def rewrite(sources: Sequence[Path], target: Path, without: pc.Expression | None = None) -> int:
    """Write the rows of `sources`, which have one schema, to `target`, leaving out those that match `without`; return their number.

    No rows, no file. OSError where there is no room.
    """
    schema = pq.read_schema(sources[0]).remove_metadata()
    count = 0
    writer: pq.ParquetWriter | None = None
    pending: list[pa.RecordBatch] = []
    waiting = 0

    def flush() -> None:
        nonlocal writer, waiting
        if waiting:
            if writer is None:
                writer = pq.ParquetWriter(target, schema, compression="zstd", coerce_timestamps="us")
            writer.write_table(pa.Table.from_batches(pending, schema), row_group_size=GROUP)
        pending.clear()
        waiting = 0

    try:
        for source in sources:
            with pq.ParquetFile(source, memory_map=False) as file:
                for batch in file.iter_batches(BLOCK):
                    kept = pa.Table.from_batches([batch]).cast(schema)
                    if without is not None:
                        kept = kept.filter(~without)
                    pending.extend(kept.to_batches())
                    count += kept.num_rows
                    waiting += kept.num_rows
                    if waiting >= GROUP:
                        flush()
        flush()
    finally:
        if writer is not None:
            writer.close()
    return count


def of_runs(runs: Collection[tuple[str | None, str]]) -> pc.Expression:
    """The rows of these (origin, run id); where a table does not say the origin of its rows, it is None here."""

    def row(origin: str | None, run_id: str) -> pc.Expression:
        mine = pc.field("run_id") == run_id
        return mine if origin is None else mine & (pc.field("origin") == origin)

    return reduce(or_, (row(origin, run_id) for origin, run_id in runs))


def holds_any(path: Path, run_ids: Collection[str]) -> bool:
    """Whether a file has a row of one of these runs. Its footer tells mostly, without reading a row."""
    with pq.ParquetFile(path) as file:
        bounds = [_bounds(file.metadata.row_group(number)) for number in range(file.metadata.num_row_groups)]
        if not any(found is None or any(found[0] <= run_id <= found[1] for run_id in run_ids) for found in bounds):
            return False
        column = file.read(columns=["run_id"])["run_id"]
    return bool(pc.any(pc.is_in(column, pa.array(sorted(run_ids), column.type))).as_py())


def _bounds(group: pq.RowGroupMetaData) -> tuple[str, str] | None:
    """Least and greatest run id of some rows, None where the footer does not tell."""
    for number in range(group.num_columns):
        column = group.column(number)
        if column.path_in_schema == "run_id":
            told = column.statistics
            return (told.min, told.max) if told is not None and told.has_min_max and isinstance(told.min, str) else None
    return None
