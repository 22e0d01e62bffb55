# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rewrites Parquet files block by block without Spark: merges small files, or removes the rows of a run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import reduce
from operator import or_
from pathlib import Path

with suppress(ImportError):  # common.optional_imports names what is missing
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

BLOCK = 1 << 16
# Rows of one group, which a reader holds in memory column by column.
GROUP = 1 << 20


def rewrite(sources: Sequence[Path], target: Path, without: pc.Expression | None = None) -> int:
    """Write the rows of `sources`, which have one schema, to `target`, except those that match `without`. Return the number of written rows.

    Without rows no file is written. Raises OSError if a file cannot be read, or if the disk is full.
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
    """Return an expression for the rows of `runs`, each an origin and a run id; at least one. The origin is None for a table without that column."""

    def row(origin: str | None, run_id: str) -> pc.Expression:
        mine = pc.field("run_id") == run_id
        return mine if origin is None else mine & (pc.field("origin") == origin)

    return reduce(or_, (row(origin, run_id) for origin, run_id in runs))


def holds_any(path: Path, run_ids: Collection[str]) -> bool:
    """Return whether a Parquet file has a row of one of these runs. Usually its footer shows that it has none, so no row is read."""
    with pq.ParquetFile(path) as file:
        bounds = [_bounds(file.metadata.row_group(number)) for number in range(file.metadata.num_row_groups)]
        if not any(found is None or any(found[0] <= run_id <= found[1] for run_id in run_ids) for found in bounds):
            return False
        column = file.read(columns=["run_id"])["run_id"]
    return bool(pc.any(pc.is_in(column, pa.array(sorted(run_ids), column.type))).as_py())


def _bounds(group: pq.RowGroupMetaData) -> tuple[str, str] | None:
    """Return the least and the greatest run id of a row group, or None if the footer does not have them."""
    for number in range(group.num_columns):
        column = group.column(number)
        if column.path_in_schema == "run_id":
            statistics = column.statistics
            return (
                (statistics.min, statistics.max)
                if statistics is not None and statistics.has_min_max and isinstance(statistics.min, str)
                else None
            )
    return None
